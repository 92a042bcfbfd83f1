import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporal } from '../../../../stack/programs/find-program.js';
import { type LiteFixture, openLite } from '../../../../test/support/lite.js';
import { eventually } from '../../../../test/support/waiting.js';
import { DECIDED_SIGNAL } from '../src/wire.js';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const AGENT_SDK = fileURLToPath(new URL('../../agent-sdk', import.meta.url));
const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));
const WORKER = fileURLToPath(new URL('fixture/worker.mjs', import.meta.url));

let engine: TestWorkflowEnvironment;
let gate: LiteFixture;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-temporal-'));
  await run(process.execPath, [TSC, '-p', AGENT_SDK]);
  await run(process.execPath, [TSC, '-p', PACKAGE]);
  engine = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: await findTemporal({ onProgress: () => undefined }) },
      ip: '127.0.0.1',
    },
  });
  gate = await openLite({ GATE_LITE_PENDING_TTL_SECS: '60' });
}, 120_000);
afterAll(async () => {
  await gate?.close();
  await engine?.teardown();
  await rm(folder, { recursive: true, force: true });
});

let taskQueue: string;
let effects: string;
let workers: ChildProcess[];
beforeEach(() => {
  taskQueue = randomUUID();
  effects = join(folder, taskQueue);
  workers = [];
});
afterEach(() => {
  for (const worker of workers) worker.kill('SIGKILL');
});

interface Work {
  readonly module?: string | null;
  readonly endpoint?: string;
}
const argument = ({ module = 'guarded.mjs', endpoint = gate.lite.url }: Work, more: object = {}): string =>
  JSON.stringify({
    address: engine.address,
    namespace: engine.namespace,
    taskQueue,
    endpoint,
    effects,
    module,
    ...more,
  });

