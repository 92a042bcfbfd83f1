import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { assertAdded, createAddedRules } from '../../domain/policy/added-rules.js';
import type { PolicyInput } from '../../contracts/policy.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { eventually } from '../../test/support/waiting.js';
import { createLocalEvaluator } from './local-evaluator.js';
import { loadPolicySet } from './load-policy-set.js';
import { opaCompiler } from './opa-compiler.js';
import { shippedPolicyDirectory } from './policy-sources.js';

declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

const directory = shippedPolicyDirectory();
const compiler = opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory });
const floor = await loadPolicySet({ directory });
const rule = (text: string, name = 'added.rego') => ({
  name,
  body: `package gate.authz\n\nimport rego.v1\n\n${text}\n`,
});
const bundle = { schema_version: 1 as const, version: '2026-11-27.1', hash_sha256: 'sha256:added', policy_count: 26 };

async function addedOf(...texts: string[]) {
  const compiled = await compiler.compile(texts.map((text, at) => rule(text, `${at}.rego`)));
  if (compiled.fault) throw new Error(compiled.fault.message);
  return createAddedRules({
    module: await WebAssembly.compile(compiled.wasm),
    data: { ...floor.material.data, limits: { most: 10 } },
    bundle,
    maxMemoryPages: 1_024,
  });
}
const call = (tool_type: string, given: PolicyInput['arguments'] = {}): PolicyInput => ({
  tool_type,
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  current_time: '2026-11-25T12:00:00Z',
  arguments: given,
});

describe('the syntax tree of a text', () => {
  const long = (rules: number): string =>
    Array.from({ length: rules }, (_, at) => `deny contains "Violation: ${at}" if input.arguments.n == ${at}`).join(
      '\n\n',
    );

  it('says the same of a text whose tree is read in a thread', async () => {
    const text = `helper if input.misspelt\n\n${long(2_000)}`;
    const checked = await compiler.check(rule(text));
    expect(checked).toMatchObject({
      fault: null,
      rules: expect.arrayContaining([{ name: 'helper', line: 5 }]),
      inputs: [
        { name: 'misspelt', line: 5 },
        { name: 'arguments', line: 7 },
      ],
      reads: [],
    });
    expect(checked.fault === null && checked.names.includes('helper')).toBe(false);
    expect(await compiler.check(rule(`${text}\n\nallow := true`))).toMatchObject({
      fault: { message: expect.stringContaining('defined by the floor alone'), line: 4_007 },
    });
  });

  it('leaves the thread that judges calls free meanwhile, also of a text of one MiB', async () => {
    const text = long(15_000);
    expect(text.length).toBeGreaterThan(900_000);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const checked = await compiler.check(rule(text));
    delay.disable();
    expect(checked).toMatchObject({ fault: null });
    // Read in place it takes a second.
    expect(delay.max / 1e6).toBeLessThan(500);
  });
});

describe('policies that are compiled together', () => {
  const together = (...texts: string[]) => compiler.compile(texts.map((text, at) => rule(text, `${'ab'[at]}.rego`)));

  it.each([
    ['a value', 'cap := 1', 'cap := 2'],
    ['a condition', 'big if input.arguments.amount > 5', 'big if input.arguments.amount > 500'],
    ['a function', 'near(x) := x + 1', 'near(x) := x + 2'],
    ['a default', 'default open := false', 'open if input.arguments.amount == 5'],
    ['a member of an object', 'most.wire := 1', 'most.wire := 2'],
    ['a value behind a blank', ' cap := 1', '\tcap := 2'],
    ['a value behind another rule', 'small := 0 cap := 1', 'cap := 2'],
    ['a default behind a tab and a line', '\tdefault\n\topen := false', ' open if input.arguments.amount == 5'],
    ['a default behind a comment', 'default # of all\nopen := false', 'open if input.arguments.amount == 5'],
  ])('give no name %s twice: a call for which they differ could not be judged', async (_what, one, other) => {
    expect(await together(one, other)).toEqual({
      fault: {
        message: expect.stringMatching(/^(?:cap|big|near|open|most) is defined in a\.rego as well/),
        file: 'b.rego',
        line: expect.any(Number),
        column: expect.any(Number),
      },
    });
  });

  it('may add to one set, and give a name a value as often as one file likes', async () => {
    const one = 'frozen contains "a"\n\nbig if input.arguments.amount > 5\n\nbig if input.arguments.amount == 1';
    expect(await together(one, 'frozen contains "b"')).toMatchObject({ fault: null });
    // What only looks so is none.
    expect(await together(one, 'deny contains `\nbig if` if false')).toMatchObject({ fault: null });
  });
});

