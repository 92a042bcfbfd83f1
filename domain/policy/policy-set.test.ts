import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readersOf } from '../../adapters/policy/argument-readers.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { createLocalEvaluator } from '../../adapters/policy/local-evaluator.js';
import { readPolicyFiles, shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { type PolicyInput, policyDecision } from '../../contracts/policy.js';
import { GateError } from '../errors.js';
import { createSqlReader } from '../sql/read-sql.js';
import type { AddedRules } from './added-rules.js';
import { policyData } from './policy-data.js';
import { createPolicySet, type PolicySet } from './policy-set.js';

const shipped = shippedPolicyDirectory();
const ordinary: PolicyInput = {
  tool_type: 'list_files',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0.1,
  current_time: '2026-11-18T10:00:00Z',
};
const folders: string[] = [];
let policies: PolicySet;
beforeAll(async () => {
  policies = await loadPolicySet({ directory: shipped });
});
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

/** A copy of the shipped folder to modify. */
async function copy(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-policy-'));
  folders.push(folder);
  await cp(shipped, folder, { recursive: true });
  return folder;
}
const edit = async (path: string, change: (text: string) => string): Promise<void> =>
  writeFile(path, change(await readFile(path, 'utf8')));
const shippedData = async () => policyData.parse(JSON.parse(await readFile(join(shipped, 'data.json'), 'utf8')));
const shippedParts = async (maxMemoryPages: number) => ({
  wasm: await readFile(join(shipped, 'compiled', 'policy.wasm')),
  data: await shippedData(),
  files: await readPolicyFiles(shipped),
  version: '2026-01-01.1',
  maxMemoryPages,
  ...(await readersOf(await shippedData())),
  origin: {
    directory: shipped,
    loaded_at: '2026-01-01T00:00:00.000Z',
    wasm_sha256: '',
    opa_version: '',
    entrypoints: [],
  },
});

describe('the decision', () => {
  it('has the shape of the contract', () => {
    const decision = policies.evaluate(ordinary);
    expect(policyDecision.parse(decision)).toEqual(decision);
    expect(decision).toEqual({
      allow: true,
      reasons: [],
      review_reasons: [],
      retention_class: 'standard',
      approval_tier: 'standard',
      policy_bundle: policies.bundle,
      forensic_event: { tool_type: 'list_files', reasons: [], review_reasons: [], sql: 'none', shell: 'none' },
    });
  });

  it('gives deny and review reasons, each sorted, when both apply', () => {
    const decision = policies.evaluate({
      ...ordinary,
      tool_type: 'wire_transfer',
      intent_score: 0.9,
      force_hil: true,
      injection_detected: true,
      current_time: '2026-11-21T10:00:00Z',
    });
    expect(decision.allow).toBe(false);
    expect(decision.reasons).toEqual([
      'Violation: Intent score is not below the threshold.',
      'Violation: prompt injection detected.',
    ]);
    expect(decision.review_reasons).toEqual([
      'Review: Wire transfers require human approval.',
      'Review: off-hours action; it is outside business hours.',
      'Review: the agent is under containment; every call requires human approval.',
    ]);
  });

  it('is the same for the same input, whatever was evaluated in between', () => {
    const call = { ...ordinary, tool_type: 'delete_file', force_hil: true };
    const first = JSON.stringify(policies.evaluate(call));
    for (let i = 0; i < 50; i += 1) policies.evaluate({ ...ordinary, arguments: { text: 'x'.repeat(i * 1_000) } });
    expect(JSON.stringify(policies.evaluate(call))).toBe(first);
  });

  it('names the bundle: version, hash over the active files, their number', async () => {
    const files = await readPolicyFiles(shipped);
    expect(policies.bundle).toEqual({
      schema_version: 1,
      version: expect.stringMatching(/^\d{4}-\d{2}-\d{2}\.\d+$/),
      hash_sha256: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      policy_count: files.length,
    });
    expect(files.map((file) => file.name)).toContain('data.json');
  });

  it('keeps no argument in the forensic event', () => {
    const decision = policies.evaluate({ ...ordinary, arguments: { secret: 'hunter2' } });
    expect(JSON.stringify(decision)).not.toContain('hunter2');
  });
});

describe('what the rules say of a name', () => {
  it.each([
    ['delete_branch', 'denies', 'Violation: destructive tools are not allowed.'],
    ['run_shell', 'denies', 'Violation: shell execution is not allowed.'],
    ['wire_transfer', 'asks', 'Review: Wire transfers require human approval.'],
  ])('%s: it %s, whatever its class', (tool, effect, reason) => {
    for (const _again of [1, 2]) expect(policies.ruleOn(tool)).toEqual({ effect, reason });
  });

  it('nothing where only the class, the arguments or the hour decide', () => {
    for (const tool of ['create_issue', 'list_files', 'deploy_production', 'export_all_users', '__proto__', ''])
      expect([tool, policies.ruleOn(tool)]).toEqual([tool, null]);
  });
});

describe('the input', () => {
  it.each([
    ['no object', 'text'],
    ['null', null],
    ['an array', []],
    ['no tool', { ...ordinary, tool_type: undefined }],
    ['an empty tool name', { ...ordinary, tool_type: '' }],
    ['a tool that is no text', { ...ordinary, tool_type: 7 }],
    ['no history', { ...ordinary, agent_history: undefined }],
    ['a history without its sequence', { ...ordinary, agent_history: { last_tool: null } }],
    ['no intent score', { ...ordinary, intent_score: undefined }],
    ['an intent score that is no number', { ...ordinary, intent_score: '0.1' }],
    ['an intent score that JSON cannot hold', { ...ordinary, intent_score: Number.NaN }],
    ['arguments that are no object', { ...ordinary, arguments: [] }],
    ['a drift score that is no number', { ...ordinary, persona_drift_score: null }],
  ])('refuses %s with policy_input_invalid', (_name, input) => {
    expect(() => policies.evaluate(input as PolicyInput)).toThrow(
      expect.objectContaining({ code: 'policy_input_invalid', status: 400 }),
    );
  });

  it('names the field that is wrong', () => {
    expect(() => policies.evaluate({ ...ordinary, intent_score: 'x' } as unknown as PolicyInput)).toThrow(
      /intent_score/,
    );
  });

  it('accepts fields it does not know', () => {
    expect(policies.evaluate({ ...ordinary, spend_window: '2026-11', grant: null }).allow).toBe(true);
  });
});

describe('an error while the rules run is a deny', () => {
  it('denies an input that needs more memory than the set may use, and judges the next call as before', async () => {
    const small = createPolicySet(await shippedParts(14));
    const huge = { ...ordinary, arguments: { text: 'x'.repeat(4_000_000) } };
    const judgement = small.judge(huge);
    expect(judgement).toMatchObject({ tier: 'red', failed: true, decision: { allow: false, review_reasons: [] } });
    expect(judgement.decision.reasons).toEqual([expect.stringMatching(/^policy evaluation failed: evaluate: /)]);
    expect(judgement.decision.retention_class).toBe('extended');
    expect(small.evaluate(ordinary).allow).toBe(true);
    expect(small.evaluate({ ...ordinary, tool_type: 'delete_file' }).reasons).toEqual([
      'Violation: destructive tools are not allowed.',
    ]);
  });

  it('uses one instance for every call, and a new one after a trap', async () => {
    const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: { Instance: new () => object } };
    const original = wasm.Instance;
    let made = 0;
    wasm.Instance = new Proxy(original, {
      construct: (target, args) => {
        made += 1;
        return Reflect.construct(target, args) as object;
      },
    });
    try {
      const small = createPolicySet(await shippedParts(14));
      for (let call = 0; call < 3; call += 1) small.evaluate(ordinary);
      expect(made).toBe(1);
      expect(small.judge({ ...ordinary, arguments: { text: 'x'.repeat(4_000_000) } }).failed).toBe(true);
      for (let call = 0; call < 3; call += 1) expect(small.evaluate(ordinary).allow).toBe(true);
      expect(made).toBe(2);
    } finally {
      wasm.Instance = original;
    }
  });

  it('answers arguments nested far too deep with a verdict or a deny, and goes on', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 4_000; depth += 1) nested = [nested];
    const judgement = policies.judge({ ...ordinary, tool_type: 'delete_file', arguments: { nested } } as PolicyInput);
    expect(judgement.decision.allow).toBe(false);
    expect(policies.evaluate(ordinary).allow).toBe(true);
  });

  it('judges a megabyte of arguments', () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => ({
      index,
      text: 'some text of an ordinary row',
      ok: true,
    }));
    const judgement = policies.judge({ ...ordinary, upstream: 'demo', tool_type: 'write_file', arguments: { rows } });
    expect(judgement).toMatchObject({ tier: 'green', failed: false });
  });

  it('denies what cannot be written as JSON', () => {
    const judgement = policies.judge({ ...ordinary, arguments: { big: 1n } } as unknown as PolicyInput);
    expect(judgement).toMatchObject({ tier: 'red', failed: true });
  });

  it('denies when the data is not what the rules expect', async () => {
    const parts = await shippedParts(1_024);
    const broken = createPolicySet({ ...parts, data: {} as typeof parts.data });
    expect(broken.evaluate(ordinary).reasons).toContain('Violation: the policy data is incomplete; check data.json.');
  });
});

