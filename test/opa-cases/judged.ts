import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { type AddedRules, createAddedRules } from '../../domain/policy/added-rules.js';
import type { RegoSource } from '../../domain/policy/compiler.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { asked, bare, type OpaCase, type Placed, placed } from './suite.js';

declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

/** What became of a case. */
export type Judged = { readonly of: OpaCase } & (
  | { readonly kind: 'as_opa' }
  /** Refused when it is compiled, with OPA's words. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'other_answer'; readonly got: unknown }
  /** Could not be evaluated: a call would be denied. */
  | { readonly kind: 'failed'; readonly message: string }
);

/** Cases of one module: several compile in a second. */
const AT_ONCE = 400;
const directory = shippedPolicyDirectory();

/** Each case, compiled with others and evaluated by itself. */
export async function judged(suite: readonly OpaCase[]): Promise<readonly Judged[]> {
  const opa = await findOpa({ onProgress: () => undefined });
  const compiler = opaCompiler({ find: async () => opa, directory });
  const cases = suite.map(placed);
  const refused = await refusedBy(opa, cases);
  const results = new Map<OpaCase, Judged>(
    [...refused].map(([{ of }, message]) => [of, { of, kind: 'refused', message }]),
  );
  let left = cases.filter((one) => !refused.has(one));
  while (left.length > 0) {
    const batch = left.slice(0, AT_ONCE);
    const compiled = await compiler.compile(sourcesOf(batch));
    if (compiled.fault) {
      const at =
        compiled.fault.file === null
          ? undefined
          : batch.find(({ name }) => compiled.fault?.file?.startsWith(`${name}-`));
      if (!at) throw new Error(JSON.stringify(compiled.fault));
      results.set(at.of, { of: at.of, kind: 'refused', message: compiled.fault.message });
      left = left.filter((one) => one !== at);
      continue;
    }
    const module = await WebAssembly.compile(compiled.wasm);
    const data = Object.fromEntries(batch.map(({ name, of }) => [name, of.data ?? {}]));
    const together = rulesOf(module, data);
    for (const one of batch) {
      // An input that names the case is none.
      const rules = bare(one) ? rulesOf(module, { [one.name]: one.of.data ?? {}, asked_case: one.name }) : together;
      results.set(one.of, evaluated(rules, one));
    }
    left = left.slice(batch.length);
  }
  return suite.map((of) => results.get(of) as Judged);
}

const rulesOf = (module: object, data: object): AddedRules =>
  createAddedRules({
    module,
    data,
    bundle: { schema_version: 1, version: 'cases', hash_sha256: 'sha256:cases', policy_count: 1 },
    maxMemoryPages: 1_024,
  });

const sourcesOf = (cases: readonly Placed[]): readonly RegoSource[] => [
  ...cases.flatMap(({ name, modules, answer }) =>
    [...modules, answer].map((body, at) => ({ name: `${name}-${at}.rego`, body })),
  ),
  { name: 'asked.rego', body: asked(cases) },
];

function evaluated(rules: AddedRules, one: Placed): Judged {
  const { name, of } = one;
  let got: unknown;
  try {
    const input = { case: name, ...(of.input !== undefined && { given: of.input }) };
    // The runtime has no input where there is nothing.
    const { deny } = rules.judge(bare(one) ? (undefined as never) : input);
    got = (deny as { answer: unknown }[])[0]?.answer;
  } catch (error) {
    // What fails in OPA fails here, too.
    if (of.want_error_code || of.want_error) return { of, kind: 'as_opa' };
    return { of, kind: 'failed', message: error instanceof Error ? error.message : JSON.stringify(error) };
  }
  if (same(got, of)) return { of, kind: 'as_opa' };
  return { of, kind: 'other_answer', got };
}

function same(got: unknown, of: OpaCase): boolean {
  const rows = z.array(z.record(z.string(), z.unknown())).safeParse(got);
  if (!rows.success) return false;
  // An error of a function is an undefined answer, unless a query asks for the error.
  if (of.want_error_code || of.want_error) return of.strict_error === true && rows.data.length === 0;
  if (of.want_result)
    return (
      isDeepStrictEqual(rows.data, of.want_result) || isDeepStrictEqual(unordered(rows.data), unordered(of.want_result))
    );
  return of.want_defined === undefined || of.want_defined === null || rows.data.length > 0 === of.want_defined;
}

/** Sets come as lists in an order of their own. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) {
    const members = value.map((member) => [JSON.stringify(unordered(member)), unordered(member)] as const);
    return members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, member]) => member);
  }
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, unordered((value as Record<string, unknown>)[name])]));
}

const complaints = z.object({
  errors: z.array(z.object({ message: z.string(), location: z.object({ file: z.string() }).optional() })).min(1),
});

/** What the check of a policy refuses, all of it at once: OPA tells of a fault in one stage before it goes on to the next. */
async function refusedBy(opa: string, cases: readonly Placed[]): Promise<ReadonlyMap<Placed, string>> {
  const refused = new Map<Placed, string>();
  for (;;) {
    const folder = await mkdtemp(join(tmpdir(), 'gate-opa-cases-'));
    try {
      const left = cases.filter((one) => !refused.has(one));
      await Promise.all(
        sourcesOf(left)
          .filter(({ name }) => name !== 'asked.rego')
          .map(({ name, body }) => writeFile(join(folder, name), body)),
      );
      const said = await new Promise<string>((resolve) => {
        execFile(
          opa,
          [
            'check',
            '--max-errors',
            '100000',
            '--format',
            'json',
            '--capabilities',
            join(directory, POLICY_LAYOUT.capabilities),
            '.',
          ],
          { cwd: folder, maxBuffer: 64 * 2 ** 20 },
          (error, stdout, stderr) => resolve(error ? stdout.trim() || stderr : ''),
        );
      });
      if (said === '') return refused;
      const found = complaints.parse(JSON.parse(said)).errors;
      const before = refused.size;
      for (const { message, location } of found) {
        const name = /(case_\d+)-\d+\.rego$/.exec(location?.file ?? '')?.[1];
        const one = left.find((other) => other.name === name);
        if (one && !refused.has(one)) refused.set(one, message);
      }
      if (refused.size === before) throw new Error(said.slice(0, 2_000));
      // The last stage; what it should miss is refused when all are compiled.
      if (found.every(({ message }) => message.startsWith('undefined function'))) return refused;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
