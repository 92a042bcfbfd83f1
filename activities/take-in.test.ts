import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewReview } from '../contracts/review.js';
import { callOfReview } from '../domain/review/asked-review.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { eventually } from '../test/support/waiting.js';

const SIMULATOR = { spiffe: 'spiffe://gate.local/service/simulator', fingerprint: 'cd'.repeat(32) };
const reviewOf = (over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: randomUUID(),
  method: 'tools/call',
  request_payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: { amount: 5 } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  review_reasons: [],
  tenant: 'acme',
  ...over,
});

describe('taking in a review that no call asked for', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline();
  });
  afterEach(() => gate.close());
  const callOf = (review: NewReview) => callOfReview(review, SIMULATOR, Date.now());
  const recordOf = (review: NewReview) => gate.calls.find(review.correlation_id);

  it('makes the record of a call that waits, of the request in the row; repeated, the same', async () => {
    const review = reviewOf({ approval_tier: 'strict' });
    await gate.reviews.createOnce(review);
    const first = await gate.activities.takeIn(callOf(review));
    expect(first).toMatchObject({ state: 'decided', tier: 'yellow', approval_tier: 'strict' });
    expect(await gate.activities.takeIn(callOf(review))).toEqual(first);
    const record = await recordOf(review);
    expect(record?.evidence).toMatchObject({
      verdict: { outcome: 'park', review_reasons: ['money movement'] },
      inspection: null,
      decision: null,
    });
    expect(await gate.calls.request(review.correlation_id, record?.digest ?? '')).toMatchObject({
      body: review.request_payload,
    });
  });

  it('waits for a row that is stored a moment later', async () => {
    const review = reviewOf();
    const taking = gate.activities.takeIn(callOf(review));
    await gate.reviews.createOnce(review);
    expect(await taking).toMatchObject({ state: 'decided', approval_tier: 'standard' });
  });

  it('of which no row is ever stored leaves nothing', async () => {
    const review = reviewOf();
    await expect(gate.activities.takeIn(callOf(review))).rejects.toThrow(/not stored yet/);
    expect(await recordOf(review)).toBeNull();
  });

  it.each([
    ['another request', { request_payload: { method: 'tools/call', params: { name: 'other' } } }],
    ['another agent', { agent_id: 'another' }],
    ['another method', { method: 'other' }],
  ])('refuses a row of %s', async (_what, over) => {
    const review = reviewOf();
    await gate.reviews.createOnce({ ...review, ...over });
    await expect(gate.activities.takeIn(callOf(review))).rejects.toMatchObject({ layer: 'id_taken' });
    expect(await recordOf(review)).toBeNull();
  });

  it.each(['open', 'staged', 'purged'])('leaves alone a call that has the id: %s', async (how) => {
    const review = reviewOf();
    await gate.reviews.createOnce(review);
    const { body, call } = gate.unstaged({ correlation_id: review.correlation_id });
    await gate.calls.admit(call, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
    if (how !== 'staged') await gate.run(call);
    if (how === 'purged')
      await eventually('its rows are in the ledger, and the record is purged', async () => {
        const now = Date.now();
        await gate.calls.purge({ hitsMs: now, stagedMs: now, recordsMs: now });
        return (await recordOf(review)) === null;
      });
    const before = await recordOf(review);
    expect(before === null).toBe(how !== 'open');
    await expect(gate.activities.takeIn(callOf(review))).rejects.toMatchObject({ layer: 'id_taken' });
    expect(await recordOf(review)).toEqual(before);
  });
});
