import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { policyInput } from '../contracts/policy.js';
import type { JsonObject } from '../contracts/json.js';
import { createLivePolicies } from '../adapters/policy/live-policies.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { openTemplates } from '../adapters/policy/template-files.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { errorText, GateError } from '../domain/errors.js';
import type { PolicyCompiler, PolicyFault, PolicyTester } from '../domain/policy/compiler.js';
import { callOf, differencesFrom, policyCases } from '../domain/policy/policy-cases.js';
import { faultIn, givenBy, readingNothing, warningsOf } from '../domain/policy/validation.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import type { AddedRules } from '../domain/policy/added-rules.js';
import { CliError } from './errors.js';

/** A policy in a folder, by the name that it has in Gate. */
export interface FolderPolicy {
  readonly name: string;
  readonly path: string;
  readonly content_type: 'rego' | 'json';
  readonly body: string;
}

export interface PolicyFolder {
  readonly policies: readonly FolderPolicy[];
  /** Files of cases (docs/how-to/keep-policies-in-git.md). */
  readonly cases: readonly string[];
  /** Files of tests in Rego. */
  readonly tests: readonly string[];
  /** Files that are none of these, by their path in the folder. */
  readonly others: readonly string[];
}

/** What a policy, a file of cases, a file of tests and a schema are named. */
const POLICY = /\.(?:rego|json)$/;
const CASES = /\.ya?ml$/;
const TESTS = /_test\.rego$/;
const SCHEMA = /\.schema\.json$/;
/** What other programs keep beside policies. */
const ELSES = /(?:^|\/)(?:package|package-lock|tsconfig)\.json$/;
const ELSES_FOLDER = /(?:^|\/)(?:\.[^/]*|node_modules)(?:\/|$)/;

/** The policies of a folder and of the folders in it, by name, and the cases and tests beside them; schemas are for readers. */
export async function readPolicyFolder(folder: string): Promise<PolicyFolder> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new CliError(`${folder} cannot be read: ${errorText(error)}`, 2);
  });
  const pathOf = (entry: Dirent): string => relative(folder, join(entry.parentPath, entry.name));
  const entries = found.filter((entry) => !ELSES_FOLDER.test(pathOf(entry)));
  const all = entries.map(pathOf).toSorted();
  const named = all.filter((path) => !ELSES.test(path));
  const folders = new Set(entries.filter((entry) => entry.isDirectory()).map(pathOf));
  const isRead = (path: string): boolean => !ELSES.test(path) && [POLICY, CASES].some((kind) => kind.test(path));
  const files = named.filter((path) => POLICY.test(path) && !TESTS.test(path) && !SCHEMA.test(path));
  const policies = await Promise.all(files.map((path) => readPolicyFile(join(folder, path))));
  policies.sort((one, other) => (one.name < other.name ? -1 : 1));
  const twice = policies.find((policy, at) => policy.name === policies[at + 1]?.name);
  if (twice) throw new CliError(`two policies are named ${twice.name}`, 2);
  const endingWith = (ending: RegExp) => named.filter((path) => ending.test(path)).map((path) => join(folder, path));
  return {
    policies,
    cases: endingWith(CASES),
    tests: endingWith(TESTS),
    others: all.filter((path) => !isRead(path) && !folders.has(path)),
  };
}

export async function readPolicyFile(path: string): Promise<FolderPolicy> {
  const name = basename(path);
  if (!POLICY.test(name)) throw new CliError(`${path} is no policy: a policy is a .rego or a .json file`, 2);
  const body = await textOf(path);
  return { name, path, content_type: name.endsWith('.rego') ? 'rego' : 'json', body };
}

/** Of a file of the folder; a folder or a dangling link with the name of one is told as what it is. */
const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(`${path} cannot be read: ${errorText(error)}`, 2);
  });

export interface FoundFault extends PolicyFault {
  readonly path: string;
}