describe('several sets of added rules, beside the rules that ship', () => {
  const added = (judge: AddedRules['judge'], hash: string): AddedRules => ({
    bundle: { ...policies.bundle, hash_sha256: hash },
    material: null as never,
    watched: () => ({}),
    bytes: () => 0,
    judge,
  });
  it('are each what they are alone, and one that fails denies for itself', () => {
    const asks = added(() => ({ deny: [], review: ['Review: looked at.'] }), 'sha256:asks');
    const fails = added(() => {
      throw new Error('trap');
    }, 'sha256:fails');
    // What watches a tool is told to its own rules alone.
    const told = added((given) => {
      const { watched_by } = JSON.parse(Buffer.from(given as ArrayBuffer).toString()) as { watched_by: object };
      return { deny: [], review: [`Review: ${JSON.stringify(watched_by)}`] };
    }, 'sha256:told');
    const watches = { ...told, watched: () => ({ own: true as const }) };
    const sets = [null, asks, fails, watches, told];
    for (const tool_type of ['list_files', 'delete_file', 'customer_db_read']) {
      const input = { ...ordinary, tool_type };
      expect(policies.judgeEach(input, sets).map(({ judgement }) => judgement)).toEqual(
        sets.map((set) => policies.judge(input, undefined, set)),
      );
    }
    const tiers = policies.judgeEach(ordinary, sets).map(({ judgement: { tier, failed } }) => [tier, failed]);
    expect(tiers).toEqual([
      ['green', false],
      ['yellow', false],
      ['red', true],
      ['yellow', false],
      ['yellow', false],
    ]);
  });

  it('cost what the rules that ship cost and what their own do, each by itself', () => {
    let ms = 0;
    const slow = (by: number) =>
      added(() => {
        ms += by;
        return { deny: [], review: [] };
      }, `sha256:${by}`);
    const found = policies.judgeEach(ordinary, [null, slow(5), slow(7)], { now: () => (ms += 1) });
    // One step between two looks at the clock: one for what ships, one for each set.
    expect(found.map((one) => one.ms)).toEqual([2, 7, 9]);
  });
});

