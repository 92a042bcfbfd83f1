import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyRing } from '../../../domain/crypto/key-ring.js';
import type { CallRecord } from '../../../domain/call/record.js';
import { GateError } from '../../../domain/errors.js';
import { stopFault } from '../../../domain/identity/stops.js';
import { requestStates } from '../../../domain/mcp/request-state.js';
import {
  type CallTalks,
  createCallTalks,
  type KeptQuestions,
  type Listener,
} from '../../../domain/upstream/call-talks.js';
import { eventually } from '../../../test/support/waiting.js';
import type { ClientCall } from './call-streams.js';
import type { Answer } from '../answers.js';
import type { ToolCallRequest } from '../calls.js';
import { createStatelessCalls, type StatelessCall } from './stateless-calls.js';
import { createStatelessTasks } from './stateless-tasks.js';

const CALLER = {
  tenant: 'acme',
  agent: 'one',
  spiffe: 'spiffe://gate.local/tenant/acme/agent/one/instance/1',
} as ToolCallRequest['caller'];
const QUESTION = '{"message":"Sure?","requestedSchema":{}}';
const ACCEPTED = '{"action":"accept","content":{}}';

/** Calls that are handled so; all that are admitted are at their tools. */
function opened({
  handle,
  talks = createCallTalks(),
  standing = async () => null,
  sweepEveryMs = 60_000,
  now = Date.now,
  settled = async () => null,
}: {
  now?: () => number;
  /** Of the call that a client comes back for. */
  settled?: () => Promise<null | undefined>;
  talks?: CallTalks;
  standing?: () => Promise<CallRecord | null>;
  sweepEveryMs?: number;
  handle?: (call: ToolCallRequest, correlationId: string, of: (id: string) => Listener) => Promise<Answer>;
} = {}) {
  const listener = (correlationId: string) => talks.listenerOf({ correlation_id: correlationId }) as Listener;
  const noted: boolean[] = [];
  let stopped = false;
  let steadyMs = 0;
  const handler = {
    async handle(call: ToolCallRequest, correlationId: string): Promise<Answer> {
      if (handle) return handle(call, correlationId, listener);
      await call.onAdmitted?.();
      return new Promise<Answer>(() => undefined);
    },
    settled,
    standing,
    recorded: async () => undefined,
    assertInUse() {
      if (stopped) throw stopFault({ tenant: 'acme', tool: 'pay' });
    },
  };
  const calls = createStatelessCalls({
    handler: handler as never,
    controls: {
      admit: async () => undefined,
      handedOn: (_caller, _method, _id, answered) => noted.push(answered),
    },
    states: requestStates({ keys: keyRing(new Map([['test', randomBytes(32)]])) }),
    talks,
    answered: async (_request, { first }: ClientCall) => first?.() as Promise<Answer>,
    unknownAfterMs: 1_000,
    now,
    steadyMs: () => steadyMs,
    sweepEveryMs,
  });
  const tasks = createStatelessTasks({
    tasks: {
      known: async () => ({ kept: { correlationId: 'call' }, record: { evidence: { call: { tool: 'pay' } } } }),
    } as never,
    handler: handler as never,
    controls: { admit: async () => undefined },
    calls,
    unknownAfterMs: 1_000,
    now: Date.now,
  });
  const begin = (correlationId: string) => calls.begun({ correlationId, headers: {} } as never, asked());
  return {
    calls,
    tasks,
    talks,
    noted,
    begin,
    listener,
    stop: () => (stopped = true),
    pass: (ms: number) => (steadyMs += ms),
  };
}

const asked = (): StatelessCall => ({
  call: { caller: CALLER, mcp: { method: 'tools/call', tool: 'pay' } } as never,
  askedFor: { method: 'tools/call', params: { name: 'pay' } },
  form: { id: 1, tool: true, admitted: true, stateless: true },
  askable: { can: ['elicitation'], opensUrls: false },
  consoleUrl: undefined,
  progressToken: undefined,
  leastLevel: null,
});
const saidIn = (answer: unknown) =>
  JSON.parse(((answer as Answer).body as Buffer).toString('utf8')) as { result: Record<string, string> };