export interface CheckedFolder {
  readonly faults: readonly FoundFault[];
  /** What is no fault and hardly what its author meant, as a fact that no call has; documents are those of the folder and of Gate. */
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
  /** What was not looked at, and why, in sentences. */
  readonly unchecked: readonly string[];
}

/** What says nothing of the policies. */
const isUnavailable = (error: unknown): error is GateError =>
  error instanceof GateError && error.code === 'policy_compiler_unavailable';

/** Faults of policies together, each found by a compilation of what is without one. */
const MOST_TOGETHER = 20;

export const faultsOf = async (
  folder: PolicyFolder,
  compiler: PolicyCompiler,
  floor: PolicySet,
): Promise<readonly FoundFault[]> => (await checkedFolder(folder, compiler, floor)).faults;

/**
 * Everything that is wrong with the files: of each by itself, and of all together that have no fault by themselves. Of rules where there is no compiler it is
 * not known, and said so.
 */
export async function checkedFolder(
  { policies }: PolicyFolder,
  compiler: PolicyCompiler,
  floor: PolicySet,
): Promise<CheckedFolder> {
  const shipped = new Set(floor.files.map(({ name }) => name));
  const faults: FoundFault[] = [];
  const warnings: { path: string; message: string }[] = [];
  const { gate } = floor.material.data;
  const templates = openTemplates();
  const given = givenBy(gate, templates, new Set(policies.map(({ name }) => name)));
  const unread: string[] = [];
  let missing: string | null = null;
  let sound: FolderPolicy[] = [];
  const looked: { policy: FolderPolicy; checked: Awaited<ReturnType<typeof faultIn>> }[] = [];
  for (const policy of policies) {
    const isRule = policy.content_type === 'rego';
    if (isRule && missing !== null) {
      unread.push(policy.name);
      continue;
    }
    try {
      const checked: Awaited<ReturnType<typeof faultIn>> = shipped.has(policy.name)
        ? { fault: { message: 'one of the rules that ship has this name', file: null, line: null, column: null } }
        : await faultIn(policy, compiler, gate, templates);
      if (checked.fault) faults.push({ ...checked.fault, path: policy.path });
      else if (isRule) sound.push(policy);
      looked.push({ policy, checked });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      missing = error.message;
      unread.push(policy.name);
    }
  }
  // A rule may be there for one of another file; whether it is, nobody knows where one of them could not be read.
  const rules = policies.filter(({ content_type: type }) => type === 'rego');
  const used = looked.flatMap(({ checked }) => (checked.names ? [checked.names] : []));
  const names = used.length === rules.length ? new Set(used.flat()) : null;
  for (const { policy, checked } of looked)
    for (const message of warningsOf(policy, checked, await readingNothing(checked.reads ?? [], given), names))
      warnings.push({ path: policy.path, message });
  if (missing !== null) {
    const what = `${unread.join(', ')}, and whether the rules of the folder can be in force together`;
    return { faults, warnings, unchecked: [`${what}: ${missing}`] };
  }
  // The compiler names one file at a time; without it the others are asked about.
  for (let round = 0; sound.length > 0; round += 1) {
    if (round === MOST_TOGETHER)
      return { faults, warnings, unchecked: ['whether the rest can be in force together: mend these first'] };
    const compiled = await compiler.compile(sound).catch((error: unknown) => {
      if (isUnavailable(error)) return { unavailable: error.message };
      throw error;
    });
    if ('unavailable' in compiled)
      return { faults, warnings, unchecked: [`whether they can be in force together: ${compiled.unavailable}`] };
    const { fault } = compiled;
    if (!fault) break;
    const file = sound.find(({ name }) => name === fault.file);
    faults.push({ ...fault, path: file?.path ?? '' });
    if (!file) break;
    sound = sound.filter((policy) => policy !== file);
  }
  return { faults, warnings, unchecked: [] };
}

