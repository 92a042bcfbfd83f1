import { GateError } from '../errors.js';
import { agentSpiffe } from './spiffe.js';
import { uuidV7 } from './uuid-v7.js';

/** A proven request for a certificate: who sent it has the private key. */
export interface CertificateRequest {
  /** SHA-256 of its DER, in hex. */
  readonly csrSha256: string;
  /** SPKI DER. */
  readonly publicKey: Uint8Array;
  readonly publicKeySha256: string;
}

/** What a request rests on. */
export type IssuanceAuthority =
  /** A one-use token for the first certificate of an agent, or for the next one after a recovery. */
  | { readonly kind: 'token'; readonly token: string }
  /** The certificate of an agent, which it showed to ask for the next one of its own. */
  | {
      readonly kind: 'leaf';
      readonly tenant: string;
      readonly agent: string;
      readonly spiffe: string;
      readonly fingerprint: string;
      /** Where somebody else saw the connection: of the key that it was made with. */
      readonly publicKeySha256?: string;
    };

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
}

export interface Svid {
  readonly id: string;
  readonly spiffe: string;
  readonly certPem: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate that is signed and not yet stored. */
export interface SignedSvid extends Svid {
  readonly serial: string;
  readonly fingerprint: string;
  readonly publicKeySha256: string;
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

/** Signs certificates; throws `ca_unavailable`. */
export interface SvidSigner {
  sign(profile: {
    readonly commonName: string;
    readonly spiffe: string;
    readonly notBefore: Date;
    readonly notAfter: Date;
    readonly publicKey: Uint8Array;
    /** Of a service: the names by which others reach it. */
    readonly hosts?: readonly string[];
    /** A client alone, by default. */
    readonly usages?: readonly ('server' | 'client')[];
  }): Promise<{ readonly certPem: string; readonly serial: string; readonly fingerprint: string }>;
  /** The certificate of the CA, and when it ends. */
  readonly caPem: string;
  readonly notAfterMs: number;
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

  async function sign(intent: Intent, request: CertificateRequest, ttlSeconds: number): Promise<SignedSvid> {
    const now = clock();
    // Times in a certificate are whole seconds.
    const [notBeforeMs, notAfterMs] = [now - BACKDATE_MS, now + ttlSeconds * 1_000].map(
      (ms) => Math.floor(ms / 1_000) * 1_000,
    ) as [number, number];
    const spiffe = agentSpiffe(trustDomain, intent.tenant, intent.agent, uuidV7());
    const signed = await signer.sign({
      commonName: intent.agent,
      spiffe,
      notBefore: new Date(notBeforeMs),
      notAfter: new Date(notAfterMs),
      publicKey: request.publicKey,
    });
    return { id: uuidV7(), spiffe, ...signed, notBeforeMs, notAfterMs, publicKeySha256: request.publicKeySha256 };
  }

  return {
    caPem: signer.caPem,
    async enroll({ ttlSeconds, ...enrollment }) {
      const nowMs = clock();
      const expiresMs = nowMs + ttlSeconds * 1_000;
      return { ...(await store.enroll({ ...enrollment, nowMs, expiresMs })), expiresMs };
    },
    assertKnown: (authority) => store.assertKnown(authority, clock()),
    async issue(request, authority, ttlSeconds) {
      // Before anything is used up.
      if (clock() + ttlSeconds * 1_000 > signer.notAfterMs)
        throw new GateError('ca_unavailable', 'the certificate of the CA ends before this one would');
      const begun = await store.begin(request, authority, clock());
      if ('issued' in begun) return begun.issued;
      try {
        const svid = await sign(begun, request, ttlSeconds);
        await store.release(begun, svid, clock());
        return svid;
      } catch (error) {
        // What stays open is closed by the next start; either way nothing is signed for it again.
        await store.fail(begun).catch(() => undefined);
        throw error;
      }
    },
  };
}
