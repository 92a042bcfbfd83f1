import type { SpiffeBundle } from '../../contracts/identity.js';
import { GateError } from '../errors.js';
import { type PeerKey, type Peers, stalePeer, unknownPeer } from './actor-tokens.js';
import { authoritiesOf, bundleDigest } from './trust-bundle.js';

/** Another Gate, as the operator knows it. */
export interface Peer {
  readonly trustDomain: string;
  /** As whom its calls come here; nobody's do where there is none. */
  readonly agents: readonly { readonly tenant: string; readonly agent: string }[];
  /** Where it says what its tokens are verified with; `null` for this Gate itself, and where nobody comes of it. */
  readonly bundle: {
    readonly url: string;
    /** PEM of the CAs that are trusted until it said others itself. */
    readonly ca: string;
    /** Of that text. */
    readonly pinnedSha256: string;
  } | null;
}

export interface KeptBundle {
  readonly trustDomain: string;
  readonly bundle: SpiffeBundle;
  /** The CAs of the settings from which it came. */
  readonly pinnedSha256: string;
  readonly fetchedMs: number;
}

export interface PeerBundleStore {
  /** Those that somebody edited are not among them. */
  peerBundles(): Promise<readonly KeptBundle[]>;
  /**
   * Keeps what a Gate says now. Throws where it has a lower number than what is kept, or the same and says something else: it counts for nothing then,
   * and what is kept grows old. Where the operator trusts other CAs than before, it is kept whatever there was.
   */
  keepPeerBundle(kept: KeptBundle): Promise<void>;
}

/** Asks a Gate for its bundle, over a connection that these CAs prove. Throws. */
export type FetchBundle = (peer: {
  readonly trustDomain: string;
  readonly url: string;
  readonly ca: string;
}) => Promise<SpiffeBundle>;

/** How often each Gate is asked, and how often one is asked again that did not answer. */
const EVERY_MS = 300_000;
const AGAIN_MS = 10_000;
/** For longer nobody goes on with what it said. */
const STALE_MS = 900_000;

export interface KnownPeers extends Peers {
  /** Asks those of which it is time. Throws the first fault once all were asked. */
  look(): Promise<void>;
}

/** The Gates of the settings, and the keys by which their tokens are signed (docs/architecture/identity.md#other-gates). */
export function createKnownPeers({
  peers,
  own,
  store,
  ask: askGate,
  clock,
  steadyMs = () => performance.now(),
}: {
  readonly peers: readonly Peer[];
  readonly own: { readonly trustDomain: string; keys(): readonly PeerKey[] };
  readonly store: PeerBundleStore;
  readonly ask: FetchBundle;
  readonly clock: () => number;
  readonly steadyMs?: () => number;
}): KnownPeers {
  const byDomain = new Map(peers.map((peer) => [peer.trustDomain, peer]));
  const asked = peers.filter((peer) => peer.bundle !== null);
  let known = new Map<string, KeptBundle>();
  const dueMs = new Map<string, number>();

  async function read(): Promise<void> {
    const kept = await store.peerBundles();
    // What came by other CAs than those of the settings is not what the operator trusts now.
    known = new Map(
      kept
        .filter((one) => byDomain.get(one.trustDomain)?.bundle?.pinnedSha256 === one.pinnedSha256)
        .map((one) => [one.trustDomain, one]),
    );
  }
  async function ask({ trustDomain, bundle: from }: Peer): Promise<void> {
    if (from === null) return;
    const { url, pinnedSha256 } = from;
    const kept = known.get(trustDomain);
    const bundle = await askGate({ trustDomain, url, ca: kept ? authoritiesOf(kept.bundle) : from.ca });
    // Whoever says who it is by nothing could never be asked again.
    authoritiesOf(bundle);
    await store.keepPeerBundle({ trustDomain, bundle, pinnedSha256, fetchedMs: clock() });
  }

  return {
    async look() {
      await read();
      const due = asked.filter(({ trustDomain }) => steadyMs() >= (dueMs.get(trustDomain) ?? 0));
      const ends = await Promise.allSettled(
        due.map(async (peer) => {
          dueMs.set(peer.trustDomain, steadyMs() + AGAIN_MS);
          await ask(peer);
          dueMs.set(peer.trustDomain, steadyMs() + EVERY_MS);
        }),
      );
      if (due.length > 0) await read();
      for (const [at, end] of ends.entries())
        if (end.status === 'rejected')
          throw new Error(`${due[at]?.trustDomain}: ${(end.reason as Error).message}`, { cause: end.reason });
    },
    isPeer: (trustDomain) => byDomain.has(trustDomain),
    comesAs: (trustDomain, { tenant, agent }) =>
      byDomain.get(trustDomain)?.agents.some((one) => one.tenant === tenant && one.agent === agent) ?? false,
    keysOf(trustDomain) {
      if (!byDomain.has(trustDomain)) throw unknownPeer(trustDomain);
      if (trustDomain === own.trustDomain) return own.keys();
      const kept = known.get(trustDomain);
      if (!kept) throw unknownPeer(trustDomain);
      // Also where a clock was set back.
      if (Math.abs(clock() - kept.fetchedMs) > STALE_MS) throw stalePeer(trustDomain);
      return kept.bundle.keys.flatMap((key) =>
        key.use === 'jwt-svid' && key.kty === 'OKP' && key.crv === 'Ed25519' ? [{ kid: key.kid, x: key.x }] : [],
      );
    },
  };
}

/** Throws where what a Gate says now is not what follows upon what it said before. */
export function assertFollows(before: SpiffeBundle, now: SpiffeBundle): void {
  const isOther = bundleDigest(before.keys) !== bundleDigest(now.keys);
  if (now.spiffe_sequence < before.spiffe_sequence || (now.spiffe_sequence === before.spiffe_sequence && isOther))
    throw new GateError(
      'peer_bundle_stale',
      `its bundle has the number ${now.spiffe_sequence}, and one that was heard before ${before.spiffe_sequence}`,
    );
}
