import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { parked } from '../test/support/forged-approvals.js';
import { inspectionOf } from '../test/support/judgements.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import type { Clock } from '../lite/clock.js';
import { eventually } from '../test/support/waiting.js';

/** Opening a review has 5 s on a worker; after that the next attempt begins, while the first may still be under way. */
const ATTEMPT_MS = 5_000;

describe('opening a review', () => {
  let gate: PipelineFixture;
  let nowMs: number;
  beforeEach(async () => {
    nowMs = Date.parse('2026-11-22T10:00:00.000Z');
    const clock: Clock = { now: () => nowMs, sleep: () => new Promise(() => undefined) };
    gate = await openPipeline({ clock, script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  async function decided(): Promise<CallInput> {
    const call = await gate.call();
    const evaluated = await gate.activities.evaluate(call, await gate.activities.inspect(call));
    await gate.activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
    return call;
  }
  const rowOf = (call: CallInput) => gate.reviews.byCorrelation(call.correlation_id);
  const stateOf = async (call: CallInput) => (await gate.calls.find(call.correlation_id))?.state;
  /** A caller told to wait has a row that an operator sees; a row that is seen belongs to a call that waits. */
  const agree = async (call: CallInput) =>
    expect((await rowOf(call)) !== null).toBe((await stateOf(call)) === 'parked');

  /** A step that waits until it is let go or fails. */
  function gateway() {
    let open: () => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const passed = new Promise<void>((resolve, reject) => {
      open = resolve;
      fail = reject;
    });
    return { pass: () => passed, open: () => open(), fail: () => fail(new Error('the request timed out')) };
  }
  const once = (pass: () => Promise<void>) => {
    let left = 1;
    return () => (left-- > 0 ? pass() : Promise.resolve());
  };

  it('quotes no secret in the summary, which lists have without the request; the reasons are whole', async () => {
    gate.script.quotes = 'by ann@acme.example with hunter2-42';
    const call = await gate.call({ arguments: { path: 'a.txt', password: 'hunter2-42' } });
    const evaluated = await gate.activities.evaluate(call, await gate.activities.inspect(call));
    await gate.activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
    await gate.activities.openReview(call, nowMs);
    expect(await rowOf(call)).toMatchObject({
      risk_summary: 'Review: money movement; by [EMAIL] with [MASKED]',
      review_reasons: ['Review: money movement', 'by ann@acme.example with hunter2-42'],
    });
  });

  it('leaves the row of the second attempt alone when the first, whose answer was lost, fails late', async () => {
    const call = await decided();
    const first = gateway();
    gate.script.hilAnswers = once(first.pass);
    const early = gate.activities.openReview(call, nowMs);
    nowMs += ATTEMPT_MS;
    expect(await gate.activities.openReview(call, nowMs - ATTEMPT_MS)).toMatchObject({ state: 'parked' });
    first.fail();
    expect(await early).toMatchObject({ state: 'parked' });
    expect(await rowOf(call)).toMatchObject({ status: 'pending' });
  });

  it('leaves it alone also when the first one fails before the second has parked', async () => {
    const call = await decided();
    const [first, second] = [gateway(), gateway()];
    gate.script.hilAnswers = once(first.pass);
    const early = gate.activities.openReview(call, nowMs);
    await eventually('the row of the call', async () => (await rowOf(call)) !== null);
    nowMs += ATTEMPT_MS;
    let answered = 0;
    gate.script.hilAnswers = () => {
      answered += 1;
      return second.pass();
    };
    const late = gate.activities.openReview(call, nowMs - ATTEMPT_MS);
    await eventually('the answer', async () => answered === 1);
    first.fail();
    await expect(early).rejects.toMatchObject({ layer: 'hil' });
    second.open();
    expect(await late).toMatchObject({ state: 'parked' });
    await agree(call);
  });

  it('is one row also when the request of the first attempt arrives after the second has parked', async () => {
    const call = await decided();
    const first = gateway();
    gate.script.hilTakes = once(first.pass);
    const early = gate.activities.openReview(call, nowMs);
    nowMs += ATTEMPT_MS;
    await gate.activities.openReview(call, nowMs - ATTEMPT_MS);
    gate.script.hilAnswers = () => Promise.reject(new Error('the request timed out'));
    first.open();
    expect(await early).toMatchObject({ state: 'parked' });
    expect(await rowOf(call)).toMatchObject({ status: 'pending' });
  });

  it('parks nothing in an attempt that took too long, because the next one may have begun', async () => {
    const call = await decided();
    const first = gateway();
    gate.script.hilAnswers = once(first.pass);
    const early = gate.activities.openReview(call, nowMs);
    await eventually('the row of the call', async () => (await rowOf(call)) !== null);
    nowMs += ATTEMPT_MS;
    gate.script.hilTakes = () => Promise.reject(new Error('hil is away'));
    await expect(gate.activities.openReview(call, nowMs - ATTEMPT_MS)).rejects.toMatchObject({ layer: 'hil' });
    first.open();
    await expect(early).rejects.toMatchObject({ layer: 'hil' });
    expect(await stateOf(call)).toBe('decided');
    await agree(call);
  });

  it('takes the row back where nothing was parked, and the same call may start again', async () => {
    const call = await decided();
    gate.script.hil = 'stores_then_fails';
    await expect(gate.activities.openReview(call, nowMs)).rejects.toMatchObject({ layer: 'hil' });
    expect(await rowOf(call)).toBeNull();
    gate.script.hil = 'up';
    nowMs += 1_000;
    expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'parked' });
    await agree(call);
  });

  it('closes a call whose row was taken back and is kept by a legal hold: who asks again is told the end, and the row stays as it was', async () => {
    const call = await decided();
    gate.script.hilAnswers = once(async () => {
      const hold = {
        operation_id: '00000000-0000-4000-8000-00000000000a',
        action: 'apply',
        hold_id: '00000000-0000-4000-8000-00000000000b',
        authority_reason_sha256: `sha256:${'a'.repeat(64)}`,
      } as const;
      await gate.reviews.hold((await rowOf(call))?.id ?? 'none', call.tenant, hold, () => 'operator:dev');
      throw new Error('the answer of hil was lost');
    });
    await expect(gate.activities.openReview(call, nowMs)).rejects.toMatchObject({ layer: 'hil' });
    nowMs += 1_000;
    expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'aborted' });
    expect((await gate.calls.find(call.correlation_id))?.outcome).toMatchObject({
      stage: 'aborted',
      error: expect.stringContaining('legal hold'),
    });
    expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'aborted' });
    await agree(call);
  });

  describe('where its row is not as Gate wrote it', () => {
    const edited = (text: string) => {
      const connection = new DatabaseSync(join(gate.folder, 'hil.db'));
      connection.exec(text);
      connection.close();
    };
    const alarms = async (call: CallInput) =>
      (await gate.kinds(call.correlation_id)).filter((kind) => kind === 'alarm.review_tampered');

    it('closes the call: who asks again is told the end, nobody can decide it, and one alarm says so', async () => {
      const call = await decided();
      gate.script.hilAnswers = once(() => Promise.reject(new Error('the answer of hil was lost')));
      await expect(gate.activities.openReview(call, nowMs)).rejects.toMatchObject({ layer: 'hil' });
      edited("update reviews set withdrawn_at = null, risk_summary = 'a harmless look'");
      nowMs += 1_000;
      expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'aborted' });
      expect((await gate.calls.find(call.correlation_id))?.outcome).toMatchObject({
        stage: 'aborted',
        error: expect.stringContaining('not what Gate wrote'),
      });
      await expect(rowOf(call)).rejects.toMatchObject({ code: 'review_tampered' });
      expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'aborted' });
      await gate.activities.settleReviewRow(call.correlation_id);
      expect(await alarms(call)).toHaveLength(1);
    });

    it('closes no call while the alarm cannot be written: its next attempt says it', async () => {
      const call = await decided();
      gate.script.hilAnswers = once(() => Promise.reject(new Error('the answer of hil was lost')));
      await expect(gate.activities.openReview(call, nowMs)).rejects.toMatchObject({ layer: 'hil' });
      edited("update reviews set risk_summary = 'a harmless look'");
      nowMs += 1_000;
      gate.script.ledger = 'down';
      await expect(gate.activities.openReview(call, nowMs)).rejects.toMatchObject({ layer: 'hil' });
      expect(await stateOf(call)).toBe('decided');
      gate.script.ledger = 'up';
      expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'aborted' });
      expect(await alarms(call)).toHaveLength(1);
    });
  });

  it('shows the approver what the inspection came to, in whole numbers, and what it cost', async () => {
    const call = await decided();
    await gate.activities.openReview(call, nowMs);
    expect(await rowOf(call)).toMatchObject({
      brain_scores: {
        persona_drift_score: 1_000,
        injection_confidence: 0,
        malicious_code_confidence: 0,
        compromised_package_confidence: 0,
        sequence_escalation_score: 0,
        drift_available: true,
      },
      projected_cost_micros: 0,
    });
  });

  it('says so where there was no inspection', async () => {
    const call = await gate.call();
    const evaluated = await gate.activities.evaluate(call, await gate.activities.inspect(call));
    await gate.activities.commitVerdict(call, { available: false, reason: 'away' }, evaluated);
    await gate.activities.openReview(call, nowMs);
    expect(await rowOf(call)).toMatchObject({ brain_scores: null, projected_cost_micros: null });
  });
});

