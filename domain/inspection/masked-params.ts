import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';
import { mask } from '../masking/mask.js';

/** Larger parameters are left out: they stand masked in the ledger all the same, made from the request when somebody reads them. */
const LARGEST = 65_536;
const DEEPEST = 64;

/** The parameters of a call with personal data and secrets masked, by rules alone; `undefined` where they, masked or not, are too large or nested too deeply. */
export function maskedParams(params: JsonObject): JsonObject | undefined {
  if (isDeeper(params, DEEPEST) || canonicalJson(params).length > LARGEST) return undefined;
  const masked = mask(params) as JsonObject;
  return canonicalJson(masked).length <= LARGEST ? masked : undefined;
}

/** Level by level, so that no depth overflows the stack. */
function isDeeper(value: Json, most: number): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((part) =>
      Array.isArray(part) ? part : typeof part === 'object' && part !== null ? Object.values(part) : [],
    );
  }
  return false;
}
