import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { judgedInSteps } from '../test/support/judged-in-steps.js';
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

  const JUDGED = ['proxy.verdict', 'brain.inspection', 'policy.evaluated'];
  const parked = async () => {
    gate.script.tier = 'yellow';
    const call = await gate.call();
    await judgedInSteps(steps, call);
    await steps.park(call, Date.now());
    return call;
  };

  it('inspect looks and leaves nothing behind, as often as it is met', async () => {
    const call = await gate.call();
    expect(await steps.inspect(call)).toMatchObject({ inspected: { available: true } });
    expect(await steps.inspect(call)).toMatchObject({ inspected: { available: true } });
    expect(await gate.calls.find(call.correlation_id)).toBeNull();
  });

  it('inspect says that Brain is away and throws nothing: policy must still be heard', async () => {
    gate.script.brain = 'down';
    expect(await steps.inspect(await gate.call())).toMatchObject({
      inspected: { available: false, reason: 'brain is away' },
    });
  });

  it('inspect closes a call that comes too late, and its row can be appended', async () => {
    const call = await gate.call({ not_after_ms: Date.now() - 1 });
    expect(await steps.inspect(call)).toMatchObject({ closed: { state: 'abandoned' } });
    expect(await steps.appendLedger(call.correlation_id, 'at_once')).toBe(true);
    expect(await gate.kinds(call.correlation_id)).toEqual(['call.abandoned']);
  });

  it('evaluate commits the verdict of both, and writes no row', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    expect(await judgedInSteps(steps, call)).toMatchObject({ state: 'denied', tier: 'red' });
    expect(await gate.calls.find(call.correlation_id)).toMatchObject({ state: 'denied' });
    expect(await gate.rows(call.correlation_id)).toEqual([]);
  });

  it('evaluate met twice keeps the first verdict and one set of rows, whatever policy says by then', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    const first = await judgedInSteps(steps, call);
    await steps.appendLedger(call.correlation_id, 'at_once');
    gate.script.tier = 'green';
    expect(await judgedInSteps(steps, call)).toEqual(first);
    expect(await steps.appendLedger(call.correlation_id, 'at_once')).toBe(true);
    expect(await gate.kinds(call.correlation_id)).toEqual(JUDGED);
  });

  it('evaluate throws where no verdict can be had, and leaves nothing behind', async () => {
    gate.script.policy = 'down';
    const call = await gate.call();
    await expect(judgedInSteps(steps, call)).rejects.toMatchObject({ name: 'PipelineUnavailable', layer: 'policy' });
    expect(await gate.calls.find(call.correlation_id)).toBeNull();
  });

  it('judge, which calls of an earlier Gate ask for, comes to the same as both halves', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    const summary = await steps.judge(call);
    expect(summary).toMatchObject({ state: 'denied' });
    expect(await judgedInSteps(steps, call)).toEqual(summary);
  });

  it('park stores the review row and parks the record; the rows of both can be appended', async () => {
    const call = await parked();
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'pending' });
    expect(await gate.calls.find(call.correlation_id)).toMatchObject({ state: 'parked' });
    expect(await steps.appendLedger(call.correlation_id, 'at_once')).toBe(true);
    expect(await gate.kinds(call.correlation_id)).toEqual([...JUDGED, 'hil.created']);
  });

  it('execute sends once; met twice it sends nothing', async () => {
    const call = await gate.call();
    await judgedInSteps(steps, call);
    const done = await steps.execute(call, call.not_after_ms);
    expect(done).toMatchObject({ state: 'completed' });
    expect(await steps.execute(call, call.not_after_ms)).toEqual(done);
    expect(gate.executed).toHaveLength(1);
    await steps.appendLedger(call.correlation_id, 'at_once');
    expect(await gate.kinds(call.correlation_id)).toContain('upstream.outcome');
  });

  it('appendLedger says that a ledger which is away took nothing; to be retried, it throws', async () => {
    const call = await gate.call();
    await judgedInSteps(steps, call);
    gate.script.ledger = 'down';
    expect(await steps.appendLedger(call.correlation_id, 'at_once')).toBe(false);
    await expect(steps.appendLedger(call.correlation_id, 'until_taken')).rejects.toMatchObject({
      code: 'ledger_store_unavailable',
    });
    gate.script.ledger = 'up';
    expect(await steps.appendLedger(call.correlation_id, 'until_taken')).toBe(true);
    expect(await gate.kinds(call.correlation_id)).toEqual(JUDGED);
  });

  it('expire closes the record and its review row; the rows of the ledger follow', async () => {
    const call = await parked();
    expect(await steps.expire(call.correlation_id)).toMatchObject({ state: 'expired' });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'expired' });
    expect(await steps.appendLedger(call.correlation_id, 'at_once')).toBe(true);
    expect(await steps.settleReview(call.correlation_id, 'at_once')).toBe(true);
    expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
  });

  it('settleReview writes down a decision that its approver never wrote down', async () => {
    const call = await parked();
    const verdict = await gate.activities.applyDecision(await gate.decision(call, 'deny'));
    if (!verdict.applied) throw new Error('not applied');
    expect(await steps.settleReview(call.correlation_id, 'at_once')).toBe(true);
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'denied' });
  });

  it('settleReview says that a review store which is away took nothing; to be retried, it throws', async () => {
    const call = await parked();
    await steps.expire(call.correlation_id);
    gate.script.hil = 'down';
    expect(await steps.settleReview(call.correlation_id, 'at_once')).toBe(false);
    await expect(steps.settleReview(call.correlation_id, 'until_taken')).rejects.toThrow('hil is away');
    gate.script.hil = 'up';
    expect(await steps.settleReview(call.correlation_id, 'until_taken')).toBe(true);
  });

  it('callback tells the address that was given, once for each time it is met', async () => {
    const call = await gate.call({ callback_url: 'https://caller.example/hooks' });
    gate.script.tier = 'yellow';
    await judgedInSteps(steps, call);
    await steps.park(call, Date.now());
    await steps.expire(call.correlation_id);
    await steps.callback(call.correlation_id);
    expect(gate.callbacks).toMatchObject([{ url: 'https://caller.example/hooks' }]);
  });
});