describe('a decision about a call whose record is not what Gate wrote', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  it.each(['approve', 'deny'] as const)(
    '%s is told that, not that it came too late, and nothing runs',
    async (word) => {
      const call = await gate.call();
      await gate.run(call);
      const connection = new DatabaseSync(join(gate.folder, 'calls.db'));
      connection
        .prepare('update call_records set deadline_ms = deadline_ms + 1 where correlation_id = ?')
        .run(call.correlation_id);
      connection.close();
      const decision = await gate.decision(call, word);
      for (const _time of [1, 2])
        expect(await gate.activities.applyDecision(decision)).toMatchObject({
          applied: false,
          code: 'call_tampered',
          settled: { status: 'aborted', decided_by: 'system:tamper-check' },
          summary: { state: 'tampered' },
        });
      await gate.activities.settleReviewRow(call.correlation_id);
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
        status: 'aborted',
        decided_by: 'system:tamper-check',
      });
      expect(gate.executed).toEqual([]);
    },
  );
});

describe('an approval that was signed after the deadline', () => {
  it('never counts, also where the clock that waits is behind: the call waits on, and a denial ends it', async () => {
    const gate = await openPipeline({ script: { tier: 'yellow' } });
    try {
      const call = await parked(gate, 'gate.server-execution/v1');
      const { deadline_ms } = (await gate.calls.find(call.correlation_id)) ?? {};
      const from = (ms: number) => new Date((deadline_ms ?? 0) + ms).toISOString();
      const late = await gate.decision(call, 'approve', { decided_at: from(0), not_after: from(10_000) });
      expect(await gate.activities.applyDecision(late)).toMatchObject({ applied: false, code: 'decision_refused' });
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
      const inTime = await gate.decision(call, 'deny');
      expect(await gate.activities.applyDecision(inTime)).toMatchObject({
        applied: true,
        summary: { state: 'denied' },
      });
    } finally {
      await gate.close();
    }
  });
});

describe('a decision while the clock is put back', () => {
  it.each([20_000, 90_000, 3_600_000])('by %d ms is an approval like any other: the call runs once', async (back) => {
    let nowMs = Date.now();
    const clock: Clock = { now: () => nowMs, sleep: () => new Promise(() => undefined) };
    const gate = await openPipeline({ clock, script: { tier: 'yellow' } });
    try {
      const call = await parked(gate, 'gate.server-execution/v1');
      nowMs -= back;
      const signed = await gate.decision(call, 'approve');
      expect(await gate.activities.applyDecision(signed)).toMatchObject({ applied: true });
      expect((await gate.activities.callUpstream(call, nowMs + 10_000)).state).toBe('completed');
      expect(gate.executed).toHaveLength(1);
    } finally {
      await gate.close();
    }
  });
});
