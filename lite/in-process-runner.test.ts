import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { answerOf } from '../api/proxy/answers.js';
import type { CallInput } from '../contracts/call.js';
import { closedIfOver } from '../domain/call/expiry.js';
import { createActivities } from '../workers/activities.js';
import { fixtureFolder, openPipeline, type PipelineFixture, replyOk } from '../test/support/pipeline-fixture.js';
import type { Clock } from './clock.js';
import { eventually, timePasses } from '../test/support/waiting.js';

/** A clock that moves when told: expiry in milliseconds. `putForward` is somebody's hand at it, which no timer follows. */
function handClock(
  start = Date.parse('2026-03-02T10:00:00Z'),
): Clock & { advance(ms: number): void; putForward(ms: number): void } {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = { at: now + ms, wake: () => (sleepers.delete(sleeper), resolve()) };
        sleepers.add(sleeper);
        signal.addEventListener('abort', sleeper.wake, { once: true });
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of sleepers) if (sleeper.at <= now) sleeper.wake();
    },
    putForward(ms) {
      now += ms;
      for (const sleeper of sleepers) sleeper.at += ms;
    },
  };
}

const LOOK_MS = 15_000;
/** Lets time go by until the condition holds, or for longer than it could take. */
async function passUntil(clock: { advance(ms: number): void }, holds: () => boolean): Promise<void> {
  for (let passes = 0; passes < 200 && !holds(); passes += 1) {
    clock.advance(LOOK_MS);
    await timePasses(5, 'the rest of the process has its turn');
  }
}

