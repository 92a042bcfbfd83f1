import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { CallInput } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import { reviewRow } from './review-row.js';
import { createInProcessRunner } from '../lite/in-process-runner.js';
import { eventually, timePasses } from '../test/support/waiting.js';
import { approvalRecorded, parked } from '../test/support/forged-approvals.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

describe('a call that policy lets the machine decide (tier auto)', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow', approvalTier: 'auto' } });
  });
  afterEach(() => gate.close());

  it('runs at once, approved by the rule, and its caller gets the result', async () => {
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'completed', tier: 'yellow' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
      status: 'approved',
      decided_by: 'system:policy-tier',
      decided_via: 'system:policy-tier',
      approver_provenance: 'system',
      credential_kind: null,
    });
  });

  it('has every row of a reviewed call in the ledger', async () => {
    const call = await gate.call();
    await gate.run(call);
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    expect(rows.map(({ event_kind }) => event_kind)).toEqual([
      'proxy.verdict',
      'brain.inspection',
      'policy.evaluated',
      'hil.created',
      'hil.approved',
      'upstream.outcome',
    ]);
    expect(rows[4]).toMatchObject({
      actor_sub: 'system:policy-tier',
      policy_decision: { approval_tier: 'auto', credential_kind: null },
    });
  });

  it('tells the address of its caller', async () => {
    const call = await gate.call({ callback_url: 'https://agent.example/decided' });
    await gate.run(call);
    await gate.host.idle();
    expect(gate.callbacks).toHaveLength(1);
  });

  it('waits for a person where HIL cannot sign', async () => {
    const up = gate.activities.decideByRule;
    gate.activities.decideByRule = () => Promise.reject(new Error('hil is away'));
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    expect(gate.executed).toEqual([]);
    gate.activities.decideByRule = up;
    const decision = await gate.decision(call, 'deny');
    expect(await gate.host.decide(decision)).toMatchObject({ outcome: 'applied', settled: { status: 'denied' } });
  });

  describe('whose process ends between its park and the decision of the rule', () => {
    /** Parked, and not decided; the next process begins with what the stores have. */
    async function parkedAndLeft(over: Partial<CallInput> & { callback_url?: string } = {}): Promise<CallInput> {
      const up = gate.activities.decideByRule;
      gate.activities.decideByRule = () => Promise.reject(new Error('the process ends'));
      const call = await gate.call(over);
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
      gate.activities.decideByRule = up;
      await gate.host.close();
      return call;
    }
    const nextProcess = () =>
      createInProcessRunner({
        calls: gate.calls,
        activities: gate.activities,
        logger: pino({ level: 'silent' }),
      });

    it('is decided by the rule all the same, with rows and callback, and runs once', async () => {
      const call = await parkedAndLeft({ callback_url: 'https://agent.example/decided' });
      const host = nextProcess();
      await host.resume();
      await host.idle();
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('completed');
      expect(gate.executed).toHaveLength(1);
      expect(gate.callbacks).toHaveLength(1);
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
        status: 'approved',
        decided_by: 'system:policy-tier',
      });
      expect(await gate.kinds(call.correlation_id)).toEqual(
        expect.arrayContaining(['hil.created', 'hil.approved', 'upstream.outcome']),
      );
      await host.close();
    });

    it('asked again by one who does not know that it was decided and its row settled, it is what the record says', async () => {
      const call = await parkedAndLeft();
      const row = reviewRow(gate.activities);
      for (const _time of ['first', 'second'])
        expect(await row.askedAgain(call, Date.now())).toMatchObject({ state: 'approved', row_owed: false });
    });

    it('has its row settled where the one who approved it ended before that', async () => {
      const call = await parkedAndLeft();
      const signed = await gate.activities.decideByRule((await gate.calls.find(call.correlation_id))?.pending_id ?? '');
      await gate.activities.applyDecision(signed as SignedDecision);
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'pending' });
      const row = reviewRow(gate.activities);
      expect(await row.opened(call, Date.now(), undefined, null)).toMatchObject({ state: 'approved', row_owed: false });
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'approved' });
      gate.script.hil = 'down';
      expect(await row.opened(call, Date.now(), undefined, null)).toMatchObject({ state: 'approved', row_owed: true });
    });

    it('expires where its time is over by then: a rule is too late as a person is', async () => {
      const call = await parkedAndLeft({ ttl_secs: { auto: 1, standard: 1, strict: 1 } });
      await timePasses(1_100, 'the deadline passes while nothing runs');
      const host = nextProcess();
      await host.resume();
      await host.idle();
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('expired');
      expect(gate.executed).toEqual([]);
      await host.close();
    });

    it('still waits for a person where the rule may not decide it', async () => {
      const call = await parkedAndLeft({ tool: 'delete_file' });
      const up = gate.activities.decideByRule;
      const said: unknown[] = [];
      gate.activities.decideByRule = async (pendingId) => {
        const decision = await up(pendingId);
        said.push(decision);
        return decision;
      };
      const host = nextProcess();
      await host.resume();
      await eventually('the rule is asked again', () => said.length > 0);
      expect(said).toEqual([null]);
      const denial = await gate.decision(call, 'deny');
      expect(await host.decide(denial)).toMatchObject({ outcome: 'applied', settled: { status: 'denied' } });
      await host.close();
    });

    it('is what a person made of it at the same moment, and its caller is told that', async () => {
      const call = await parkedAndLeft({ callback_url: 'https://agent.example/decided' });
      const host = nextProcess();
      const up = gate.activities.decideByRule;
      gate.activities.decideByRule = async (pendingId) => {
        const signed = await up(pendingId);
        await host.decide(await gate.decision(call, 'deny'));
        return signed;
      };
      await host.resume();
      await host.idle();
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('denied');
      expect(gate.executed).toEqual([]);
      expect(gate.callbacks.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([{ status: 'denied' }]);
      await host.close();
    });
  });

  it.each(['down', 'silent'] as const)('waits for a person where nobody predicted its effect: %s', async (sandbox) => {
    gate.script.sandbox = sandbox;
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked', approval_tier: 'auto' });
    expect(gate.executed).toEqual([]);
    expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
  });

  it('waits for a person where its predicted effect is destructive', async () => {
    const call = await gate.call({ tool: 'delete_file', arguments: { path: 'notes/todo.txt' } });
    expect(await gate.run(call)).toMatchObject({ state: 'parked', approval_tier: 'auto' });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
      status: 'pending',
      sandbox_report: { severity: 'destructive' },
    });
    expect(gate.executed).toEqual([]);
  });

  it('is not decided by a rule in the tiers of people, whoever asks', async () => {
    for (const tier of ['standard', 'strict'] as const) {
      gate.script.approvalTier = tier;
      const call = await gate.call();
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
      const row = await gate.reviews.byCorrelation(call.correlation_id);
      expect(await gate.activities.decideByRule(row?.id ?? '')).toBeNull();
    }
  });

  it('leaves a call of people waiting where the approval of a rule is sent about it', async () => {
    gate.script.approvalTier = 'standard';
    const call = await parked(gate, 'gate.server-execution/v1');
    const signed = await gate.decision(call, 'approve', {
      principal: {
        subject: 'system:policy-tier',
        tenant: 'acme',
        method: 'system',
        credential: 'policy-tier:auto',
        credential_kind: null,
      },
    });
    expect(await gate.activities.applyDecision(signed)).toMatchObject({ applied: false, code: 'decision_refused' });
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
    expect(await gate.kinds(call.correlation_id)).toContain('alarm.forged_decision');
  });

  it("is closed at the claim where a rule's approval stands in the record of another tier", async () => {
    gate.script.approvalTier = 'standard';
    const call = await parked(gate, 'gate.server-execution/v1');
    const signed = await gate.decision(call, 'approve', {
      principal: {
        subject: 'system:policy-tier',
        tenant: 'acme',
        method: 'system',
        credential: 'policy-tier:auto',
        credential_kind: null,
      },
    });
    await gate.calls.move(call.correlation_id, 'approve', { decision: approvalRecorded(signed) });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('tampered');
    expect(gate.executed).toEqual([]);
  });
});
