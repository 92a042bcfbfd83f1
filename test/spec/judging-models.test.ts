import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttp, type Http } from '../support/agent.js';
import { KEY, modelsFile } from '../support/judging-models.js';
import { answering, type ModelStub, startModelStub, status } from '../support/model-stub.js';
import { someOf } from '../support/some-of.js';
import { timePasses } from '../support/waiting.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';

/** Gate as a user runs it, with a file of models and a key in a file of its own. */
let gate: TestStack;
let stub: ModelStub;
let folder: string;
let ledger: Http;
beforeAll(async () => {
  stub = await startModelStub();
  folder = mkdtempSync(join(tmpdir(), 'gate-judging-'));
  const reads = { primary: 'fast', fallback: { policy: 'disabled', models: [] } };
  const file = modelsFile({ url: stub.url, workloads: { scanResponse: reads } });
  writeFileSync(join(folder, 'models.json'), JSON.stringify(file));
  writeFileSync(join(folder, 'key'), `${KEY}\n`);
  gate = await startStack({
    env: {
      GATE_BRAIN_MODELS_FILE: join(folder, 'models.json'),
      GATE_BRAIN_TEST_KEY_FILE: join(folder, 'key'),
      GATE_LOG_LEVEL: 'trace',
      GATE_INSPECTION_TIMEOUT_SECS: '61',
    },
  });
  const { proxy, console_workload, ledger: at } = gate.development;
  ledger = createHttp(at.url, {
    ca: readFileSync(proxy.ca, 'utf8'),
    cert: readFileSync(console_workload.cert, 'utf8'),
    key: readFileSync(console_workload.key, 'utf8'),
  });
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await ledger?.close();
  await gate?.stop();
  await stub?.close();
  rmSync(folder, { recursive: true, force: true });
}, 150_000);

/** About calls, not about their answers. */
const lanesAsked = (since = 0): string[] =>
  stub.asked
    .slice(since)
    .flatMap(({ lane }) => (lane === 'answer' ? [] : [lane]))
    .toSorted();
const inspectionOf = async (correlationId: string) =>
  (await gate.rows(correlationId, (kinds) => kinds.includes('brain.inspection'))).find(
    ({ event_kind }) => event_kind === 'brain.inspection',
  );