describe('a policy that is checked', () => {
  it('passes, and comes back in the usual form', async () => {
    const body = rule('deny contains   "Violation: x" if input.tool_type == "x"').body;
    expect(await compiler.check({ name: 'a.rego', body })).toEqual({
      fault: null,
      formatted: body.replace('contains   ', 'contains '),
      reads: [],
      inputs: [{ name: 'tool_type', line: 5 }],
      rules: [{ name: 'deny', line: 5 }],
      names: expect.not.arrayContaining(['deny']),
    });
  });

  it('is told which names it reads of a call and of data, each at its first place', async () => {
    const { body } = rule(
      'deny contains "x" if { input.tool == data.gate.mine.tool; input["amount"] > 5; input.tool.name == "y"; some name; input[name] }',
    );
    expect(await compiler.check({ name: 'a.rego', body })).toMatchObject({
      reads: [{ name: 'mine', line: 5 }],
      inputs: [
        { name: 'tool', line: 5 },
        { name: 'amount', line: 5 },
      ],
    });
  });

  it.each([
    ['does not parse', rule('deny contains'), { line: 6, column: 1 }],
    [
      'calls what is not there',
      rule('deny contains msg if msg := nope(1)'),
      { line: 5, column: 29, message: 'undefined function nope' },
    ],
    [
      'asks for the time',
      rule('deny contains "x" if time.now_ns() > 0'),
      { line: 5, message: 'undefined function time.now_ns' },
    ],
    [
      'asks the network',
      rule('deny contains "x" if http.send({})'),
      { line: 5, message: 'undefined function http.send' },
    ],
    [
      'draws lots',
      rule('deny contains "x" if rand.intn("a", 2) == 1'),
      { line: 5, message: 'undefined function rand.intn' },
    ],
    [
      'writes a number as JSON has none',
      rule('deny contains "x" if input.arguments.amount > .5'),
      { line: 5, column: 47, message: '.5 is no number of JSON; a point stands between digits' },
    ],
    [
      'says what only the floor says',
      rule('allow if true'),
      { line: 5, column: 1, message: expect.stringContaining('allow is defined by the floor') },
    ],
    [
      'says that by a default',
      rule('default approval_tier := "auto"'),
      { line: 5, message: expect.stringContaining('approval_tier') },
    ],
    [
      'is in another package',
      { name: 'added.rego', body: 'package gate.entrypoint\n' },
      { line: 1, message: expect.stringContaining('gate.entrypoint') },
    ],
    ['is empty', { name: 'added.rego', body: '' }, { line: 1, column: 1, message: 'empty module' }],
  ])('is refused where it %s, with the place', async (_, source, fault) => {
    expect(await compiler.check(source)).toEqual({
      fault: expect.objectContaining({ file: 'added.rego', ...fault }),
    });
  });

  it('is refused where OPA takes longer or more memory than it may', async () => {
    const slow = opaCompiler({
      find: () => findOpa({ onProgress: () => undefined }),
      directory,
      limits: { timeMs: 1 },
    });
    expect(await slow.check(rule('deny contains "x" if true'))).toMatchObject({
      fault: { message: expect.stringContaining('longer than 1 ms') },
    });
    const small = opaCompiler({
      find: () => findOpa({ onProgress: () => undefined }),
      directory,
      limits: { memoryKib: 400_000 },
    });
    expect(await small.check(rule('deny contains "x" if true'))).toMatchObject({
      fault: { message: expect.stringMatching(/memory|page/) },
    });
  });

  it('is not judged where there is no OPA', async () => {
    const none = opaCompiler({ find: async () => null, directory });
    await expect(none.check(rule(''))).rejects.toMatchObject({ code: 'policy_compiler_unavailable' });
  });
});

