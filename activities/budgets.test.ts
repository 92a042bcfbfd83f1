import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import { type Budgets, monthOf, NO_BUDGETS } from '../domain/spend/spend.js';
import { GateError } from '../domain/errors.js';
import { inspectionOf } from '../test/support/judgements.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';
import { NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { inspectOnce } from './inspection.js';

describe('a call of which is kept what it costs', () => {
  let gate: PipelineFixture;
  let budgets: Budgets;
  let inspected: number;
  beforeEach(async () => {
    budgets = NO_BUDGETS;
    inspected = 0;
    gate = await openPipeline({
      compose: (ports) =>
        createActivities({
          ...ports,
          inspector: {
            async inspect(asked) {
              inspected += 1;
              return { ...(await ports.inspector.inspect(asked)), cost_micros: 7 };
            },
          },
          standing: {
            agentFault: () => null,
            toolFault: () => null,
            forcesReview: () => false,
            budgetsOf: () => budgets,
            decoysOf: () => NO_DECOYS,
            grantFault: () => null,
          },
        }),
    });
  });
  afterEach(() => gate.close());

  /** As the proxy admits it and starts its run. */
  async function begun(given: Partial<Budgets>, change: Partial<CallInput> = {}): Promise<CallInput> {
    budgets = { ...NO_BUDGETS, ...given };
    const { body, call } = gate.unstaged(change);
    const asked = { ...budgets, mostMicros: 60, toolsMicros: 50, prices: { read_file: 50 } };
    const admission = await gate.calls.admit(call, { body, callback_url: null }, { limit: 0, windowMs: 60_000 }, asked);
    if (!admission.admitted || !admission.spend) throw new Error('it is not let in');
    return { ...call, spend: admission.spend };
  }
  const sums = async () => {
    const { spentMicros, reservedMicros } = await gate.calls.spend.of('acme', 'support-bot', monthOf(Date.now()));
    return [spentMicros, reservedMicros];
  };
  const factsOf = async (call: CallInput) => (await gate.calls.find(call.correlation_id))?.evidence.facts;
  const rowOf = async (call: CallInput, kind: string) => {
    const row = (await gate.rows(call.correlation_id)).find(({ event_kind }) => event_kind === kind);
    return { ...(row?.policy_decision as JsonObject), cost_micros: row?.cost_micros };
  };
  const ended = async (call: CallInput, decision: 'approve' | 'deny') => {
    await gate.host.decide(await gate.decision(call, decision));
    await gate.host.idle();
    const { state, outcome } = (await gate.calls.find(call.correlation_id)) ?? {};
    return { state, code: outcome?.code, sent: gate.executed.length };
  };

  it('is judged by what stood against its budget when it came, and its rows say what it reserved and cost', async () => {
    const first = await begun({ tenantMicros: 200 });
    expect(await gate.run(first)).toMatchObject({ state: 'completed' });
    expect(await sums()).toEqual([57, 0]);
    const call = await begun({ tenantMicros: 200, agentMicros: 150 });
    expect(await gate.run(call)).toMatchObject({ state: 'completed' });
    expect(await factsOf(call)).toMatchObject({
      budget_micros: 150,
      cumulative_spend_micros: 57,
      request_cost_micros: 60,
    });
    expect(await rowOf(call, 'proxy.verdict')).toMatchObject({
      spend: { reserved_micros: 60, budget: { of: 'agent' } },
    });
    expect((await rowOf(call, 'brain.inspection')).cost_micros).toBe(7);
    expect(await rowOf(call, 'upstream.outcome')).toMatchObject({ price_micros: 50 });
    expect(await sums()).toEqual([114, 0]);
  });

  it('has no facts of a budget where nobody set one', async () => {
    const call = await begun({});
    await gate.run(call);
    const facts = await factsOf(call);
    expect(facts).toMatchObject({ request_cost_micros: 60 });
    expect(Object.keys(facts ?? {})).not.toContain('budget_micros');
    const plain = await gate.call();
    await gate.run(plain);
    expect(Object.keys((await factsOf(plain)) ?? {})).not.toContain('request_cost_micros');
    expect(await rowOf(plain, 'upstream.outcome')).not.toHaveProperty('price_micros');
  });

  it('is not paid for where its agent has spent its budget: rules alone judge it', async () => {
    await gate.run(await begun({ agentMicros: 60 }));
    gate.script.tier = 'red';
    const call = await begun({ agentMicros: 57 });
    expect(await gate.run(call)).toMatchObject({ state: 'denied' });
    expect([inspected, await sums()]).toEqual([1, [57, 0]]);
    expect(await rowOf(call, 'brain.inspection')).toMatchObject({ available: false });
    expect(await factsOf(call)).toMatchObject({
      budget_micros: 57,
      cumulative_spend_micros: 57,
      request_cost_micros: 0,
    });
  });

  it('is let through by no rule that forgot the budget: without an inspection there is no allow', async () => {
    await gate.run(await begun({ agentMicros: 60 }));
    const call = await begun({ agentMicros: 57 });
    await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
    expect([gate.executed.length, await sums()]).toEqual([1, [57, 0]]);
  });

  describe('and that waits for a person', () => {
    const parked = async () => {
      gate.script.tier = 'yellow';
      const call = await begun({ tenantMicros: 100 });
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
      expect(await sums()).toEqual([0, 60]);
      return call;
    };

    it('runs under the budget that it has, and pays then', async () => {
      expect(await ended(await parked(), 'approve')).toMatchObject({ state: 'completed', sent: 1 });
      expect(await sums()).toEqual([57, 0]);
    });

    it('gives back what it reserved where it is denied', async () => {
      expect(await ended(await parked(), 'deny')).toMatchObject({ state: 'denied', sent: 0 });
      expect(await sums()).toEqual([7, 0]);
    });

    it.each([
      ['its tenant’s', { tenantMicros: 59 }],
      ['its agent’s', { agentMicros: 59 }],
      ['to nothing', { tenantMicros: 0 }],
    ])('does not run where a budget was lowered meanwhile: %s', async (_whose, lowered) => {
      const call = await parked();
      budgets = { ...NO_BUDGETS, ...lowered };
      expect(await ended(call, 'approve')).toEqual({ state: 'not_run', code: 'budget_changed', sent: 0 });
      expect(await rowOf(call, 'upstream.outcome')).toMatchObject({ code: 'budget_changed', price_micros: 0 });
      expect(await sums()).toEqual([7, 0]);
    });

    it('does not run where nobody can say what is spent', async () => {
      const call = await parked();
      gate.calls.spend.over = () => Promise.reject(new TypeError('no such column: spent'));
      expect(await ended(call, 'approve')).toEqual({ state: 'not_run', code: 'attempt_not_begun', sent: 0 });
      expect(await sums()).toEqual([7, 0]);
    });

    it('pays for each change that an approver has judged, also where that comes to nothing', async () => {
      const call = await parked();
      const parts = { body: gate.unstaged({}).body, history: { last_tool: null, recent_sequence: [], sensitive: [] } };
      for (const path of ['/a', '/b'])
        await inspectOnce(
          { calls: gate.calls, inspector: { inspect: async () => ({ ...inspectionOf(true), cost_micros: 7 }) } },
          (await gate.calls.find(call.correlation_id))?.evidence.call as CallInput,
          { ...parts.body, params: { name: 'read_file', arguments: { path } } },
          parts.history as never,
        );
      expect(await ended(call, 'deny')).toMatchObject({ state: 'denied' });
      expect(await sums()).toEqual([21, 0]);
    });

    it('that cannot be reviewed now gives back what it reserved', async () => {
      gate.script.tier = 'yellow';
      gate.script.hilTakes = () => Promise.reject(new GateError('review_backlog_full'));
      const call = await begun({ tenantMicros: 100 });
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'review_backlog_full' });
      expect(await sums()).toEqual([7, 0]);
    });
  });

  it('costs its tool where nobody knows whether it ran', async () => {
    gate.script.upstream = async () => ({ kind: 'unknown', cause: 'timeout', reason: 'no answer' });
    expect(await gate.run(await begun({ tenantMicros: 100 }))).toMatchObject({ state: 'uncertain' });
    expect(await sums()).toEqual([57, 0]);
  });

  it('costs no tool where nothing was sent', async () => {
    gate.script.upstream = async () => ({ kind: 'not_sent', reason: 'refused' });
    expect(await gate.run(await begun({ tenantMicros: 100 }))).toMatchObject({ state: 'not_run' });
    expect(await sums()).toEqual([7, 0]);
  });

  it('that ended in a 503 gives back what it reserved, but for the inspection that was paid, which is paid once', async () => {
    gate.script.policy = 'down';
    const call = await begun({ tenantMicros: 100 });
    await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
    expect(await sums()).toEqual([0, 60]);
    await gate.calls.spend.settleLost(call.not_after_ms + 1, 10);
    expect(await sums()).toEqual([7, 0]);
    gate.script.policy = 'up';
    const { body } = gate.unstaged({});
    const again = await gate.calls.admit(
      call,
      { body, callback_url: null },
      { limit: 0, windowMs: 60_000 },
      {
        ...budgets,
        mostMicros: 60,
        toolsMicros: 50,
        prices: { read_file: 50 },
      },
    );
    if (!again.admitted || !again.spend) throw new Error('it is not let in');
    expect(await sums()).toEqual([7, 53]);
    expect(await gate.run({ ...call, spend: again.spend })).toMatchObject({ state: 'completed' });
    expect([inspected, await sums()]).toEqual([1, [57, 0]]);
  });
});
