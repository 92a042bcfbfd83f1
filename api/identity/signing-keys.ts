import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { authorityBy, createAuthority } from '../../adapters/identity/certificate-authority.js';
import { keyIdOf } from '../../adapters/identity/ca-signature.js';
import { type RevocationSigner, revocationSigner } from '../../adapters/identity/revocation-signature.js';
import { openKey, sealKey } from '../../adapters/identity/sealed-key.js';
import { type StopReportSigner, stopReportSigner } from '../../adapters/identity/stop-report-signature.js';
import { certificatesOf, svidSigner } from '../../adapters/identity/svid-signer.js';
import { type TenantWarrantSigner, tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { createKeyStores, type KeyStores } from '../../adapters/signing/key-stores.js';
import type { KeyUse, SpiffeBundle } from '../../contracts/identity.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { HeldKey } from '../../domain/identity/held-key.js';
import { isKeyReference } from '../../domain/identity/key-reference.js';
import type { IdentityKey, KeyStore, NewKey } from '../../domain/identity/key-rotation.js';
import type { SvidSigner } from '../../domain/identity/signed-once.js';
import { createSigner, type PublicJwk, publicJwkOf, type Signer } from '../../domain/identity/signer.js';
import { bundleDigest, bundleKeys, REFRESH_HINT_SECONDS } from '../../domain/identity/trust-bundle.js';

/** What others verify with. */
export interface Published {
  readonly bundle: SpiffeBundle;
  readonly tokenKeys: readonly PublicJwk[];
}

export interface SigningKeys {
  readonly signer: SvidSigner;
  readonly signList: RevocationSigner;
  readonly signReport: StopReportSigner;
  readonly signWarrant: TenantWarrantSigner;
  readonly tokenSigner: Signer;
  published(): Published;
  /** PEM of the CAs that count now. */
  trusted(): string;
  /** Throws, naming the key, where one that signs does not answer. */
  assertSigns(): void;
  /** Does what is due, and takes over what any process of identity did. */
  step(): Promise<void>;
  keys(): Promise<readonly IdentityKey[]>;
  /** Begins to put another key in the place of the one that signs; the same request again is the same rotation. */
  rotate(asked: AskedRotation): Promise<IdentityKey>;
}

export interface AskedRotation {
  readonly requestId: string;
  readonly use: KeyUse;
  /** Until when the one before stays at least. */
  readonly oldUntilMs: number | null;
  readonly by: string;
  readonly reason: string | null;
}

export interface SigningKeyParts {
  readonly store: KeyStore & { bundleSequence(bundleSha256: string): Promise<number> };
  readonly ring: KeyRing;
  readonly trustDomain: string;
  /** PEM of the CAs of the settings. */
  readonly caPem: string;
  /** The private keys of the settings, in PEM or where they lie, read where no other ones sign. Throw where they cannot be used. */
  readonly configured: Readonly<Record<KeyUse, () => string>>;
  /** Opens what lies elsewhere. */
  readonly keyStores?: Pick<KeyStores, 'open' | 'make'>;
  /** The place where keys that come are made (`keyReferenceIn`); sealed in the store without one. */
  readonly newKeys?: string | undefined;
  /** How long a key is published before it signs. */
  readonly announceMs: number;
  readonly clock?: () => number;
  /** A clock that nobody sets. */
  readonly steadyMs?: () => number;
  /** Told the CAs that count, whenever they are others than before. */
  readonly onTrust?: (pem: string, published: Published) => void;
}

/** What signs certificates, and what is signed beside them. */
interface CaSigners {
  readonly id: string;
  readonly signer: SvidSigner;
  readonly signList: RevocationSigner;
  readonly signReport: StopReportSigner;
  readonly signWarrant: TenantWarrantSigner;
}

type Stage = Pick<IdentityKey, 'id' | 'state'>;

interface Now extends Published {
  readonly ca: CaSigners;
  readonly tokens: Signer;
  /** Those that sign now. */
  readonly held: Readonly<Record<KeyUse, HeldKey>>;
  /** PEM. */
  readonly trusted: string;
  /** Which keys there are, and at which stage each is. */
  readonly stages: readonly Stage[];
}

const CA_LIFE_MS = 3_650 * 86_400_000;
/** As certificates begin: the clocks of others may be behind. */
const BACKDATE_MS = 3_600_000;

/**
 * The keys with which identity signs: those of the settings, until others take their place (docs/architecture/identity.md#rotation). Which is at which
 * stage stands in the store, so that every process of identity does the same, and one that ends anywhere goes on from there.
 */
export async function openSigningKeys(parts: SigningKeyParts): Promise<SigningKeys> {
  const {
    store,
    ring,
    configured,
    trustDomain,
    clock = Date.now,
    steadyMs = () => performance.now(),
    onTrust = () => undefined,
    keyStores = createKeyStores(),
    newKeys,
  } = parts;
  const given = certificatesOf(parts.caPem);

  /** The private half of the key that signs, or where it lies: sealed in the store, or in the settings. */
  function privateKeyOf(use: KeyUse, keys: readonly IdentityKey[]): string {
    const signing = signingOf(keys, use);
    if (signing === undefined || signing.requestId === null) return configured[use]();
    if (signing.sealed === null) throw new Error(`the key ${signing.id} of ${use} has no private half`);
    return openKey(ring, use, signing.sealed);
  }

  const heldOf = (use: KeyUse, keys: readonly IdentityKey[]): Promise<HeldKey> =>
    keyStores.open(privateKeyOf(use, keys)).catch((error: unknown) => {
      throw new Error(`the key of ${use}: ${errorText(error)}`, { cause: error });
    });

  function caSignersOf(key: HeldKey, trusted: string): CaSigners {
    const signer = svidSigner(trusted, key);
    return {
      id: keyIdOf(certificatesOf(signer.caPem)[0] as X509Certificate),
      // Who is given a certificate is told of every CA that counts.
      signer: { ...signer, caPem: trusted },
      signList: revocationSigner(signer.caPem, key),
      signReport: stopReportSigner(signer.caPem, key),
      signWarrant: tenantWarrantSigner(signer.caPem, key),
    };
  }

  /** The CAs of the settings that were not withdrawn, and those that came since. */
  function trustOf(keys: readonly IdentityKey[]): string {
    const states = new Map(keys.filter(({ use }) => use === 'certificates').map((key) => [key.id, key]));
    const first = given.filter((ca) => states.get(keyIdOf(ca))?.state !== 'withdrawn');
    const known = new Set(first.map(keyIdOf));
    const more = [...states.values()].filter((key) => counts(key) && !known.has(key.id));
    return [...first.map((ca) => ca.toString()), ...more.map(({ publicPem }) => publicPem)].join('');
  }

  function tokenKeysOf(keys: readonly IdentityKey[], signer: Signer): readonly PublicJwk[] {
    const known = keys.filter(({ use }) => use === 'tokens');
    if (known.length === 0) return [signer.publicJwk];
    return known.filter(counts).map(({ publicPem }) => publicJwkOf(createPublicKey(publicPem)));
  }

  async function read(before: Now | null): Promise<Now> {
    const keys = await store.identityKeys();
    if (before && isSame(before.stages, keys)) return before;
    const trusted = trustOf(keys);
    const held = { certificates: await heldOf('certificates', keys), tokens: await heldOf('tokens', keys) };
    const ca = caSignersOf(held.certificates, trusted);
    const tokens = createSigner(held.tokens);
    for (const [use, id] of [
      ['certificates', ca.id],
      ['tokens', tokens.publicJwk.kid],
    ] as const) {
      const signing = signingOf(keys, use);
      if (signing && signing.id !== id)
        throw new Error(
          `the key of ${use} of the settings is not the one that signs (${signing.id}): put that one back`,
        );
    }
    const tokenKeys = tokenKeysOf(keys, tokens);
    const bundled = bundleKeys(certificatesOf(trusted), tokenKeys);
    const sequence = await store.bundleSequence(bundleDigest(bundled));
    const bundle = { keys: bundled, spiffe_sequence: sequence, spiffe_refresh_hint: REFRESH_HINT_SECONDS };
    return { ca, tokens, held, trusted, bundle, tokenKeys, stages: keys };
  }
  let now = await read(null);
  /** Since when this process publishes each key. */
  const since = new Map<string, number>();
  function noteSince(): void {
    for (const { id } of now.stages) if (!since.has(id)) since.set(id, steadyMs());
  }
  noteSince();
  // Where identity was away for the time of an announcement, nobody has heard of the key.
  const heardAfterMs = Math.min(parts.announceMs, REFRESH_HINT_SECONDS * 1_000);
  const maySign = (id: string): boolean => steadyMs() - (since.get(id) ?? steadyMs()) >= heardAfterMs;

  async function takeOver(): Promise<void> {
    const before = now.trusted;
    now = await read(now);
    noteSince();
    if (now.trusted !== before) onTrust(now.trusted, now);
  }

  async function newKey(use: KeyUse, requestId: string): Promise<Pick<NewKey, 'id' | 'publicPem' | 'sealed'>> {
    if (newKeys !== undefined) return newKeyIn(newKeys, use, requestId);
    if (use === 'tokens') {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const sealed = sealKey(ring, use, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
      return { id: publicJwkOf(publicKey).kid, publicPem: spkiPem(publicKey), sealed };
    }
    const { cert, key } = await createAuthority(trustDomain, caLife());
    const authority = new X509Certificate(cert);
    return { id: keyIdOf(authority), publicPem: authority.toString(), sealed: sealKey(ring, use, key) };
  }
  /** The key is made where it stays; the store has its place alone, sealed as a key is. */
  async function newKeyIn(place: string, use: KeyUse, requestId: string): ReturnType<typeof newKey> {
    const algorithm = use === 'certificates' ? 'ES256' : 'Ed25519';
    const reference = await keyStores.make(place, `gate-${use}-${requestId}`, algorithm).catch((error: unknown) => {
      throw new GateError('signing_unavailable', `no key was made: ${errorText(error)}`, { cause: error });
    });
    const held = await keyStores.open(reference);
    const sealed = sealKey(ring, use, reference);
    if (use === 'tokens') return { id: publicJwkOf(held.publicKey).kid, publicPem: spkiPem(held.publicKey), sealed };
    const authority = new X509Certificate(await authorityBy(held, trustDomain, caLife()));
    return { id: keyIdOf(authority), publicPem: authority.toString(), sealed };
  }
  const caLife = () => ({ notBefore: new Date(clock() - BACKDATE_MS), notAfter: new Date(clock() + CA_LIFE_MS) });
  /** The key of the settings, as its row says it, which is made with the first rotation. */
  function configuredOf(use: KeyUse): NewKey['configured'] {
    if (use === 'tokens') {
      const { kid, x } = now.tokens.publicJwk;
      return {
        id: kid,
        publicPem: spkiPem(createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })),
      };
    }
    const authority = given.find((ca) => keyIdOf(ca) === now.ca.id);
    return { id: now.ca.id, publicPem: authority?.toString() ?? '' };
  }

  return {
    signer: {
      sign: (profile) => now.ca.signer.sign(profile),
      get caPem() {
        return now.ca.signer.caPem;
      },
      get notAfterMs() {
        return now.ca.signer.notAfterMs;
      },
    },
    signList: (content) => now.ca.signList(content),
    signReport: (content) => now.ca.signReport(content),
    signWarrant: (content) => now.ca.signWarrant(content),
    tokenSigner: {
      sign: (bytes) => now.tokens.sign(bytes),
      get publicJwk() {
        return now.tokens.publicJwk;
      },
    },
    published: () => now,
    trusted: () => now.trusted,
    assertSigns() {
      for (const [use, key] of Object.entries(now.held)) {
        const fault = key.fault();
        if (fault !== null) throw new Error(`the key of ${use}: ${fault}`);
      }
    },
    async step() {
      // Also what another process did.
      await takeOver();
      if (now.stages.some(isOnItsWay) && (await store.advanceKeys(clock(), maySign)) > 0) await takeOver();
    },
    keys: () => store.identityKeys(),
    async rotate({ requestId, use, oldUntilMs, by, reason }) {
      const known = await store.keyOfRequest(requestId);
      if (known && known.use !== use) throw new GateError('invalid_request', 'request_id: is that of another rotation');
      if (known) return known;
      // Nothing is taken for longer, and until the key before is withdrawn no other one comes.
      const { notAfterMs } = now.ca.signer;
      if (oldUntilMs !== null && oldUntilMs > notAfterMs)
        throw new GateError(
          'invalid_request',
          `old_until: is after the end of the CA that signs (${new Date(notAfterMs).toISOString()})`,
        );
      // Before one is made that stays where it lies, and signs nothing.
      const keys = await store.identityKeys();
      const active = keys.find((key) => key.use === use && isOnItsWay(key));
      if (active?.requestId === requestId) return active;
      if (active) throw new GateError('rotation_active', undefined, { fields: { key_id: active.id } });
      // A key that no file held is not followed by one that the store holds because nobody thought of the setting.
      if (newKeys === undefined && isKeyReference(privateKeyOf(use, keys)))
        throw new GateError(
          'rotation_unavailable',
          'the key that signs lies in a token or in KMS: say in GATE_IDENTITY_NEW_KEYS where the next one is made',
        );
      const made = await newKey(use, requestId);
      const key = await store.announceKey({
        ...made,
        requestId,
        use,
        configured: configuredOf(use),
        announceMs: parts.announceMs,
        oldUntilMs,
        by,
        reason,
        nowMs: clock(),
      });
      await takeOver();
      return key;
    },
  };
}

const isSame = (before: readonly Stage[], now: readonly Stage[]): boolean =>
  before.length === now.length && before.every(({ id, state }, at) => id === now[at]?.id && state === now[at].state);
/** Something of it comes yet. */
const isOnItsWay = ({ state }: Stage): boolean => state === 'announced' || state === 'retiring';
const counts = ({ state }: IdentityKey): boolean => state !== 'withdrawn';
const signingOf = (keys: readonly IdentityKey[], use: KeyUse): IdentityKey | undefined =>
  keys.find((key) => key.use === use && key.state === 'signing');
const spkiPem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