describe('what a text refers to', () => {
  let place: string;
  let server: Server;
  const asked: string[] = [];
  let address: string;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'gate-schema-'));
    await writeFile(
      join(place, 'there.json'),
      '{"type": "object", "properties": {"of_the_machine": {"type": "string"}}}',
    );
    await writeFile(join(place, 'no-schema'), 'root:x:0:0');
    server = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(place, { recursive: true, force: true });
  });
  beforeEach(() => void (asked.length = 0));
  const of: Readonly<Record<string, () => string>> = {
    'an address': () => `${address}/policy`,
    'a file that is there': () => pathToFileURL(join(place, 'there.json')).href,
    'a file that is not there': () => pathToFileURL(join(place, 'missing.json')).href,
    'a file that is no schema': () => pathToFileURL(join(place, 'no-schema')).href,
  };
  const noted = (...lines: string[]): string =>
    [...lines, 'deny contains "x" if input.arguments.path == "a"'].join('\n');
  const refused = (file: string, line = 5) => ({
    fault: {
      message:
        'METADATA names schemas; a policy has none, because OPA opens the addresses and files that they refer to',
      file,
      line,
      column: 1,
    },
  });
  const test = (sources: { name: string; body: string }[], tests: { name: string; body: string }[]) =>
    compiler.test({ sources, tests, data: {} });
  const inTests = (...lines: string[]) => ({
    name: 'a_test.rego',
    body: ['package gate.mine_test', '', 'import rego.v1', '', ...lines].join('\n'),
  });

  it.each(Object.keys(of))('is not opened, nor said to be there: %s', async (which) => {
    const lines = ['# METADATA', '# scope: rule', '# schemas:', `#   - input: {"$ref": "${of[which]?.()}"}`];
    const source = rule(noted(...lines));
    const harmless = rule('deny contains "y" if input.arguments.path == "b"', 'b.rego');
    expect(await compiler.check(source)).toEqual(refused('added.rego'));
    expect(await compiler.compile([harmless, source])).toEqual(refused('added.rego'));
    expect(await test([harmless, source], [])).toEqual(refused('added.rego'));
    expect(await test([harmless], [inTests(...lines, 'test_x if input.x == 1')])).toEqual(refused('a_test.rego'));
    // Texts that do not go together, each of which could be typed.
    expect(await compiler.compile([rule('nope if 1 + "x" == 2', 'b.rego'), source])).toEqual(refused('added.rego'));
    expect(await test([harmless], [inTests('nope if 1 + "x" == 2', ...lines, 'test_x if input.x == 1')])).toEqual(
      refused('a_test.rego', 6),
    );
    expect(asked).toEqual([]);
  });

  it.each([
    ['in the flow of braces', ['# METADATA', '# {scope: rule, schemas: [{input: SCHEMA}]}']],
    ['by an escape', ['#METADATA', '# "\\x73chemas": [{input: SCHEMA}]']],
    ['as bytes', ['# METADATA', '# !!binary c2NoZW1hcw==:', '#   - input: SCHEMA']],
    ['by an anchor', ['#  METADATA of it', '# title: &of schemas', '# *of :', '#   - input: SCHEMA']],
    ['merged in', ['# METADATA', '# custom: &more {schemas: [{input: SCHEMA}]}', '# <<: *more']],
    ['of the package, by a rule', ['# METADATA', '# scope: document', '# schemas:', '#   - input.arguments: SCHEMA']],
    ['by a name', ['# METADATA', '# schemas:', '#   - input: schema.of.others']],
  ])('is found where it is spelt %s', async (_, lines) => {
    const source = rule(noted(...lines.map((line) => line.replace('SCHEMA', `{"$ref": "${of['an address']?.()}"}`))));
    expect(await compiler.check(source)).toEqual(refused('added.rego'));
    expect(await compiler.compile([source])).toEqual(refused('added.rego'));
    expect(await test([source], [])).toEqual(refused('added.rego'));
    expect(asked).toEqual([]);
  });

  it('is found at the package', async () => {
    const body = `# METADATA\n# scope: subpackages\n# schemas:\n#   - input: {"$ref": "${of['an address']?.()}"}\n${rule(noted()).body}`;
    expect(await compiler.check({ name: 'a.rego', body })).toEqual(refused('a.rego', 1));
    expect(await compiler.compile([{ name: 'a.rego', body }])).toEqual(refused('a.rego', 1));
    expect(asked).toEqual([]);
  });

  it('is not opened by a test that runs either', async () => {
    for (const name of ['json.match_schema', 'json.verify_schema'])
      for (const which of Object.keys(of)) {
        const schema = JSON.stringify({ $ref: of[which]?.() });
        const call = name === 'json.match_schema' ? `${name}({}, ${schema})` : `${name}(${schema})`;
        expect(await test([], [inTests(`test_x if ${call}`)])).toMatchObject({
          fault: { message: expect.stringContaining(`undefined function ${name}`), file: 'a_test.rego' },
        });
      }
    expect(asked).toEqual([]);
  });

  it('may be told to readers: notes without schemas, and texts that only look like notes', async () => {
    const told = ['# METADATA', '# title: schemas', '# related_resources:', `# - ref: ${address}/page`];
    for (const lines of [told, ['words := `', '# METADATA', '# schemas:', '#   - input: {"$ref": "x"}', '`']]) {
      const source = rule(noted(...lines));
      expect(await compiler.check(source)).toMatchObject({ fault: null });
      expect(await compiler.compile([source])).toMatchObject({ fault: null });
      expect(await test([source], [])).toEqual({ fault: null, tests: [], idle: [] });
    }
    expect(asked).toEqual([]);
  });
});

