import type { PolicyList } from '../../../contracts/policy.js';
import { wordsIn } from '../../../domain/policy/reason-words.js';

/** A rule by its place. */
export interface RulePlace {
  readonly name: string;
  readonly line: number;
  readonly title: string | null;
}

/** The rules of now that say what a verdict says. Several may share their words, and a verdict does not name which of them spoke. */
export function rulesThatSay({ policies }: PolicyList): (line: string) => readonly RulePlace[] {
  const all = policies
    .filter(({ active }) => active)
    .flatMap(({ name, rules }) => rules.map((rule) => ({ ...rule, name })));
  const wordsOf = wordsIn(all.flatMap(({ reason }) => reason ?? []));
  return (said) => {
    const words = wordsOf(said);
    return words === null ? [] : all.filter(({ reason }) => reason === words);
  };
}
