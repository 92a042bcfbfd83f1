import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Modification, NewReview, PendingRequest } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import { callOfReview, createAskForReview } from '../../domain/review/asked-review.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { TEST_PAYLOAD_KEYS } from '../../test/support/engine-keys.js';
import { until } from '../../test/support/kill-host-driver.js';
import { openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import {
  everythingIn,
  openWorkflowEnvironment,
  type WorkflowEnvironment,
} from '../../test/support/workflow-environment.js';
import { historyOf, type HistoryRun } from '../../workers/history.js';
import { REVIEW } from './messages.js';

let engine: WorkflowEnvironment;
let gate: PipelineFixture;
beforeAll(async () => {
  gate = await openPipeline();
  engine = await openWorkflowEnvironment(() => gate.activities, { seal: () => gate.reviews.changeSeal });
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await gate.close();
});
const asked: string[] = [];
beforeEach(async () => {
  const before = gate;
  gate = await openPipeline();
  await before.close();
});
afterEach(async () => {
  for (const workflowId of asked.splice(0))
    for (const { run_id } of await historyOf(engine.client, workflowId, null))
      await engine.replay(await engine.client.workflow.getHandle(workflowId, run_id).fetchHistory());
});

const SIMULATOR = { spiffe: 'spiffe://gate.local/service/simulator', fingerprint: 'cd'.repeat(32) };
const reviewOf = (over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: randomUUID(),
  method: 'tools/call',
  request_payload: {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'pay', arguments: { to: 'the-very-secret-vendor' } },
  },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  review_reasons: ['money movement'],
  tenant: 'acme',
  ...over,
});
const ask = (review: NewReview) => {
  asked.push(review.correlation_id);
  return createAskForReview({ reviews: gate.reviews, starter: engine.starter, clock: Date.now })(review, SIMULATOR);
};
const runsOf = (review: NewReview): Promise<HistoryRun[]> =>
  historyOf(engine.client, review.correlation_id, TEST_PAYLOAD_KEYS);
const ended = (review: NewReview): Promise<HistoryRun[]> =>
  until(
    'the review has ended',
    () => runsOf(review),
    (runs) => runs.length > 0 && runs.at(-1)?.status !== 'running',
  );
const decide = async (review: NewReview, decision: 'approve' | 'deny') =>
  engine.sender.decide(
    await gate.decision(callOfReview(review, SIMULATOR, Date.now()), decision, { request_id: randomUUID() }),
  );
const rowOf = (review: NewReview): Promise<PendingRequest | null> => gate.reviews.byCorrelation(review.correlation_id);

