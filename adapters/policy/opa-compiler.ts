import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { canonicalDigest, sha256Hex } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import {
  ADDED_PACKAGE,
  type Checked,
  type Compiled,
  FLOOR_RULES,
  type IdleRule,
  type PolicyCompiler,
  type PolicyFault,
  type PolicyTester,
  type RegoSource,
  type RegoTest,
  type Tested,
} from '../../domain/policy/compiler.js';
import { ADDED_ENTRYPOINT, WATCHED_ENTRYPOINT } from '../../domain/policy/policy-files.js';
import { POLICY_LAYOUT } from './policy-sources.js';
import type { ReadTree } from './syntax-tree.js';
import { treeIn } from './syntax-tree-in-thread.js';
import { fileInTar } from './tar-file.js';

export interface OpaCompilerOptions {
  /** The path of the OPA program; null where there is none. */
  readonly find: () => Promise<string | null>;
  /** A policy folder: its file of functions that rules may use, and the rules that they share (`gate/lib`). */
  readonly directory: string;
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>>;
  /** Where the folder of each question is made. */
  readonly temporary?: string;
}

const LIMITS = {
  /** One run; 300 rules compile in less than two seconds. */
  timeMs: 20_000,
  /** All tests of a folder. */
  testsMs: 120_000,
  /** Address space of one run, in KiB. OPA itself reserves about one GiB. */
  memoryKib: 3 * 1_024 * 1_024,
  /** What one run may say. A file of one MiB has a syntax tree of about 60. */
  outputBytes: 128 * 1_024 * 1_024,
  /** Requests that may wait for their turn. */
  waiting: 16,
} as const;

/**
 * OPA collects garbage when its heap has grown five-fold, not two-fold: with Go's own setting collecting takes up to half of the CPU of a run.
 * Near a limit of memory (`GOMEMLIMIT`) it collects all the same.
 */
export const OPA_MEMORY = { GOGC: '400' } as const;

/** The sets exist even where no file adds to them. */
const NOTHING_ADDED = `package ${ADDED_PACKAGE}

import rego.v1

deny contains "" if false

review contains "" if false

watches contains "" if false
`;
const ENTRY = `package gate.entrypoint

import rego.v1

# METADATA
# entrypoint: true
added := {"deny": data.${ADDED_PACKAGE}.deny, "review": data.${ADDED_PACKAGE}.review}

# METADATA
# entrypoint: true
watched := {name: true | some name in data.${ADDED_PACKAGE}.watches}
`;

const location = z.object({ file: z.string(), row: z.int(), col: z.int() });
const complaints = z.object({
  errors: z.array(z.object({ message: z.string(), location: location.optional() })).min(1),
});
/** Notes at a text, as OPA reads them of its comments (`# METADATA`). Schemas are what it would open. */
const notes = z.object({ schemas: z.array(z.unknown()).default([]) });

const unavailable = (message: string, cause?: unknown): GateError =>
  new GateError('policy_compiler_unavailable', message, { cause });
/** The folder for temporary files is full, missing or not Gate's to write to. */
const isOfFiles = (error: unknown): boolean => typeof error === 'object' && error !== null && 'syscall' in error;
/** What others send; any other signal is a fault of the program itself. */
const FROM_OUTSIDE: ReadonlySet<string> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);
/** Throws where OPA did not write the bundle whole. */
function wasmIn(bundle: Buffer): Buffer {
  try {
    return fileInTar(gunzipSync(bundle), '/policy.wasm');
  } catch (error) {
    throw unavailable(`the bundle that OPA wrote cannot be read: ${errorText(error)}`, error);
  }
}
const NO_SPACE = ['no space left on device', 'disk quota exceeded'];

interface Run {
  readonly bytes: Buffer;
  /** The same as text. */
  readonly stdout: string;
  readonly stderr: string;
  /** What ended it other than its own end. */
  readonly cut: string | null;
  readonly code: number;
}

/**
 * OPA in a process of its own per question: with the functions of the wasm runtime only, no environment, a folder that is deleted, and bounds
 * on time, memory (on Linux) and output. It types no text with schemas, whose references it follows to any address and file. One at a time,
 * since a compiler takes a processor.
 */
