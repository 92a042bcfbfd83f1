import type { Json } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';

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
    const said = new Set([...lines(decision?.['reasons']), ...lines(decision?.['review_reasons'])]);
    const spoke = new Set([...said].flatMap((line) => wordsOf(line) ?? []));
    for (const text of spoke) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

/** Which of these words a line of a verdict says; `null` for none of them. */
export function wordsIn(words: readonly string[]): (line: string) => string | null {
  const patterns = [...new Set(words)]
    .map((text) => ({ text, parts: text.split('%s') }))
    .toSorted((one, other) => literalLength(other.parts) - literalLength(one.parts));
  return (line) => patterns.find(({ parts }) => fits(line, parts))?.text ?? null;
}

const literalLength = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0);

const lines = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((line) => typeof line === 'string') : [];

/** Whether a line is these parts in their order, with anything between them. */
function fits(line: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return line === first;
  if (!line.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = line.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return line.length - last.length >= at && line.endsWith(last);
}