describe('the pipeline on the in-process host', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline();
  });
  afterEach(() => gate.close());

  it('executes an allowed call once, retains its result and writes its rows in order', async () => {
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'completed', tier: 'green' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    expect(JSON.parse(String(await gate.calls.result(call.correlation_id)))).toMatchObject({
      id: 1,
      result: { content: [{ text: 'done' }] },
    });
    expect(await gate.kinds(call.correlation_id)).toEqual([
      'proxy.verdict',
      'brain.inspection',
      'policy.evaluated',
      'upstream.outcome',
    ]);
    expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 4 });
  });

  it('denies a red call: no effect, a row that says why', async () => {
    gate.script.tier = 'red';
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'denied', tier: 'red' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(0);
    const [verdict] = await gate.rows(call.correlation_id);
    expect(verdict).toMatchObject({ authorized: false, reasoning: 'Violation: destructive', tool_type: 'read_file' });
  });

  it('denies what Brain rejects although policy allows', async () => {
    gate.script.brain = 'rejects';
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'denied', tier: 'red' });
    expect(gate.executed).toHaveLength(0);
  });

  it('ends a decision call at its verdict: allowed, nothing executed', async () => {
    const call = await gate.call({ contract: 'gate.decision/v1' });
    expect(await gate.run(call)).toMatchObject({ state: 'allowed' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(0);
    expect((await gate.calls.history('acme', 'support-bot', 0)).last_tool).toBe('read_file');
  });

  it('in observe mode lets a red call through and keeps the true verdict', async () => {
    gate.script.tier = 'red';
    const call = await gate.call({ mode: 'observe' });
    expect(await gate.run(call)).toMatchObject({ state: 'completed', tier: 'red' });
    await gate.host.idle();
    const [verdict] = await gate.rows(call.correlation_id);
    expect(verdict).toMatchObject({ authorized: false, policy_decision: { outcome: 'allow', would: 'deny' } });
  });

  it('gives two identical requests one execution and one answer', async () => {
    const call = await gate.call();
    const answers = await Promise.all([gate.run(call), gate.run(call)]);
    expect(answers.map((answer) => answer?.state)).toEqual(['completed', 'completed']);
    expect(gate.executed).toHaveLength(1);
  });

  it('refuses another request under the id of a running one', async () => {
    gate.script.upstream = async (request) => (await timePasses(100, 'the tool works'), replyOk(request));
    const call = await gate.call();
    const first = gate.run(call);
    await expect(gate.run({ ...call, digest: 'sha256:other' })).rejects.toMatchObject({
      code: 'server_execution_idempotency_conflict',
    });
    expect(await first).toMatchObject({ state: 'completed' });
  });

  describe('a yellow call', () => {
    beforeEach(() => {
      gate.script.tier = 'yellow';
    });

    it('gives the same decision again the answer it came to, signed anew or not; another one is told that it was late', async () => {
      const call = await gate.call({ tool: 'wire_transfer' });
      await gate.run(call);
      const first = await gate.decision(call, 'approve', { request_id: 'click-1' });
      const applied = await gate.activities.applyDecision(first);
      expect(applied).toMatchObject({ applied: true, settled: { status: 'approved', request_id: 'click-1' } });
      await timePasses(5, 'it is signed anew at another moment');
      for (const again of [first, await gate.decision(call, 'approve', { request_id: 'click-1' })])
        expect(await gate.activities.applyDecision(again)).toMatchObject({
          applied: true,
          settled: { decided_at: first.decided_at },
        });
      for (const other of [
        await gate.decision(call, 'approve', { request_id: 'click-2' }),
        await gate.decision(call, 'approve', { request_id: 'click-2', decided_at: first.decided_at }),
        await gate.decision(call, 'deny', { request_id: 'click-1' }),
        await gate.decision(call, 'approve', {
          request_id: 'click-1',
          principal: { ...first.principal, subject: 'operator:ada' },
        }),
      ])
        expect(await gate.activities.applyDecision(other)).toMatchObject({ applied: false, code: 'already_decided' });
    });

    it('parks; after an approval Gate executes it once', async () => {
      const call = await gate.call({ tool: 'wire_transfer' });
      expect(await gate.run(call)).toMatchObject({ state: 'parked', tier: 'yellow' });
      expect(gate.executed).toHaveLength(0);
      expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({
        outcome: 'applied',
        settled: { status: 'approved' },
      });
      await gate.host.idle();
      expect(gate.executed).toHaveLength(1);
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('completed');
      expect(await gate.kinds(call.correlation_id)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'hil.created',
        'hil.approved',
        'upstream.outcome',
      ]);
      expect((await gate.reviews.byCorrelation(call.correlation_id))?.status).toBe('approved');
    });

    it('parks; after a denial nothing runs', async () => {
      const call = await gate.call();
      await gate.run(call);
      await gate.host.decide(await gate.decision(call, 'deny'));
      await gate.host.idle();
      expect(gate.executed).toHaveLength(0);
      expect(await gate.kinds(call.correlation_id)).toContain('hil.denied');
    });

    it('lets the first decision stand among fifty at once', async () => {
      const call = await gate.call();
      await gate.run(call);
      const decisions = await Promise.all(
        Array.from({ length: 50 }, (_, index) => gate.decision(call, index % 2 ? 'approve' : 'deny')),
      );
      const outcomes = await Promise.all(decisions.map((decision) => gate.host.decide(decision)));
      expect(outcomes.filter((outcome) => outcome.outcome === 'applied')).toHaveLength(1);
      expect(
        outcomes
          .filter((outcome) => outcome.outcome === 'refused')
          .every((outcome) => 'code' in outcome && /already_decided|not_pending/.test(outcome.code)),
      ).toBe(true);
    });

    it('refuses a decision nobody signed, leaves an alarm row, and takes the real one afterwards', async () => {
      const call = await gate.call();
      await gate.run(call);
      const real = await gate.decision(call, 'approve');
      expect(await gate.host.decide({ ...real, decision: 'deny' })).toMatchObject({
        outcome: 'refused',
        code: 'decision_refused',
      });
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
      expect(await gate.host.decide(real)).toMatchObject({ outcome: 'applied' });
      await gate.host.idle();
      expect(await gate.kinds(call.correlation_id)).toContain('alarm.forged_decision');
    });

    it('refuses a decision for another row, and one that came later than it allows itself', async () => {
      const call = await gate.call();
      await gate.run(call);
      const stray = await gate.decision(call, 'approve', { pending_id: '11111111-1111-4111-8111-111111111111' });
      expect(await gate.host.decide(stray)).toMatchObject({ code: 'not_pending' });
      const late = await gate.decision(call, 'approve', { not_after: new Date(Date.now() - 1).toISOString() });
      expect(await gate.host.decide(late)).toMatchObject({ code: 'decision_refused' });
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
    });

    it('reports the decision to the callback address', async () => {
      const call = await gate.call({ callback_url: 'https://agent.example.com/hook' });
      await gate.run(call);
      await gate.host.decide(await gate.decision(call, 'approve'));
      await gate.host.idle();
      expect(gate.callbacks.map(({ body }) => JSON.parse(body))).toEqual([
        expect.objectContaining({
          correlation_id: call.correlation_id,
          status: 'approved',
          decision: 'allow',
          decider_note: 'looked at it',
        }),
      ]);
    });

    it('does not knock again where the receiver refused for good', async () => {
      gate.script.receiver = 'refuses';
      const call = await gate.call({ callback_url: 'https://agent.example.com/hook' });
      await gate.run(call);
      await gate.host.decide(await gate.decision(call, 'deny'));
      await gate.host.idle();
      expect(gate.callbacks).toHaveLength(1);
    });

    it('answers 503 and withdraws the row when HIL stored it and its answer was lost', async () => {
      gate.script.hil = 'stores_then_fails';
      const call = await gate.call();
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable', fields: { layer: 'hil' } });
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toBeNull();
      expect(await gate.kinds(call.correlation_id)).toEqual([]);
      // The same id may start again, and the verdict that was committed still stands.
      gate.script.hil = 'up';
      gate.script.tier = 'red';
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    });
  });

  describe('a call whose run ended and left it open', () => {
    const parks = ({ calls }: PipelineFixture, { correlation_id }: CallInput) =>
      calls.waitFor(correlation_id, ({ state }) => state === 'parked', Date.now() + 60_000);
    const left = async (): Promise<CallInput> => {
      const call = await gate.call();
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable', fields: { layer: 'hil' } });
      expect((await gate.calls.find(call.correlation_id))?.state).toBe('decided');
      return call;
    };
    beforeEach(() => void (gate.script.tier = 'yellow'));

    it.each(['down', 'stores_then_fails'] as const)(
      'is parked when reviews are taken again (%s before), without anybody asking: one row, decided once, run once',
      async (hil) => {
        gate.script.hil = hil;
        const calls = [await left(), await left()];
        gate.script.hil = 'up';
        for (const call of calls) {
          expect(await parks(gate, call)).toMatchObject({ state: 'parked' });
          expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
        }
        await gate.host.idle();
        expect(gate.executed).toHaveLength(2);
        for (const { correlation_id: id } of calls)
          expect((await gate.kinds(id)).filter((kind) => kind?.startsWith('hil.'))).toEqual([
            'hil.created',
            'hil.approved',
          ]);
      },
    );

    it('is looked at again as long as reviews are not taken; who asks meanwhile makes it no second call', async () => {
      let asked = 0;
      gate.script.hilTakes = () => {
        asked += 1;
        return asked <= 3 ? Promise.reject(new Error('not yet')) : Promise.resolve();
      };
      const call = await left();
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
      expect(await parks(gate, call)).toMatchObject({ state: 'parked' });
      expect(asked).toBe(4);
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    });

    it('is left for the next start by a stop', async () => {
      gate.script.hil = 'down';
      const call = await left();
      await gate.host.close();
      gate.script.hil = 'up';
      const after = await openPipeline({ folder: gate.folder });
      expect((await after.calls.find(call.correlation_id))?.state).toBe('decided');
      expect(await after.host.resume()).toBe(1);
      expect(await parks(after, call)).toMatchObject({ state: 'parked' });
      await after.close();
    });
  });

  describe('when a neighbour is away', () => {
    it('still hears policy without Brain: its deny stands, everything else is a 503 and may start again', async () => {
      gate.script.brain = 'down';
      gate.script.tier = 'red';
      expect(await gate.run(await gate.call())).toMatchObject({ state: 'denied' });
      gate.script.tier = 'green';
      const call = await gate.call();
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable', fields: { layer: 'brain' } });
      expect(await gate.calls.find(call.correlation_id)).toBeNull();
      gate.script.brain = 'up';
      expect(await gate.run(call)).toMatchObject({ state: 'completed' });
    });

    it('answers 503 without policy, with no record and no row', async () => {
      gate.script.policy = 'down';
      const call = await gate.call();
      await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable', fields: { layer: 'policy' } });
      expect(await gate.calls.find(call.correlation_id)).toBeNull();
      expect(await gate.kinds(call.correlation_id)).toEqual([]);
    });

    it('goes on in observe mode without policy or Brain, and keeps in the record and the rows that they were not heard', async () => {
      gate.script.policy = 'down';
      const unjudged = await gate.call({ mode: 'observe' });
      expect(await gate.run(unjudged)).toMatchObject({ state: 'completed', tier: 'red' });
      const { evidence } = (await gate.calls.find(unjudged.correlation_id)) ?? {};
      expect(evidence).toMatchObject({ decision: null, policy_failure: 'policy is away', verdict: { would: 'deny' } });
      expect(await gate.kinds(unjudged.correlation_id)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'upstream.outcome',
      ]);
      gate.script.policy = 'up';
      gate.script.brain = 'down';
      const unseen = await gate.call({ mode: 'observe' });
      expect(await gate.run(unseen)).toMatchObject({ state: 'completed', tier: 'green' });
      expect((await gate.calls.find(unseen.correlation_id))?.evidence.inspection_failure).toBe('brain is away');
    });

    it('does not wait for the ledger: the call is answered and its rows come later, each once', async () => {
      gate.script.ledger = 'down';
      const call = await gate.call();
      expect(await gate.run(call)).toMatchObject({ state: 'completed' });
      expect(await gate.kinds(call.correlation_id)).toEqual([]);
      expect(await gate.calls.oldestRowsDueMs()).not.toBeNull();
      gate.script.ledger = 'up';
      await gate.host.idle();
      expect(await gate.kinds(call.correlation_id)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'upstream.outcome',
      ]);
      expect(await gate.calls.oldestRowsDueMs()).toBeNull();
    });

    it('says not run when the tools refuse the connection, uncertain when an answer is lost, and never tries twice', async () => {
      gate.script.upstream = async () => ({ kind: 'not_sent', reason: 'connection refused' });
      expect(await gate.run(await gate.call())).toMatchObject({ state: 'not_run' });
      gate.script.upstream = async () => ({ kind: 'unknown', cause: 'invalid_answer', reason: 'socket closed' });
      const lost = await gate.call();
      expect(await gate.run(lost)).toMatchObject({ state: 'uncertain' });
      expect(gate.executed).toHaveLength(2);
    });

    it('closes a call after an error nobody foresaw, fail closed', async () => {
      gate.script.upstream = async () => {
        throw new TypeError('a bug');
      };
      const call = await gate.call();
      expect(await gate.run(call)).toMatchObject({ state: 'uncertain' });
      await gate.host.idle();
      expect(await gate.kinds(call.correlation_id)).toContain('upstream.outcome');
    });
  });
});

