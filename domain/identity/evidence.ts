import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { AttestationBindings, AttestationRequest, EvidenceKind } from '../../contracts/verified-attestation.js';
import { GateError } from '../errors.js';
import { parseStrictJson } from '../mcp/strict-json.js';

/** What evidence is trusted by, as its deployment knows it: nothing of it is taken from evidence. */
export interface TrustAnchor {
  readonly platformIssuer: string;
  /** SHA-256 of what verifies the evidence, `sha256:` and hex. */
  readonly trustAnchorId: string;
}

/** Verifies evidence of one kind. */
export interface EvidenceVerifier {
  readonly kind: EvidenceKind;
  readonly id: string;
  /** By which rules it judges. Evidence is bound to it. */
  readonly policy: string;
  /** By the names that challenges ask by; none: nothing is verified. */
  readonly anchors: ReadonlyMap<string, TrustAnchor>;
  /**
   * What was measured, as `sha256:` and hex, where an anchor says so of just this request. Throws why it is not so. Nothing of the evidence is believed
   * before its signature holds.
   */
  measured(bytes: Buffer, request: AttestationRequest, nowMs: number): Promise<string>;
}

const malformed = (why: string) => new GateError('attestation_evidence_malformed', why);

/** Reads evidence: one JSON object with the members of its kind and no other. Throws `attestation_evidence_malformed`. */
export function readEvidence<Evidence>(bytes: Buffer, schema: z.ZodType<Evidence>): Evidence {
  let json: unknown;
  try {
    json = parseStrictJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    // A member that stands there twice would mean one thing to one reader and another to the next.
    throw malformed('the evidence is no JSON text, or has a member twice');
  }
  const read = schema.safeParse(json);
  if (!read.success) throw malformed(`the evidence is not of its kind: ${z.prettifyError(read.error)}`);
  if (JSON.stringify(json).length !== bytes.toString('utf8').replace(/\s/g, '').length)
    throw malformed('the evidence spells a member in another way than JSON has to');
  return read.data;
}

/** What evidence is bound to. */
export type BoundRequest = Pick<
  AttestationRequest,
  'contractVersion' | 'requestId' | 'challenge' | 'expected' | 'requestedAt'
>;

/** SHA-256 over a label and everything that a request binds its evidence to. */
export function bindingDigest(label: string, request: BoundRequest): Buffer {
  const { expected } = request;
  return fieldsDigest(label, [
    request.contractVersion,
    request.requestId,
    Buffer.from(request.challenge.nonce, 'base64url'),
    ...BOUND.map((name) => expected[name]),
    request.requestedAt,
  ]);
}

/** SHA-256 over a label and a zero byte, then each field with its length in two bytes before it. */
export function fieldsDigest(label: string, fields: readonly (string | Buffer)[]): Buffer {
  const digest = createHash('sha256').update(`${label}\0`);
  for (const field of fields) {
    const bytes = Buffer.from(field as string);
    // An instant may have any number of digits.
    if (bytes.length > MOST_FIELD_BYTES) throw malformed('a field is longer than evidence can bind');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    digest.update(length).update(bytes);
  }
  return digest.digest();
}
/** As two bytes say it. */
const MOST_FIELD_BYTES = 0xffff;
const BOUND = [
  'publicKeySha256',
  'svidSha256',
  'spiffeId',
  'tenant',
  'workload',
  'instance',
  'platformIssuer',
  'trustAnchorId',
  'measurementPolicyVersion',
  'verifierPolicyVersion',
] as const satisfies readonly (keyof AttestationBindings)[];