describe('readiness of the set', () => {
  it('is its hash while it can judge', () => {
    expect(policies.ready()).toBe(policies.bundle.hash_sha256);
  });

  it('fails, with the reason, when nothing can be judged or read', async () => {
    const parts = await shippedParts(1_024);
    const readSql = (): never => {
      throw new Error('out of memory');
    };
    expect(() => createPolicySet({ ...parts, readSql }).ready()).toThrow(
      'policy evaluation failed: facts: out of memory',
    );
    const noParser = createPolicySet({
      ...parts,
      readSql: createSqlReader({ parser: () => null, names: (await shippedData()).gate.sql }),
    });
    expect(() => noParser.ready()).toThrow('the SQL parser does not answer');
  });
});

describe('the set that is loaded is the set that was compiled', () => {
  const refused = (directory: string): Promise<unknown> =>
    loadPolicySet({ directory }).then(
      () => 'loaded',
      (error: unknown) => (error instanceof GateError ? `${error.code}: ${error.message}` : error),
    );

  it('loads an untouched copy', async () => {
    expect((await loadPolicySet({ directory: await copy() })).bundle).toEqual(policies.bundle);
  });

  it('refuses wasm with another hash than the manifest states', async () => {
    const folder = await copy();
    const path = join(folder, 'compiled', 'policy.wasm');
    const wasm = await readFile(path);
    wasm[wasm.length - 1] = (wasm[wasm.length - 1] as number) ^ 1;
    await writeFile(path, wasm);
    expect(await refused(folder)).toMatch(/^policy_unavailable: .*policy\.wasm does not have the hash/);
  });

  it('refuses rules that were changed after they were compiled', async () => {
    const folder = await copy();
    await edit(join(folder, 'gate', 'authz', 'money.rego'), (text) => `${text}\n# changed\n`);
    expect(await refused(folder)).toMatch(/^policy_unavailable: .*run npm run policies/);
  });

  it('refuses a rule file that was not compiled in', async () => {
    const folder = await copy();
    await writeFile(join(folder, 'gate', 'authz', 'extra.rego'), 'package gate.authz\n');
    expect(await refused(folder)).toMatch(/^policy_unavailable: .*run npm run policies/);
  });

  it('does not mind the rules’ tests', async () => {
    const folder = await copy();
    await writeFile(join(folder, 'gate', 'authz', 'extra_test.rego'), 'package gate.authz_test\n');
    expect(await refused(folder)).toBe('loaded');
  });

  it.each([
    ['missing', 'money', (text: string) => text.replace('"wire_tools"', '"wire_tool"'), /wire_tool/],
    ['no number', 'threshold', (text: string) => text.replace('"threshold": 0.2', '"threshold": "0.2"'), /threshold/],
    [
      'spelt so that no rule matches it',
      'entry',
      (text: string) => text.replace('"wire_transfer"', '"wireTransfer"'),
      /lower-case/,
    ],
    ['no JSON', 'file', (text: string) => `${text}}`, /not JSON/],
  ])('refuses data that is %s (%s)', async (_fault, _place, change, expected) => {
    const folder = await copy();
    await edit(join(folder, 'data.json'), change);
    const text = await refused(folder);
    expect(text).toMatch(/^policy_unavailable: policy set: data\.json/);
    expect(text).toMatch(expected);
  });

  it('refuses a folder without a compiled set', async () => {
    const folder = await copy();
    await rm(join(folder, 'compiled'), { recursive: true });
    expect(await refused(folder)).toMatch(/^policy_unavailable: /);
  });

  it('takes edited data without compiling, and shows it in the bundle hash', async () => {
    const folder = await copy();
    await edit(join(folder, 'data.json'), (text) => text.replace('"wire_transfer"', '"wire_transfer", "pay_pigeon"'));
    const edited = await loadPolicySet({ directory: folder });
    expect(edited.bundle.hash_sha256).not.toBe(policies.bundle.hash_sha256);
    const call = { ...ordinary, tool_type: 'payPigeon', tool_classes: { payPigeon: { class: 'change' as const } } };
    expect(edited.judge(call).tier).toBe('yellow');
    expect(policies.judge(call).tier).toBe('green');
  });
});

describe('policy in this process', () => {
  it('tells its observer what came out, for which tool', async () => {
    const seen: unknown[] = [];
    const evaluator = createLocalEvaluator(policies, ({ tier, unknownTool }, tool, seconds) =>
      seen.push({ tier, unknownTool, tool, timed: seconds >= 0 }),
    );
    await evaluator.evaluate({ ...ordinary, tool_type: 'frobnicate' });
    expect(seen).toEqual([{ tier: 'yellow', unknownTool: true, tool: 'frobnicate', timed: true }]);
  });

  it('rejects an invalid input', async () => {
    await expect(createLocalEvaluator(policies).evaluate({} as PolicyInput)).rejects.toMatchObject({
      code: 'policy_input_invalid',
    });
  });
});