export function opaCompiler({
  find,
  directory,
  limits: given = {},
  temporary = tmpdir(),
}: OpaCompilerOptions): PolicyCompiler & PolicyTester {
  const limits = { ...LIMITS, ...given };
  const allowed = join(directory, POLICY_LAYOUT.capabilities);
  let library: Promise<readonly RegoSource[]> | undefined;
  const libraryFiles = (): Promise<readonly RegoSource[]> =>
    (library ??= readLibrary(join(directory, POLICY_LAYOUT.library)).catch((error: unknown) => {
      library = undefined;
      throw error;
    }));
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (waiting >= limits.waiting) throw unavailable('too many policies wait to be compiled; try again later');
    waiting += 1;
    const turn = last.then(work);
    last = turn.catch(() => undefined).finally(() => (waiting -= 1));
    return turn;
  }
  async function opa(folder: string, args: readonly string[], timeMs = limits.timeMs): Promise<Run> {
    const program = await find().catch((error: unknown) => {
      throw unavailable(errorText(error), error);
    });
    if (program === null) throw unavailable('there is no OPA program here; install it and set GATE_OPA_BIN');
    return new Promise((resolve, reject) => {
      execFile(
        '/bin/sh',
        ['-c', `ulimit -v ${limits.memoryKib} 2>/dev/null; exec "$0" "$@"`, program, ...args],
        {
          cwd: folder,
          env: { ...OPA_MEMORY, GOMEMLIMIT: `${Math.floor(limits.memoryKib / 2)}KiB`, GOMAXPROCS: '2' },
          timeout: timeMs,
          killSignal: 'SIGKILL',
          maxBuffer: limits.outputBytes,
          encoding: 'buffer',
        },
        (error, bytes, said) => {
          const stderr = said.toString();
          const ended = (code: number, cut: string | null): void =>
            resolve({
              bytes,
              get stdout() {
                return bytes.toString();
              },
              stderr,
              code,
              cut,
            });
          const { code, killed, signal } = (error ?? {}) as {
            code?: unknown;
            killed?: boolean;
            signal?: string | null;
          };
          if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return ended(1, 'it is too large to be compiled');
          if (killed) return ended(1, `it takes longer than ${timeMs} ms`);
          // Whoever ended it, most often the kernel for lack of memory, says nothing of the policy.
          if (signal && FROM_OUTSIDE.has(signal))
            return reject(unavailable(`OPA was ended by ${signal}, as for lack of memory; try again`, error));
          // It ended by itself, and does so each time.
          if (signal) return ended(1, `OPA fails at it (${signal})`);
          if (typeof code === 'string') return reject(unavailable(`OPA does not run: ${code}`, error));
          ended(error ? Number(code ?? 1) : 0, null);
        },
      );
    });
  }
  /** Files have numbers for names, so that no name reaches the file system or an option of the program. */
  const inFolder = <Result>(
    sources: readonly RegoSource[],
    work: (folder: string) => Promise<Result>,
  ): Promise<Result> =>
    inTurn(async () => {
      const folder = await mkdtemp(join(temporary, 'gate-policy-'));
      try {
        await Promise.all([
          ...sources.map(({ body }, at) => writeFile(join(folder, `${at}.rego`), body)),
          ...(await libraryFiles()).map(({ name, body }) => writeFile(join(folder, `lib-${name}`), body)),
        ]);
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }).catch((error: unknown) => {
      throw isOfFiles(error) ? unavailable(`the files to compile: ${errorText(error)}`, error) : error;
    });
  const faultOf = (run: Run, sources: readonly RegoSource[]): PolicyFault => {
    if (run.cut !== null) return { message: run.cut, file: null, line: null, column: null };
    const [said] = complaintsIn(run);
    if (!said) return { message: firstLine(run), file: null, line: null, column: null };
    const [, number] = NO_JSON_NUMBER.exec(said.message) ?? [];
    if (number !== undefined) return numberFault(number, sources);
    const { location: at } = said;
    const place = at && /^(\d{1,6})(?:_test)?\.rego$/.exec(at.file.slice(at.file.lastIndexOf('/') + 1));
    return {
      message: said.message.slice(0, 1_000),
      file: place ? (sources[Number(place[1])]?.name ?? null) : null,
      line: place && at ? Math.max(1, at.row) : null,
      column: place && at ? Math.max(1, at.col) : null,
    };
  };
  const rulesOnly = ['--capabilities', allowed];
  /** What the syntax tree of a file says, or what is wrong with the file, which has this name to people. */
  async function treeOf(folder: string, file: string, source: RegoSource): Promise<ReadTree | PolicyFault> {
    const run = await opa(folder, ['parse', '--format', 'json', '--json-include', 'locations', file]);
    if (run.code !== 0) return { ...faultOf(run, [source]), file: source.name };
    const read = await treeIn(run.bytes);
    return 'unreadable' in read ? { message: read.unreadable, file: source.name, line: null, column: null } : read;
  }
  /**
   * Schemas in notes: OPA opens what they refer to while it checks types, so it is asked for them before it checks, and as it reads them, since
   * they are YAML and have many spellings. Nothing is typed where it cannot say.
   */
  async function schemaIn(
    folder: string,
    sources: readonly RegoSource[],
    tests: readonly RegoSource[] = [],
  ): Promise<PolicyFault | null> {
    const files = [
      ...sources.map((source, at) => ({ ...source, file: `${at}.rego` })),
      ...tests.map((source, at) => ({ ...source, file: `${at}_test.rego` })),
    ].filter(({ body }) => body.includes(NOTE));
    if (files.length === 0) return null;
    const inspected = await opa(folder, ['inspect', '--annotations', '--format', 'json', '.']);
    if (inspected.cut !== null) return faultOf(inspected, sources);
    // It says nothing of texts that do not go together; each of them says it of itself.
    const annotated = inspected.code === 0 ? filesWithSchemas(inspected.stdout) : null;
    for (const { file, name, body } of files) {
      if (annotated && !annotated.has(file)) continue;
      const read = await treeOf(folder, file, { name, body });
      if ('message' in read) return read;
      const fault = schemaFault(read, name);
      if (fault) return fault;
    }
    if (annotated && annotated.size > 0) return { message: NO_SCHEMAS, file: null, line: null, column: null };
    return null;
  }
  /**
   * A rule that two files give a value, which OPA compiles: a call for which the two differ could not be judged, and for one that either holds
   * both would. Sets that files add to, as `deny`, are none. OPA reads the names, because a rule may stand anywhere in a line: all files in one
   * run, which takes a second for half a megabyte.
   */
  async function definedTwice(folder: string, sources: readonly RegoSource[]): Promise<PolicyFault | null> {
    if (sources.length < 2) return null;
    const asked = join(folder, 'asked');
    await mkdir(asked);
    await Promise.all([
      writeFile(join(asked, 'values.rego'), VALUES),
      writeFile(join(asked, 'input.json'), JSON.stringify(sources.map(({ body }) => body))),
    ]);
    const run = await opa(asked, [...EVALUATED, '--data', 'values.rego', '--input', 'input.json', 'data.values.names']);
    // What is compiled is the folder.
    await rm(asked, { recursive: true });
    if (run.code !== 0) return faultOf(run, sources);
    const seen = new Map<string, string>();
    const [{ value: named }] = namesOfFiles.parse(JSON.parse(run.stdout)).result[0].expressions;
    for (const [at, { name: file }] of sources.entries()) {
      for (const full of named[at] ?? []) {
        const other = seen.get(full);
        if (other !== undefined && other !== file) {
          const name = full.slice(full.lastIndexOf('.') + 1);
          const read = await treeOf(folder, `${at}.rego`, sources[at] as RegoSource);
          if ('message' in read) return read;
          const first = read.heads.find((head) => head.name === name && head.value);
          const { line, column } = first ?? { line: 1, column: 1 };
          return {
            message: `${name} is defined in ${other} as well; give it another name: all policies are one package`,
            file,
            line,
            column,
          };
        }
        seen.set(full, file);
      }
    }
    return null;
  }
  /** Of tests that OPA has read; null for one that has no syntax tree in JSON. */
  async function treesOf(folder: string, tests: readonly RegoSource[]): Promise<readonly (ReadTree | null)[]> {
    const trees: (ReadTree | null)[] = [];
    for (const [at, test] of tests.entries()) {
      const read = await treeOf(folder, `${at}_test.rego`, test);
      trees.push('message' in read ? null : read);
    }
    return trees;
  }

  return {
    check: (source) =>
      inFolder([source], async (folder): Promise<Checked> => {
        const read = await treeOf(folder, '0.rego', source);
        if ('message' in read) return { fault: read };
        const misplaced = misplacedIn(read, source.name) ?? schemaFault(read, source.name);
        if (misplaced) return { fault: misplaced };
        const checked = await opa(folder, ['check', '--strict', '--format', 'json', ...rulesOnly, '.']);
        if (checked.code !== 0) return { fault: faultOf(checked, [source]) };
        const formatted = await opa(folder, ['fmt', '0.rego']);
        if (formatted.code !== 0) return { fault: faultOf(formatted, [source]) };
        const { reads, inputs, rules, names } = read;
        return { fault: null, formatted: formatted.stdout, reads, inputs, rules, names };
      }),
    reads: (source) =>
      inFolder([source], async (folder) => {
        const read = await treeOf(folder, '0.rego', source);
        // No text that was stored; there is nothing to say of it.
        return 'message' in read ? [] : read.reads;
      }),
    compile: (sources) =>
      inFolder(sources, async (folder): Promise<Compiled> => {
        await writeFile(join(folder, 'nothing-added.rego'), NOTHING_ADDED);
        await writeFile(join(folder, 'entry.rego'), ENTRY);
        const schema = await schemaIn(folder, sources);
        if (schema) return { fault: schema };
        const checked = await opa(folder, ['check', '--format', 'json', ...rulesOnly, '.']);
        if (checked.code !== 0) return { fault: faultOf(checked, sources) };
        const twice = await definedTwice(folder, sources);
        if (twice) return { fault: twice };
        const entries = [ADDED_ENTRYPOINT, WATCHED_ENTRYPOINT].flatMap((entry) => ['--entrypoint', entry]);
        const target = ['--target', 'wasm', ...entries, '--output', 'bundle.tar.gz'];
        const built = await opa(folder, ['build', ...target, ...rulesOnly, '.']);
        // The sources were written before; what OPA makes of them is larger.
        if (built.code !== 0 && NO_SPACE.some((why) => built.stderr.includes(why))) throw unavailable(firstLine(built));
        if (built.code !== 0) return { fault: faultOf(built, sources) };
        return { fault: null, wasm: wasmIn(await readFile(join(folder, 'bundle.tar.gz'))) };
      }),
    test: ({ sources, tests, data }) =>
      inFolder(sources, async (folder): Promise<Tested> => {
        const known = await opa(folder, ['capabilities', '--current']);
        if (known.code !== 0) return { fault: faultOf(known, []) };
        // What somebody proposes is tested on machines that may reach what he may not.
        const { builtins, ...rest } = capabilities.parse(JSON.parse(known.stdout));
        const offline = { ...rest, builtins: builtins.filter(({ name }) => !REACHES_OUT.has(name)), allow_net: [] };
        // What tests of templates share; a folder of templates that were copied may have it too.
        const shared = tests.some(({ body }) => TEMPLATES_SHARE.test(body))
          ? ''
          : await readFile(join(directory, POLICY_LAYOUT.templates, 'fixtures_test.rego'), 'utf8');
        await Promise.all([
          writeFile(join(folder, 'nothing-added.rego'), NOTHING_ADDED),
          ...(shared === '' ? [] : [writeFile(join(folder, 'lib-fixtures.rego'), shared)]),
          ...tests.map(({ body }, at) => writeFile(join(folder, `${at}_test.rego`), body)),
        ]);
        const schema = await schemaIn(folder, sources, tests);
        if (schema) return { fault: schema };
        await Promise.all([
          writeFile(join(folder, 'data.json'), JSON.stringify({ gate: data })),
          writeFile(join(folder, 'offline.capabilities'), JSON.stringify(offline)),
        ]);
        const asked = ['test', '--format', 'json', '--capabilities', 'offline.capabilities', '.'];
        const run = await opa(folder, asked, limits.testsMs);
        const fileOf = (file: string): string | null => {
          const [, at, isTest] = NUMBERED.exec(file) ?? [];
          return at === undefined ? null : ((isTest ? tests : sources)[Number(at)]?.name ?? null);
        };
        const found = run.cut === null ? testResults(run.stdout) : null;
        if (found === null) {
          const [, file = '', line] = PLACED.exec(run.stdout) ?? PLACED.exec(run.stderr) ?? [];
          const placed = { file: fileOf(file), line: line === undefined ? null : Number(line), column: null };
          const said = run.stdout.trim() || run.stderr.trim();
          return {
            fault: { message: run.cut ?? (PLACED.exec(said)?.[3] ?? firstLine(run)).slice(0, 1_000), ...placed },
          };
        }
        return {
          fault: null,
          idle: idleIn(tests, await treesOf(folder, tests)),
          tests: inOrder(found).map(
            ({ name, location: at, fail = false, error, skip = false }): RegoTest => ({
              name,
              file: at ? fileOf(at.file) : null,
              line: at?.row ?? null,
              fault: error ? `fails: ${error.message ?? 'it cannot be evaluated'}` : fail ? 'does not hold' : null,
              skipped: skip,
            }),
          ),
        };
      }),
    shared: async () =>
      canonicalDigest([
        ENTRY,
        NOTHING_ADDED,
        ...(await libraryFiles()).map(({ name, body }) => ({ name, body_sha256: sha256Hex(body) })),
      ]),
    version: () =>
      inTurn(async () => {
        const { stdout } = await opa(tmpdir(), ['version']);
        return /^Version: (\S+)/m.exec(stdout)?.[1] ?? 'unknown';
      }),
  };
}

