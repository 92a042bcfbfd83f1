import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { type PolicyInput, toolClass } from '../../contracts/policy.js';
import { ORDINARY_CALL } from '../../domain/policy/ordinary-call.js';

/** A call of the manual (`policies/cases`). */
export interface Case {
  readonly file: string;
  readonly description: string;
  readonly input: PolicyInput;
  /** How the operator classed its very tool. */
  readonly classed: z.infer<typeof toolClass> | 'none';
}

const oneCase = z.object({
  description: z.string(),
  input: z.record(z.string(), z.unknown()),
  without: z.array(z.string()).default([]),
  classed: z.union([toolClass, z.literal('none')]).default('change'),
});

/** Every case of the shipped rules as an input, but for the lists of mere names. */
export function shippedCases(): readonly Case[] {
  const folder = join(shippedPolicyDirectory(), 'cases');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && name !== 'tools-of-public-servers.yaml')
    .flatMap((file) =>
      z
        .array(oneCase)
        .parse(parse(readFileSync(join(folder, file), 'utf8')))
        .map(({ description, input, without, classed }) => ({
          file,
          description,
          classed,
          input: Object.fromEntries(
            Object.entries({ ...ORDINARY_CALL, ...input }).filter(([field]) => !without.includes(field)),
          ) as PolicyInput,
        })),
    );
}

/** The same call of a tool of another name, classed as this one is. */
export const calling = ({ input, classed }: Case, tool: string, args = input.arguments): PolicyInput => ({
  ...input,
  tool_type: tool,
  ...(args !== undefined && { arguments: args }),
  ...(classed !== 'none' && { tool_classes: { [tool]: { class: classed } } }),
});
