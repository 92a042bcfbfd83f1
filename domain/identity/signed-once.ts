import { GateError } from '../errors.js';
import { uuidV7 } from './uuid-v7.js';

/** A proven request for a certificate: who sent it has the private key. */
export interface CertificateRequest {
  /** SHA-256 of its DER, in hex. */
  readonly csrSha256: string;
  /** SPKI DER. */
  readonly publicKey: Uint8Array;
  readonly publicKeySha256: string;
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
  /** The CAs that count, as PEM, and when the one ends that signs. */
  readonly caPem: string;
  readonly notAfterMs: number;
}

/** How one kind of certificate is stored (docs/architecture/identity.md#one-proof-one-certificate). */
export interface SignedOnce<Intent extends object, Issued extends Svid> {
  readonly signer: SvidSigner;
  readonly clock: () => number;
  /** A certificate counts from so long before it was made. */
  readonly backdateMs: number;
  /** Stores the intent, or finds the certificate that came of this very request. */
  begin(nowMs: number): Promise<Intent | { readonly issued: Issued }>;
  /** Whose certificate it is. */
  profileOf(intent: Intent): Omit<Parameters<SvidSigner['sign']>[0], 'notBefore' | 'notAfter' | 'publicKey'>;
  release(intent: Intent, svid: SignedSvid, nowMs: number): Promise<Issued>;
  fail(intent: Intent): Promise<void>;
}

/** The certificate for a request: the one that came of it before, or one that is signed once its intent is stored, and given once it is stored itself. */
export async function signedOnce<Intent extends object, Issued extends Svid>(
  { publicKey, publicKeySha256 }: CertificateRequest,
  ttlSeconds: number,
  { signer, clock, backdateMs, begin, profileOf, release, fail }: SignedOnce<Intent, Issued>,
): Promise<Issued> {
  // Before anything is used up.
  if (clock() + ttlSeconds * 1_000 > signer.notAfterMs)
    throw new GateError('ca_unavailable', 'the certificate of the CA ends before this one would');
  const begun = await begin(clock());
  if (wasIssued(begun)) return begun.issued;
  try {
    const now = clock();
    // Times in a certificate are whole seconds.
    const [notBeforeMs, notAfterMs] = [now - backdateMs, now + ttlSeconds * 1_000].map(
      (ms) => Math.floor(ms / 1_000) * 1_000,
    ) as [number, number];
    const profile = profileOf(begun);
    const [notBefore, notAfter] = [new Date(notBeforeMs), new Date(notAfterMs)];
    const signed = await signer.sign({ ...profile, notBefore, notAfter, publicKey });
    const svid = { id: uuidV7(), spiffe: profile.spiffe, ...signed, notBeforeMs, notAfterMs, publicKeySha256 };
    return await release(begun, svid, clock());
  } catch (error) {
    // What stays open is closed by the next start; either way nothing is signed for it again.
    await fail(begun).catch(() => undefined);
    throw error;
  }
}

const wasIssued = <Intent extends object, Issued>(
  begun: Intent | { readonly issued: Issued },
): begun is { readonly issued: Issued } => 'issued' in begun;
