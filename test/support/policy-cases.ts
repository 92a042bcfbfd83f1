import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { PolicyInput } from '../../contracts/policy.js';
import { callOf, type PolicyCase, policyCases } from '../../domain/policy/policy-cases.js';

/** A call of the manual (`policies/cases`). */
export interface Case {
  readonly file: string;
  readonly description: string;
  readonly input: PolicyInput;
  /** How the operator classed its very tool. */
  readonly classed: PolicyCase['classed'];
}

/** Every case of the shipped rules as an input, but for the lists of mere names. */
export function shippedCases(): readonly Case[] {
  const folder = join(shippedPolicyDirectory(), 'cases');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && name !== 'tools-of-public-servers.yaml')
    .flatMap((file) =>
      policyCases.parse(parse(readFileSync(join(folder, file), 'utf8'))).map((one) => ({
        file,
        description: one.description,
        classed: one.classed,
        // A test classes the tool itself, under whatever name it has there.
        input: callOf({ ...one, classed: 'none' }),
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