/** Of each text the names, with their package, of its rules that are no sets. One without a syntax tree in JSON was refused when it was checked. */
const VALUES = `package values

import rego.v1

names[at] := of_one if {
	some at, body in input
	parsed := rego.parse_module("", body)
	place := concat(".", [part.value | some part in parsed["package"].path])
	of_one := {concat(".", [place, rule.head.ref[0].value]) | some rule in parsed.rules; gives_value(rule.head)}
}

gives_value(head) if not head.key

gives_value(head) if head.value
`;
/** What a comment with notes begins with, in capitals and in these letters. */
const NOTE = 'METADATA';
const NO_SCHEMAS =
  'METADATA names schemas; a policy has none, because OPA opens the addresses and files that they refer to';
const inspection = z.object({
  annotations: z.array(z.object({ annotations: notes, location: z.object({ file: z.string() }) })).default([]),
});
const filesWithSchemas = (text: string): ReadonlySet<string> =>
  new Set(
    inspection
      .parse(JSON.parse(text))
      .annotations.filter(({ annotations: { schemas } }) => schemas.length > 0)
      .map(({ location: { file } }) => file),
  );
const schemaFault = ({ schemas }: ReadTree, file: string): PolicyFault | null =>
  schemas && { message: NO_SCHEMAS, file, ...schemas };
