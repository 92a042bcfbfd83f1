import { z } from 'zod';
import { type PolicyInput, policyInput, RULE_INPUT, toolClass } from '../../contracts/policy.js';
import { nearestNames } from '../nearest-names.js';
import { ORDINARY_CALL } from './ordinary-call.js';
import type { Judgement } from './policy-set.js';

/**
 * Calls, and the verdicts that they must get (policies/README.md, docs/how-to/keep-policies-in-git.md): the manual of the shipped rules, the cases
 * of a template, and those of somebody's own folder. What a call does not say is as in `ORDINARY_CALL`.
 */
const policyCase = z.strictObject({
  description: z.string(),
  /** Facts of the call. Another name is refused: the call would be judged without what its author wrote. */
  input: z.record(z.string(), z.unknown()),
  /** What is no fact that Gate tells, and what whoever asks the engine may send all the same. */
  extra: z.record(z.string(), z.unknown()).optional(),
  /** Fields of the ordinary call that this one has not. */
  without: z.array(z.string()).optional(),
  /** How the operator classed its very tool, so that other rules are tested; `none` leaves the tool to its name. */
  classed: z.union([toolClass, z.literal('none')]).default('change'),
  expected: z.strictObject({
    tier: z.enum(['green', 'yellow', 'red']),
    reasons_mention: z.array(z.coerce.string()).optional(),
    approval_tier: z.string().optional(),
    retention_class: z.string().optional(),
    unknown_tool: z.boolean().optional(),
    budget_exceeded: z.boolean().optional(),
  }),
});
export const policyCases = z.array(
  policyCase.superRefine((one, { addIssue }) => {
    for (const message of misnamedIn(one))
      addIssue({ code: 'custom', message: `${JSON.stringify(one.description)}: ${message}` });
  }),
);
export type PolicyCase = z.infer<typeof policyCase>;

/** What a case may say of its call. The engine finds the other facts of a rule's input itself, whatever a case says of them. */
const FACTS: ReadonlySet<string> = new Set(Object.keys(policyInput.shape));

/** Names that a case says something under and that no rule would read there, with the name that may be meant. */
function misnamedIn({ input, extra = {}, without = [], classed }: PolicyCase): readonly string[] {
  const meant = (name: string): string => {
    const [nearest] = nearestNames(name, FACTS);
    return nearest === undefined ? '' : `; did you mean ${nearest}?`;
  };
  return [
    ...Object.keys(input)
      .filter((name) => !FACTS.has(name))
      .map((name) => {
        if (Object.hasOwn(policyCase.shape, name)) return `${name} stands beside input, not in it`;
        if (RULE_INPUT.includes(name)) return `input.${name} is what Gate finds in the call itself`;
        return `input.${name} is no fact of a call${meant(name)}`;
      }),
    ...('tool_classes' in input && classed !== 'none' ? ['input.tool_classes counts only beside classed: none'] : []),
    ...Object.keys(extra)
      .filter((name) => RULE_INPUT.includes(name))
      .map((name) =>
        FACTS.has(name)
          ? `extra.${name} is a fact of a call; it stands in input`
          : `extra.${name} is what Gate finds in the call itself`,
      ),
    ...without
      .filter((name) => !FACTS.has(name))
      .map((name) => `without names ${name}, which is no fact of a call${meant(name)}`),
  ];
}

/** The whole call of a case, of whatever shape its author gave it. */
export function callOf({
  input,
  extra,
  without,
  classed,
}: Pick<PolicyCase, 'input' | 'extra' | 'without' | 'classed'>): PolicyInput {
  const whole: Record<string, unknown> = { ...ORDINARY_CALL, ...input, ...extra };
  const tool_classes = classed === 'none' ? {} : { tool_classes: { [String(whole['tool_type'])]: { class: classed } } };
  return Object.fromEntries(
    Object.entries({ ...whole, ...tool_classes }).filter(([field]) => !without?.includes(field)),
  ) as PolicyInput;
}

/** What a verdict says otherwise than its case; nothing where the case holds. */
export function differencesFrom(
  expected: PolicyCase['expected'],
  { decision, tier, unknownTool, budgetExceeded, failed }: Judgement,
): readonly string[] {
  const texts = [...decision.reasons, ...decision.review_reasons];
  return [
    ...differs('tier', expected.tier, tier).map((text) => (texts.length > 0 ? `${text}: ${texts.join(' ')}` : text)),
    ...differs('approval_tier', expected.approval_tier, decision.approval_tier),
    ...differs('retention_class', expected.retention_class, decision.retention_class),
    ...differs('unknown_tool', expected.unknown_tool, unknownTool),
    ...differs('budget_exceeded', expected.budget_exceeded, budgetExceeded),
    ...(expected.reasons_mention ?? [])
      .filter((mention) => !texts.some((text) => text.includes(mention)))
      .map((mention) => `no reason mentions ${JSON.stringify(mention)}`),
    ...(failed ? ['a rule failed'] : []),
  ];
}

type Said = string | boolean | null | undefined;
const differs = (what: string, expected: Said, found: Said): readonly string[] =>
  expected === undefined || expected === found ? [] : [`${what} is ${String(found)}, not ${String(expected)}`];
