import type { KeptAttestation, RenewalEvidence, SeenLeaf } from './attestation.js';
import { type CertificateRequest, type SignedSvid, signedOnce, type Svid, type SvidSigner } from './signed-once.js';
import { agentSpiffe } from './spiffe.js';
import { uuidV7 } from './uuid-v7.js';

/** What a request rests on. */
export type IssuanceAuthority =
  /** A one-use token for the first certificate of an agent, or for the next one after a recovery. */
  | { readonly kind: 'token'; readonly token: string }
  /** Evidence of the platform of an agent, for a challenge that a person had opened before its first certificate. */
  | { readonly kind: 'quote'; readonly challengeId: string; readonly attested: KeptAttestation }
  /** The certificate of an agent, which it showed to ask for the next one of its own. */
  | (SeenLeaf & { readonly kind: 'leaf'; readonly evidence?: RenewalEvidence });

/** An intent: stored before anything is signed, and closed in the transaction that stores the certificate. */
export interface Intent {
  readonly id: string;
  readonly agentId: string;
  readonly tenant: string;
  readonly agent: string;
  readonly authority: 'bootstrap' | 'recovery' | 'current';
  readonly recoveryGeneration: number;
  readonly priorSvidId: string | null;
  /** Who let the agent in, or the agent itself. */
  readonly by: string;
  /** The evidence that it rests on, and the SPIFFE id to which that is bound. */
  readonly attested?: KeptAttestation & { readonly spiffe: string };
}

export interface NewEnrollment {
  readonly tenant: string;
  readonly agent: string;
  readonly by: string;
  readonly nowMs: number;
  readonly expiresMs: number;
}

export interface IssuanceStore {
  /**
   * A one-use token for an agent that never had a certificate, or whose recovery is open; an unused one of the same agent counts no more.
   * Throws `bootstrap_not_available` for any other agent.
   */
  enroll(enrollment: NewEnrollment): Promise<{ readonly agentId: string; readonly token: string }>;
  /** Throws what `begin` would for who has no right to a certificate at all, so that nothing else is read of him. */
  assertKnown(authority: IssuanceAuthority, nowMs: number): Promise<void>;
  /**
   * Stores the intent, or finds the certificate that this token, or this certificate, gave for this very request. Throws `invalid_token`, `issuance_replay`,
   * `unregistered_agent`, `issuance_authority_denied`, `rate_limited` or `renewals_exhausted`, having stored nothing.
   */
  begin(
    request: CertificateRequest,
    authority: IssuanceAuthority,
    nowMs: number,
  ): Promise<Intent | { readonly issued: Svid }>;
  /** Stores the certificate with all that follows from it, in one transaction. Throws where the intent or its authority counts no more. */
  release(intent: Intent, svid: SignedSvid, nowMs: number): Promise<void>;
  /** Closes an intent from which no certificate came. */
  fail(intent: Intent): Promise<void>;
}

export interface Issuing {
  enroll(enrollment: Omit<NewEnrollment, 'nowMs' | 'expiresMs'> & { readonly ttlSeconds: number }): Promise<{
    readonly agentId: string;
    readonly token: string;
    readonly expiresMs: number;
  }>;
  assertKnown(authority: IssuanceAuthority): Promise<void>;
  /**
   * A certificate for the agent that `authority` stands for; its id comes from there and never from the request. At most one for each request,
   * each key and each token: a repeated one is `issuance_replay`, except that a token, or the certificate before, gives the same one again for the same request.
   */
  issue(request: CertificateRequest, authority: IssuanceAuthority, ttlSeconds: number): Promise<Svid>;
  readonly caPem: string;
}

/** Clocks differ: a certificate counts from a little before it was made. */
const BACKDATE_MS = 30_000;

export function createIssuing(parts: {
  readonly store: IssuanceStore;
  readonly signer: SvidSigner;
  readonly trustDomain: string;
  readonly clock: () => number;
}): Issuing {
  const { store, signer, trustDomain, clock } = parts;

  return {
    get caPem() {
      return signer.caPem;
    },
    async enroll({ ttlSeconds, ...enrollment }) {
      const nowMs = clock();
      const expiresMs = nowMs + ttlSeconds * 1_000;
      return { ...(await store.enroll({ ...enrollment, nowMs, expiresMs })), expiresMs };
    },
    assertKnown: (authority) => store.assertKnown(authority, clock()),
    issue: (request, authority, ttlSeconds) =>
      signedOnce<Intent, Svid>(request, ttlSeconds, {
        signer,
        clock,
        backdateMs: BACKDATE_MS,
        begin: (nowMs) => store.begin(request, authority, nowMs),
        profileOf: ({ tenant, agent, attested }) => ({
          commonName: agent,
          spiffe: attested?.spiffe ?? agentSpiffe(trustDomain, tenant, agent, uuidV7()),
        }),
        async release(intent, svid, nowMs) {
          await store.release(intent, svid, nowMs);
          return svid;
        },
        fail: (intent) => store.fail(intent),
      }),
  };
}
