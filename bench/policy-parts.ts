import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { opaCompiler } from '../adapters/policy/opa-compiler.js';
import { openPolicyStore } from '../adapters/policy/policy-store.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { callOf } from '../domain/policy/policy-cases.js';
import type { Ledger } from '../contracts/ledger.js';
import { toolClass } from '../contracts/policy.js';
import type { PolicyCompiler } from '../domain/policy/compiler.js';
import type { Template } from '../domain/policy/templates.js';
import { findOpa } from '../stack/programs/find-program.js';
import { POLICY_KEYS } from '../test/support/policy-keys.js';

export const benchCompiler = (): PolicyCompiler =>
  opaCompiler({
    find: () => findOpa({ onProgress: () => undefined }),
    directory: shippedPolicyDirectory(),
    // What is measured is not how long OPA takes on a busy machine.
    limits: { timeMs: 180_000 },
  });

export const policyStoreOf = (file: string) => openPolicyStore({ file }, POLICY_KEYS);

/** The ledger is measured elsewhere. */
export const NO_LEDGER: Ledger = {
  append: async (rows) =>
    rows.map(({ id }) => ({ status: 'created', id: id ?? '', seq: 1, entry_hash: '', chain_version: 1 })),
};

/** For rules that are compiled here and stored nowhere. */
export const NOTHING_STORED = {
  mark: async () => null,
  sets: async () => ({ generation: 0, sets: [], unreadable: [], tampered: null, madeUp: null }),
  module: async () => null,
  pastSet: async () => null,
};

/** So many policies as people have them: the templates that ship, then the same ones under other names. */
export async function policiesOf(count: number): Promise<readonly Template[]> {
  const catalogue = openTemplates();
  const shipped: Template[] = [];
  for (const { name } of await catalogue.list()) {
    const template = await catalogue.read(name);
    if (template) shipped.push(template);
  }
  return Array.from({ length: count }, (_, at) => {
    const template = shipped[at % shipped.length] as Template;
    const copy = Math.floor(at / shipped.length);
    if (copy === 0) return template;
    const mount = template.facts.name.replace(/\.rego$/, '');
    const body = template.body.replaceAll(mount, `${mount}_${copy}`);
    return { ...template, facts: { ...template.facts, name: `${mount}_${copy}.rego` }, body };
  });
}

/** Calls of the cases in these files, as they come over the wire. */
export function callsIn(paths: readonly string[]): readonly string[] {
  const cases = z.array(z.looseObject({ input: z.record(z.string(), z.unknown()), classed: policyClass.optional() }));
  return paths.flatMap((path) =>
    cases
      .parse(parse(readFileSync(path, 'utf8')))
      .map(({ input, classed = 'change' }) => JSON.stringify(callOf({ input, classed }))),
  );
}
const policyClass = z.union([toolClass, z.literal('none')]);

const CASES = join(shippedPolicyDirectory(), 'cases');
/** Work that the rules that ship let through. */
export const ORDINARY_CASES: readonly string[] = [join(CASES, 'ordinary-work.yaml')];
/** Every case of the rules that ship: also long statements, shell scripts and whatever else their authors found hard. */
export const SHIPPED_CASES: readonly string[] = readdirSync(CASES)
  .filter((name) => name !== 'tools-of-public-servers.yaml')
  .map((name) => join(CASES, name));
/** Calls that templates are about, and their nearest neighbours. */
export function templateCases(): readonly string[] {
  const folder = join(shippedPolicyDirectory(), POLICY_LAYOUT.templates);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => join(folder, path));
}