const EVALUATED = ['eval', '--format', 'json'];
const namesOfFiles = z.object({
  result: z.tuple([
    z.object({ expressions: z.tuple([z.object({ value: z.record(z.string(), z.array(z.string())) })]) }),
  ]),
});
async function readLibrary(folder: string): Promise<readonly RegoSource[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.rego') && !name.endsWith('_test.rego'));
  return Promise.all(
    names.toSorted().map(async (name) => ({ name, body: await readFile(join(folder, name), 'utf8') })),
  );
}

/** Those of schemas open the addresses and the files that a schema refers to. */
const REACHES_OUT: ReadonlySet<string> = new Set([
  'http.send',
  'json.match_schema',
  'json.verify_schema',
  'net.lookup_ip_addr',
  'opa.runtime',
]);
const capabilities = z.looseObject({ builtins: z.array(z.looseObject({ name: z.string() })) });
const TEMPLATES_SHARE = /^package gate\.templates\.fixtures$/m;
/** A file of a folder, which has a number for a name. */
const NUMBERED = /(?:^|\/)(\d{1,6})(_test)?\.rego$/;
/** What `opa test` says of rules that it cannot run is text. */
const PLACED = /(?:^|\s)(\d{1,6}(?:_test)?\.rego):(\d{1,9}): ([^\n]{1,2000})/;
const testedRules = z.array(
  z.object({
    location: location.optional(),
    name: z.string(),
    fail: z.boolean().optional(),
    skip: z.boolean().optional(),
    error: z.object({ message: z.string().optional() }).nullish(),
  }),
);
/** OPA runs what has this name, in whatever package. */
const TEST = /(?:^|\.)(?:todo_)?test_/;
/** Rules of tests that OPA does not run and that no test uses, and files without a test where something is left to say of them. */
function idleIn(tests: readonly RegoSource[], trees: readonly (ReadTree | null)[]): readonly IdleRule[] {
  const used = new Set(trees.flatMap((read) => read?.names ?? []));
  return tests.flatMap(({ name: file }, at): readonly IdleRule[] => {
    const rules = trees[at]?.rules ?? [];
    const idle = rules.filter(({ name }) => !TEST.test(name) && !used.has(name.split('.')[0] ?? ''));
    if (idle.length > 0) return idle.map((rule) => ({ file, rule }));
    return trees[at] && rules.length === 0 ? [{ file, rule: null }] : [];
  });
}
type TestedRules = z.infer<typeof testedRules>;
const inOrder = (tests: TestedRules): TestedRules =>
  tests.toSorted(
    ({ location: one }, { location: other }) =>
      Number.parseInt(one?.file ?? '', 10) - Number.parseInt(other?.file ?? '', 10) ||
      (one?.row ?? 0) - (other?.row ?? 0),
  );
