import { describe, expect, it } from '@jest/globals';
import type { CallRecord } from '../../../domain/call/record.js';
import { createTaskRequests } from './task-requests.js';
import { createTasks } from './tasks.js';

const CALLER = { tenant: 'acme', agent: 'bot', validToMs: 5_000 } as never;
const step = (last: boolean) => ({ said: 'nothing', last });
const LOST = { stage: 'uncertain', error: 'it hung up' };

/** A call that was lost, and what is known of it by now. */
const record = (state: string, outcome: object, probed = true): CallRecord =>
  ({
    correlation_id: 'c',
    state,
    updated_ms: 0,
    decision: null,
    evidence: { call: { contract: 'gate.server-execution/v1' }, verdict: null, ...(probed && { probed }) },
    outcome: { ...LOST, ...outcome },
  }) as never;

const tasksOver = (found: CallRecord) =>
  createTasks({
    handler: { standing: async () => found, recorded: async () => undefined, changed: async () => found },
    store: {
      keep: async () => undefined,
      of: async () => ({ correlationId: 'c', createdMs: 0, askedMs: 0 }),
      list: async () => [],
    },
    withdrawCall: () => Promise.reject(new Error('nothing is withdrawn')),
    unknownAfterMs: 1_000,
    now: () => 0,
  });
const told = (found: CallRecord) => tasksOver(found).get({ caller: CALLER, consoleUrl: undefined }, 'c');

describe('the task of a call that is in progress', () => {
  it.each([
    ['decided', 'is being judged'],
    ['allowed', 'is at its tool'],
    ['intended', 'is at its tool'],
  ])('says of one that is %s: %s', async (state, statusMessage) => {
    expect(await told({ ...record(state, {}), outcome: null } as never)).toMatchObject({
      status: 'working',
      statusMessage,
    });
  });
});

describe('the task of a call whose outcome was lost', () => {
  const by = (who: 'probe' | 'person') => ({ reconciled: { by: who, at: '', decided_by: 'x', reason: 'x' } });
  const RAN = { stage: 'completed', status_code: 200 };

  it.each<[string, string, CallRecord]>([
    ['a probe is due', 'working', record('uncertain', {})],
    ['a probe looks again', 'working', record('uncertain', { probes: [step(false)] })],
    ['a probe has looked for the last time', 'failed', record('uncertain', { probes: [step(false), step(true)] })],
    ['its tool has no probe', 'failed', record('uncertain', {}, false)],
    ['a probe found that it ran', 'completed', record('completed', { ...RAN, ...by('probe'), probes: [step(true)] })],
    ['a probe found that it did not', 'failed', record('not_run', { ...by('probe'), probes: [step(true)] })],
    ['a person knew before the probe did', 'completed', record('completed', { ...RAN, ...by('person') })],
  ])('is, where %s, %s', async (_when, status, found) => {
    expect(await told(found)).toMatchObject({ status });
  });

  it.each([
    ['after the last look', record('completed', { ...RAN, ...by('person'), probes: [step(true)] })],
    ['of a tool without a probe', record('completed', { ...RAN, ...by('person') }, false)],
  ])('stays failed where a person finds out %s that it ran, and says so', async (_when, found) => {
    expect(await told(found)).toMatchObject({
      status: 'failed',
      statusMessage: expect.stringContaining('the tool ran'),
    });
  });
});

describe('the open tasks of an agent', () => {
  it('are read no further once who asked is gone, however many there are', async () => {
    const gone = new AbortController();
    let read = 0;
    const tasks = createTasks({
      handler: {
        async standing() {
          read += 1;
          if (read === 60) gone.abort();
          return record('completed', {});
        },
        recorded: async () => undefined,
        changed: () => Promise.reject(new Error('nothing is waited for')),
      },
      store: {
        keep: async () => undefined,
        of: async () => null,
        // An agent with 1,000 pages of them.
        list: async (_owner, _after, limit) =>
          read < 50_000 ? Array.from({ length: limit }, () => ({ correlationId: 'c', createdMs: 0, askedMs: 0 })) : [],
      },
      withdrawCall: () => Promise.reject(new Error('nothing is withdrawn')),
      unknownAfterMs: 1_000,
      now: () => 0,
    });
    expect(await tasks.open(CALLER, 50, gone.signal)).toEqual([]);
    expect(read).toBe(60);
  });
});

