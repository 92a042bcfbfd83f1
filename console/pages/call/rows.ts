import type { Json } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { modificationDiff } from '../../../contracts/review.js';
import { textsIn } from '../../../domain/texts-in.js';

/** How much of a request, and of a row, the page of a call shows. */
export const MOST_CHARACTERS = 100_000;

export const newest = (rows: readonly LedgerEntry[], ...kinds: readonly string[]): LedgerEntry | undefined =>
  rows.findLast((row) => kinds.includes(row.event_kind ?? ''));

export const textOf = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'none';

/** What policy said of a call, and of what an approver made of it. */
export const spokenIn = (rows: readonly LedgerEntry[]): readonly string[] => [
  ...new Set(
    ['proxy.verdict', 'policy.evaluated', 'hil.modified'].flatMap((kind) => {
      const decision = newest(rows, kind)?.policy_decision;
      return [...textsIn(decision?.['reasons']), ...textsIn(decision?.['review_reasons'])];
    }),
  ),
];

/** What an approver put in the place of what the agent sent, as the ledger has it; `null` where nobody did. */
export function changedIn(rows: readonly LedgerEntry[]) {
  const row = newest(rows, 'hil.modified');
  if (!row) return null;
  const diff = modificationDiff.safeParse(row.policy_decision?.['modification_diff']);
  return { row, replacements: diff.success ? diff.data.replacements : [] };
}
