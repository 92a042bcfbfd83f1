import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { CallInput } from '../contracts/call.js';
import type { UpstreamOutcome } from '../domain/upstream/upstream.js';
import { inspectionOf } from '../test/support/judgements.js';
import { openPipeline, type PipelineFixture, replyOk } from '../test/support/pipeline-fixture.js';
import { forEngine, streamsForEngine } from './worker.js';

/** Something that a test lets happen, and that it can wait for. */
function once<Value = void>() {
  let happens: (value: Value) => void = () => undefined;
  const happened = new Promise<Value>((resolve) => (happens = resolve));
  return { happened, happens };
}

/** What a mocked activity environment heard from the activity in it. */
function environment() {
  const env = new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') });
  let beats = 0;
  env.on('heartbeat', () => (beats += 1));
  return { env, beats: () => beats };
}

const BESIDES_INTERVALS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setTimeout',
  'clearTimeout',
] as const;

let gate: PipelineFixture;
/** How the engine answers when reconciliation asks about a run. */
let statusOf: () => Promise<'running'>;
beforeEach(async () => {
  statusOf = () => Promise.resolve('running');
  gate = await openPipeline({ runs: { status: () => statusOf(), end: () => Promise.resolve() } });
});
afterEach(async () => {
  jest.useRealTimers();
  await gate.close();
});
/** From here on an interval fires only when the test lets its time pass; everything else is as it is. */
const holdIntervals = () => jest.useFakeTimers({ doNotFake: [...BESIDES_INTERVALS] });

async function allowed(): Promise<CallInput> {
  const call = await gate.call();
  const { activities } = gate;
  const evaluated = await activities.evaluate(call, await activities.inspect(call));
  await activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
  return call;
}
/** A tool that works until the test lets it answer, or until the attempt is stopped. */
function slowTool() {
  const [asked, answered] = [once<AbortSignal | undefined>(), once()];
  gate.script.upstream = (request, { signal }) => {
    asked.happens(signal);
    return new Promise<UpstreamOutcome>((resolve) => {
      void answered.happened.then(async () => resolve(await replyOk(request)));
      signal?.addEventListener('abort', () => resolve({ kind: 'unknown', cause: 'cancelled', reason: 'stopped' }));
    });
  };
  return { asked: asked.happened, answer: answered.happens };
}
const attempt = (env: MockActivityEnvironment, call: CallInput) =>
  env.run(forEngine(gate.activities).execute, call, Date.now() + 60_000);

// What needs the engine's context, and how it is tested: docs/decisions/activities-in-tests.md.
describe('the one attempt', () => {
  it('beats every three seconds while the tool works, and not once after it', async () => {
    const { env, beats } = environment();
    const tool = slowTool();
    const call = await allowed();
    holdIntervals();
    const running = attempt(env, call);
    await tool.asked;
    jest.advanceTimersByTime(2_999);
    expect(beats()).toBe(0);
    jest.advanceTimersByTime(9_001);
    expect(beats()).toBe(4);
    tool.answer();
    expect(await running).toMatchObject({ state: 'completed' });
    jest.advanceTimersByTime(60_000);
    expect(beats()).toBe(4);
  });

  it.each(['WORKER_SHUTDOWN', 'CANCELLED', 'TIMED_OUT', 'NOT_FOUND'] as const)(
    'ends with its signal (%s): the record says that nobody knows whether the tool ran, and it is not asked again',
    async (reason) => {
      const { env } = environment();
      const tool = slowTool();
      const call = await allowed();
      const running = attempt(env, call);
      expect((await tool.asked)?.aborted).toBe(false);
      env.cancel(reason);
      expect(await running).toMatchObject({ state: 'uncertain' });
      expect((await gate.calls.find(call.correlation_id))?.outcome).toMatchObject({ cause: 'cancelled' });
      expect(await attempt(environment().env, call)).toMatchObject({ state: 'uncertain' });
      expect(gate.executed).toHaveLength(1);
    },
  );

  it('stops to beat when it fails, too', async () => {
    const { env, beats } = environment();
    holdIntervals();
    const { call } = gate.unstaged();
    await expect(attempt(env, call)).rejects.toMatchObject({ type: 'not_found', nonRetryable: true });
    jest.advanceTimersByTime(60_000);
    expect(beats()).toBe(0);
  });
});

describe('a pass of reconciliation', () => {
  it('beats for each call that it looked at, and for each page of rows, and not while it hangs at one', async () => {
    const { env, beats } = environment();
    gate.script.tier = 'yellow';
    for (let parked = 0; parked < 3; parked += 1) await gate.run(await gate.call());
    const [asked, letGo] = [once(), once()];
    statusOf = () => {
      asked.happens();
      return letGo.happened.then(() => 'running');
    };
    holdIntervals();
    const { reconcileCalls } = forEngine(gate.activities);
    const running = env.run(() => reconcileCalls(null));
    await asked.happened;
    const before = beats();
    jest.advanceTimersByTime(60_000);
    expect(beats()).toBe(before);
    letGo.happens();
    expect(await running).toMatchObject({ looked_at: 3 });
    // The three rows are one page.
    expect(beats()).toBe(3 + 1);
  });
});

describe('a sweep of a sink', () => {
  it('beats while its receiver takes its time, whatever comes of it', async () => {
    const { env, beats } = environment();
    const ended = once();
    const { sweepSink } = streamsForEngine({
      sweepSink: async () => {
        await ended.happened;
        throw new Error('the receiver broke off');
      },
    });
    holdIntervals();
    const running = env.run(() => sweepSink('generic', { after: 0, limit: 10 }));
    jest.advanceTimersByTime(9_000);
    expect(beats()).toBe(3);
    ended.happens();
    await expect(running).rejects.toThrow('the receiver broke off');
    jest.advanceTimersByTime(60_000);
    expect(beats()).toBe(3);
  });
});