describe('time on the in-process host', () => {
  it('expires a parked call at its deadline and refuses a later approval', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock, script: { tier: 'yellow' } });
    const call = await gate.call({ callback_url: 'https://agent.example.com/hook' });
    await gate.host.start(call, clock.now() + 10_000);
    const approval = await gate.decision(call, 'approve', {
      not_after: new Date(clock.now() + 3_600_000).toISOString(),
    });
    clock.advance(600_001);
    await gate.calls.waitFor(call.correlation_id, ({ state }) => state === 'expired', Date.now() + 5_000);
    await gate.host.idle();
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('expired');
    expect(await gate.host.decide(approval)).toMatchObject({ outcome: 'refused' });
    expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
    expect(gate.executed).toHaveLength(0);
    expect(JSON.parse(gate.callbacks[0]?.body ?? '{}')).toMatchObject({ status: 'expired', decision: null });
    await gate.close();
  });

  describe('escalates a parked call that nobody has decided', () => {
    const share = 0.5;
    const parkedCall = async (gate: PipelineFixture, clock: Clock) => {
      const call = await gate.call();
      expect(await gate.host.start(call, clock.now() + 10_000)).toMatchObject({ state: 'parked' });
      await eventually('a call that waits', () => gate.host.busy() === 0);
      return call;
    };
    const escalatedAt = async (gate: PipelineFixture, call: CallInput) =>
      (await gate.reviews.byCorrelation(call.correlation_id))?.escalated_at;
    const escalations = async (gate: PipelineFixture, call: CallInput) =>
      (await gate.kinds(call.correlation_id)).filter((kind) => kind === 'hil.escalated');

    it('at its share of the time, once, in record, row and ledger, and it waits on for its decision', async () => {
      const clock = handClock();
      const gate = await openPipeline({ clock, escalateShares: [share], script: { tier: 'yellow' } });
      const call = await parkedCall(gate, clock);
      const due = new Date(clock.now() + 300_000).toISOString();
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
        escalates_at: due,
        escalated_at: null,
      });
      clock.advance(299_999);
      await timePasses(20, 'nothing may happen a millisecond too early');
      expect(await escalations(gate, call)).toEqual([]);
      clock.advance(1);
      await eventually('the row of the ledger', async () => (await escalations(gate, call)).length === 1);
      expect(await escalatedAt(gate, call)).toBe(due);
      clock.advance(200_000);
      await gate.activities.escalateReview(call.correlation_id, Date.parse(due));
      expect([await escalatedAt(gate, call), await escalations(gate, call)]).toEqual([due, ['hil.escalated']]);
      expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
      await gate.host.idle();
      expect((await gate.kinds(call.correlation_id)).slice(3)).toEqual([
        'hil.created',
        'hil.escalated',
        'hil.approved',
        'upstream.outcome',
      ]);
      const [row] = (await gate.rows(call.correlation_id)).filter(({ event_kind }) => event_kind === 'hil.escalated');
      expect(row).toMatchObject({ authorized: false, policy_decision: { status: 'pending', escalated_at: due } });
      expect((await gate.ledger.verify()).valid).toBe(true);
      await gate.close();
    });

    it('not where it was decided before, and not without a share', async () => {
      for (const [escalateShares, decided] of [
        [[share], true],
        [[], false],
      ] as const) {
        const clock = handClock();
        const gate = await openPipeline({ clock, escalateShares, script: { tier: 'yellow' } });
        const call = await parkedCall(gate, clock);
        if (decided) await gate.host.decide(await gate.decision(call, 'deny'));
        clock.advance(400_000);
        if (decided) await gate.host.idle();
        else await timePasses(20, 'a call without a share goes on waiting');
        expect(await gate.activities.escalateReview(call.correlation_id, clock.now() - 100_000)).not.toHaveProperty(
          'escalates_ms',
        );
        expect([await escalations(gate, call), await escalatedAt(gate, call)]).toEqual([[], null]);
        await gate.close();
      }
    });

    describe('at several shares', () => {
      const escalateShares = [0.5, 0.8];
      const timesIn = async (gate: PipelineFixture, call: CallInput) => {
        const row = await gate.reviews.byCorrelation(call.correlation_id);
        return [row?.escalated_at, row?.escalated_again_at];
      };
      const escalatedTimes = (gate: PipelineFixture, call: CallInput, times: number) =>
        eventually('the rows of the ledger', async () => (await escalations(gate, call)).length === times);

      it('once for each, however often it is asked for, in record, row and ledger', async () => {
        const clock = handClock();
        const gate = await openPipeline({ clock, escalateShares, script: { tier: 'yellow' } });
        const call = await parkedCall(gate, clock);
        const [first, second] = [clock.now() + 300_000, clock.now() + 480_000];
        const at = (ms: number) => new Date(ms).toISOString();
        expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
          escalates_at: at(first),
          escalates_again_at: [at(second)],
        });
        clock.advance(300_000);
        await escalatedTimes(gate, call, 1);
        expect(await gate.activities.escalateReview(call.correlation_id, first)).toMatchObject({
          escalates_ms: second,
        });
        clock.advance(179_999);
        await timePasses(20, 'nothing may happen a millisecond too early');
        expect(await timesIn(gate, call)).toEqual([at(first), undefined]);
        expect(await escalations(gate, call)).toHaveLength(1);
        clock.advance(1);
        await escalatedTimes(gate, call, 2);
        for (const due of [first, second])
          expect(await gate.activities.escalateReview(call.correlation_id, due)).not.toHaveProperty('escalates_ms');
        expect(await timesIn(gate, call)).toEqual([at(first), [at(second)]]);
        expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
        await gate.host.idle();
        expect((await gate.kinds(call.correlation_id)).slice(3)).toEqual([
          'hil.created',
          'hil.escalated',
          'hil.escalated',
          'hil.approved',
          'upstream.outcome',
        ]);
        const rows = (await gate.rows(call.correlation_id)).filter(({ event_kind }) => event_kind === 'hil.escalated');
        expect(rows.map(({ policy_decision }) => policy_decision)).toMatchObject([
          { escalated_at: at(first) },
          { escalated_at: at(second), escalation: 2 },
        ]);
        expect(rows[0]?.policy_decision).not.toHaveProperty('escalation');
        expect((await gate.ledger.verify()).valid).toBe(true);
        await gate.close();
      });

      it('at none after it was decided', async () => {
        const clock = handClock();
        const gate = await openPipeline({ clock, escalateShares, script: { tier: 'yellow' } });
        const call = await parkedCall(gate, clock);
        const second = clock.now() + 480_000;
        clock.advance(300_000);
        await escalatedTimes(gate, call, 1);
        await gate.host.decide(await gate.decision(call, 'deny'));
        clock.advance(200_000);
        await gate.host.idle();
        expect(await gate.activities.escalateReview(call.correlation_id, second)).not.toHaveProperty('escalates_ms');
        expect((await gate.calls.find(call.correlation_id))?.evidence).not.toHaveProperty('escalated_again_ms');
        expect(await escalations(gate, call)).toHaveLength(1);
        await gate.close();
      });

      it.each([
        ['between two', 300_000, 200_000],
        ['that slept through both', 0, 500_000],
      ])('once for each after a restart %s', async (_, beforeMs, sleptMs) => {
        const clock = handClock();
        const folder = await fixtureFolder();
        const before = await openPipeline({ folder, clock, escalateShares, script: { tier: 'yellow' } });
        const call = await parkedCall(before, clock);
        clock.advance(beforeMs);
        const told = beforeMs > 0 ? [new Date(clock.now()).toISOString()] : [];
        await escalatedTimes(before, call, told.length);
        await before.close();
        clock.advance(sleptMs);
        const now = new Date(clock.now()).toISOString();
        const [first = now] = told;
        for (let restarts = 0; restarts < 2; restarts += 1) {
          // The shares are those of the time when it was parked.
          const after = await openPipeline({ folder, clock });
          expect(await after.host.resume()).toBe(1);
          await escalatedTimes(after, call, 2);
          expect(await timesIn(after, call)).toEqual([first, [now]]);
          await after.close();
          // A record that is changed twice in one millisecond has the next one's time.
          clock.advance(10);
        }
        await rm(folder, { recursive: true });
      });
    });

    it('later where HIL is away, with the time of the first try', async () => {
      const clock = handClock();
      const gate = await openPipeline({ clock, escalateShares: [share], script: { tier: 'yellow' } });
      const call = await parkedCall(gate, clock);
      gate.script.hil = 'down';
      clock.advance(300_000);
      const first = clock.now();
      await eventually(
        'the record says so',
        async () => (await gate.calls.find(call.correlation_id))?.evidence.escalated_ms === first,
      );
      expect(await escalatedAt(gate, call)).toBeNull();
      gate.script.hil = 'up';
      for (let passes = 0; passes < 10 && (await escalatedAt(gate, call)) === null; passes += 1) {
        clock.advance(LOOK_MS);
        await timePasses(20, 'the rest of the process has its turn');
      }
      expect(await escalatedAt(gate, call)).toBe(new Date(first).toISOString());
      await eventually('the row of the ledger', async () => (await escalations(gate, call)).length === 1);
      await gate.close();
    });

    it.each([
      ['its only share', [share]],
      ['the first of two shares', [share, 0.9]],
    ])('in its row too where the process ended between record and row, at %s', async (_, escalateShares) => {
      const clock = handClock();
      const folder = await fixtureFolder();
      const before = await openPipeline({ folder, clock, escalateShares, script: { tier: 'yellow' } });
      const call = await parkedCall(before, clock);
      const second = clock.now() + 540_000;
      before.script.hil = 'down';
      clock.advance(300_000);
      const first = clock.now();
      await eventually(
        'the record says so',
        async () => (await before.calls.find(call.correlation_id))?.evidence.escalated_ms === first,
      );
      await before.close();
      clock.advance(1_000);
      const after = await openPipeline({ folder, clock });
      expect(await after.host.resume()).toBe(1);
      await eventually('the row says so', async () => (await escalatedAt(after, call)) != null);
      expect(await escalatedAt(after, call)).toBe(new Date(first).toISOString());
      await eventually('the row of the ledger', async () => (await escalations(after, call)).length === 1);
      clock.advance(second - clock.now());
      const all = escalateShares.length;
      await eventually('a row for each share', async () => (await escalations(after, call)).length === all);
      await after.close();
      await rm(folder, { recursive: true });
    });

    it('after a restart that slept through it', async () => {
      const clock = handClock();
      const folder = await fixtureFolder();
      const before = await openPipeline({ folder, clock, escalateShares: [share], script: { tier: 'yellow' } });
      const call = await parkedCall(before, clock);
      await before.close();
      clock.advance(400_000);
      // The share is that of the time when it was parked.
      const after = await openPipeline({ folder, clock });
      expect(await after.host.resume()).toBe(1);
      await eventually('the row of the ledger', async () => (await escalations(after, call)).length === 1);
      expect(await escalatedAt(after, call)).toBe(new Date(clock.now()).toISOString());
      await after.close();
      await rm(folder, { recursive: true });
    });

    it('but not once its deadline has passed', async () => {
      const clock = handClock();
      const gate = await openPipeline({ clock, escalateShares: [share], script: { tier: 'yellow' } });
      const call = await parkedCall(gate, clock);
      clock.advance(600_000);
      await gate.calls.waitFor(call.correlation_id, ({ state }) => state === 'expired', Date.now() + 5_000);
      await gate.host.idle();
      expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
      expect(await escalations(gate, call)).toEqual([]);
      await gate.close();
    });
  });

  it('wakes a parked call that a look closed while the clock stood ahead', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock, script: { tier: 'yellow' } });
    const call = await gate.call();
    expect(await gate.host.start(call, clock.now() + 10_000)).toMatchObject({ state: 'parked' });
    const record = await gate.calls.find(call.correlation_id);
    expect(record && (await closedIfOver(gate.calls, record, (record.deadline_ms ?? 0) + 1)).state).toBe('expired');
    await gate.host.idle();
    expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
    expect(gate.executed).toHaveLength(0);
    await gate.close();
  });

  it('expires a parked call soon after the machine’s clock was put forward past its deadline, which no timer follows', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock, script: { tier: 'yellow' } });
    const call = await gate.call();
    expect(await gate.host.start(call, clock.now() + 10_000)).toMatchObject({ state: 'parked' });
    await eventually('a call that waits', () => gate.host.busy() === 0);
    clock.putForward(3_600_000);
    clock.advance(LOOK_MS);
    await gate.calls.waitFor(call.correlation_id, ({ state }) => state === 'expired', Date.now() + 5_000);
    await gate.host.idle();
    expect(await gate.kinds(call.correlation_id)).toContain('hil.expired');
    await gate.close();
  });

  it('ends the wait of a call that is closed as tampered meanwhile, and settles its review', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock, script: { tier: 'yellow' } });
    const call = await gate.call();
    expect(await gate.host.start(call, clock.now() + 10_000)).toMatchObject({ state: 'parked' });
    await eventually('a call that waits', () => gate.host.busy() === 0);
    await gate.calls.condemn(call.correlation_id, 'another store contradicts it');
    await gate.host.idle();
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
      status: 'aborted',
      decided_by: 'system:tamper-check',
    });
    expect(await gate.calls.followUpsDue('review', clock.now() + 1, 10)).toEqual([]);
    expect(gate.executed).toHaveLength(0);
    await gate.close();
  });

  it('tries a callback five times, then leaves a row that says so and never tries it again', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock, script: { tier: 'yellow', receiver: 'down' } });
    const call = await gate.call({ callback_url: 'https://agent.example.com/hook' });
    await gate.host.start(call, clock.now() + 10_000);
    await gate.host.decide(await gate.decision(call, 'deny'));
    let idle = false;
    const ended = gate.host.idle().then(() => (idle = true));
    await passUntil(clock, () => idle || gate.callbacks.length > 5);
    expect(gate.callbacks).toHaveLength(5);
    await ended;
    expect(await gate.kinds(call.correlation_id)).toContain('alarm.call_stuck');
    expect(await gate.calls.followUpsDue('callback', clock.now() + 1, 10)).toEqual([]);
    gate.script.receiver = 'up';
    await gate.host.resume();
    await gate.host.idle();
    expect(gate.callbacks).toHaveLength(5);
    await gate.close();
  });

  it('abandons a call that reaches its first step after its caller gave up: a row, no effect', async () => {
    const clock = handClock();
    const gate = await openPipeline({ clock });
    const call = await gate.call({ not_after_ms: clock.now() - 1 });
    expect(await gate.host.start(call, clock.now() + 10_000)).toMatchObject({ state: 'abandoned' });
    await gate.host.idle();
    expect(await gate.kinds(call.correlation_id)).toEqual(['call.abandoned']);
    const record = await gate.calls.find(call.correlation_id);
    expect(record && answerOf(record, null, false)).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '2' },
      body: { error: 'call_abandoned' },
    });
    expect(gate.executed).toHaveLength(0);
    await gate.close();
  });
});

