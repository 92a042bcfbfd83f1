import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
