import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';

/** Characters of an event in a ledger row. */
const LONGEST_EVENT = 4_096;

/**
 * `gate.forensic.event` as a row keeps it: rules may put in it what they like, and tool names come from callers. One that is too long is
 * kept by its digest; reasons stand in the row besides.
 */
export function boundedEvent(event: JsonObject): JsonObject {
  const text = canonicalJson(event);
  return text.length <= LONGEST_EVENT ? event : { too_long: text.length, sha256: sha256Hex(text) };
}
