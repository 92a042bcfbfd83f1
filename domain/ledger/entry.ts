import { randomUUID } from 'node:crypto';
import type { Json } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { isStorable } from '../../contracts/storable.js';
import { canonicalJson } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { sidecarSha256 } from './sidecar-digest.js';
import {
  canonicalContent,
  CONTENT_FIELDS,
  contentIndex,
  type ContentField,
  type ContentValues,
} from './canonical-bytes.js';

export type SidecarKind = 'payload' | 'brain_evidence';

/** A checked and rendered row. Later changes to the object it was made from do not affect it. */
export interface PreparedRow {
  readonly id: string;
  /** The signer's timestamp; `null` for an unsigned row, which gets the commit time. */
  readonly timestamp: string | null;
  readonly values: ContentValues;
  /** Canonical text of the values. Rows with equal id and content are the same row. */
  readonly content: string;
  readonly sidecar: { readonly kind: SidecarKind; readonly text: string } | null;
}

export const MAX_JSON_BYTES = 262_144;
export const MAX_JSON_DEPTH = 32;
/** Four times the largest request body. Larger bytes are left out, and the row holds their digest. */
export const MAX_SIDECAR_BYTES = 4_194_304;

interface Bounds {
  readonly max?: number;
  readonly min?: number;
  readonly pattern?: RegExp;
  readonly required?: true;
}
const HEX64 = /^[0-9a-f]{64}$/;
/** What each field may hold. Lengths are in UTF-16 code units. */
export const BOUNDS: Readonly<Record<ContentField, Bounds>> = {
  agent_id: { required: true, min: 1, max: 256 },
  method: { required: true, min: 1, max: 128 },
  intent_category: { required: true, min: 1, max: 128 },
  authorized: { required: true },
  reasoning: { required: true, max: 8192 },
  policy_decision: {},
  correlation_id: { max: 64 },
  source: { max: 32 },
  signal: { max: 128 },
  approver_assertion: { max: 4096 },
  agent_spiffe: { max: 512 },
  signature: { max: 128, pattern: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/ },
  key_id: { max: 256, pattern: /^[A-Za-z0-9._:-]+:v[1-9][0-9]*$/ },
  event_kind: { max: 64 },
  tenant: { pattern: /^[A-Za-z0-9._-]{1,63}$/ },
  agent_name: { max: 63 },
  actor_sub: { max: 512 },
  actor_idp: { max: 512 },
  payload_sha256: { pattern: HEX64 },
  agent_kind: { max: 32 },
  cost_micros: { min: 0 },
  brain_evidence_sha256: { pattern: HEX64 },
  brain_scores: {},
  tool_params_sha256: { pattern: HEX64 },
  credential_fingerprint: { pattern: HEX64 },
  upstream_id: { max: 64 },
  tool_name: { max: 256 },
  state_namespace: { required: true, pattern: /^(?:operator|demo)$/ },
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Checks a row field by field (docs/architecture/ledger-rows.md) and renders what will be hashed. Takes unchecked input: unknown properties
 * are ignored, and a missing id becomes a random UUID. Throws `invalid_log_request` with the `field`, `partial_signature`,
 * `signed_position_invalid` or `payload_commitment_invalid`; nothing of the row may be appended then.
 */
export function prepareRow(row: NewLedgerRow): PreparedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw invalid('row', 'must be an object');
  const given = row as Readonly<Record<string, unknown>>;
  const id = given['id'] ?? (given['id'] === undefined ? randomUUID() : null);
  if (typeof id !== 'string' || !UUID.test(id)) throw invalid('id', 'must be a lower-case UUID');
  const values: (string | number | null)[] = [];
  for (const [name, kind] of CONTENT_FIELDS) {
    const value = given[name];
    const bounds = BOUNDS[name];
    if (value === undefined || value === null) {
      // policy_decision may be null but must not be missing (docs/architecture/ledger-rows.md#fields).
      if (bounds.required || (name === 'policy_decision' && value === undefined)) throw invalid(name, 'is required');
      values.push(null);
    } else if (kind === 'text') {
      values.push(checkedText(name, value, bounds));
    } else if (kind === 'bool') {
      if (typeof value !== 'boolean') throw invalid(name, 'must be true or false');
      values.push(value ? 1 : 0);
    } else if (kind === 'int') {
      if (!Number.isSafeInteger(value) || Object.is(value, -0) || (value as number) < (bounds.min ?? -Infinity))
        throw invalid(name, 'must be an integer from 0 to 2^53-1');
      values.push(value as number);
    } else {
      values.push(checkedJson(name, value));
    }
  }
  const at = (field: ContentField) => values[contentIndex(field)] as string | null;
  if ((at('signature') === null) !== (at('key_id') === null)) throw new GateError('partial_signature');
  const timestamp = signedPosition(given, id, at('signature') !== null);
  return { id, timestamp, values, content: canonicalContent(values), sidecar: checkedSidecar(given, at) };
}

/** A timestamp as the chain writes it. */
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;
const POSITION_CONTRACT = 'gate.lifecycle-signed-position/v1';

