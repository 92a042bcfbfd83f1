import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Json } from '../../contracts/json.js';

/** SHA-256 as 64 lower-case hex digits. */
export const sha256Hex = (bytes: string | Uint8Array): string => hash('sha256', bytes, 'hex');

/**
 * Canonical JSON of RFC 8785: the same value gives the same text in every store, release and language. Pass parsed JSON only. Throws on
 * values that JSON cannot represent (NaN, lone surrogates, undefined).
 */
export function canonicalJson(value: Json): string {
  const text = written(value) ?? canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}

const kept = new WeakMap<object, string>();

/**
 * Writes an object once; later canonical texts that contain this very object reuse its text. Use it only for objects that no longer change,
 * such as a request after it was read. Call it for the inner objects first. What is no plain JSON is not kept.
 */
export function keepCanonical(value: object): void {
  const text = written(value);
  if (text !== null) kept.set(value, text);
}

/** The canonical text of a value where it is plain JSON, made of what was kept of its parts; `null` where only the library could say. */
export const knownText = (value: object): string | null => written(value);

/** Texts whose JSON form is the text itself between quotes. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const quoted = (text: string): string | null =>
  PLAIN.test(text) ? `"${text}"` : text.isWellFormed() ? JSON.stringify(text) : null;

/**
 * Writes the same text as the library, twice as fast: keys in the order of RFC 8785, section 3.2.3, and strings and numbers as ECMAScript
 * writes them, as the RFC demands. Null for anything that is not plain JSON, which is left to the library. A test compares the two.
 */
function written(value: unknown): string | null {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : null;
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'object') return null;
  const known = kept.get(value);
  if (known !== undefined) return known;
  if ('toJSON' in value) return null;
  let text = '';
  if (Array.isArray(value)) {
    for (const member of value) {
      const item = written(member);
      if (item === null) return null;
      text += text === '' ? item : `,${item}`;
    }
    return `[${text}]`;
  }
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    const key = quoted(name);
    const item = written(member);
    if (key === null || item === null) return null;
    text += text === '' ? `${key}:${item}` : `,${key}:${item}`;
  }
  return `{${text}}`;
}

/** `sha256:` followed by the hex digest. */
export const digestOf = (bytes: string | Uint8Array): string => `sha256:${sha256Hex(bytes)}`;

/** The digest that binds a request, a payload or an action: that of the canonical bytes. */
export const canonicalDigest = (value: Json): string => digestOf(canonicalJson(value));

/**
 * A UUID computed from its parts: SHA-256 over the parts, each preceded by its length, shaped as version 4 (RFC 9562) because callers
 * require v4 text. The same parts always give the same id of a call, row or decision.
 */
export function uuidFromDigest(...parts: readonly string[]): string {
  const framed = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + 4 + Buffer.byteLength(part), 0));
  let at = 0;
  for (const part of parts) {
    const length = framed.write(part, at + 4);
    framed.writeUInt32BE(length, at);
    at += 4 + length;
  }
  const bytes = hash('sha256', framed, 'buffer').subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
