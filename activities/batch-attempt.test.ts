import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { UpstreamOutcome } from '../domain/upstream/upstream.js';
import { answerOf } from '../api/proxy/answers.js';
import { GateError } from '../domain/errors.js';
import { NO_BUDGETS } from '../domain/spend/spend.js';
import { canonicalDigest } from '../domain/crypto/digest.js';
import { modified } from '../domain/decision/modification.js';
import { batchRequest } from '../test/support/batch-request.js';
import type { RespondedCall, ResponseJudge } from '../domain/inspection/response-judge.js';
import type { Listener } from '../domain/upstream/call-talks.js';
import { attemptBatch } from './batch-attempt.js';
import { createActivities } from '../workers/activities.js';
import { NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { openPipeline, type PipelineFixture, replyOk } from '../test/support/pipeline-fixture.js';

const nameOf = ({ params }: JsonObject): unknown => (params as JsonObject)['name'];

describe('a batch that Gate executes', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline();
  });
  afterEach(() => gate.close());

  const staged = async (...names: string[]): Promise<CallInput> => {
    const body = batchRequest(names.map((name, at) => ({ id: `c${at}`, name, arguments: { amount: at } })));
    const { call } = gate.unstaged({ tool: 'gate/tools.batch', method: 'gate/tools.batch' });
    const batch = { ...call, digest: canonicalDigest({ body }) };
    await gate.calls.admit(batch, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
    return batch;
  };
  const judged = async (call: CallInput) => {
    const inspected = await gate.activities.inspect(call);
    await gate.activities.commitVerdict(call, inspected, await gate.activities.evaluate(call, inspected));
  };
  const sent = () => gate.executed.map(nameOf);
  const answers = async ({ correlation_id: id }: CallInput) => {
    const text = (await gate.calls.result(id))?.toString('utf8') ?? 'null';
    return (JSON.parse(text) as { result: { calls: JsonObject[] } }).result.calls;
  };
  const outcomesOf = async ({ correlation_id: id }: CallInput) =>
    (await gate.rows(id))
      .filter(({ event_kind }) => event_kind === 'upstream.outcome')
      .map(({ policy_decision: said }) => [said?.['stage'], said?.['outcome'], said?.['tool']]);
  const stepsTaken = async ({ agent, tenant }: CallInput) =>
    (await gate.calls.history(tenant, agent, 0)).recent_sequence.map(({ tool }) => tool);

  it('runs its calls in their order, each once, and answers with what each answered', async () => {
    const call = await staged('first', 'second');
    expect(await gate.run(call)).toMatchObject({ state: 'completed' });
    expect(sent()).toEqual(['first', 'second']);
    const result = { content: [{ type: 'text', text: 'done' }] };
    expect(await answers(call)).toEqual([
      { id: 'c0', name: 'first', outcome: 'completed', result },
      { id: 'c1', name: 'second', outcome: 'completed', result },
    ]);
    expect(await outcomesOf(call)).toEqual([
      ['completed', undefined, undefined],
      ['step', 'completed', 'first'],
      ['step', 'completed', 'second'],
    ]);
    expect(await stepsTaken(call)).toEqual(['first', 'second']);
    expect((await gate.ledger.verify()).valid).toBe(true);
  });

  it.each([
    ['its agent', 'agentFault', new GateError('agent_suspended', 'acme/bot is stopped')],
    ['a tool of it', 'toolFault', new GateError('tool_suspended', 'the tool is stopped')],
  ] as const)(
    'sends none of them once %s is stopped, and says so of those that did not run',
    async (_, which, fault) => {
      await gate.close();
      // When all is looked at, right before the first, before the first and before the second.
      const stands = [null, null, null, fault];
      const standing = {
        agentFault: () => null,
        toolFault: () => null,
        forcesReview: () => false,
        budgetsOf: () => NO_BUDGETS,
        decoysOf: () => NO_DECOYS,
        grantFault: () => null,
      };
      gate = await openPipeline({
        compose: (ports) =>
          createActivities({ ...ports, standing: { ...standing, [which]: () => stands.shift() ?? null } }),
      });
      const call = await staged('first', 'second');
      expect(await gate.run(call)).toMatchObject({ state: 'completed' });
      expect(sent()).toEqual(['first']);
      expect(await answers(call)).toMatchObject([
        { id: 'c0', outcome: 'completed' },
        { id: 'c1', outcome: 'not_run', reason: fault.message },
      ]);
    },
  );

  it('runs none of them where policy denies it', async () => {
    gate.script.tier = 'red';
    expect(await gate.run(await staged('first', 'second'))).toMatchObject({ state: 'denied' });
    expect(sent()).toEqual([]);
  });

  it('has one review, and runs as a whole once it is approved', async () => {
    gate.script.tier = 'yellow';
    const call = await staged('first', 'second');
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    expect(sent()).toEqual([]);
    expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    expect(sent()).toEqual(['first', 'second']);
    expect((await gate.kinds(call.correlation_id)).filter((kind) => kind === 'hil.created')).toHaveLength(1);
  });

  it('is judged anew as a whole where its approver changes one call, and runs as it was changed', async () => {
    gate.script.tier = 'yellow';
    const call = await staged('first', 'second');
    await gate.run(call);
    const row = await gate.reviews.byCorrelation(call.correlation_id);
    const diff = {
      contract: 'gate.hil.modification-diff/v1' as const,
      replacements: [{ path: ['calls', '1', 'arguments', 'amount'], value: 7 }],
    };
    const reviewed_digest = canonicalDigest(modified(row?.request_payload as JsonObject, diff));
    const change = { decision: 'modify' as const, modification: { diff, reviewed_digest } };
    const signed = await gate.decision(call, 'approve', change);
    expect(await gate.host.decide(signed)).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    expect(gate.executed.map(({ params }) => (params as JsonObject)['arguments'])).toEqual([
      { amount: 0 },
      { amount: 7 },
    ]);
    expect(await gate.kinds(call.correlation_id)).toContain('hil.modified');
  });

  it('goes on after a failure, which is an answer, and after a call that was not sent', async () => {
    gate.script.upstream = async (request) =>
      nameOf(request) === 'failing'
        ? {
            kind: 'reply',
            statusCode: 200,
            text: '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}',
            failed: true,
          }
        : nameOf(request) === 'unreachable'
          ? { kind: 'not_sent', reason: 'refused' }
          : replyOk(request);
    const call = await staged('failing', 'unreachable', 'third');
    expect(await gate.run(call)).toMatchObject({ state: 'completed' });
    expect(await answers(call)).toMatchObject([
      { outcome: 'failed', result: { isError: true } },
      { outcome: 'not_run', reason: 'refused' },
      { outcome: 'completed' },
    ]);
    expect(await stepsTaken(call)).toEqual(['third']);
    expect(await outcomesOf(call)).toMatchObject([
      ['failed', undefined, undefined],
      ['step', 'failed', 'failing'],
      ['step', 'not_run', 'unreachable'],
      ['step', 'completed', 'third'],
    ]);
  });

  it('was not run where nothing of it was sent', async () => {
    gate.script.upstream = () => Promise.resolve({ kind: 'not_sent', reason: 'refused' });
    const call = await staged('first', 'second');
    expect(await gate.run(call)).toMatchObject({ state: 'not_run' });
    expect(await stepsTaken(call)).toEqual([]);
  });

  it('stops at an unknown outcome: what ran is told, and nothing after it is sent', async () => {
    gate.script.upstream = async (request) =>
      nameOf(request) === 'lost' ? { kind: 'unknown', cause: 'timeout', reason: 'no answer' } : replyOk(request);
    const call = await staged('first', 'lost', 'third');
    expect(await gate.run(call)).toMatchObject({ state: 'uncertain' });
    expect(sent()).toEqual(['first', 'lost']);
    expect(await outcomesOf(call)).toEqual([
      ['uncertain', undefined, undefined],
      ['step', 'completed', 'first'],
      ['step', 'uncertain', 'lost'],
      ['step', 'not_run', 'third'],
    ]);
    expect(await stepsTaken(call)).toEqual(['first']);
    const record = await gate.calls.find(call.correlation_id);
    expect(record && answerOf(record, null, true)).toMatchObject({
      status: 409,
      body: {
        error: 'server_execution_uncertain',
        calls: [
          { id: 'c0', name: 'first', outcome: 'completed' },
          { name: 'lost', outcome: 'uncertain' },
          { name: 'third', outcome: 'not_run' },
        ],
      },
    });
  });

  it('is of unknown outcome from the call on at which its process died, and no call is sent again', async () => {
    let begun: () => void = () => undefined;
    const began = new Promise<void>((resolve) => {
      begun = resolve;
    });
    gate.script.upstream = async (request) => {
      if (nameOf(request) !== 'second') return replyOk(request);
      begun();
      return new Promise<UpstreamOutcome>(() => undefined);
    };
    const call = await staged('first', 'second', 'third');
    await judged(call);
    void gate.activities.callUpstream(call, call.not_after_ms).catch(() => undefined);
    await began;
    const settled = await gate.activities.settleExecution(call.correlation_id, 'the worker died');
    expect(settled).toMatchObject({ state: 'uncertain' });
    const record = await gate.calls.find(call.correlation_id);
    expect(record && answerOf(record, null, true)?.body).toMatchObject({
      calls: [{ outcome: 'completed' }, { outcome: 'uncertain' }, { outcome: 'not_run' }],
    });
    await gate.activities.callUpstream(call, call.not_after_ms);
    expect(sent()).toEqual(['first', 'second']);
  });

  it('has the time of one call: what did not begin in it is not run', async () => {
    let now = Date.now();
    await gate.close();
    gate = await openPipeline({ clock: { now: () => now } as never });
    gate.script.upstream = async (request) => {
      now += 6_000;
      return replyOk(request);
    };
    const call = await staged('slow', 'second');
    await judged(call);
    expect(await gate.activities.callUpstream(call, call.not_after_ms)).toMatchObject({ state: 'completed' });
    expect(await answers(call)).toMatchObject([{ outcome: 'completed' }, { id: 'c1', outcome: 'not_run' }]);
    expect(sent()).toEqual(['slow']);
  });

  it('has what a tool says meanwhile looked at as that of the tool, and not of the batch', async () => {
    const told: string[] = [];
    const listener: Listener = {
      progress: false,
      told: (_method, params) => void told.push(params),
      asked: async () => ['result', '{}'],
    };
    const asked: RespondedCall[] = [];
    const responses: ResponseJudge = {
      listening(call, heard) {
        asked.push(call);
        return { listener: heard, heard: () => null };
      },
      judge: async (call, text) => {
        asked.push(call);
        return { text };
      },
    };
    const call = await staged('first', 'second');
    const outcome = await attemptBatch(
      {
        calls: { move: async () => ({ applied: true }) } as never,
        upstream: {
          callTool: async (_caller: object, request: JsonObject, limits: { listener?: Listener | null }) => {
            limits.listener?.told('notifications/message', '{"data":"half done"}');
            return replyOk(request);
          },
        } as never,
        responses,
        now: Date.now,
        untilMs: Date.now() + 10_000,
        heard: listener,
        fault: () => null,
      },
      call,
      ['first', 'second'].map((name) => ({ id: name, name, arguments: {} })),
      1,
    );
    expect(outcome).toMatchObject({ kind: 'reply', failed: false });
    expect(told).toHaveLength(2);
    expect(asked.map(({ tool, method }) => [tool, method])).toEqual(
      ['first', 'first', 'second', 'second'].map((name) => [name, 'tools/call']),
    );
  });
});