describe('tasks/result', () => {
  const request = { headers: { accept: 'application/json, text/event-stream' } } as never;
  const asked = {
    caller: CALLER,
    session: {},
    mcp: { method: 'tasks/result', body: { params: { taskId: 'c' } } },
    form: { id: 1 },
  } as never;
  const ask = async (settled: (options: unknown) => unknown) => {
    const begun: unknown[] = [];
    const answer = createTaskRequests({
      tasks: tasksOver(record('uncertain', {})),
      handler: { settled: async (_id, _caller, _until, options) => settled(options) as never },
      controls: { admit: async () => undefined },
      streams: {
        begin: (...args: unknown[]) => {
          begun.push(args);
          return { signal: new AbortController().signal, end: () => undefined };
        },
      } as never,
      events: () => (async function* () {})(),
      talkOf: () => null,
      logLevel: async () => null,
      consoleOf: () => undefined,
      opensOf: () => ({}) as never,
      now: () => 0,
    });
    await answer(request, asked);
    return begun;
  };

  it("is a stream of who reads it, which ends with that one's token", async () => {
    expect(await ask(() => null)).toEqual([[CALLER]]);
  });

  it('counts among the earlier answers of its agent, and waits while a probe is due', async () => {
    let given: { again?: object; isOver?: (of: CallRecord) => boolean } = {};
    await ask((options) => {
      given = options as typeof given;
      return null;
    });
    expect(given.again).toMatchObject({ caller: CALLER, correlationId: 'c' });
    expect([given.isOver?.(record('uncertain', {})), given.isOver?.(record('uncertain', {}, false))]).toEqual([
      false,
      true,
    ]);
  });
});

describe('a task that is cancelled while its call is being judged', () => {
  const standing = (state: string): CallRecord => ({ ...record(state, {}), outcome: null }) as never;
  const withdrawn = {
    ...standing('denied'),
    decision: { status: 'denied', decided_by: 'system:withdrawn-by-agent' },
  } as never;

  /** `states` is how the call stands, one after the other, as long as somebody waits for the next. */
  const cancelled = async (...states: (CallRecord | null)[]) => {
    const withdrawals: string[] = [];
    let clock = 0;
    const next = () => {
      if (states.length > 1) states.shift();
      // A wait that brings nothing takes its whole time.
      else clock += 60_000;
    };
    const tasks = createTasks({
      handler: {
        standing: async () => states[0] ?? null,
        recorded: async () => (states[0] === null ? next() : undefined),
        changed: async () => {
          next();
          return states[0] ?? null;
        },
      },
      store: {
        keep: async () => undefined,
        of: async () => ({ correlationId: 'c', createdMs: 0, askedMs: 0 }),
        list: async () => [],
      },
      withdrawCall: async ({ correlation_id }) => {
        withdrawals.push(correlation_id);
        states.splice(0, states.length, withdrawn);
      },
      unknownAfterMs: 1_000,
      now: () => clock,
    });
    const told = await tasks.cancel({ caller: CALLER, consoleUrl: undefined }, 'c').catch((error: unknown) => error);
    return { told, withdrawals };
  };

  it.each([
    ['nothing is recorded of it yet', [null, standing('decided'), standing('parked')]],
    ['it is decided', [standing('decided'), standing('parked')]],
    ['it waits already', [standing('parked')]],
  ])('is withdrawn once it waits, where %s', async (_when, states) => {
    expect(await cancelled(...states)).toMatchObject({ told: { status: 'cancelled' }, withdrawals: ['c'] });
  });

  it.each([
    ['is at its tool then', [standing('decided'), standing('allowed')]],
    ['is judged for longer than a client waits', [standing('decided')]],
  ])('goes on where it %s, and its client is told so', async (_when, states) => {
    expect(await cancelled(...states)).toMatchObject({ told: { code: 'task_not_cancellable' }, withdrawals: [] });
  });
});
