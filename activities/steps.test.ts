import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createStepActivities, type StepActivities } from './steps.js';

describe('the steps of a call on the engine', () => {
  let gate: PipelineFixture;
  let steps: StepActivities;
  beforeEach(async () => {
    gate = await openPipeline();
    // A crowded machine must not look like a store that is away.
    steps = createStepActivities(gate.activities, { waitForReviewsMs: 30_000 });
  });
  afterEach(() => gate.close());

  const parked = async () => {
    gate.script.tier = 'yellow';
    const call = await gate.call();
    await steps.judge(call);
    await steps.park(call, Date.now());
    return call;
  };

  it('judge commits the verdict and appends its rows', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    expect(await steps.judge(call)).toMatchObject({ summary: { state: 'denied', tier: 'red' }, rows_appended: true });
    expect(await gate.kinds(call.correlation_id)).toEqual(['proxy.verdict', 'brain.inspection', 'policy.evaluated']);
  });

  it('judge met twice keeps the first verdict and one set of rows, whatever policy says by then', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    const first = await steps.judge(call);
    gate.script.tier = 'green';
    expect(await steps.judge(call)).toEqual(first);
    expect(await gate.kinds(call.correlation_id)).toHaveLength(3);
  });

  it('judge throws where no verdict can be had, and leaves nothing behind', async () => {
    gate.script.policy = 'down';
    const call = await gate.call();
    await expect(steps.judge(call)).rejects.toMatchObject({ name: 'PipelineUnavailable', layer: 'policy' });
    expect(await gate.calls.find(call.correlation_id)).toBeNull();
  });

  it('judge closes a call that comes too late, with a row', async () => {
    const call = await gate.call({ not_after_ms: Date.now() - 1 });
    expect(await steps.judge(call)).toMatchObject({ summary: { state: 'abandoned' }, rows_appended: true });
    expect(await gate.kinds(call.correlation_id)).toEqual(['call.abandoned']);
  });

  it('judge writes no row for a verdict that waits for its review row', async () => {
    gate.script.tier = 'yellow';
    const call = await gate.call();
    expect(await steps.judge(call)).toMatchObject({ summary: { state: 'decided' }, rows_appended: false });
    expect(await gate.rows(call.correlation_id)).toEqual([]);
  });

  it('park stores the review row, then the rows', async () => {
    const call = await parked();
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'pending' });
    expect(await gate.kinds(call.correlation_id)).toContain('hil.created');
  });

  it('execute sends once and appends the outcome; met twice it sends nothing', async () => {
    const call = await gate.call();
    await steps.judge(call);
    const done = await steps.execute(call, call.not_after_ms);
    expect(done).toMatchObject({ summary: { state: 'completed' }, rows_appended: true });
    expect(await steps.execute(call, call.not_after_ms)).toEqual(done);
    expect(gate.executed).toHaveLength(1);
    expect(await gate.kinds(call.correlation_id)).toContain('upstream.outcome');
  });

  it('says that rows are due when the ledger does not take them, and the step stands', async () => {
    gate.script.ledger = 'down';
    const call = await gate.call();
    expect(await steps.judge(call)).toMatchObject({ summary: { state: 'allowed' }, rows_appended: false });
  });

  it('expire closes record, rows and review row', async () => {
    const call = await parked();
    expect(await steps.expire(call.correlation_id)).toMatchObject({
      summary: { state: 'expired' },
      rows_appended: true,
      review_settled: true,
    });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'expired' });
    expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
  });

  it('a decision that its approver never wrote down is written by what follows it', async () => {
    const call = await parked();
    const verdict = await gate.activities.applyDecision(await gate.decision(call, 'deny'));
    if (!verdict.applied) throw new Error('not applied');
    expect(await steps.afterDecision(verdict.summary)).toEqual({
      summary: verdict.summary,
      rows_appended: true,
      review_settled: true,
    });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'denied' });
    expect(await gate.kinds(call.correlation_id)).toContain('hil.denied');
  });

  it('a review store that is away leaves its row to the retrying activity', async () => {
    const call = await parked();
    const settling = createStepActivities({
      ...gate.activities,
      settleReviewRow: () => Promise.reject(new Error('hil is away')),
    });
    expect(await settling.expire(call.correlation_id)).toMatchObject({ rows_appended: true, review_settled: false });
  });
});