/**
 * The timestamp that a signer fixed together with the id (docs/architecture/ledger-rows.md#signatures); `null` when there is none. A
 * life-cycle row repeats both in its hashed content. Throws `signed_position_invalid` when one of them is missing, malformed, or differs
 * from the row.
 */
function signedPosition(given: Readonly<Record<string, unknown>>, id: string, signed: boolean): string | null {
  const refuse = (detail: string) => new GateError('signed_position_invalid', detail);
  const timestamp = given['timestamp'] ?? null;
  const said = given['policy_decision'] as Readonly<Record<string, unknown>> | null;
  if (said?.['contract'] === POSITION_CONTRACT) {
    if (!signed || timestamp === null) throw refuse('a signed position belongs to a signed row with its timestamp');
    if (Object.keys(said).length !== 3 || said['id'] !== id || said['timestamp'] !== timestamp)
      throw refuse('policy_decision holds contract, id and timestamp, and those of the row');
  }
  if (timestamp === null) return null;
  if (!signed) throw refuse('only a signed row brings its timestamp');
  if (given['id'] === undefined) throw refuse('a signed row brings its id');
  if (typeof timestamp !== 'string' || !TIME.test(timestamp) || !(new Date(timestamp).getTime() >= 0))
    throw refuse('timestamp is written YYYY-MM-DDTHH:MM:SS.mmmZ');
  if (new Date(timestamp).toISOString() !== timestamp) throw refuse('timestamp names no moment');
  return timestamp;
}

function checkedText(field: string, value: unknown, { min = 0, max, pattern }: Bounds): string {
  if (typeof value !== 'string') throw invalid(field, 'must be a string');
  if (value.length < min || (max !== undefined && value.length > max))
    throw invalid(field, `must have ${min} to ${max} characters`);
  if (pattern && !pattern.test(value)) throw invalid(field, 'does not have the required form');
  if (!isStorable(value)) throw invalid(field, 'holds U+0000 or a lone surrogate');
  return value;
}

function checkedJson(field: string, value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(field, 'must be an object');
  checkJson(field, value, 1);
  const text = canonicalJson(value as Json);
  if (Buffer.byteLength(text) > MAX_JSON_BYTES) throw invalid(field, `is larger than ${MAX_JSON_BYTES} bytes`);
  return text;
}

/**
 * Accepts only values that RFC 8785 renders the same everywhere: plain objects and arrays, safe integers, finite numbers, storable text.
 */
function checkJson(field: string, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      if (!isStorable(value)) throw invalid(field, 'holds U+0000 or a lone surrogate');
      return;
    case 'number':
      if (!Number.isFinite(value)) throw invalid(field, 'holds a number that is not finite');
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw invalid(field, 'holds an integer over 2^53-1');
      return;
    case 'object': {
      if (value === null) return;
      if (depth > MAX_JSON_DEPTH) throw invalid(field, `is nested deeper than ${MAX_JSON_DEPTH}`);
      if (Array.isArray(value)) {
        for (const item of value) checkJson(field, item, depth + 1);
        return;
      }
      // The prototype of a plain object has no prototype itself, in whatever realm; that of a Date or Map has one.
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
        throw invalid(field, 'holds a value JSON does not have');
      for (const [key, item] of Object.entries(value)) {
        if (!isStorable(key)) throw invalid(field, 'holds U+0000 or a lone surrogate');
        checkJson(field, item, depth + 1);
      }
      return;
    }
    default:
      throw invalid(field, 'holds a value JSON does not have');
  }
}

const SIDECARS = [
  ['payload', 'payload_sha256', 'payload_canonical_json'],
  ['brain_evidence', 'brain_evidence_sha256', 'brain_evidence_canonical_json'],
] as const;

/** A digest and its bytes must come together, the bytes must hash to the digest, and a row has at most one kind. */
function checkedSidecar(
  given: Readonly<Record<string, unknown>>,
  at: (field: ContentField) => string | null,
): PreparedRow['sidecar'] {
  let sidecar: PreparedRow['sidecar'] = null;
  for (const [kind, digestField, bytesField] of SIDECARS) {
    const digest = at(digestField);
    const text = given[bytesField] ?? null;
    if (digest === null && text === null) continue;
    if (text !== null && typeof text !== 'string') throw invalid(bytesField, 'must be a string');
    const refuse = (detail: string) =>
      new GateError('payload_commitment_invalid', detail, { fields: { field: bytesField } });
    if (text === null) throw refuse(`${digestField} came without ${bytesField}`);
    if (digest === null) throw refuse(`${bytesField} came without ${digestField}`);
    if (sidecar) throw refuse('a row commits to a payload or to brain evidence, not to both');
    if (Buffer.byteLength(text) > MAX_SIDECAR_BYTES)
      throw invalid(bytesField, `is larger than ${MAX_SIDECAR_BYTES} bytes`);
    if (!isStorable(text)) throw invalid(bytesField, 'holds U+0000 or a lone surrogate');
    if (sidecarSha256(text) !== digest) throw refuse(`the bytes do not hash to ${digestField}`);
    sidecar = { kind, text };
  }
  return sidecar;
}

const invalid = (field: string, fault: string): GateError =>
  new GateError('invalid_log_request', `${field} ${fault}`, { fields: { field } });
