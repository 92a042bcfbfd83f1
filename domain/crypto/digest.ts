import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Json } from '../../contracts/json.js';

/** SHA-256 as 64 lower-case hex digits. */
export const sha256Hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Canonical JSON of RFC 8785: the same value gives the same text in every store, release and language. Feed parsed JSON only;
 * throws on what JSON cannot hold (NaN, lone surrogates, undefined).
 */
export function canonicalJson(value: Json): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}

/** The digest that binds a request, a payload or an action: `sha256:` and the hex digest of the canonical bytes. */
export const canonicalDigest = (value: Json): string => `sha256:${sha256Hex(canonicalJson(value))}`;

/**
 * A UUID that is a function of its parts: SHA-256 over the parts, each behind its length, shaped as version 4 (RFC 9562) because
 * callers require v4-shaped text. The same parts always name the same call, row or decision.
 */
export function uuidFromDigest(...parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = Buffer.from(part, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  const bytes = hash.digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