describe('the folder of a question', () => {
  let temporary: string;
  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'gate-compiler-'));
  });
  afterEach(() => rm(temporary, { recursive: true, force: true }));
  const source = rule('deny contains "x" if true');

  it('that cannot be made says so of the compiler, and nothing of the policy', async () => {
    const place = join(temporary, 'gone');
    const none = opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory, temporary: place });
    const unavailable = {
      code: 'policy_compiler_unavailable',
      message: expect.stringMatching(/^the files to compile: .*ENOENT.*gone/),
    };
    await expect(none.check(source)).rejects.toMatchObject(unavailable);
    await expect(none.compile([source])).rejects.toMatchObject(unavailable);
    // Once it is there, the same compiler works.
    await mkdir(place);
    expect(await none.check(source)).toMatchObject({ fault: null });
    expect(await readdir(place)).toEqual([]);
  });

  it('that is full by what OPA writes says so too', async () => {
    const program = join(temporary, 'opa');
    const full = 'error: write bundle.tar.gz: no space left on device';
    await writeFile(program, `#!/bin/sh\n[ "$1" != build ] || { echo '${full}' >&2; exit 1; }\n`, { mode: 0o755 });
    const compiling = opaCompiler({ find: async () => program, directory, temporary }).compile([source]);
    await expect(compiling).rejects.toMatchObject({ code: 'policy_compiler_unavailable', message: full });
    expect(await readdir(temporary)).toEqual(['opa']);
  });
});