describe('an answer to what a stopped tool asks', () => {
  it('is not taken, in another round or for a task, and what is asked stays open', async () => {
    const { calls, tasks, begin, listener, stop } = opened();
    const first = begin('call');
    const answer = listener('call').asked('elicitation/create', QUESTION, 60_000, 'sure');
    const state = saidIn(await first).result['requestState'] ?? '';
    stop();
    const answers = new Map([['sure', ACCEPTED]]);
    await expect(calls.resumed({} as never, asked(), { state, answers })).rejects.toThrow('is suspended');
    const params = {
      taskId: 'call',
      _meta: {
        'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      },
    };
    const update = { method: 'tasks/update', body: { params } } as never;
    const asker = { caller: CALLER, consoleUrl: undefined };
    await expect(tasks.asked({} as never, asker, update, asked().form, answers)).rejects.toThrow(GateError);
    expect(await calls.questions('call')).toHaveLength(1);
    calls.over('call');
    await expect(answer).rejects.toThrow('in time');
  });
});

describe('a call of which nothing is recorded', () => {
  it('never began once its time is over by a clock that nobody sets, and not where the clock is ahead', async () => {
    let aheadMs = 0;
    const { calls, begin, listener, pass } = opened({
      now: () => Date.now() + aheadMs,
      settled: async () => undefined,
    });
    const first = begin('call');
    const answer = listener('call').asked('elicitation/create', QUESTION, 60_000, 'sure');
    answer.catch(() => undefined);
    const state = saidIn(await first).result['requestState'] ?? '';
    const again = () => calls.resumed({} as never, asked(), { state, answers: new Map() });
    aheadMs = 60_000;
    expect(saidIn(await again()).result['resultType']).toBe('input_required');
    pass(1_001);
    await expect(again()).rejects.toThrow('never began');
    calls.close();
  });
});

describe('what the upstream of another process asks', () => {
  /** As one of several replicas sees it: `first` says whether the answer that is given here is the first one. */
  function apart(open: readonly { id: string; key: string; method: string; params: string }[], first: boolean) {
    const given: string[] = [];
    const kept = {
      openOf: async () => open,
      give: async (id: string) => {
        given.push(id);
        return first;
      },
    } as unknown as KeptQuestions;
    return { given, ...opened({ talks: { ...createCallTalks(), kept } }) };
  }
  const FORM = { id: 'one', key: 'sure', method: 'elicitation/create', params: QUESTION };
  const OPENS = {
    id: 'two',
    key: 'page',
    method: 'elicitation/create',
    params: '{"mode":"url","url":"https://a.example"}',
  };
  const answers = new Map([
    ['sure', ACCEPTED],
    ['page', ACCEPTED],
  ]);

  it.each([
    [true, [true]],
    [false, []],
  ])('counts as answered where the answer was taken here: %s', async (first, expected) => {
    const { calls, given, noted } = apart([FORM], first);
    await calls.answer({ caller: CALLER, tool: 'pay', opensUrls: false }, 'call', answers);
    expect([given, noted]).toEqual([['one'], expected]);
  });

  it('is told to no client that cannot be asked it, and answered by none', async () => {
    const all = [FORM, OPENS, { ...FORM, id: 'three', params: JSON.stringify({ message: 'x'.repeat(65_536) }) }];
    const { calls, given, begin } = apart(all, true);
    expect((await calls.questions('call')).map(({ id }) => id)).toEqual(['one']);
    expect((await calls.questions('call', true)).map(({ id }) => id)).toEqual(['one', 'two']);
    await calls.answer({ caller: CALLER, tool: 'pay', opensUrls: false }, 'call', answers);
    expect(given).toEqual(['one']);
    // Where the call is listened to, its own request says it.
    void begin('call').catch(() => undefined);
    expect((await calls.questions('call', true)).map(({ id }) => id)).toEqual(['one']);
    calls.close();
  });
});

describe('a call that its client never comes back for', () => {
  it('is listened to until it is over', async () => {
    let state = 'parked';
    let looks = 0;
    const { calls, talks, begin } = opened({
      sweepEveryMs: 5,
      standing: async () => {
        looks += 1;
        if (state === 'away') throw new GateError('store_unavailable');
        return { state, evidence: { call: {} } } as CallRecord;
      },
    });
    void begin('call').catch(() => undefined);
    for (state of ['parked', 'intended', 'away']) {
      const before = looks;
      await eventually('it is looked at', () => looks > before + 1);
      expect(talks.listenerOf({ correlation_id: 'call' })).not.toBeNull();
    }
    state = 'completed';
    await eventually('nobody listens', () => talks.listenerOf({ correlation_id: 'call' }) === null);
    calls.close();
  });
});

describe('a request that is refused', () => {
  it.each<[string, 'begun' | 'tasks']>([
    ['knows no tasks', 'begun'],
    ['knows tasks', 'tasks'],
  ])('leaves nothing that listens, of a client that %s', async (_, how) => {
    const refusals: [string, (call: ToolCallRequest) => Promise<void>][] = [
      ['before it is admitted', async () => undefined],
      ['after that', async ({ onAdmitted }) => onAdmitted?.()],
    ];
    for (const [when, before] of refusals) {
      const { tasks, talks, begin } = opened({
        handle: async (call) => {
          await before(call);
          throw new GateError('rate_limited');
        },
      });
      const answer =
        how === 'begun' ? begin('call') : tasks.answered({ caller: CALLER, consoleUrl: undefined }, asked(), 'call');
      await expect(answer).rejects.toThrow(GateError);
      expect([when, talks.listenerOf({ correlation_id: 'call' })]).toEqual([when, null]);
    }
  });
});

describe('answers that a request brings without a state', () => {
  const brought = new Map([['sure', ACCEPTED]]);
  it.each<[string, 'begun' | 'tasks']>([
    ['knows no tasks', 'begun'],
    ['knows tasks', 'tasks'],
  ])('are given where the tool asks under their keys, and counted, of a client that %s', async (_, how) => {
    const { calls, tasks, noted } = opened({
      async handle({ onAdmitted }, correlationId, listenerOf) {
        await onAdmitted?.();
        const [, said] = await listenerOf(correlationId).asked('elicitation/create', QUESTION, 60_000, 'sure');
        const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { said } }));
        return { status: 200, headers: {}, body };
      },
    });
    const answer = await (how === 'begun'
      ? calls.begun({ correlationId: 'call', headers: {} } as never, asked(), brought)
      : tasks.answered({ caller: CALLER, consoleUrl: undefined }, asked(), 'call', brought));
    expect(saidIn(answer)).toMatchObject({ result: { said: ACCEPTED } });
    expect(noted).toEqual([true]);
  });

  it('count no more once the call waits for a person', async () => {
    const { calls, listener } = opened({
      async handle({ onAdmitted }) {
        await onAdmitted?.();
        return { status: 202, headers: {}, body: {} };
      },
    });
    await calls.begun({ correlationId: 'call', headers: {} } as never, asked(), brought);
    listener('call')
      .asked('elicitation/create', QUESTION, 60_000, 'sure')
      .catch(() => undefined);
    expect(await calls.questions('call')).toHaveLength(1);
  });
});
