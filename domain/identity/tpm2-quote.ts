import { hash, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import type { AttestationRequest } from '../../contracts/verified-attestation.js';
import { GateError } from '../errors.js';
import { bindingDigest, type BoundRequest, type EvidenceVerifier, readEvidence, type TrustAnchor } from './evidence.js';

/** A key of a TPM that signs quotes, as its deployment knows it: nothing of it is taken from evidence. */
export interface Tpm2Anchor extends TrustAnchor {
  readonly akKeyId: string;
  readonly publicKey: KeyObject;
  /** TPM 2.0 Library, Part 1, 16.2: the algorithm and the digest over the names from the primary seed down to the key. */
  readonly qualifiedName: Buffer;
  /** The registers of the bank of SHA-256 that a quote has, ascending. */
  readonly pcrs: readonly number[];
}

/** By which rules this verifier judges. Evidence is bound to it. */
export const TPM2_VERIFIER_POLICY = 'gate-tpm2/1';
const TPM2_VERIFIER_ID = 'gate-identity/tpm2-quote';

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
const evidenceObject = z.strictObject({
  schemaVersion: z.literal(1),
  akKeyId: z.string().regex(/^[\x21-\x7e]{1,128}$/),
  /** TPMS_ATTEST. */
  quoteMessage: base64url.max(4_096),
  /** TPMT_SIGNATURE. */
  quoteSignature: base64url.max(1_024),
  pcrBank: z.literal('sha256'),
  pcrValues: z.record(z.string().regex(/^(?:0|[1-9]\d?)$/), z.string().regex(/^[0-9a-f]{64}$/)),
});
type Evidence = z.infer<typeof evidenceObject>;

const malformed = (why: string) => new GateError('attestation_evidence_malformed', why);

/** Reads evidence of `tpm2-quote`: one JSON object with these members and no other. Throws `attestation_evidence_malformed`. */
export const readTpm2Evidence = (bytes: Buffer): Evidence => readEvidence(bytes, evidenceObject);

/** Reads bytes from the first to the last. What a length says is never more than what is there. */
class Reader {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}
  take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw malformed('a structure of the TPM ends too soon');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  uint(length: 1 | 2 | 4): number {
    return this.take(length).readUIntBE(0, length);
  }
  /** TPM2B: two bytes of length, and so many bytes. */
  sized(): Buffer {
    return this.take(this.uint(2));
  }
  end(): void {
    if (this.at !== this.bytes.length) throw malformed('something follows a structure of the TPM');
  }
}

const TPM_GENERATED = 0xff544347;
const TPM_ST_ATTEST_QUOTE = 0x8018;
const TPM_ALG_SHA256 = 0x000b;
const TPM_ALG_ECDSA = 0x0018;
/** Size of a clock (8), of its two counters (4 each). */
const CLOCK_BYTES = 16;
const FIRMWARE_BYTES = 8;

interface Quote {
  readonly qualifiedSigner: Buffer;
  readonly extraData: Buffer;
  readonly pcrs: readonly number[];
  readonly pcrDigest: Buffer;
}

/** TPMS_ATTEST of a quote (TPM 2.0 Library, Part 2, 10.12.12). */
export function readQuote(message: Buffer): Quote {
  const reader = new Reader(message);
  if (reader.uint(4) !== TPM_GENERATED) throw malformed('no TPM made the quote');
  if (reader.uint(2) !== TPM_ST_ATTEST_QUOTE) throw malformed('the TPM signed something else than a quote');
  const qualifiedSigner = reader.sized();
  const extraData = reader.sized();
  reader.take(CLOCK_BYTES);
  if (reader.uint(1) !== 1) throw malformed('the clock of the TPM is not safe: it was ended without notice');
  reader.take(FIRMWARE_BYTES);
  if (reader.uint(4) !== 1) throw malformed('the quote is of one bank of registers');
  if (reader.uint(2) !== TPM_ALG_SHA256) throw malformed('the quote is of the bank of SHA-256');
  const select = reader.take(reader.uint(1));
  const pcrs = [...select].flatMap((byte, index) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte >> bit) & 1).map((bit) => index * 8 + bit),
  );
  const pcrDigest = reader.sized();
  reader.end();
  return { qualifiedSigner, extraData, pcrs, pcrDigest };
}

