import type { LedgerEntry } from '../../../contracts/ledger.js';
import { wordsIn } from '../../../domain/policy/reason-words.js';
import { textsIn } from '../../../domain/texts-in.js';

/**
 * In how many verdicts each of these words was said. `%s` in them is a place for what a rule found. A line of a verdict that fits several of
 * them is of the one that says most by itself; rules that share their words share the count, because a verdict does not name the rule.
 */
export function timesSpoken(
  words: readonly string[],
  verdicts: readonly Pick<LedgerEntry, 'policy_decision'>[],
): ReadonlyMap<string, number> {
  const wordsOf = wordsIn(words);
  const counts = new Map(words.map((text) => [text, 0]));
  for (const { policy_decision: decision } of verdicts) {
    const said = new Set([...textsIn(decision?.['reasons']), ...textsIn(decision?.['review_reasons'])]);
    const spoke = new Set([...said].flatMap((line) => wordsOf(line) ?? []));
    for (const text of spoke) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}
