import { createHash, type KeyObject, randomBytes, verify, X509Certificate } from 'node:crypto';
import type { CryptographicFailure } from '../../../contracts/ledger-evidence.js';
import { sha256Hex } from '../../crypto/digest.js';
import { contentOf, type Der, oidOf, parts, readAll, readOne, TAG, write } from './der.js';

/** What can be wrong with a time stamp; the values of `first_failure.reason` in a verification. */
export type TimeStampFault = Extract<CryptographicFailure['reason'], `tsa_${string}`>;

export class TimeStampError extends Error {
  override readonly name = 'TimeStampError';
  constructor(
    readonly fault: TimeStampFault,
    detail: string,
  ) {
    super(detail);
  }
}

/** Trusted certificates of time-stamping authorities, read from PEM. */
export interface TimeStampTrust {
  readonly roots: readonly X509Certificate[];
  /** SHA-256 of the PEM text. */
  readonly sha256: string;
}

/** Throws when the text holds no certificate. */
export function readTrust(pem: string): TimeStampTrust {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('there is no certificate in it');
  return { roots: blocks.map((block) => new X509Certificate(block)), sha256: sha256Hex(pem) };
}

const SHA256 = Buffer.from('0609608648016503040201', 'hex');
const SIGNED_DATA = '1.2.840.113549.1.7.2';
const TST_INFO = '1.2.840.113549.1.9.16.1.4';
const CONTENT_TYPE = '1.2.840.113549.1.9.3';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';
const SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12';
const SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47';
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8';
const DIGESTS: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};
/** Signature algorithms and the digest each one implies. Plain RSA uses the signer's digest. */
const SIGNATURES: Readonly<Record<string, { readonly key: string; readonly digest?: string }>> = {
  '1.2.840.113549.1.1.1': { key: 'rsa' },
  '1.2.840.113549.1.1.11': { key: 'rsa', digest: 'sha256' },
  '1.2.840.113549.1.1.12': { key: 'rsa', digest: 'sha384' },
  '1.2.840.113549.1.1.13': { key: 'rsa', digest: 'sha512' },
  '1.2.840.10045.4.3.2': { key: 'ec', digest: 'sha256' },
  '1.2.840.10045.4.3.3': { key: 'ec', digest: 'sha384' },
  '1.2.840.10045.4.3.4': { key: 'ec', digest: 'sha512' },
};

/** A time-stamp request (RFC 3161, 2.4.1) for a SHA-256 digest, with a nonce. It asks for the authority's certificate. */
export function timeStampRequest(digestHex: string): { readonly bytes: Buffer; readonly nonce: Buffer } {
  const nonce = randomBytes(8);
  // Makes the nonce a positive integer in its shortest form.
  nonce[0] = ((nonce[0] as number) & 0x3f) | 0x40;
  const imprint = write(
    TAG.sequence,
    write(TAG.sequence, SHA256, write(TAG.null)),
    write(TAG.octets, Buffer.from(digestHex, 'hex')),
  );
  const version = write(TAG.integer, Buffer.from([1]));
  const certReq = write(TAG.boolean, Buffer.from([0xff]));
  return { nonce, bytes: write(TAG.sequence, version, imprint, write(TAG.integer, nonce), certReq) };
}

/** A parsed time stamp over the right digest. */
export interface TimeStamp {
  /** RFC 3339. */
  readonly genTime: string;
  readonly nonce: Buffer | null;
  readonly signedData: readonly Der[];
  readonly tstInfo: Buffer;
}

/**
 * Parses a time-stamp response (RFC 3161, 2.4.2) and checks that it is over that digest. Checks no signature yet. Throws TimeStampError:
 * `tsa_response_malformed` when it is no such response or was not granted, `tsa_imprint_mismatch` when it is over another digest.
 */
export function readTimeStamp(response: Uint8Array, digestHex: string): TimeStamp {
  try {
    const [status, token] = parts(readOne(response), TAG.sequence);
    const granted = contentOf(parts(status, TAG.sequence)[0], TAG.integer);
    if (granted.length !== 1 || (granted[0] as number) > 1) throw new Error('the request was not granted');
    const [type, content] = parts(token, TAG.sequence);
    if (oidOf(type) !== SIGNED_DATA) throw new Error('the token is no signed data');
    const signedData = parts(readOne(contentOf(content, TAG.context(0))), TAG.sequence);
    const [contentType, wrapped] = parts(signedData[2], TAG.sequence);
    if (oidOf(contentType) !== TST_INFO) throw new Error('what is signed is no time stamp');
    const tstInfo = contentOf(readOne(contentOf(wrapped, TAG.context(0))), TAG.octets);
    const [, , imprint, , time, ...rest] = parts(readOne(tstInfo), TAG.sequence);
    const [algorithm, digest] = parts(imprint, TAG.sequence);
    const sha256 = parts(algorithm, TAG.sequence)[0];
    if (!sha256?.raw.equals(SHA256) || contentOf(digest, TAG.octets).toString('hex') !== digestHex)
      throw new TimeStampError('tsa_imprint_mismatch', 'the time stamp is of another digest');
    const nonce = rest.find(({ tag }) => tag === TAG.integer)?.content ?? null;
    return { genTime: timeOf(contentOf(time, TAG.generalizedTime).toString('latin1')), nonce, signedData, tstInfo };
  } catch (error) {
    if (error instanceof TimeStampError) throw error;
    throw new TimeStampError('tsa_response_malformed', error instanceof Error ? error.message : String(error));
  }
}

