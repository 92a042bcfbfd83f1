import { describe, expect, it } from '@jest/globals';
import { createAddedRules } from '../../domain/policy/added-rules.js';
import type { PolicyInput } from '../../contracts/policy.js';
import { findOpa } from '../../stack/programs/find-program.js';
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

describe('a policy that is checked', () => {
  it('passes, and comes back in the usual form', async () => {
    const body = rule('deny contains   "Violation: x" if input.tool_type == "x"').body;
    expect(await compiler.check({ name: 'a.rego', body })).toEqual({
      fault: null,
      formatted: body.replace('contains   ', 'contains '),
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
    const replay = call('test_replay');
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

  it('judge a large call in a thread as a small one in place, and go there for good once they are slow', async () => {
    const added = await addedOf('deny contains "Violation: frozen" if input.arguments.account == "frozen"');
    const evaluator = createLocalEvaluator(floor, undefined, { limitMs: 60_000 }, () => added);
    try {
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
      const large = call('list_files', { ...many, account: 'frozen' });
      expect((await evaluator.evaluate(large)).reasons).toEqual(['Violation: frozen']);
      added.slow = true;
      expect((await evaluator.evaluate(call('list_files', { account: 'frozen' }))).reasons).toEqual([
        'Violation: frozen',
      ]);
    } finally {
      await evaluator.close();
    }
  });
});
