import type { JsonObject } from '../../../contracts/json.js';

/** The retention class that a row gives its call (docs/architecture/ledger-reads.md#retention). */
export const classIn = (decision: JsonObject | null): string | null =>
  typeof decision?.['retention_class'] === 'string' ? decision['retention_class'] : null;

/** The longer-lived of two classes: `extended` over any other, any other over `standard`. */
export function longerLived(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  if (one === 'extended' || other === 'standard') return one;
  return one === 'standard' || other === 'extended' ? other : one;
}
