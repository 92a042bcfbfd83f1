import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';
import { foreignText } from '../text.js';

const MAX_BYTES = 4096;
const MAX_NAME = 64;
const SECRET_LIKE = /secret|token|passw|api[-_]?key|private|credential|authorization|cookie|session/i;

/**
 * The part of a request that may outlive the request (profile `hil-request-v1`, docs/architecture/reviews.md#payload-and-retention):
 * method, tool, the names of its arguments and the digest of the whole; never a value. At most 4096 bytes; names that do not fit are
 * counted.
 */
export function minimizePayload(payload: JsonObject, digest: string): JsonObject {
  const params = objectOr(payload['params'], {});
  const names = Object.keys(objectOr(params['arguments'], {})).map(nameOnly);
  let kept = names.length;
  for (;;) {
    const minimized: JsonObject = {
      jsonrpc: text(payload['jsonrpc']),
      method: text(payload['method']),
      params: { name: text(params['name']), arguments: { keys: names.slice(0, kept) } },
      canonical_payload_sha256: digest,
      ...(kept < names.length && { keys_omitted: names.length - kept }),
    };
    if (kept === 0 || Buffer.byteLength(canonicalJson(minimized)) <= MAX_BYTES) return minimized;
    kept >>= 1;
  }
}

const objectOr = (value: Json | undefined, otherwise: JsonObject): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : otherwise;

/** Does not cut a surrogate pair in half, because that would have no canonical form. */
const cut = (name: string): string => (name.length <= MAX_NAME ? name : `${foreignText(name, MAX_NAME)}…`);
const text = (value: Json | undefined): string | null => (typeof value === 'string' ? cut(value) : null);
const nameOnly = (name: string): string => (SECRET_LIKE.test(name) ? '[redacted]' : cut(name));
