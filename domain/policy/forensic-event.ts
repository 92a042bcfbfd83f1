import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';

/** Most characters of an event in a ledger row. */
const LONGEST_EVENT = 4_096;

/**
 * `gate.forensic.event` as a row stores it. Rules may put anything into it, and tool names come from callers, so an event that is too long
 * is replaced by its digest. The reasons are in the row separately.
 */
export function boundedEvent(event: JsonObject): JsonObject {
  const text = canonicalJson(event);
  return text.length <= LONGEST_EVENT ? event : { too_long: text.length, sha256: sha256Hex(text) };
}
