import type { JsonObject } from '../../../contracts/json.js';

/** The class a row says its call is kept by (docs/architecture/ledger-reads.md#retention). */
export const classIn = (decision: JsonObject | null): string | null =>
  typeof decision?.['retention_class'] === 'string' ? decision['retention_class'] : null;

/** The class of a call that was given two: `extended` before any other, `standard` after any other. */
export function longerLived(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  if (one === 'extended' || other === 'standard') return one;
  return one === 'standard' || other === 'extended' ? other : one;
}