describe('review: what nobody called waits, is decided and ends like a parked call', () => {
  it.each([
    ['approve', 'approved'],
    ['deny', 'denied'],
  ] as const)('%s: the row and the ledger say it, and nothing runs', async (decision, status) => {
    const review = reviewOf();
    const { row, created } = await ask(review);
    expect([row.status, created]).toEqual(['pending', true]);
    const { type } = await engine.client.workflow.getHandle(review.correlation_id).describe();
    expect(type).toBe(REVIEW);
    expect(await decide(review, decision)).toMatchObject({ outcome: 'applied', settled: { status } });
    const runs = await ended(review);
    expect(runs.at(-1)?.status).toBe('completed');
    expect(await rowOf(review)).toMatchObject({ status, decided_by: 'operator:dev' });
    const rows = await gate.rows(review.correlation_id);
    expect(rows.map(({ event_kind, source, agent_spiffe }) => [event_kind, source, agent_spiffe])).toEqual([
      ['hil.created', 'simulator', SIMULATOR.spiffe],
      [`hil.${status}`, 'simulator', SIMULATOR.spiffe],
    ]);
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(review.correlation_id))?.state).toBe(status);
    for (const { run_id } of runs)
      expect(
        await everythingIn(await engine.client.workflow.getHandle(review.correlation_id, run_id).fetchHistory()),
      ).not.toContain('the-very-secret-vendor');
  });

  it('is not changed: there is nothing that would run', async () => {
    const review = reviewOf();
    await ask(review);
    const modification: Modification = {
      diff: { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['to'], value: 'another' }] },
      reviewed_digest: `sha256:${'0'.repeat(64)}`,
    };
    const changed = await gate.decision(callOfReview(review, SIMULATOR, Date.now()), 'approve', {
      decision: 'modify',
      modification,
    });
    expect(await engine.sender.decide(changed)).toEqual({ outcome: 'refused', code: 'unsupported_decision' });
    expect(await decide(review, 'deny')).toMatchObject({ outcome: 'applied' });
    await ended(review);
  });

  it('expires, and is never shown as denied', async () => {
    const review = reviewOf({ ttl_seconds: 1 });
    await ask(review);
    await ended(review);
    expect(await rowOf(review)).toMatchObject({ status: 'expired', decided_by: 'system:ttl-sweep' });
    expect(await gate.kinds(review.correlation_id)).toEqual(['hil.created', 'hil.expired']);
  });

  it('asked for again is the same review, while it waits and after it has ended; many at once are one', async () => {
    const review = reviewOf();
    const all = await Promise.all(Array.from({ length: 5 }, () => ask(review)));
    expect(new Set(all.map(({ row }) => row.id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    await decide(review, 'deny');
    await ended(review);
    expect(await ask(review)).toMatchObject({ created: false, row: { status: 'denied' } });
    expect(await gate.kinds(review.correlation_id)).toEqual(['hil.created', 'hil.denied']);
  });

  it('under the id of another review, or of a call, is refused and changes nothing', async () => {
    const review = reviewOf();
    await ask(review);
    const other = { ...review, request_payload: { method: 'tools/call', params: { name: 'other' } } };
    await expect(ask(other)).rejects.toMatchObject({ code: 'pending_conflict' });
    await decide(review, 'deny');
    await ended(review);
    await expect(ask(other)).rejects.toMatchObject({ code: 'pending_conflict' });

    const call = await gate.call();
    expect(await engine.runner.start(call, Date.now() + 20_000)).toMatchObject({ state: 'completed' });
    const before = await gate.calls.find(call.correlation_id);
    const late = reviewOf({ correlation_id: call.correlation_id });
    await expect(ask(late)).rejects.toMatchObject({ code: 'pending_conflict' });
    expect(await rowOf(late)).toBeNull();
    expect(await gate.calls.find(call.correlation_id)).toEqual(before);
  });

  it('keeps its id from a call', async () => {
    const review = reviewOf();
    await ask(review);
    const call = await gate.call({ correlation_id: review.correlation_id });
    await expect(engine.runner.start(call, Date.now() + 20_000)).rejects.toMatchObject({
      code: 'server_execution_idempotency_conflict',
    });
    expect(await decide(review, 'approve')).toMatchObject({ outcome: 'applied' });
    await ended(review);
    expect(gate.executed).toEqual([]);
  });

  it('whose row cannot be stored is refused with that, and asked for again it is opened by the run that still waits', async () => {
    const review = reviewOf();
    const full = new GateError('review_backlog_full');
    const starter = engine.starter;
    asked.push(review.correlation_id);
    const refused = createAskForReview({
      reviews: {
        ...gate.reviews,
        parking: { ...gate.reviews.parking, createOnce: () => Promise.reject(full) },
      },
      starter,
      clock: Date.now,
    });
    await expect(refused(review, SIMULATOR)).rejects.toBe(full);
    expect(await gate.calls.find(review.correlation_id)).toBeNull();
    expect(await ask(review)).toMatchObject({ created: true, row: { status: 'pending' } });
    expect(await decide(review, 'deny')).toMatchObject({ outcome: 'applied' });
    await ended(review);
  });

  it('that cannot be taken in is not opened: its row is taken back, the run fails, and it may be asked for again', async () => {
    const { activities } = gate;
    const review = reviewOf();
    const abortCall = jest.fn(activities.abortCall);
    const takeIn = () => Promise.reject(new GateError('not_found', 'the store of the calls is not itself'));
    gate = { ...gate, activities: { ...activities, takeIn, abortCall } };
    await expect(ask(review)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
    const [run] = await ended(review);
    expect(run?.status).toBe('failed');
    // Whatever stands under the id may be another's.
    expect(abortCall).not.toHaveBeenCalled();
    expect(await rowOf(review)).toBeNull();
    gate = { ...gate, activities };
    expect(await ask(review)).toMatchObject({ created: true });
    expect(await decide(review, 'deny')).toMatchObject({ outcome: 'applied' });
    await ended(review);
    expect(await gate.kinds(review.correlation_id)).toEqual(['hil.created', 'hil.denied']);
  });

  it('has its decision wait where the row is seen before the run has taken it in', async () => {
    const review = reviewOf();
    asked.push(review.correlation_id);
    const deciding: Promise<unknown>[] = [];
    const seen = createAskForReview({
      reviews: {
        ...gate.reviews,
        parking: {
          ...gate.reviews.parking,
          async createOnce(given) {
            const made = await gate.reviews.createOnce(given);
            deciding.push(decide(review, 'approve'));
            return made;
          },
        },
      },
      starter: engine.starter,
      clock: Date.now,
    });
    await seen(review, SIMULATOR);
    expect(await Promise.all(deciding)).toMatchObject([{ outcome: 'applied' }]);
    await ended(review);
    expect(await rowOf(review)).toMatchObject({ status: 'approved' });
  });
});