export interface CaseResult {
  /** With the line of a test in Rego. */
  readonly file: string;
  readonly description: string;
  /** A test in Rego that its author put off. */
  readonly skipped?: boolean;
  /** Null for a case that holds. */
  readonly fault: string | null;
}

/** The floor that this Gate has, and the rules of the folder beside it, as a process judges by them. */
export async function rulesOf(
  { policies }: PolicyFolder,
  compiler: PolicyCompiler,
  floor: PolicySet,
): Promise<AddedRules | null> {
  const rules = policies.filter(({ content_type: type }) => type === 'rego');
  if (rules.length === 0) return null;
  const compiled = await compiler.compile(rules);
  if (compiled.fault) throw new CliError(compiled.fault.message);
  return createLivePolicies({ floor, store: NOTHING_STORED }).tried(compiled.wasm, documentsOf(policies), []);
}
const documentsOf = (policies: readonly FolderPolicy[]): JsonObject =>
  Object.fromEntries(
    policies
      .filter(({ content_type: type }) => type === 'json')
      .map(({ name, body }) => [name.slice(0, -'.json'.length), JSON.parse(body) as JsonObject]),
  );
const NOTHING_STORED = {
  mark: () => Promise.resolve(null),
  sets: () => Promise.resolve({ generation: 0, sets: [], unreadable: [], tampered: null, madeUp: null }),
  module: () => Promise.resolve(null),
  pastSet: () => Promise.resolve(null),
};

function yamlIn(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    // What follows the first line is the text of the file.
    throw new CliError(`${file} is no file of cases: ${errorText(error).split('\n')[0]}`, 2);
  }
}

/** Each case judged by the floor and these rules. */
export async function casesOf(
  { cases }: PolicyFolder,
  floor: PolicySet,
  added: AddedRules | null,
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const file of cases) {
    const read = policyCases.safeParse(yamlIn(file, await textOf(file)));
    if (!read.success) throw new CliError(`${file} is no file of cases: ${z.prettifyError(read.error)}`, 2);
    for (const one of read.data) {
      const { description, expected } = one;
      const call = policyInput.safeParse(callOf(one));
      const differences = call.success
        ? differencesFrom(expected, floor.judge(call.data, undefined, added))
        : [z.prettifyError(call.error)];
      results.push({ file, description, fault: differences.length > 0 ? differences.join('; ') : null });
    }
  }
  return results;
}

/** What came of a folder's tests in Rego, and what is wrong with the files that no test tells. */
export interface TestedFolder {
  readonly tests: readonly CaseResult[];
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
}

/** Each test in Rego of the folder's rules, beside its documents and the data of the floor. */
export async function testsOf(
  { policies, tests: paths }: PolicyFolder,
  tester: PolicyTester,
  floor: PolicySet,
): Promise<TestedFolder> {
  if (paths.length === 0) return { tests: [], warnings: [] };
  const tests = await Promise.all(paths.map(async (path) => ({ name: path, body: await textOf(path) })));
  const sources = policies
    .filter(({ content_type: type }) => type === 'rego')
    .map(({ path, body }) => ({ name: path, body }));
  const data = { ...floor.material.data.gate, ...documentsOf(policies) };
  const tested = await tester.test({ sources, tests, data });
  const placeOf = ({ file, line }: { readonly file: string | null; readonly line: number | null }): string =>
    [file, line].filter((part) => part !== null).join(':');
  if (tested.fault) throw new CliError([placeOf(tested.fault), tested.fault.message].filter((part) => part).join(': '));
  return {
    tests: tested.tests.map(({ name, fault, skipped, ...place }) => ({
      file: placeOf(place),
      description: name,
      fault,
      skipped,
    })),
    warnings: tested.idle.map(({ file, rule }) => ({
      path: file,
      message: rule
        ? `line ${rule.line} defines ${rule.name}, which is no test (test_...) and which no test uses`
        : 'no rule stands in it',
    })),
  };
}

export const shippedFloor = (): Promise<PolicySet> => loadPolicySet({ directory: shippedPolicyDirectory() });