describe('a store that was away for a minute', () => {
  let clock: ReturnType<typeof handClock>;
  let gate: PipelineFixture;
  let asked: number;
  let away: boolean;
  beforeEach(async () => {
    clock = handClock();
    asked = 0;
    away = false;
    gate = await openPipeline({
      clock,
      script: {
        tier: 'yellow',
        hilTakes: () => {
          asked += 1;
          return away ? Promise.reject(new Error('no room')) : Promise.resolve();
        },
      },
    });
  });
  afterEach(() => gate.close());

  const settled = async () => {
    await timePasses(5, 'what the clock has woken begins');
    await eventually('runs to end', () => gate.host.busy() === 0);
  };
  /** Lets time go by as a store that keeps undoing transactions does: each time, the host is told. */
  async function pass(ms: number, stepMs = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      if (away) gate.host.lookAgain();
      clock.advance(stepMs);
      await settled();
    }
  }
  async function left(count: number): Promise<CallInput[]> {
    const calls = await Promise.all(
      Array.from({ length: count }, () => gate.call({ not_after_ms: clock.now() + 3_600_000 })),
    );
    const unavailable = expect.objectContaining({ code: 'pipeline_unavailable' });
    for (const call of calls) await expect(gate.run(call)).rejects.toEqual(unavailable);
    await settled();
    return calls;
  }
  const state = async ({ correlation_id: id }: CallInput) => (await gate.calls.find(id))?.state;
  const inFile = (change: (connection: InstanceType<typeof DatabaseSync>) => void) => {
    const connection = new DatabaseSync(join(gate.folder, 'calls.db'));
    change(connection);
    connection.close();
  };
  /** A call that waits for its decision, and whose record the store took back. */
  async function undone(): Promise<CallInput> {
    const call = await gate.call({ not_after_ms: clock.now() + 3_600_000 });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    await eventually('a call that waits', () => gate.host.busy() === 0);
    inFile((file) => file.prepare('delete from call_records where correlation_id = ?').run(call.correlation_id));
    return call;
  }

  it('goes on within five seconds with what it left open, whoever asks', async () => {
    away = true;
    const calls = await left(3);
    await pass(60_000);
    away = false;
    await pass(5_000);
    for (const call of calls) expect(await state(call)).toBe('parked');
  });

  it('goes on at once when something is stored again', async () => {
    away = true;
    const [call] = (await left(1)) as [CallInput];
    await pass(60_000);
    away = false;
    const other = await gate.call({ not_after_ms: clock.now() + 3_600_000 });
    expect(await gate.run(other)).toMatchObject({ state: 'parked' });
    await pass(500);
    expect(await state(call)).toBe('parked');
  });

  it('begins a call anew that is asked again and whose record was undone while a look was to come', async () => {
    away = true;
    await left(1);
    await pass(60_000);
    away = false;
    const call = await undone();
    gate.host.lookAgain();
    const answers = await Promise.all([gate.run(call), gate.run(call), gate.run(call)]);
    // It begins anew, once for all who ask; here it ends by what the other files still hold of it.
    expect(answers.map((answer) => answer?.state)).toEqual(['tampered', 'tampered', 'tampered']);
    expect(await state(call)).toBe('tampered');
    expect(gate.executed).toHaveLength(0);
  });

  it('leaves a call alone that is being decided while it is asked again', async () => {
    let judged = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let settling = false;
    const busy = await openPipeline({
      script: { tier: 'yellow' },
      compose(ports) {
        const activities = createActivities(ports);
        return {
          ...activities,
          inspect: (call) => ((judged += 1), activities.inspect(call)),
          async settleReviewRow(...of) {
            settling = true;
            await held;
            return activities.settleReviewRow(...of);
          },
        };
      },
    });
    const call = await busy.call();
    expect(await busy.run(call)).toMatchObject({ state: 'parked' });
    await eventually('a call that waits', () => busy.host.busy() === 0);
    const decided = busy.host.decide(await busy.decision(call, 'approve'));
    await eventually('its row under way', () => settling);
    expect((await busy.calls.find(call.correlation_id))?.state).toBe('approved');
    expect(await busy.run(call)).toMatchObject({ state: 'parked' });
    release();
    expect(await decided).toMatchObject({ outcome: 'applied' });
    await busy.host.idle();
    expect({ judged, effects: busy.executed.length }).toEqual({ judged: 1, effects: 1 });
    await busy.close();
  });

  it('refuses a call that is asked again where another body took its id while its record was looked for', async () => {
    const call = await undone();
    const other = { ...call, digest: `sha256:${'c'.repeat(64)}` };
    const first = gate.run(call).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
    const others: Promise<unknown>[] = [];
    for (let turns = 0; turns < 400; turns += 1) {
      others.push(
        gate.run(other).then(
          () => 'taken',
          () => 'refused',
        ),
      );
      await Promise.resolve();
    }
    expect(await Promise.all(others)).toContain('taken');
    expect(await first).toMatchObject({ error: { code: 'server_execution_idempotency_conflict' } });
  });

  it('looks at most every half second, however often something is undone and stored in turn', async () => {
    away = true;
    const calls = await left(5);
    await pass(60_000);
    asked = 0;
    gate.script.tier = 'green';
    for (let others = 0; others < 20; others += 1) {
      gate.host.lookAgain();
      expect(await gate.run(await gate.call())).toMatchObject({ state: 'completed' });
      clock.advance(20);
      await settled();
    }
    expect(asked).toBeLessThanOrEqual(calls.length);
  });

  it('is looked at every five seconds at the latest, however long it lasts', async () => {
    away = true;
    await left(1);
    await pass(60_000);
    let before = asked;
    let sinceMs = 0;
    for (let passed = 0; passed < 30_000; passed += 500) {
      await pass(500);
      sinceMs = asked === before ? sinceMs + 500 : 0;
      before = asked;
      expect(sinceMs).toBeLessThanOrEqual(5_000);
    }
  });

  it('asks of the store no more than a look now and then, however many calls stand open and others are stored', async () => {
    away = true;
    const calls = await left(12);
    asked = 0;
    await pass(60_000);
    // Half a second, then twice as long each time, then every five seconds.
    expect(asked).toBeLessThanOrEqual(calls.length * 20);
    asked = 0;
    gate.script.tier = 'green';
    for (let others = 0; others < 12; others += 1)
      expect(await gate.run(await gate.call())).toMatchObject({ state: 'completed' });
    await settled();
    expect(asked).toBeLessThanOrEqual(calls.length);
  });
});

