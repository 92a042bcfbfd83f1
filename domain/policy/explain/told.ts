import type { Json } from '../../../contracts/json.js';
import type { ExplainedVerdict, FactOwner } from '../../../contracts/policy-studies.js';
import { mask } from '../../masking/mask.js';
import { clipped } from '../../text.js';
import { ANOTHER } from './facts.js';

const TIER = { green: 'runs', yellow: 'waits for a person', red: 'is denied' } as const;
const WHOSE: Readonly<Record<FactOwner, string>> = {
  call: 'in the call',
  agent: 'of the agent',
  time: 'of the time',
  operator: "the operator's",
  inspection: 'as inspection found it',
};
const LONGEST_VALUE = 80;

/** The explanation in words that can be sent to whoever wrote the call. Secrets and personal data in its values are masked. */
export function toldExplanation(
  { tier, rules, policy_bundle: bundle, spoke, changes, complete, tried }: Omit<ExplainedVerdict, 'text'>,
  tool: string,
): string {
  const which =
    rules === 'then' ? 'the rules that judged it' : 'the rules of now; those that judged it are not here any more';
  const said = spoke.flatMap(({ effect, reason, rule, facts }) => [
    `- ${effect === 'denies' ? 'Denied' : 'Sent to a person'}: ${reason}`,
    ...(rule ? [`  rule ${rule.file}:${rule.line}${rule.title ? ` (${rule.title})` : ''}`] : []),
    facts.length > 0
      ? `  rests on ${facts.join(', ')}`
      : '  rests on no single fact that was tried: with any one of them changed, it is said all the same',
  ]);
  return [
    `A call of ${tool} ${TIER[tier]} by ${which} (${bundle.version}).`,
    ...(said.length > 0 ? ['', ...said] : ['', 'No rule speaks against it.']),
    '',
    ...(changes.length > 0 ? toldChanges(changes) : [nothingFound(complete)]),
    '',
    `${tried} other calls were judged to find this${complete ? '' : '; not all that are known of, there are too many'}.`,
  ].join('\n');
}

const nothingFound = (complete: boolean): string =>
  complete
    ? 'No change of one or two facts, and not all of them together, was found that alters this.'
    : 'No small change was found that alters this, but not every one was tried.';

function toldChanges(changes: ExplainedVerdict['changes']): readonly string[] {
  const size = changes[0]?.facts.length ?? 0;
  const head =
    size === 1
      ? 'It is judged otherwise with one of these changes:'
      : size === 2
        ? 'No single change alters it. It is judged otherwise with two:'
        : `Neither one nor two changes alter it. It is judged otherwise with these ${size}:`;
  return [head, ...changes.map(({ facts, tier }) => `- it ${TIER[tier]} with ${facts.map(toldChange).join(', and ')}`)];
}

function toldChange({ name, whose, from, to }: ExplainedVerdict['changes'][number]['facts'][number]): string {
  const place = `${name} (${WHOSE[whose]})`;
  if (to === undefined) return `${place} left out`;
  // One text was tried, which says nothing of a number.
  if (from === undefined) return `${place} given as ${to === ANOTHER ? 'a text' : value(name, to)}`;
  return `${place} ${to === ANOTHER ? 'another text' : value(name, to)} instead of ${value(name, from)}`;
}

/** By its name, because a name says whether its value is a secret. */
function value(name: string, of: Json): string {
  const last = name.slice(name.lastIndexOf('.') + 1);
  const text = JSON.stringify((mask({ [last]: of }) as Record<string, Json>)[last] ?? mask(of));
  return text.length <= LONGEST_VALUE ? text : `${clipped(text, LONGEST_VALUE)}…`;
}