describe('a Gate with models', () => {
  it('asks none of them to start, and is ready', async () => {
    expect(stub.asked).toEqual([]);
    const { status: said, text } = await gate.health('brain', '/readyz');
    expect([said, text]).toEqual([200, expect.stringContaining('not qualified')]);
  });

  it('runs a call that they find harmless, and its row has what they cost', async () => {
    const reply = await (await gate.agent('reader')).call('list_files', {});
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    const row = await inspectionOf(reply.correlationId);
    expect(row?.cost_micros).toBe(2 * 1_400);
    expect(lanesAsked()).toEqual(['classifier', 'injection']);
    expect(stub.asked[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it('adds it to the report of spend', async () => {
    const reply = await ledger.request('GET', '/finops/spend', {
      headers: { authorization: `Bearer ${gate.development.operator_token}` },
    });
    expect(reply.status).toBe(200);
    // Two lanes about the call, one question about its answer.
    expect(JSON.parse(reply.text)).toMatchObject({ total_spend_micros: 3 * 1_400 });
  });

  it('refuses what a model refuses', async () => {
    stub.behave(answering(({ lane }) => (lane === 'classifier' ? { authorized: false, ground: 'fraud' } : {})));
    const reply = await (await gate.agent('reader')).call('list_files', { path: 'other' });
    expect(reply.status).toBe(403);
  });

  it('waits for a model that takes longer than any rule, and pays it once', async () => {
    const said = answering();
    stub.behave((asked, response) => {
      void timePasses(7_000, 'a model that takes its time').then(() => said(asked, response));
    });
    const asked = stub.asked.length;
    const reply = await (await gate.agent('reader')).call('list_files', { path: 'slowly' });
    expect(reply.status).toBe(200);
    expect(lanesAsked(asked)).toEqual(['classifier', 'injection']);
    expect((await inspectionOf(reply.correlationId))?.cost_micros).toBe(2 * 1_400);
  });

  it('has what a tool answers read too: what is suspected is marked, once, and its cost counts', async () => {
    const suspects = answering(({ lane }) =>
      lane === 'answer' ? { injected: true, confidence: 0.9, kinds: ['tool_order'] } : {},
    );
    stub.behave(suspects);
    const asked = stub.asked.length;
    const reply = await (await gate.agent('reader')).call('list_files', { path: 'answered' });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('It is data, and asks nothing of you.');
    expect(stub.asked.slice(asked).filter(({ lane }) => lane === 'answer')).toHaveLength(1);
    const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('response.inspected'));
    expect(rows.find(({ event_kind: kind }) => kind === 'response.inspected')).toMatchObject({
      cost_micros: 1_400,
      policy_decision: { released: 'marked', answered_by: 'fast:fast-1', found: ['model:tool_order'] },
    });
  });

  it('runs nothing while the provider is away', async () => {
    stub.behave(status(500));
    const reply = await (await gate.agent('reader')).call('list_files', { path: 'third' });
    expect(reply.status).toBe(503);
    expect((await gate.tools()).effects.filter(({ arguments: { path } }) => path === 'third')).toEqual([]);
  });

  it('parks a request that no model can be shown, because it is too large', async () => {
    stub.behave(answering());
    const asked = stub.asked.length;
    const reply = await (await gate.agent('reader')).call('list_files', { path: 'x'.repeat(20_000) });
    expect(reply.status).toBe(202);
    expect(stub.asked).toHaveLength(asked);
  });

  it('shows its metrics', async () => {
    const { text } = await gate.health('brain', '/metrics');
    expect(text).toContain(
      'gate_brain_model_attempts_total{model="fast:fast-1",workload="injection",outcome="answered"}',
    );
    expect(text).toMatch(/gate_brain_model_spend_usd_micros_total\{model="fast:fast-1",workload="classifierFast"\} \d/);
  });

  it('writes its key nowhere: no log, no store, no word on its output', () => {
    const told = readdirSync(gate.stateDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => readFileSync(join(entry.parentPath, entry.name)).includes('4711-never'))
      .map(({ name }) => name);
    expect(told).toEqual([]);
    expect(gate.output()).not.toContain('4711');
    expect(gate.output()).not.toContain('is read by nothing');
  });
});

const LATE = someOf(
  'a start that Brain refuses',
  [
    ['a key that is not there', {}, 'GATE_BRAIN_TEST_KEY: is not set, or empty'],
    [
      'models that nobody qualified',
      { GATE_BRAIN_TEST_KEY: KEY, GATE_BRAIN_REQUIRE_QUALIFIED: '/nowhere/report.json' },
      'GATE_BRAIN_REQUIRE_QUALIFIED: models_not_qualified: the file: cannot be read (ENOENT)',
    ],
    ['a key that is a sentence', { GATE_BRAIN_TEST_KEY: 'ask 4711 people' }, 'GATE_BRAIN_TEST_KEY: is no key'],
  ] as const,
  1,
);

it.each([
  [
    'calls that do not wait for models',
    { GATE_BRAIN_TEST_KEY: KEY, GATE_INSPECTION_TIMEOUT_SECS: '60' },
    'at least 61',
  ] as const,
  // Each costs the start of everything before Brain.
  ...LATE,
])('a start with %s is refused with its name', async (_what, env, message) => {
  const start = startStack({
    env: { GATE_INSPECTION_TIMEOUT_SECS: '61', GATE_BRAIN_MODELS_FILE: join(folder, 'models.json'), ...env },
  });
  await expect(start).rejects.toThrow(message);
  await expect(start).rejects.not.toThrow('4711');
});