describe('a restart of the in-process host', () => {
  it('goes on with a parked call and executes it after the approval, exactly once', async () => {
    const before = await openPipeline({ script: { tier: 'yellow' } });
    const call = await before.call();
    await before.run(call);
    await before.host.close();
    const after = await openPipeline({ folder: before.folder });
    expect(await after.host.resume()).toBe(1);
    expect(await after.host.decide(await after.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
    await after.host.idle();
    expect([before.executed.length, after.executed.length]).toEqual([0, 1]);
    await after.close();
    await before.close();
  });

  it('settles the review row and reports to the callback address where the process ended right after the decision', async () => {
    const before = await openPipeline({ script: { tier: 'yellow' } });
    const call = await before.call({ callback_url: 'https://agent.example.com/hook' });
    await before.run(call);
    await before.host.close();
    await before.activities.applyDecision(await before.decision(call, 'deny'));
    expect((await before.reviews.byCorrelation(call.correlation_id))?.status).toBe('pending');
    const after = await openPipeline({ folder: before.folder });
    await after.host.resume();
    await after.host.idle();
    expect((await after.reviews.byCorrelation(call.correlation_id))?.status).toBe('denied');
    expect(after.callbacks.map(({ body }) => JSON.parse(body))).toEqual([
      expect.objectContaining({ correlation_id: call.correlation_id, status: 'denied' }),
    ]);
    await after.close();
    await before.close();
  });

  it('lets go of a call that waits and whose record is gone: its id can be used for another request', async () => {
    const gate = await openPipeline({ script: { tier: 'yellow' } });
    const [gone, stays] = [await gate.call(), await gate.call()];
    for (const call of [gone, stays]) expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    await eventually('a call that waits', () => gate.host.busy() === 0);
    const connection = new DatabaseSync(join(gate.folder, 'calls.db'));
    connection.prepare('delete from call_records where correlation_id = ?').run(gone.correlation_id);
    connection.close();
    const other = { ...gone, digest: `sha256:${'b'.repeat(64)}` };
    await expect(gate.run(other)).rejects.toMatchObject({ code: 'server_execution_idempotency_conflict' });
    expect(await gate.host.resume()).toBe(0);
    await gate.host.idle();
    // It begins anew; here it ends by what is still staged under the id.
    expect(await gate.run(other)).toMatchObject({ state: 'tampered' });
    expect(await gate.host.decide(await gate.decision(stays, 'approve'))).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    await gate.close();
  });

  it('does not run today what was approved yesterday: an approval is for now', async () => {
    const clock = handClock();
    const before = await openPipeline({ clock, script: { tier: 'yellow' } });
    const call = await before.call();
    await before.host.start(call, clock.now() + 10_000);
    await before.host.close();
    // The decision is stored, and the process ends before anything comes of it.
    await before.activities.applyDecision(await before.decision(call, 'approve'));
    clock.advance(86_400_000);
    const after = await openPipeline({ folder: before.folder, clock });
    await after.host.resume();
    await after.host.idle();
    expect((await after.calls.find(call.correlation_id))?.state).toBe('not_run');
    expect(after.executed).toHaveLength(0);
    await after.close();
    await before.close();
  });

  it('names the engine, not the tools, for an attempt that was lost before it began, and never sends it', async () => {
    const gate = await openPipeline({ script: { tier: 'yellow' } });
    const call = await gate.call();
    await gate.host.start(call, Date.now() + 10_000);
    await gate.host.close();
    await gate.activities.applyDecision(await gate.decision(call, 'approve'));
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('approved');
    const settled = await gate.activities.settleExecution(call.correlation_id, 'activity Heartbeat timeout');
    expect(settled.state).toBe('not_run');
    const record = await gate.calls.find(call.correlation_id);
    expect(record && answerOf(record, null, true)).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '2' },
      body: {
        error: 'attempt_not_begun',
        layer: 'engine',
        reasons: ['the engine lost the attempt before it began, and nothing was sent: activity Heartbeat timeout'],
      },
    });
    // Also settled once more, and by an attempt that comes late after all.
    expect((await gate.activities.settleExecution(call.correlation_id, 'again')).state).toBe('not_run');
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('not_run');
    expect(gate.executed).toHaveLength(0);
    await gate.close();
  });

  it('settles an attempt that was under way as uncertain and does not send it again', async () => {
    const before = await openPipeline();
    const call = await before.call();
    await before.activities.commitVerdict(
      call,
      (await before.activities.inspect(call)) as never,
      await before.activities.evaluate(call, { available: false, reason: '' }),
    );
    await before.calls.move(call.correlation_id, 'claim');
    const after = await openPipeline({ folder: before.folder });
    await after.host.resume();
    await after.host.idle();
    expect((await after.calls.find(call.correlation_id))?.state).toBe('uncertain');
    expect(after.executed).toHaveLength(0);
    await after.close();
    await before.close();
  });

  it('goes on with every other call when one cannot be opened, and tells which', async () => {
    const told: string[] = [];
    const before = await openPipeline({ script: { tier: 'yellow' } });
    const [bad, good] = [await before.call(), await before.call()];
    for (const call of [bad, good]) await before.run(call);
    await before.host.close();
    const connection = new DatabaseSync(join(before.folder, 'calls.db'));
    connection
      .prepare("update call_records set mac = 'gone' || substr(mac, instr(mac, ':')) where correlation_id = ?")
      .run(bad.correlation_id);
    connection.close();
    const after = await openPipeline({
      folder: before.folder,
      onAlarm: (id, _reason, kind) => told.push(`${kind} ${id}`),
    });
    expect(await after.host.resume()).toBe(1);
    expect(await after.host.decide(await after.decision(good, 'approve'))).toMatchObject({ outcome: 'applied' });
    await after.host.idle();
    expect(after.executed).toHaveLength(1);
    expect(told).toEqual([`alarm.call_stuck ${bad.correlation_id}`]);
    expect(await after.kinds(bad.correlation_id)).toContain('alarm.call_stuck');
    await after.close();
    await before.close();
  });
});