/** A worker in a process of its own, which takes work. */
async function work(given: Work = {}): Promise<ChildProcess> {
  const worker = spawn(process.execPath, [WORKER, argument(given)], { stdio: ['ignore', 'pipe', 'inherit'] });
  workers.push(worker);
  await once(worker.stdout, 'data');
  return worker;
}
async function killed(worker: ChildProcess): Promise<void> {
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

type Call = readonly [name: string, ...args: unknown[]];
const start = (workflow: string, ...args: unknown[]): Promise<WorkflowHandle> =>
  engine.client.workflow.start(workflow, { taskQueue, workflowId: randomUUID(), args });
const tools = (...calls: readonly Call[]): Promise<WorkflowHandle> => start('runTools', calls);

interface Effect {
  readonly name: string;
  readonly input: unknown;
  readonly by?: { readonly correlationId: string; readonly idempotencyId: string; readonly activityType: string };
}
const happened = async (): Promise<Effect[]> =>
  existsSync(effects)
    ? (await readFile(effects, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Effect)
    : [];

/** Why a workflow failed. */
async function failureOf(handle: WorkflowHandle): Promise<unknown> {
  const error: unknown = await handle.result().then(
    (result: unknown) => result,
    (thrown: unknown) => thrown,
  );
  return error instanceof WorkflowFailedError ? error.cause : error;
}

/** The row of the one call that waits with this amount. */
const waiting = (amount: number): Promise<{ id: string; correlation_id: string }> =>
  eventually(`a call waits with ${amount}`, async () => {
    const { body } = await gate.send('GET', '/pending?status=pending');
    const rows = body as unknown as { id: string; correlation_id: string; sandbox_report: { summary: string } }[];
    // Of its arguments a row shows the names alone.
    return rows.find(({ sandbox_report: { summary } }) => summary === `move ${amount}`);
  });
const decide = async (amount: number, decision: 'approve' | 'deny'): Promise<string> => {
  const { id, correlation_id } = await waiting(amount);
  expect((await gate.send('POST', `/decide/${id}`, { body: { decision, reason: 'of a test' } })).status).toBe(200);
  return correlation_id;
};
let amount = 0;
const transfer = (): readonly ['wire_transfer', { amount: number }] => [
  'wire_transfer',
  { amount: (amount += 1) + 1_000 },
];

const replayed = async (handle: WorkflowHandle, given: Work = {}): Promise<string> =>
  (await run(process.execPath, [WORKER, argument(given, { replay: handle.workflowId })])).stdout;

describe('an activity that is a tool', () => {
  it('runs with what Gate allowed, and others run as before', async () => {
    await work();
    const handle = await tools(['list_files', { path: 'a' }], ['note', 'hello'], ['list_files', 'b', 3]);
    expect(await handle.result()).toEqual(['list_files done', 'note done', 'list_files done']);
    const [first, note, second] = await happened();
    expect(first?.by).toEqual({
      activityType: 'list_files',
      correlationId: expect.any(String),
      idempotencyId: expect.any(String),
    });
    expect(note).toEqual({ name: 'note', input: 'hello' });
    expect(second?.by?.idempotencyId).not.toBe(first?.by?.idempotencyId);
    expect(await replayed(handle)).toBe('the same\n');
  });

  it('does not run where Gate refuses: a failure with the code, which nothing retries', async () => {
    await work();
    const handle = await tools(['delete_file', { path: 'a' }]);
    const failure = await failureOf(handle);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'policy_denied', nonRetryable: true });
    expect((failure as ApplicationFailure).details?.[0]).toMatchObject({
      code: 'policy_denied',
      reasons: [expect.any(String)],
      correlationId: expect.any(String),
    });
    expect(await happened()).toEqual([]);
    expect(await replayed(handle)).toBe('the same\n');
  });

  it('waits for its person without a slot, and runs once he approved', async () => {
    await work();
    const call = transfer();
    const parked = await tools(call);
    await waiting(call[1].amount);
    // The one slot of the worker is free.
    expect(await (await tools(['list_files', { path: 'a' }])).result()).toEqual(['list_files done']);
    const correlationId = await decide(call[1].amount, 'approve');
    expect(await parked.result()).toEqual(['wire_transfer done']);
    const ran = (await happened()).filter(({ name }) => name === 'wire_transfer');
    expect(ran).toEqual([expect.objectContaining({ input: call[1], by: expect.objectContaining({ correlationId }) })]);
    expect(await replayed(parked)).toBe('the same\n');
  });

  it('does not run with arguments that its workflow changed while its person looked at others', async () => {
    await work();
    const [name, input] = transfer();
    const handle = await start('runAndChange', name, input);
    await decide(input.amount, 'approve');
    expect(await failureOf(handle)).toMatchObject({ type: 'gate_arguments_changed', nonRetryable: true });
    expect((await happened()).map(({ name: ran }) => ran)).toEqual(['note']);
  });

  it('does not run where its person refuses', async () => {
    await work();
    const call = transfer();
    const handle = await tools(call);
    await decide(call[1].amount, 'deny');
    expect(await failureOf(handle)).toMatchObject({ type: 'review_denied', nonRetryable: true });
    expect(await happened()).toEqual([]);
  });

  it('does not run where nobody decided in time', async () => {
    const brief = await openLite({ GATE_LITE_PENDING_TTL_SECS: '1' });
    try {
      await work({ endpoint: brief.lite.url });
      expect(await failureOf(await tools(transfer()))).toMatchObject({ type: 'review_expired', nonRetryable: true });
      expect(await happened()).toEqual([]);
    } finally {
      await brief.close();
    }
  });

  it('waits beside others, each for its own decision', async () => {
    await work();
    const [one, two] = [transfer(), transfer()];
    const handle = await start('runTogether', [one, two]);
    const second = await decide(two[1].amount, 'approve');
    const first = await decide(one[1].amount, 'approve');
    expect(await handle.result()).toEqual(['wire_transfer done', 'wire_transfer done']);
    const by = new Map((await happened()).map(({ input, by: of }) => [(input as { amount: number }).amount, of]));
    expect(by.get(one[1].amount)?.correlationId).toBe(first);
    expect(by.get(two[1].amount)?.correlationId).toBe(second);
    expect(await replayed(handle)).toBe('the same\n');
  });

  it('does not run after a cancellation, whatever is decided then', async () => {
    await work();
    const call = transfer();
    const handle = await tools(call);
    await waiting(call[1].amount);
    await handle.cancel();
    expect(await failureOf(handle)).toBeInstanceOf(CancelledFailure);
    await decide(call[1].amount, 'approve');
    expect(await (await tools(['list_files', { path: 'a' }])).result()).toEqual(['list_files done']);
    expect((await happened()).map(({ name }) => name)).toEqual(['list_files']);
    expect(await replayed(handle)).toBe('the same\n');
  });

  it('is cancelled as any activity is, so that its workflow may go on', async () => {
    await work();
    const call = transfer();
    const handle = await start('runAndTell', ...call);
    await waiting(call[1].amount);
    await handle.cancel();
    expect(await handle.result()).toBe('note done');
    expect(await happened()).toEqual([{ name: 'note', input: 'cancelled' }]);
  });

  it('survives the worker: killed while it waits, decided meanwhile, run once by the next', async () => {
    const worker = await work();
    const call = transfer();
    const handle = await tools(call);
    await waiting(call[1].amount);
    await killed(worker);
    const correlationId = await decide(call[1].amount, 'approve');
    expect(await happened()).toEqual([]);
    await work();
    expect(await handle.result()).toEqual(['wire_transfer done']);
    expect((await happened()).map(({ by }) => by?.correlationId)).toEqual([correlationId]);
    expect(await replayed(handle)).toBe('the same\n');
  });

  it('survives a Gate that is away, and asks it once', async () => {
    const home = await mkdtemp(join(folder, 'gate-'));
    const first = await openLite({}, { folder: home });
    const { port } = new URL(first.lite.url);
    await work({ endpoint: first.lite.url });
    await first.close();
    const handle = await tools(['list_files', { path: 'a' }]);
    const attempted = async (): Promise<number> => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0;
    await eventually('Gate was missed', async () => (await attempted()) >= 2);
    const second = await openLite({ GATE_LITE_PORT: port }, { folder: home });
    try {
      expect(await handle.result()).toEqual(['list_files done']);
      expect(await happened()).toHaveLength(1);
    } finally {
      await second.close();
    }
  });

  it('goes on at the signal, and asks Gate all the same', async () => {
    await work({ module: 'patient.mjs' });
    const call = transfer();
    const handle = await tools(call);
    const { correlation_id: correlationId } = await waiting(call[1].amount);
    // Nobody decided yet: whoever says so is not believed.
    await handle.signal(DECIDED_SIGNAL, correlationId);
    const questions = async (): Promise<number> =>
      ((await handle.fetchHistory()).events ?? []).filter(
        (event) =>
          event.activityTaskScheduledEventAttributes?.activityType?.name === 'gate.decision' ||
          event.activityTaskCompletedEventAttributes,
      ).length;
    // The verdict, and the question with its answer.
    await eventually('Gate was asked', async () => (await questions()) >= 3);
    expect(await happened()).toEqual([]);
    await decide(call[1].amount, 'approve');
    await handle.signal(DECIDED_SIGNAL, correlationId);
    expect(await handle.result()).toEqual(['wire_transfer done']);
    expect(await replayed(handle, { module: 'patient.mjs' })).toBe('the same\n');
  });

  it('does not run where its workflow did not ask', async () => {
    await work({ module: null });
    const failure = (await failureOf(await tools(['list_files', { path: 'a' }]))) as { cause?: unknown };
    expect(failure.cause).toMatchObject({ type: 'gate_not_asked', nonRetryable: true });
    expect(await happened()).toEqual([]);
  });

  it('is no local activity', async () => {
    await work();
    expect(await failureOf(await start('runLocally', 'list_files', {}))).toMatchObject({ type: 'gate_local_activity' });
    expect(await (await start('runLocally', 'note', 'a')).result()).toBe('note done');
  });

  it('is none whose arguments Gate cannot be shown', async () => {
    await work();
    const failure = await failureOf(await tools(['list_files', { big: 'x'.repeat(2 ** 20) }]));
    expect((failure as { cause?: unknown }).cause).toMatchObject({ nonRetryable: true });
    expect(await happened()).toEqual([]);
  });
});