function timeOf(text: string): string {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:[.](\d{1,9}))?Z$/.exec(text);
  if (!match) throw new Error('genTime is no GeneralizedTime');
  const [, year, month, day, hour, minute, second, fraction = '0'] = match;
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`);
  return time.toISOString();
}

/**
 * Verifies that a trusted authority made this time stamp (RFC 3161, 2.3; RFC 5816): the CMS signature over the token is bound to the
 * signer's certificate, which is for time stamping only, chains to a trusted root, and was valid at that time. Throws TimeStampError
 * `tsa_signature_invalid` or `tsa_chain_untrusted`.
 */
export function verifyTimeStamp(stamp: TimeStamp, trust: TimeStampTrust): void {
  let signer: X509Certificate;
  let certificates: X509Certificate[];
  try {
    certificates = certificatesOf(stamp.signedData);
    signer = signerOf(stamp, certificates);
  } catch (error) {
    throw new TimeStampError('tsa_signature_invalid', error instanceof Error ? error.message : String(error));
  }
  const fault = chainFault(signer, certificates, trust.roots, new Date(stamp.genTime));
  if (fault) throw new TimeStampError('tsa_chain_untrusted', fault);
}

const certificatesOf = (signedData: readonly Der[]): X509Certificate[] => {
  const set = signedData.find(({ tag }) => tag === TAG.context(0));
  return set ? readAll(set.content).map(({ raw }) => new X509Certificate(raw)) : [];
};

function signerOf({ signedData, tstInfo }: TimeStamp, certificates: readonly X509Certificate[]): X509Certificate {
  const infos = parts(signedData.at(-1), TAG.set);
  if (infos.length !== 1) throw new Error('a time stamp has one signer');
  const [, , digestAlgorithm, signedAttributes, ...rest] = parts(infos[0], TAG.sequence);
  const digest = digestName(digestAlgorithm);
  const attributes = new Map(
    readAll(contentOf(signedAttributes, TAG.context(0))).map((attribute) => {
      const [type, values] = parts(attribute, TAG.sequence);
      return [oidOf(type), readOne(contentOf(values, TAG.set))] as const;
    }),
  );
  if (oidOf(attributes.get(CONTENT_TYPE)) !== TST_INFO) throw new Error('the signer signed another kind of content');
  const messageDigest = contentOf(attributes.get(MESSAGE_DIGEST), TAG.octets);
  if (!createHash(digest).update(tstInfo).digest().equals(messageDigest))
    throw new Error('the signer signed another content');
  const signer = certificates.find((certificate) => namesCertificate(attributes, certificate));
  if (!signer) throw new Error('the certificate the signer names is not in the token');
  const [signatureAlgorithm, signature] = rest;
  const algorithm = SIGNATURES[oidOf(parts(signatureAlgorithm, TAG.sequence)[0])];
  const key: KeyObject = signer.publicKey;
  if (!algorithm || algorithm.key !== key.asymmetricKeyType) throw new Error('a signature of an unknown kind');
  // The attributes are signed as a SET, but the token holds them under another tag (RFC 5652, 5.4).
  const bytes = Buffer.from((signedAttributes as Der).raw);
  bytes[0] = TAG.set;
  if (!verify(algorithm.digest ?? digest, bytes, key, contentOf(signature, TAG.octets)))
    throw new Error('the signature does not hold');
  return signer;
}

function digestName(algorithm: Der | undefined): string {
  const digest = DIGESTS[oidOf(parts(algorithm, TAG.sequence)[0])];
  if (!digest) throw new Error('a digest of an unknown kind');
  return digest;
}

/** Whether the signed attributes name this certificate. Otherwise another certificate with the same key would pass. */
function namesCertificate(attributes: ReadonlyMap<string, Der>, certificate: X509Certificate): boolean {
  const second = attributes.get(SIGNING_CERTIFICATE_V2);
  const named = second ?? attributes.get(SIGNING_CERTIFICATE);
  const [first] = readAll(contentOf(parts(named, TAG.sequence)[0], TAG.sequence));
  const id = parts(first, TAG.sequence);
  const ownDigest = second && id[0]?.tag === TAG.sequence ? digestName(id[0]) : second ? 'sha256' : 'sha1';
  const hash = contentOf(
    id.find(({ tag }) => tag === TAG.octets),
    TAG.octets,
  );
  return createHash(ownDigest).update(certificate.raw).digest().equals(hash);
}

const MAX_CHAIN = 8;

function chainFault(
  signer: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  at: Date,
): string | null {
  // Node's `keyUsage` is the extended key usage.
  if (signer.keyUsage?.join() !== TIME_STAMPING) return 'the certificate is not one for time stamps alone';
  const isRoot = (certificate: X509Certificate) => roots.some((root) => root.raw.equals(certificate.raw));
  let current = signer;
  for (let depth = 0; depth < MAX_CHAIN; depth++) {
    if (at < new Date(current.validFrom) || at > new Date(current.validTo))
      return `${current.subject} was not valid then`;
    if (isRoot(current)) return null;
    const issued = (issuer: X509Certificate) =>
      issuer.ca && current.checkIssued(issuer) && current.verify(issuer.publicKey);
    const issuer = roots.find(issued) ?? intermediates.find(issued);
    if (!issuer || issuer.raw.equals(current.raw)) break;
    current = issuer;
  }
  return `${signer.subject} does not chain to a trusted root`;
}