/** Null where it is no list of results. No tests at all are none that fail. */
function testResults(text: string): TestedRules | null {
  try {
    return testedRules.parse(JSON.parse(text) ?? []);
  } catch {
    return null;
  }
}

/** What OPA complains of, as JSON on either stream. */
function complaintsIn({ stdout, stderr }: Run): z.infer<typeof complaints>['errors'] {
  for (const text of [stdout, stderr]) {
    try {
      const found = complaints.safeParse(JSON.parse(text));
      if (found.success) return found.data.errors;
    } catch {
      // Not JSON: a crash, or what another command says.
    }
  }
  return [];
}

/** Rego has numbers that JSON has not, and the syntax tree is JSON; OPA does not say where. */
const NO_JSON_NUMBER = /invalid number literal "([^"]{1,100})"/;
function numberFault(number: string, sources: readonly RegoSource[]): PolicyFault {
  const message = `${number} is no number of JSON; a point stands between digits`;
  for (const { name, body } of sources) {
    const lines = body.split('\n');
    const line = lines.findIndex((text) => text.includes(number));
    if (line >= 0) return { message, file: name, line: line + 1, column: (lines[line] ?? '').indexOf(number) + 1 };
  }
  return { message, file: null, line: null, column: null };
}

const firstLine = ({ stdout, stderr }: Run): string =>
  (stderr.trim() || stdout.trim() || 'OPA gives no reason').split('\n')[0]?.slice(0, 300) ?? '';

/** Another package, or a rule that is the floor's. */
function misplacedIn({ package: { name, line, column }, heads }: ReadTree, file: string): PolicyFault | null {
  if (name !== ADDED_PACKAGE)
    return { message: `the package is ${name}; policies are in ${ADDED_PACKAGE}`, file, line, column };
  const own = heads.find((head) => FLOOR_RULES.has(head.name));
  if (!own) return null;
  return {
    message: `${own.name} is defined by the floor alone; a policy adds to deny and review`,
    file,
    line: own.line,
    column: own.column,
  };
}
