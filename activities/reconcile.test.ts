import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput, CallState } from '../contracts/call.js';
import { inspectionOf } from '../test/support/judgements.js';
import { someOf } from '../test/support/some-of.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import type { VerdictEvidence } from '../domain/call/record.js';
import { noticesOf } from '../domain/notification/notice.js';
import type { Reconciled } from './reconcile.js';
import { rm } from 'node:fs/promises';

type Status = 'running' | 'closed' | 'missing';
const OPEN = ['decided', 'parked', 'overdue', 'allowed', 'approved', 'intended'] as const;
type Open = (typeof OPEN)[number];
/** Which of them a run leaves hanging: each is waited for until it took too long, before its state is read. */
const HANGING = someOf('the states of a call that hangs', OPEN, 2);
const STATUSES = ['running', 'closed', 'missing'] as const;
const TTL_MS = 600_000;
const MINUTE = 60_000;

/** How reconciliation ends a call in this state; `null` where it leaves the call alone for now. */
function endOf(state: Open, status: Status): CallState | null {
  if (state === 'overdue') return 'expired';
  if (status === 'running') return null;
  return state === 'intended' ? 'uncertain' : 'aborted';
}

describe('reconciliation', () => {
  let folder: string;
  let gate: PipelineFixture;
  let nowMs: number;
  /** The clock of the database; `null` as for a file. */
  let storeMs: (() => number) | null;
  let workflows: Map<string, Status | 'hangs' | 'fails'>;
  let ended: string[];
  let told: string[];
  /** What happens while the engine is asked about a call, and while its run is ended. */
  let meanwhile: { asked: (id: string) => Promise<void>; ended: (id: string) => Promise<void> };

  const open = async (): Promise<void> => {
    gate = await openPipeline({
      folder,
      storeClockMs: () => storeMs?.() ?? null,
      escalateShares: [0.5],
      clock: { now: () => nowMs, sleep: () => new Promise(() => undefined) },
      reconcile: { callLimitMs: 1_500, partMs: 60_000 },
      onAlarm: (id, reason, kind) => told.push(kind === 'alarm.clock_apart' ? reason : `${kind} ${id}`),
      runs: {
        status: async (id) => {
          await meanwhile.asked(id);
          const status = workflows.get(id) ?? 'missing';
          if (status === 'hangs') return new Promise(() => undefined);
          if (status === 'fails') return Promise.reject(new TypeError('a bug at this very call'));
          return Promise.resolve(status);
        },
        end: async (id) => {
          ended.push(id);
          await meanwhile.ended(id);
        },
      },
    });
  };
  const restart = async () => {
    await gate.close();
    await open();
  };
  beforeEach(async () => {
    nowMs = Date.parse('2026-11-22T10:00:00.000Z');
    storeMs = null;
    workflows = new Map();
    ended = [];
    told = [];
    meanwhile = { asked: async () => undefined, ended: async () => undefined };
    folder = await fixtureFolder();
    await open();
  });
  afterEach(async () => {
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A call left in this state, by the pipeline's own activities. */
  async function left(
    state: Open,
    status: Status = 'missing',
    over: Parameters<PipelineFixture['call']>[0] = {},
  ): Promise<CallInput> {
    gate.script.tier = state === 'allowed' || state === 'intended' ? 'green' : 'yellow';
    const call = await gate.call(over);
    const { activities, calls } = gate;
    const evaluated = await activities.evaluate(call, await activities.inspect(call));
    await activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
    if (state === 'parked' || state === 'overdue' || state === 'approved')
      await activities.openReview(call, state === 'overdue' ? nowMs - TTL_MS - 1 : nowMs);
    if (state === 'approved') await activities.applyDecision(await gate.decision(call, 'approve'));
    if (state === 'intended') await calls.move(call.correlation_id, 'claim');
    workflows.set(call.correlation_id, status);
    nowMs += 1_000;
    return call;
  }
  /** A whole pass, in as many parts as it takes. */
  async function pass(): Promise<Reconciled> {
    let part = await gate.activities.reconcileCalls();
    const sum = { ...part };
    while (part.next) {
      part = await gate.activities.reconcileCalls(part.next);
      sum.looked_at += part.looked_at;
      sum.closed += part.closed;
      sum.failed += part.failed;
    }
    return { ...sum, next: null };
  }

  describe('whose clock is 20 minutes ahead of that of the database', () => {
    const AHEAD_MS = 20 * MINUTE;
    const deniesIt = async (call: CallInput) =>
      gate.activities.applyDecision(
        await gate.decision(call, 'deny', { not_after: new Date(nowMs + AHEAD_MS).toISOString() }),
      );

    it.each(['running', 'missing'] as const)(
      'ends nothing of calls that wait, their runs %s, says so once, and the calls are decided when it is right',
      async (status) => {
        const [waits, other] = [await left('parked', status), await left('parked', status)];
        let right = nowMs;
        storeMs = () => right;
        nowMs += AHEAD_MS;
        for (let passes = 0; passes < 2; passes += 1) expect(await pass()).toMatchObject({ closed: 0, failed: 0 });
        const said =
          'the clock of this worker is 1200 s ahead of that of its database: nothing is ended as overdue while it is';
        expect(told).toEqual([said]);
        // Nor does a decision that is late by this clock alone.
        expect(await deniesIt(waits)).toMatchObject({ applied: false, code: 'decision_refused', clock_ms: nowMs });
        for (const { correlation_id } of [waits, other])
          expect(await gate.calls.find(correlation_id)).toMatchObject({ state: 'parked' });
        nowMs = right += 1_000;
        expect(await deniesIt(waits)).toMatchObject({ applied: true, summary: { state: 'denied' } });
        expect(await gate.calls.find(other.correlation_id)).toMatchObject({ state: 'parked' });
        // What is over by both is ended, and a clock that goes wrong again is told again.
        nowMs = right += TTL_MS;
        workflows.set(waits.correlation_id, 'closed');
        expect(await pass()).toMatchObject({ closed: 1 });
        expect(await gate.calls.find(other.correlation_id)).toMatchObject({ state: 'expired' });
        nowMs += AHEAD_MS;
        await pass();
        expect(told.filter((line) => line === said)).toHaveLength(2);
      },
    );
  });
  it.each([
    ['when it goes on', 0],
    ['before it was silent', -67_000],
  ])('doubts no clock where the database answers after 67 s, and looked at its own %s', async (_, lookedMs) => {
    const call = await left('parked', 'missing');
    storeMs = () => (nowMs += 67_000) + lookedMs;
    expect(await pass()).toMatchObject({ closed: 1, failed: 0 });
    expect(await stateOf(call)).toBe('aborted');
    expect(told).toEqual([`alarm.reconciled ${call.correlation_id}`]);
  });
  const stateOf = async ({ correlation_id }: CallInput) => (await gate.calls.find(correlation_id))?.state;
  const kindsOf = (call: CallInput) => gate.kinds(call.correlation_id);
  const count = async (call: CallInput, kind: string) => (await kindsOf(call)).filter((one) => one === kind).length;
  const sql = (text: string, ...values: (string | number | Uint8Array)[]) => {
    const connection = new DatabaseSync(join(folder, 'calls.db'));
    try {
      return connection.prepare(text).all(...values) as Record<string, unknown>[];
    } finally {
      connection.close();
    }
  };
  /** As a key that is missing would leave it; returns the way back. */
  function makeUnreadable({ correlation_id }: CallInput): () => void {
    const mac = "substr(mac, instr(mac, ':'))";
    sql(`update call_records set mac = 'gone' || ${mac} where correlation_id = ?`, correlation_id);
    return () => void sql(`update call_records set mac = 'records' || ${mac} where correlation_id = ?`, correlation_id);
  }

  /** A person decides, and the call's own run brings it to its end and is over. */
  async function decided(call: CallInput, decision: 'approve' | 'deny'): Promise<void> {
    const { activities } = gate;
    await activities.applyDecision(await gate.decision(call, decision));
    if (decision === 'approve') await activities.callUpstream(call, nowMs + MINUTE);
    await activities.settleReviewRow(call.correlation_id);
    await activities.appendRows(call.correlation_id);
    workflows.set(call.correlation_id, 'closed');
  }

  describe('a call that was found parked, and that its own run ends while reconciliation comes to it', () => {
    const ends = {
      denied: (call: CallInput) => decided(call, 'deny'),
      completed: (call: CallInput) => decided(call, 'approve'),
      async expired(call: CallInput) {
        nowMs += TTL_MS;
        await gate.activities.expireReview(call.correlation_id);
        await gate.activities.appendRows(call.correlation_id);
        workflows.set(call.correlation_id, 'closed');
      },
    };
    const nothingSaid = async (call: CallInput) => {
      expect(await count(call, 'alarm.reconciled')).toBe(0);
      expect(told).toEqual([]);
      expect(await gate.calls.setbacks.all()).toEqual([]);
    };

    it.each(['denied', 'completed', 'expired'] as const)('%s: nothing is closed, ended or told', async (state) => {
      const call = await left('parked', 'running');
      const later = await left('decided');
      meanwhile.asked = async (id) => {
        meanwhile.asked = async () => undefined;
        if (id === call.correlation_id) await ends[state](call);
      };
      expect(await pass()).toMatchObject({ looked_at: 2, closed: 1, failed: 0 });
      expect(await stateOf(call)).toBe(state);
      expect(ended).toEqual([later.correlation_id]);
      expect(await count(call, 'alarm.reconciled')).toBe(0);
      expect(told).toEqual([`alarm.reconciled ${later.correlation_id}`]);
    });

    it('approved, and at its tool: its attempt is not taken from it', async () => {
      const call = await left('parked', 'running');
      meanwhile.asked = async () => {
        meanwhile.asked = async () => undefined;
        await gate.activities.applyDecision(await gate.decision(call, 'approve'));
        await gate.calls.move(call.correlation_id, 'claim');
        nowMs += TTL_MS + MINUTE;
      };
      expect(await pass()).toMatchObject({ closed: 0 });
      expect(await stateOf(call)).toBe('intended');
      expect(ended).toEqual([]);
      await nothingSaid(call);
    });

    it.each(['deny', 'approve'] as const)(
      'even in the last moment, when its run is being ended (%s): the decision stands and nothing is told',
      async (said) => {
        const call = await left('parked', 'closed');
        meanwhile.ended = () => decided(call, said);
        expect(await pass()).toMatchObject({ closed: 0, failed: 0 });
        expect(await stateOf(call)).toBe(said === 'deny' ? 'denied' : 'completed');
        await nothingSaid(call);
      },
    );
  });

  it.each([
    ['approved', 'closed', 'missing', [{ status: 'aborted', decision: null }]],
    ['approved', 'running', 'missing', []],
    ['approved', 'closed', 'closed', []],
    ['approved', 'missing', 'missing', [{ status: 'aborted', decision: null }]],
    ['parked', 'missing', 'missing', [{ status: 'aborted', decision: null }]],
  ] as const)(
    'the caller of a call that is closed while it is %s (its callback is %s, the one about its closing %s) is told so, also after an approval',
    async (state, asDecided, asClosed, says) => {
      const call = await left(state, 'missing', { callback_url: 'https://caller.example/hook' });
      const id = call.correlation_id;
      workflows.set(`callback/${id}/approved`, asDecided).set(`callback/${id}/aborted`, asClosed);
      // Its decision was told, or is owed no longer.
      await gate.calls.followedUp(id, 'callback');
      for (let again = 0; again < 3; again += 1) {
        await pass();
        nowMs += MINUTE;
      }
      expect(await stateOf(call)).toBe('aborted');
      expect(gate.callbacks.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
        says.map((each) => expect.objectContaining(each)),
      );
    },
  );

  describe('a call that waits, whose run is lost before people were told that it still does', () => {
    const notYet = async (call: CallInput) => {
      const row = await gate.reviews.byCorrelation(call.correlation_id);
      if (row === null) throw new Error('its row is gone');
      return row;
    };
    const dueOf = async ({ correlation_id }: CallInput) =>
      (await gate.calls.find(correlation_id))?.evidence.escalates_ms ?? 0;

    it.each([
      ['before its record said so', false, ['hil.created', 'call.aborted', 'alarm.reconciled']],
      ['after its record said so', true, ['hil.created', 'hil.escalated', 'call.aborted', 'alarm.reconciled']],
    ])('%s: nobody can decide it any more, so people are told alone that it is closed', async (_, isSaid, kinds) => {
      const call = await left('parked');
      const waits = noticesOf(await notYet(call), []);
      const due = await dueOf(call);
      nowMs = due + 1_000;
      gate.script.hil = 'down';
      if (isSaid) await expect(gate.activities.escalateReview(call.correlation_id, due)).rejects.toThrow();
      gate.script.hil = 'up';
      nowMs += 2 * MINUTE;
      expect(await pass()).toMatchObject({ closed: 1 });
      const row = await notYet(call);
      expect([row.status, row.escalated_at ?? null]).toEqual(['aborted', null]);
      expect(noticesOf(row, waits)).toMatchObject([{ phase: 'resolve', status: 'aborted', escalated: false }]);
      expect((await kindsOf(call)).slice(-kinds.length)).toEqual(kinds);
    });

    it.each(['commitVerdict', 'abandonCall'] as const)(
      'and goes on in a run that begins anew (%s): that brings the row to what the record says first',
      async (found) => {
        const call = await left('parked', 'running');
        const due = await dueOf(call);
        nowMs = due + 1_000;
        gate.script.hil = 'down';
        await expect(gate.activities.escalateReview(call.correlation_id, due)).rejects.toThrow();
        gate.script.hil = 'up';
        const at = nowMs;
        nowMs += MINUTE;
        const { activities } = gate;
        const inspected = { available: true, inspection: inspectionOf(true) } as const;
        const begun =
          found === 'abandonCall'
            ? await activities.abandonCall(call)
            : await activities.commitVerdict(call, inspected, await activities.evaluate(call, inspected));
        expect(begun).toMatchObject({ state: 'parked', escalates_ms: due });
        expect((await activities.escalateReview(call.correlation_id, due)).escalates_ms).toBeUndefined();
        expect((await notYet(call)).escalated_at).toBe(new Date(at).toISOString());
        expect((await gate.calls.find(call.correlation_id))?.evidence.escalated_ms).toBe(at);
      },
    );
  });

  describe.each(OPEN)('a call that was left %s', (state) => {
    it.each(STATUSES)('while its workflow is %s', async (status) => {
      const call = await left(state, status);
      const end = endOf(state, status);
      expect(await pass()).toMatchObject({ closed: end === null ? 0 : 1, failed: 0, next: null });
      expect(await stateOf(call)).toBe(end ?? (state === 'overdue' ? 'parked' : state));
      expect(await count(call, 'alarm.reconciled')).toBe(end === null ? 0 : 1);
      expect(ended).toEqual(end === null ? [] : [call.correlation_id]);
      expect(told).toEqual(end === null ? [] : [`alarm.reconciled ${call.correlation_id}`]);
      if (end === 'aborted' && state === 'parked')
        expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ status: 'aborted' });
      // A second pass finds nothing, and says nothing twice.
      const kinds = await kindsOf(call);
      expect(await pass()).toMatchObject({ closed: 0 });
      expect(await kindsOf(call)).toEqual(kinds);
      expect(gate.executed).toEqual([]);
    });

    it('is closed also while HIL is away, not before the ledger was asked about it, and its review row comes when HIL is back', async () => {
      const call = await left(state);
      gate.script.ledger = 'down';
      gate.script.hil = 'down';
      expect(await pass()).toMatchObject({ closed: 0 });
      expect(await stateOf(call)).toBe(state === 'overdue' ? 'parked' : state);
      gate.script.ledger = 'up';
      nowMs += MINUTE;
      expect(await pass()).toMatchObject({ closed: 1 });
      expect(await stateOf(call)).toBe(endOf(state, 'missing'));
      nowMs += MINUTE;
      await pass();
      gate.script.hil = 'up';
      nowMs += MINUTE;
      await pass();
      expect(await count(call, 'alarm.reconciled')).toBe(1);
      expect(await count(call, 'proxy.verdict')).toBe(1);
      expect(await gate.calls.oldestRowsDueMs()).toBeNull();
      expect(await gate.calls.followUpsDue('review', nowMs + 1, 10)).toEqual([]);
      expect(await gate.calls.setbacks.stuck()).toEqual({ calls: 0, since_ms: null });
      expect(told).toEqual([`alarm.reconciled ${call.correlation_id}`]);
    });

    it.each(
      (['unreadable', 'hangs', 'fails'] as const).filter((fault) => fault !== 'hangs' || HANGING.includes(state)),
    )('does not keep others from being closed when it %s', async (fault) => {
      const bad = await left(state);
      const good = await left('allowed');
      if (fault === 'unreadable') makeUnreadable(bad);
      else workflows.set(bad.correlation_id, fault);
      expect(await pass()).toMatchObject({ closed: 1 });
      expect(await stateOf(good)).toBe('aborted');
      expect(ended).toEqual([good.correlation_id]);
      expect((await gate.calls.setbacks.stuck()).calls).toBe(1);
    });
  });

  describe.each(['decided', 'parked', 'allowed', 'approved', 'intended'] as const)(
    'a record of a call that ended, put back to %s',
    (state) => {
      const rowOf = ({ correlation_id: id }: CallInput) =>
        sql('select * from call_records where correlation_id = ?', id)[0] ?? {};
      const lieAgain = (older: Record<string, unknown>, { correlation_id: id }: CallInput) => {
        const set = Object.keys(older).map((column) => `${column} = ?`);
        sql(
          `update call_records set ${set.join(', ')} where correlation_id = ?`,
          ...(Object.values(older) as string[]),
          id,
        );
      };
      /** From there to its end, with every row. */
      async function goOn({ activities, decision }: PipelineFixture, call: CallInput): Promise<void> {
        if (state === 'decided') await activities.openReview(call, nowMs);
        if (state === 'decided' || state === 'parked') await activities.applyDecision(await decision(call, 'deny'));
        else if (state === 'intended') await activities.settleExecution(call.correlation_id, 'the worker was lost');
        else await activities.callUpstream(call, nowMs + MINUTE);
        await activities.appendRows(call.correlation_id);
        await activities.settleReviewRow(call.correlation_id);
      }
      async function putBack(status: Status): Promise<CallInput> {
        const call = await left(state, status);
        const older = rowOf(call);
        await goOn(gate, call);
        await gate.close();
        lieAgain(older, call);
        await open();
        return call;
      }

      it.each(STATUSES)(
        'while its workflow is %s: it is closed as tampered and told once, by nothing else',
        async (status) => {
          const call = await putBack(status);
          const good = await left('allowed');
          const before = (await kindsOf(call)).length;
          const ran = gate.executed.length;
          nowMs += 60 * MINUTE;
          await pass();
          await new Promise((resolve) => setImmediate(resolve));
          nowMs += MINUTE;
          await pass();
          expect(await stateOf(call)).toBe('tampered');
          expect((await kindsOf(call)).slice(before)).toEqual(['alarm.record_tampered']);
          expect(told.filter((one) => one.endsWith(call.correlation_id))).toEqual([
            `alarm.record_tampered ${call.correlation_id}`,
          ]);
          expect(await stateOf(good)).toBe('aborted');
          expect(gate.executed).toHaveLength(ran);
          expect(await gate.ledger.verify()).toMatchObject({ valid: true });
        },
      );

      it('and with its rows hidden from readers', async () => {
        const call = await putBack('missing');
        const ledger = new DatabaseSync(join(folder, 'ledger.db'));
        ledger
          .prepare("update ledger_entries set deleted_at = '2026-11-22T10:00:00.000Z' where correlation_id = ?")
          .run(call.correlation_id);
        ledger.close();
        nowMs += 60 * MINUTE;
        await pass();
        expect(await stateOf(call)).toBe('tampered');
      });

      it('does not run again whoever hands it to a host', async () => {
        const call = await putBack('missing');
        const ran = gate.executed.length;
        const again = await gate.host.start(
          { ...call, received_ms: nowMs, not_after_ms: nowMs + MINUTE },
          Date.now() + 5_000,
        );
        expect(again).toMatchObject({ state: 'tampered' });
        expect(await gate.activities.callUpstream(call, nowMs + MINUTE, undefined, 1)).toMatchObject({
          state: 'tampered',
        });
        expect(await gate.activities.openReview(call, nowMs)).toMatchObject({ state: 'tampered' });
        expect(gate.executed).toHaveLength(ran);
      });

      it('is found also where the process that reconciles had made the record, and another one went on with it', async () => {
        const call = await left(state, 'missing');
        const older = rowOf(call);
        const clock = { now: () => nowMs, sleep: () => new Promise<void>(() => undefined) };
        const other = await openPipeline({ folder, clock });
        await goOn(other, call);
        await other.close();
        lieAgain(older, call);
        nowMs += 60 * MINUTE;
        expect(await pass()).toMatchObject({ closed: 1 });
        expect(await stateOf(call)).toBe('tampered');
        expect(await kindsOf(call)).not.toContain('call.aborted');
      });
    },
  );

  it('takes back the review row of a call that was closed before it was parked: nobody waits for a decision about it', async () => {
    const call = await left('decided');
    const { correlation_id, agent: agent_id, method, tenant } = call;
    await gate.reviews.createOnce({
      agent_id,
      correlation_id,
      method,
      tenant,
      request_payload: {},
      risk_summary: 'the row was stored and its answer lost',
      review_reasons: [],
      state_namespace: 'operator',
      ttl_seconds: 600,
    });
    expect((await gate.reviews.list({ tenant })).rows).toHaveLength(1);
    nowMs += MINUTE;
    await pass();
    expect((await gate.reviews.list({ tenant })).rows).toEqual([]);
  });

  it('leaves a call that cannot be helped alone for a growing while, tells it once, also over a restart, and goes on when it can', async () => {
    const bad = await left('parked');
    const mend = makeUnreadable(bad);
    const tries: number[] = [];
    const began = nowMs;
    for (let minute = 0; minute < 20; minute += 0.25) {
      if ((await pass()).failed > 0) tries.push((nowMs - began) / MINUTE);
      nowMs += MINUTE / 4;
      if (minute === 5) await restart();
    }
    // Its end and its rows each have their own pauses: half a minute, one, two, four, eight.
    expect(tries).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5]);
    expect(await count(bad, 'alarm.call_stuck')).toBe(2);
    expect(told.filter((one) => one.startsWith('alarm.call_stuck'))).toHaveLength(2);
    expect(await gate.rows(bad.correlation_id)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          event_kind: 'alarm.call_stuck',
          reasoning: expect.stringContaining('the call cannot be closed or gone on with'),
          policy_decision: { duty: 'open' },
        }),
      ]),
    );
    // It does not make Gate unready: it has its alarm.
    expect(await gate.calls.oldestRowsDueMs()).toBeNull();

    mend();
    nowMs += 60 * MINUTE;
    expect(await pass()).toMatchObject({ closed: 1, failed: 0 });
    expect(await stateOf(bad)).toBe('expired');
    expect(await count(bad, 'alarm.reconciled')).toBe(1);
    expect(await gate.calls.setbacks.all()).toEqual([]);
  });

  it('tells a call that takes too long only when it does so again', async () => {
    const bad = await left('allowed');
    workflows.set(bad.correlation_id, 'hangs');
    const alarms = async () => count(bad, 'alarm.call_stuck');
    for (const expected of [0, 0, 1, 1]) {
      await pass();
      expect(await alarms()).toBe(expected);
      nowMs += 10 * MINUTE;
    }
  });

  it('asks a ledger that is away three times in a pass, not once for every call, and takes no call for the culprit', async () => {
    for (let made = 0; made < 12; made += 1) await left('allowed');
    gate.script.ledger = 'down';
    await pass();
    nowMs += 10 * MINUTE;
    expect((await pass()).failed).toBeLessThanOrEqual(6);
    expect(await gate.calls.setbacks.stuck()).toEqual({ calls: 0, since_ms: null });
    expect(told.filter((one) => one.startsWith('alarm.call_stuck'))).toEqual([]);
    gate.script.ledger = 'up';
    await pass();
    expect(await gate.calls.oldestRowsDueMs()).toBeNull();
  });

  it('appends the rows of the others when the ledger refuses one for good, and owes nothing for it', async () => {
    const call = await left('allowed');
    const other = await left('allowed');
    // Other content under the id of a row of this call, as nobody but an editor of the store could make it.
    const [mine] = await gate.ledger.append([
      {
        id: (await import('../domain/call/rows.js')).ledgerRowId(call.correlation_id, 'policy.evaluated'),
        agent_id: 'somebody',
        method: 'policy.evaluated',
        intent_category: 'Direct Execution',
        authorized: true,
        reasoning: 'other content',
        policy_decision: null,
        state_namespace: 'operator',
        correlation_id: call.correlation_id,
      },
    ]);
    expect(mine?.status).toBe('created');
    await pass();
    for (const one of [call, other]) expect(await stateOf(one)).toBe('aborted');
    expect(await kindsOf(call)).toEqual(
      expect.arrayContaining(['alarm.row_conflict', 'proxy.verdict', 'brain.inspection', 'call.aborted']),
    );
    expect(told).toContain(`alarm.row_refused ${call.correlation_id}`);
    expect(await gate.calls.oldestRowsDueMs()).toBeNull();
  });

  it('appends the outcome of an answer whose text no store keeps, as an earlier version recorded it', async () => {
    const errors = ['\ud83d', '\0\0', 'x'.repeat(499) + '\ud83d', '\u2028\ude00', '😀'.repeat(9_000)];
    const calls = [];
    for (const error of errors) {
      const call = await left('intended');
      await gate.calls.move(call.correlation_id, 'lose', {
        outcome: {
          stage: 'uncertain',
          status_code: null,
          duration_ms: 1,
          result_sha256: null,
          error,
          at: new Date(nowMs).toISOString(),
        },
      });
      calls.push(call);
    }
    nowMs += 1_000;
    expect(await pass()).toMatchObject({ rows_appended: errors.length, failed: 0 });
    for (const call of calls)
      expect(await kindsOf(call)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'upstream.outcome',
      ]);
    expect(await gate.calls.oldestRowsDueMs()).toBeNull();
    expect(told).toEqual([]);
    expect((await gate.ledger.verify()).valid).toBe(true);
  });

  it('helps a running workflow whose rows are due for minutes, and leaves it its time before', async () => {
    const call = await left('parked', 'running');
    await pass();
    expect(await kindsOf(call)).toEqual([]);
    nowMs += 3 * MINUTE;
    await pass();
    expect(await kindsOf(call)).toEqual(['proxy.verdict', 'brain.inspection', 'policy.evaluated', 'hil.created']);
    expect(await stateOf(call)).toBe('parked');
  });

  it('looks at the oldest first', async () => {
    const made = [];
    for (const state of ['allowed', 'parked', 'intended'] as const) made.push((await left(state)).correlation_id);
    await pass();
    expect(ended).toEqual(made);
  });

  it('finds a newer lost call behind pages of those that are parked for long, however small the parts of a pass', async () => {
    const first = await left('parked', 'running');
    const record = await gate.calls.find(first.correlation_id);
    const evidence = record?.evidence as VerdictEvidence;
    const deadline_ms = record?.deadline_ms ?? 0;
    // Two whole pages of 500, and a part of a third.
    for (let made = 0; made < 1_200; made += 400)
      await Promise.all(
        Array.from({ length: 400 }, async () => {
          const correlation_id = randomUUID();
          workflows.set(correlation_id, 'running');
          await gate.calls.commitVerdict('decided', { ...evidence, call: { ...evidence.call, correlation_id } });
          await gate.calls.move(correlation_id, 'park', { pending_id: randomUUID(), deadline_ms });
        }),
      );
    nowMs += 1_000;
    const lost = await left('allowed');
    expect(await pass()).toMatchObject({ looked_at: 1_202, closed: 1 });
    expect(await stateOf(lost)).toBe('aborted');
    expect(ended).toEqual([lost.correlation_id]);
  });

  it('goes on where a part of the pass ended, and looks at each call once', async () => {
    const made: CallInput[] = [];
    while (made.length < 5) made.push(await left('allowed', 'running'));
    await gate.close();
    gate = await openPipeline({
      folder,
      clock: { now: () => nowMs, sleep: () => new Promise(() => undefined) },
      reconcile: { partMs: 0 },
      runs: {
        status: (id) => {
          ended.push(id);
          return Promise.resolve('running');
        },
        end: () => Promise.resolve(),
      },
    });
    const parts = [];
    for (let next: Reconciled['next'] | undefined; next !== null; ) {
      const part = await gate.activities.reconcileCalls(next ?? null);
      parts.push(part);
      next = part.next;
    }
    expect(parts.filter(({ looked_at }) => looked_at > 0)).toHaveLength(5);
    expect(ended.slice(0, 5)).toEqual(made.map(({ correlation_id }) => correlation_id));
  });

  it('says that it makes progress at every call, also at one that hangs', async () => {
    for (let made = 0; made < 3; made += 1) await left('allowed', 'running');
    const bad = await left('allowed');
    workflows.set(bad.correlation_id, 'hangs');
    let beats = 0;
    await gate.activities.reconcileCalls(null, () => (beats += 1));
    // Four open calls, and the rows each of them owes.
    expect(beats).toBe(8);
  });

  describe('after a crash in the middle of closing a call', () => {
    const reason = 'the workflow is missing while the call is allowed';
    const owed = (call: CallInput) =>
      gate.calls.setbacks.put({
        correlation_id: call.correlation_id,
        duty: 'alarm',
        attempts: 0,
        since_ms: nowMs,
        next_ms: nowMs,
        reason,
        state: 'allowed',
        alarmed: false,
      });

    it('the alarm that was owed is appended once, whether or not the record was closed', async () => {
      for (const closed of [false, true]) {
        const call = await left('allowed');
        await owed(call);
        if (closed) await gate.activities.abortCall(call.correlation_id, reason);
        await restart();
        nowMs += 1_000;
        await pass();
        await pass();
        expect(await stateOf(call)).toBe('aborted');
        expect(await count(call, 'alarm.reconciled')).toBe(1);
        expect(await count(call, 'call.aborted')).toBe(1);
      }
    });

    it.each(['deny', 'approve'] as const)(
      'of a call that a person ended after all (%s) there is no alarm',
      async (said) => {
        const call = await left('parked', 'closed');
        await owed(call);
        await decided(call, said);
        await restart();
        await pass();
        expect(await kindsOf(call)).not.toContain('alarm.reconciled');
        expect(await gate.calls.setbacks.all()).toEqual([]);
      },
    );

    it('of a call that went on after all there is no alarm', async () => {
      const call = await left('allowed', 'running');
      await owed(call);
      await pass();
      expect(await stateOf(call)).toBe('allowed');
      expect(await kindsOf(call)).not.toContain('alarm.reconciled');
      expect(await gate.calls.setbacks.all()).toEqual([]);
    });
  });

  it('takes what it remembers of a call along when the record is purged', async () => {
    await gate.calls.setbacks.put({
      correlation_id: randomUUID(),
      duty: 'rows',
      attempts: 1,
      since_ms: nowMs,
      next_ms: nowMs + MINUTE,
      reason: 'gone',
      state: null,
      alarmed: true,
    });
    await pass();
    expect(await gate.calls.setbacks.all()).toEqual([]);
  });
});