describe('OPA that something else ends', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-ended-opa-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const source = rule('deny contains "x" if true');

  it.each(['parse', 'check', 'fmt', 'build', 'test', 'version'])(
    'in the middle of `%s` says nothing of the policy: the compiler is not available',
    async (step) => {
      const found = await findOpa({ onProgress: () => undefined });
      const program = join(folder, 'opa');
      await writeFile(program, `#!/bin/sh\n[ "$1" != ${step} ] || kill -KILL $$\nexec '${found}' "$@"\n`, {
        mode: 0o755,
      });
      const ended = opaCompiler({ find: async () => program, directory });
      const asked = {
        build: () => ended.compile([source]),
        test: () => ended.test({ sources: [source], tests: [], data: {} }),
        version: () => ended.version(),
      }[step];
      await expect(asked ? asked() : ended.check(source)).rejects.toMatchObject({
        code: 'policy_compiler_unavailable',
        message: 'OPA was ended by SIGKILL, as for lack of memory; try again',
      });
    },
  );

  const endingAs = async (line: string) => {
    const found = await findOpa({ onProgress: () => undefined });
    const program = join(folder, 'opa');
    await writeFile(program, `#!/bin/sh\n${line}\nexec '${found}' "$@"\n`, { mode: 0o755 });
    return opaCompiler({ find: async () => program, directory });
  };

  it('that fails at a text by itself is a fault of the text, as it would be each time', async () => {
    const ended = await endingAs('[ "$1" != build ] || kill -SEGV $$');
    const { fault } = await ended.compile([source]);
    expect(fault?.message).toContain('OPA fails at it (SIGSEGV)');
  });

  it('that writes half of a bundle says so', async () => {
    const ended = await endingAs('[ "$1" != build ] || { printf "\\037\\213\\010" > bundle.tar.gz; exit 0; }');
    await expect(ended.compile([source])).rejects.toMatchObject({
      code: 'policy_compiler_unavailable',
      message: expect.stringContaining('the bundle that OPA wrote cannot be read'),
    });
  });
});

