import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamOutcome } from '../domain/upstream/upstream.js';
import { createCallTalks } from '../domain/upstream/call-talks.js';
import { createActivities } from '../workers/activities.js';
import { openPipeline, type PipelineFixture, replyOk } from '../test/support/pipeline-fixture.js';
import { createStepActivities } from './steps.js';
import type { ReachedRecord } from '../contracts/call.js';
import type { CallStore } from '../domain/call/ports.js';

let gate: PipelineFixture;
beforeEach(async () => {
  gate = await openPipeline();
});
afterEach(() => gate.close());

const reply = (statusCode: number, failed: boolean): UpstreamOutcome => ({
  kind: 'reply',
  statusCode,
  text: '{}',
  failed,
});
const stepsAfter = async (outcome: UpstreamOutcome) => {
  gate.script.upstream = async () => outcome;
  await gate.run(await gate.call());
  const { recent_sequence: steps } = await gate.calls.history('acme', 'support-bot', 0);
  return steps.map(({ tool }) => tool);
};

describe('what inspection and policy see of an attempt afterwards', () => {
  it.each([
    ['a tool that says it failed', reply(200, true)],
    ['an answer that refuses', reply(403, false)],
    ['a server that broke', reply(500, false)],
    ['an answer that sends elsewhere', reply(302, false)],
    ['a refusal of the tool itself', reply(400, true)],
    ['a request that was not sent', { kind: 'not_sent', reason: 'connection refused' }],
    ['an answer that was lost', { kind: 'unknown', cause: 'invalid_answer', reason: 'socket closed' }],
  ] as const)('is nothing after %s', async (_what, outcome) => {
    expect(await stepsAfter(outcome)).toEqual([]);
  });

  it.each([200, 204])('is one step after an answer of %d', async (statusCode) => {
    expect(await stepsAfter(reply(statusCode, false))).toEqual(['read_file']);
  });
});

describe('what a tool says meanwhile', () => {
  it.each([
    ['an answer', reply(200, false), 'complete'],
    ['a lost answer', { kind: 'unknown', cause: 'invalid_answer', reason: 'socket closed' }, 'lose'],
  ] as const)('is kept before %s is recorded, and takes none of the time of the call', async (_what, outcome, end) => {
    const said: string[] = [];
    let past = 0;
    await gate.close();
    gate = await openPipeline({
      compose: (ports) =>
        createActivities({
          ...ports,
          now: () => (ports.now ?? Date.now)() + past,
          talks: {
            ...createCallTalks(),
            async over(id) {
              await ports.calls.find(id);
              past += 60_000;
              said.push('kept');
            },
          },
          calls: Object.assign(Object.create(ports.calls) as CallStore, {
            move: (...given: Parameters<CallStore['move']>) => {
              said.push(given[1]);
              return ports.calls.move(...given);
            },
          }),
        }),
    });
    gate.script.upstream = async () => outcome;
    const call = await gate.call();
    await gate.run(call);
    const ended = said.slice(said.indexOf('claim'));
    expect(ended.slice(0, 3)).toEqual(['claim', 'kept', end]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.duration_ms).toBeLessThan(60_000);
  });
});

describe('a store that is away for a moment around the one attempt', () => {
  type Asked = 'find' | 'request' | 'claim' | 'complete';
  const away = new Error('Connection terminated unexpectedly');
  /** What the attempt asks of the store fails this often, before it is done or, as `lost`, when it has been done. */
  const failing: { what: Asked | null; times: number; lost: boolean } = { what: null, times: 0, lost: false };
  const faulty =
    <Given extends unknown[], Result>(
      what: (...given: Given) => Asked | null,
      work: (...given: Given) => Promise<Result>,
    ) =>
    async (...given: Given): Promise<Result> => {
      const fails = failing.what !== null && what(...given) === failing.what && failing.times > 0;
      if (fails) failing.times -= 1;
      if (fails && !failing.lost) throw away;
      const result = await work(...given);
      if (fails) throw away;
      return result;
    };
  const overFaulty = (calls: CallStore): CallStore =>
    Object.assign(Object.create(calls) as CallStore, {
      find: faulty(
        (_id: string, _reached?: ReachedRecord) => 'find',
        (...given: Parameters<CallStore['find']>) => calls.find(...given),
      ),
      request: faulty(
        (_id: string, _digest: string) => 'request',
        (...given: Parameters<CallStore['request']>) => calls.request(...given),
      ),
      move: faulty(
        (_id, move) => (move === 'claim' || move === 'complete' ? move : null),
        (...given: Parameters<CallStore['move']>) => calls.move(...given),
      ),
    });

  /** An allowed call whose attempt meets the fault. */
  async function attempted(what: Asked, { times, lost = false }: { times: number; lost?: boolean }) {
    await gate.close();
    gate = await openPipeline({ compose: (ports) => createActivities({ ...ports, calls: overFaulty(ports.calls) }) });
    gate.script.upstream = async (request) => {
      failing.what = what === 'complete' ? what : null;
      return replyOk(request);
    };
    const call = await gate.call();
    const { activities } = gate;
    const verdict = await createStepActivities(activities).judge(call);
    Object.assign(failing, { what: what === 'complete' ? null : what, times, lost });
    const ended = await activities
      .callUpstream(call, Date.now() + 60_000, undefined, verdict.version)
      .finally(() => (failing.what = null))
      .catch(() => activities.settleExecution(call.correlation_id, 'it failed'));
    return {
      state: ended.state,
      stored: (await gate.calls.find(call.correlation_id))?.state,
      runs: gate.executed.length,
    };
  }

  it.each(['find', 'request', 'claim', 'complete'] as const)('%s fails three times: it runs once', async (what) => {
    expect(await attempted(what, { times: 3 })).toEqual({ state: 'completed', stored: 'completed', runs: 1 });
  });

  it('the answer to the claim is lost: whoever claims again finds it taken, and nothing is sent', async () => {
    const { state, runs } = await attempted('claim', { times: 1, lost: true });
    expect({ state, runs }).toEqual({ state: 'intended', runs: 0 });
  });

  it('the answer to the result is lost: it is stored once', async () => {
    expect(await attempted('complete', { times: 1, lost: true })).toMatchObject({ stored: 'completed', runs: 1 });
  });

  it('it stays away: the call is given up before anything is sent', async () => {
    expect(await attempted('claim', { times: 1_000 })).toEqual({ state: 'not_run', stored: 'not_run', runs: 0 });
  });

  it('it stays away when the tool has run: how it ended is unknown, and it is not repeated', async () => {
    expect(await attempted('complete', { times: 1_000 })).toMatchObject({ stored: 'uncertain', runs: 1 });
  });
});