const COORDINATE_BYTES = 32;

/** TPMT_SIGNATURE of ECDSA over SHA-256, as r and s of 32 bytes each. */
export function readSignature(bytes: Buffer): Buffer {
  const reader = new Reader(bytes);
  if (reader.uint(2) !== TPM_ALG_ECDSA) throw malformed('the signature is of ECDSA');
  if (reader.uint(2) !== TPM_ALG_SHA256) throw malformed('the signature is over SHA-256');
  const both = [reader.sized(), reader.sized()].map((part) => {
    if (part.length === 0 || part.length > COORDINATE_BYTES) throw malformed('the signature is of P-256');
    return Buffer.concat([Buffer.alloc(COORDINATE_BYTES - part.length), part]);
  });
  reader.end();
  return Buffer.concat(both);
}

/** What a quote is made over: everything that the request binds it to. */
export const tpm2ExtraData = (request: BoundRequest): Buffer => bindingDigest('gate-tpm2-quote-v1', request);

/**
 * What the TPM measured, as `sha256:` and hex, where its pinned key signed just that for just this request. Throws why it is not so. Nothing of the
 * evidence is believed before its signature holds.
 */
export function verifyTpm2Quote(
  bytes: Buffer,
  request: AttestationRequest,
  anchors: ReadonlyMap<string, Tpm2Anchor>,
): string {
  const evidence = readTpm2Evidence(bytes);
  const message = Buffer.from(evidence.quoteMessage, 'base64url');
  const quote = readQuote(message);
  const signature = readSignature(Buffer.from(evidence.quoteSignature, 'base64url'));
  const anchor = anchors.get(evidence.akKeyId);
  const { expected } = request;
  const untrusted = (why: string) => new GateError('attestation_issuer_untrusted', why);
  if (!anchor) throw untrusted('no key of this name is pinned');
  if (anchor.platformIssuer !== expected.platformIssuer || anchor.trustAnchorId !== expected.trustAnchorId)
    throw untrusted('the key is of another issuer or anchor than the request says');
  if (!quote.qualifiedSigner.equals(anchor.qualifiedName)) throw untrusted('another key of a TPM signed the quote');
  if (!verify('sha256', message, { key: anchor.publicKey, dsaEncoding: 'ieee-p1363' }, signature))
    throw untrusted('the signature of the quote does not hold');
  // The name of what is asked for is in what was signed, so that a quote for one request is none for another.
  if (!quote.extraData.equals(tpm2ExtraData(request)))
    throw new GateError('attestation_nonce_mismatch', 'the quote was made for another request');
  if (quote.pcrs.join() !== anchor.pcrs.join()) throw malformed('the quote has other registers than its anchor says');
  const values = anchor.pcrs.map((pcr) => evidence.pcrValues[String(pcr)]);
  if (Object.keys(evidence.pcrValues).length !== values.length || values.includes(undefined))
    throw malformed('the evidence has other registers than its anchor says');
  const digest = hash('sha256', Buffer.from(values.join(''), 'hex'));
  if (digest !== quote.pcrDigest.toString('hex'))
    throw malformed('the values of the registers are not those that the TPM signed');
  return `sha256:${digest}`;
}

/** Verifies quotes by these keys. */
export const tpm2Verifier = (anchors: ReadonlyMap<string, Tpm2Anchor>): EvidenceVerifier => ({
  kind: 'tpm2-quote',
  id: TPM2_VERIFIER_ID,
  policy: TPM2_VERIFIER_POLICY,
  anchors,
  measured: (bytes, request) => Promise.resolve(verifyTpm2Quote(bytes, request, anchors)),
});