describe('added rules', () => {
  it('deny and ask beside the floor, whose reasons all stay', async () => {
    const added = await addedOf(
      'deny contains "Violation: frozen" if input.arguments.account == "frozen"',
      'review contains sprintf("Review: more than %d", [data.limits.most]) if input.arguments.amount > data.limits.most',
    );
    const judged = (input: PolicyInput) => floor.judge(input, undefined, added).decision;
    expect(judged(call('list_files'))).toMatchObject({ allow: true, policy_bundle: bundle });
    expect(judged(call('list_files', { amount: 11 }))).toMatchObject({
      allow: false,
      reasons: [],
      review_reasons: ['Review: more than 10'],
      retention_class: 'extended',
      forensic_event: { review_reasons: ['Review: more than 10'] },
    });
    expect(judged(call('delete_file', { account: 'frozen' })).reasons).toEqual(
      [...floor.evaluate(call('delete_file', { account: 'frozen' })).reasons, 'Violation: frozen'].toSorted(),
    );
  });

  it('say no more of a call than is kept, however much they quote of it', async () => {
    const added = await addedOf(
      'deny contains sprintf("Violation: %d", [n]) if some n in input.arguments.ids',
      'review contains sprintf("Review: %s", [input.arguments.note]) if input.arguments.note',
    );
    const ids = Array.from({ length: 1_000 }, (_, at) => 1_000 + at);
    const { decision } = floor.judge(
      call('list_files', { ids, note: `${'word '.repeat(390)}${'x'.repeat(100_000)}` }),
      undefined,
      added,
    );
    expect(decision.reasons).toHaveLength(101);
    expect(decision.reasons).toEqual(
      expect.arrayContaining(['Violation: 1000', 'Violation: 1099', 'Violation: and 900 more reasons of policies.']),
    );
    // No part of a word, which may be a secret.
    expect(decision.review_reasons).toEqual([`Review: ${'word '.repeat(390).trimEnd()}…`]);
    // Nor of a secret of several words.
    const passphrase = 'legal winner thank year';
    const note = `${'word '.repeat(394)}"${passphrase}" stands here`;
    const told = floor.judge(call('list_files', { note, passphrase }), undefined, added).decision;
    expect(told.review_reasons).toEqual([`Review: ${'word '.repeat(394)}"…`]);
    expect(JSON.stringify(decision).length).toBeLessThan(20_000);
    const few = floor.judge(call('list_files', { ids: [1, 2], note: 'x'.repeat(1_992) }), undefined, added).decision;
    expect(few).toMatchObject({
      reasons: ['Violation: 1', 'Violation: 2'],
      review_reasons: [`Review: ${'x'.repeat(1_992)}`],
    });
  });

  it('are as many as there are, whatever memory their texts take', async () => {
    const long = 'x'.repeat(1_500_000);
    const added = await addedOf(`deny contains "Violation: long" if input.tool_type in {"${long}", "short"}`);
    expect(floor.judge(call('short'), undefined, added).decision.reasons).toEqual(['Violation: long']);
    expect(() => assertAdded({ ...added.material, maxMemoryPages: 8 })).toThrow(/memory/);
  });

  it('cannot weaken the floor by the names of its helpers', async () => {
    const added = await addedOf('tool_reads if true', 'tool_says := {"plainly_reads": true}', 'data_complete if true');
    for (const tool of ['delete_file', 'wire_transfer', 'no_such_tool'])
      expect(floor.judge(call(tool), undefined, added).decision).toEqual({
        ...floor.evaluate(call(tool)),
        policy_bundle: bundle,
      });
  });

  it('take no call out of the hands of people whom the floor leaves to a rule', async () => {
    const added = await addedOf('review contains "Review: look" if true');
    const replay = { ...call('test_replay'), tool_classes: { test_replay: { class: 'change' as const } } };
    expect(floor.evaluate(replay).approval_tier).toBe('auto');
    expect(floor.judge(replay, undefined, added).decision.approval_tier).toBe('standard');
  });

  it('deny when a reason is no text, and when they cannot be evaluated', async () => {
    const odd = await addedOf('deny contains {"why": 1} if true');
    expect(floor.judge(call('list_files'), undefined, odd).decision).toMatchObject({
      allow: false,
      reasons: [expect.stringContaining('without a reason')],
    });
    const broken = {
      ...odd,
      judge: () => {
        throw new Error('trap');
      },
    };
    expect(floor.judge(call('list_files'), undefined, broken)).toMatchObject({
      failed: true,
      decision: { allow: false, policy_bundle: bundle },
    });
  });

  it('run in threads alone, whatever the size of the call: nothing of them in the process that serves', async () => {
    const added = await addedOf('deny contains "Violation: frozen" if input.arguments.account == "frozen"');
    const here = (): never => {
      throw new Error('evaluated on the event loop');
    };
    const watched = { ...added, judge: here, watched: here };
    const evaluator = createLocalEvaluator(floor, undefined, { limitMs: 60_000 }, () => watched);
    try {
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
      for (const more of [many, {}])
        expect((await evaluator.evaluate(call('list_files', { ...more, account: 'frozen' }))).reasons).toEqual([
          'Violation: frozen',
        ]);
    } finally {
      await evaluator.close();
    }
  });

  it('judge an ordinary call before the thread has any other, where that does not keep it from being ready', async () => {
    // Each search takes long and keeps no memory, which would end the loop.
    const words = JSON.stringify(Array.from({ length: 700 }, (_, at) => `${'x'.repeat(50)}${at}`));
    const minutes = await addedOf(`deny contains "Violation: a word is there" if {
      input.tool_type == "query_database"
      some one in ${words}
      some other in ${words}
      one != other
      contains("${'x'.repeat(500_000)}", one)
    }`);
    const evaluator = createLocalEvaluator(floor, undefined, { limitMs: 60_000, startMs: 5_000 }, () => minutes);
    try {
      await expect(evaluator.evaluate(call('list_files'))).rejects.toThrow('the policy evaluation thread ended');
      const judged = await eventually('a thread', () => evaluator.evaluate(call('list_files')).catch(() => null));
      expect(judged.policy_bundle).toEqual(bundle);
    } finally {
      await evaluator.close();
    }
  });
});

describe('the folder of functions that rules may use', () => {
  it('is read again where it could not be read: one failed read keeps nobody from compiling until a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gate-policy-folder-'));
    try {
      const compiling = opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory: folder });
      const compiled = () => compiling.compile([rule('cap := 1')]);
      await expect(compiled()).rejects.toMatchObject({ code: 'policy_compiler_unavailable' });
      await cp(directory, folder, { recursive: true });
      expect(await compiled()).toMatchObject({ fault: null });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
