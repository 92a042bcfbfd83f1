import type { Json, JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { isStorable } from '../../contracts/storable.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { clipped, storableText } from '../text.js';
import { CONTENT_FIELDS } from './canonical-bytes.js';
import { BOUNDS, MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_SIDECAR_BYTES } from './entry.js';

/** When a JSON column is too large as a whole, each of its members above this size is replaced by its digest. */
const MAX_MEMBER_BYTES = 4_096;

/** A row of Gate's own. Its id derives from its subject, so that appending it is idempotent. */
type OwnRow = NewLedgerRow & { readonly id: string };

/**
 * Makes the row acceptable to the ledger: texts become storable and stay within their bounds, JSON values get canonical bytes. For rows
 * that Gate builds itself, so that nothing an agent or a tool wrote can make the ledger refuse a row, and with it the rest of its call's
 * rows. A row that fits already comes back with the same content. Rows of other authors are never changed; those are refused.
 */
export function fittingRow(row: OwnRow): OwnRow {
  if (surelyFitting(row)) return row;
  const { payload_canonical_json, brain_evidence_canonical_json, ...given } = row;
  const fitting: Record<string, unknown> = { ...given };
  for (const [name, kind] of CONTENT_FIELDS) {
    const value = fitting[name];
    if (value === undefined || value === null) continue;
    if (kind === 'text') fitting[name] = fittingText(value as string, BOUNDS[name]);
    else if (kind === 'json') fitting[name] = fittingObject(value as JsonObject);
    else if (kind === 'int') fitting[name] = Number.isSafeInteger(value) ? Math.max(0, value as number) : null;
  }
  return {
    ...withSidecars(fitting as OwnRow, { payload_canonical_json, brain_evidence_canonical_json }),
    id: row.id,
  };
}

/**
 * `null` when the text does not match the field's pattern. Fields with a pattern are optional, except those that Gate sets to constants.
 */
function fittingText(value: string, { min = 0, max, pattern }: (typeof BOUNDS)[keyof typeof BOUNDS]): string | null {
  if (pattern) return pattern.test(value) ? value : null;
  const text = storableText(clipped(value, max ?? value.length));
  return text.length < min ? 'unnamed' : text;
}

function fittingObject(value: JsonObject): JsonObject {
  const mended = fittingJson(value, 1) as JsonObject;
  if (bytesOf(mended) <= MAX_JSON_BYTES) return mended;
  const shorter = Object.fromEntries(
    Object.entries(mended).map(([name, member]) => [
      name,
      bytesOf(member) > MAX_MEMBER_BYTES ? digestOf(member) : member,
    ]),
  );
  return bytesOf(shorter) <= MAX_JSON_BYTES ? shorter : digestOf(mended);
}

/** Recognises a row that fits, the usual case, without building a new one: every call waits for several of these checks. */
function surelyFitting(row: OwnRow): boolean {
  for (const [name, kind] of CONTENT_FIELDS) {
    const value = (row as Readonly<Record<string, unknown>>)[name];
    if (value === undefined || value === null) continue;
    if (kind === 'text') {
      const { min = 0, max = Number.MAX_SAFE_INTEGER, pattern } = BOUNDS[name];
      const text = value as string;
      if (text.length < min || text.length > max || !isStorable(text) || pattern?.test(text) === false) return false;
    } else if (kind === 'json') {
      if (roomLeft(value, 1, MAX_JSON_BYTES) < 0) return false;
    } else if (kind === 'int' && !(Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0)))
      return false;
  }
  return SIDECARS.every(([, bytes]) => (row[bytes]?.length ?? 0) * 3 <= MAX_SIDECAR_BYTES);
}

/** How many of `bytes` remain after this value, estimated conservatively; negative when the value may not fit as it is. */
function roomLeft(value: unknown, depth: number, bytes: number): number {
  const left = bytes - 32;
  if (typeof value === 'string') return isStorable(value) ? left - 6 * value.length : -1;
  if (typeof value === 'boolean' || value === null) return left;
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value)) ? left : -1;
  if (typeof value !== 'object' || depth > MAX_JSON_DEPTH || left < 0) return -1;
  let rest = left;
  if (Array.isArray(value)) {
    for (const item of value) if ((rest = roomLeft(item, depth + 1, rest)) < 0) return -1;
    return rest;
  }
  for (const name of Object.keys(value)) {
    rest = roomLeft((value as Readonly<Record<string, unknown>>)[name], depth + 1, roomLeft(name, depth, rest));
    if (rest < 0) return -1;
  }
  return rest;
}

const bytesOf = (value: Json): number => Buffer.byteLength(canonicalJson(value));

/** Replaces a value that is too large. */
const digestOf = (value: Json): JsonObject => {
  const text = canonicalJson(value);
  return { omitted_sha256: sha256Hex(text), omitted_bytes: Buffer.byteLength(text) };
};

/** The value in a form that RFC 8785 writes the same everywhere. Members that are `undefined` are dropped. */
export function fittingJson(value: unknown, depth = 1): Json {
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return null;
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value;
  }
  if (typeof value !== 'object') return null;
  if (depth > MAX_JSON_DEPTH) return 'nested too deeply';
  if (Array.isArray(value)) return value.map((item) => fittingJson(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [storableText(name), fittingJson(item, depth + 1)]),
  );
}

/** The canonical text of a row's sidecar. */
export function sidecarText(value: Json): string {
  try {
    return canonicalJson(value);
  } catch {
    return canonicalJson(storableJson(value));
  }
}

/** Like `fittingJson`, for sidecars, which may be nested as deeply as the request. */
const storableJson = (value: Json): Json => fittingJson(value, Number.NEGATIVE_INFINITY);

const SIDECARS = [
  ['payload_sha256', 'payload_canonical_json'],
  ['brain_evidence_sha256', 'brain_evidence_canonical_json'],
] as const;

/** Leaves out bytes that are too large; the row states their digest and size. */
function withSidecars(
  row: NewLedgerRow,
  texts: Pick<NewLedgerRow, 'payload_canonical_json' | 'brain_evidence_canonical_json'>,
): NewLedgerRow {
  let fitting = row;
  for (const [digest, bytes] of SIDECARS) {
    const text = texts[bytes];
    if (text === undefined || text === null) continue;
    // A UTF-16 code unit takes at most three bytes, so short texts need not be measured.
    const size = text.length * 3 <= MAX_SIDECAR_BYTES ? 0 : Buffer.byteLength(text);
    if (size <= MAX_SIDECAR_BYTES) fitting = { ...fitting, [bytes]: text };
    else {
      const omitted = { omitted_sha256: fitting[digest] ?? null, omitted_bytes: size };
      fitting = { ...fitting, [digest]: null, policy_decision: { ...fitting.policy_decision, [bytes]: omitted } };
    }
  }
  return fitting;
}

const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_log_request',
  'payload_commitment_invalid',
  'partial_signature',
  'signed_position_invalid',
  'ledger_entry_conflict',
  'payload_too_large',
]);

/** True when the ledger refused the row itself, so that a retry cannot succeed. After other errors, retry. */
export const isRowRefusal = (error: unknown): error is GateError =>
  error instanceof GateError && REFUSALS.has(error.code);
