import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { PolicyInput } from '../contracts/policy.js';
import { ORDINARY_CALL } from '../domain/policy/ordinary-call.js';
import { callOf, differencesFrom, policyCases } from '../domain/policy/policy-cases.js';
import type { PolicySet } from '../domain/policy/policy-set.js';

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
        for (const [tier, names] of [
          ['green', runs],
          ['yellow', waits],
          ['red', denied],
        ] as const)
          for (const name of names)
            note(`${server}, ${name}`, differencesFrom({ tier }, policies.judge(callOfName(name))));
    else
      for (const one of policyCases.parse(written))
        note(one.description, differencesFrom(one.expected, policies.judge(callOf(one))));
  }
  return { count, wrong };
}
