import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { type PolicyInput, toolClass } from '../contracts/policy.js';
import { ORDINARY_CALL } from '../domain/policy/ordinary-call.js';
import type { PolicySet } from '../domain/policy/policy-set.js';

/** Calls with what is expected of each (`policies/cases`): the rules' manual. */
export const policyCases = z.array(
  z.strictObject({
    description: z.string(),
    input: z.record(z.string(), z.unknown()),
    without: z.array(z.string()).optional(),
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

/** The file with lists of mere names. */
export const NAMES_OF_SERVERS = 'tools-of-public-servers.yaml';
export const namesOfServers = z.array(
  z.strictObject({
    server: z.string(),
    runs: z.array(z.string()).default([]),
    waits: z.array(z.string()).default([]),
    denied: z.array(z.string()).default([]),
  }),
);
/** The call of a mere name: its class is what its name says. */
export const callOfName = (tool_type: string): PolicyInput =>
  ({ ...ORDINARY_CALL, arguments: { amount: 1_000 }, tool_type }) as PolicyInput;

/** The call of a case. Its tool is classed, so that other rules are tested; `classed: none` leaves the tool to its name. */
export function callOf({ input, without, classed }: PolicyCase): PolicyInput {
  const whole: Record<string, unknown> = { ...ORDINARY_CALL, ...input };
  const tool_classes = classed === 'none' ? {} : { tool_classes: { [String(whole['tool_type'])]: { class: classed } } };
  return Object.fromEntries(
    Object.entries({ ...whole, ...tool_classes }).filter(([field]) => !without?.includes(field)),
  ) as PolicyInput;
}

/** Holds rules against the cases of a policy folder: how many there are, and which are false, each in a line with what was found instead. */
export async function heldAgainstCases(
  policies: Pick<PolicySet, 'judge'>,
  directory: string,
): Promise<{ count: number; wrong: readonly string[] }> {
  const folder = join(directory, 'cases');
  const wrong: string[] = [];
  let count = 0;
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted()) {
    const written: unknown = parse(await readFile(join(folder, file), 'utf8'));
    const note = (what: string, found: readonly string[]): void => {
      count += 1;
      if (found.length > 0) wrong.push(`policies/cases/${file}: ${what}: ${found.join('; ')}`);
    };
    if (file === NAMES_OF_SERVERS)
      for (const { server, runs, waits, denied } of namesOfServers.parse(written))
        for (const [tier, names] of Object.entries({ green: runs, yellow: waits, red: denied }))
          for (const name of names)
            note(`${server}, ${name}`, differs('tier', tier, policies.judge(callOfName(name)).tier));
    else for (const one of policyCases.parse(written)) note(one.description, falseIn(policies, one));
  }
  return { count, wrong };
}

type Said = string | boolean | null | undefined;
const differs = (what: string, expected: Said, found: Said): string[] =>
  expected === undefined || expected === found ? [] : [`${what} is ${String(found)}, not ${String(expected)}`];

function falseIn(policies: Pick<PolicySet, 'judge'>, one: PolicyCase): string[] {
  const { decision, tier, unknownTool, budgetExceeded, failed } = policies.judge(callOf(one));
  const { expected } = one;
  const texts = [...decision.reasons, ...decision.review_reasons];
  return [
    ...differs('tier', expected.tier, tier),
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
