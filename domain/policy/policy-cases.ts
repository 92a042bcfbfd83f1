import { z } from 'zod';
import { type PolicyInput, toolClass } from '../../contracts/policy.js';
import { ORDINARY_CALL } from './ordinary-call.js';
import type { Judgement } from './policy-set.js';

/**
 * Calls, and the verdicts that they must get (policies/README.md, docs/how-to/keep-policies-in-git.md): the manual of the shipped rules, the cases
 * of a template, and those of somebody's own folder. What a call does not say is as in `ORDINARY_CALL`.
 */
export const policyCases = z.array(
  z.strictObject({
    description: z.string(),
    input: z.record(z.string(), z.unknown()),
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
  }),
);
export type PolicyCase = z.infer<typeof policyCases>[number];

/** The whole call of a case, of whatever shape its author gave it. */
export function callOf({ input, without, classed }: Pick<PolicyCase, 'input' | 'without' | 'classed'>): PolicyInput {
  const whole: Record<string, unknown> = { ...ORDINARY_CALL, ...input };
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
