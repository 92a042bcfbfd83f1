import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { RecordedOutcome, VerdictEvidence } from '../../domain/call/record.js';
import type { AskedSpend } from '../../domain/spend/spend.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { callMigrations } from '../../migrations/calls.js';
import { callInput } from '../../test/support/call-input.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { writeMigrated } from '../../test/support/migrated-file.js';
import { startPostgres } from '../../test/support/postgres.js';
import { seededRandom } from '../../test/support/random.js';
import { foldVerdict } from '../../domain/call/verdict.js';
import { openCallStore } from './call-store.js';

const KEYS = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);
/** The same without the key that the others write with, and another one that knows both. */
const ROTATED = [`k2:${'fedcba9876543210'.repeat(4)}`, `k1:${'0123456789abcdef'.repeat(4)}`];
const T0 = Date.parse('2026-03-02T10:00:00Z');
const NO_LIMIT = { limit: 0, windowMs: 60_000 };
const staged = {
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } },
  callback_url: null,
};

let clock = T0;
const asked = ({ mostMicros = 30, prices = { pay: 20 }, ...change }: Partial<AskedSpend> = {}): AskedSpend => ({
  tenantMicros: 100,
  agentMicros: null,
  mostMicros,
  prices,
  toolsMicros: Math.min(
    mostMicros,
    Object.values(prices).reduce((sum, micros) => sum + micros, 0),
  ),
  ...change,
});
const inspected = (micros: number) => ({ ...inspectionOf(true), cost_micros: micros });
const evidenceOf = (call: CallInput, tier: 'green' | 'yellow' | 'red', micros = 5): VerdictEvidence => {
  const inspection = inspected(micros);
  const decision = decisionOf(tier);
  return {
    call,
    verdict: foldVerdict(inspection, decision, 'enforce'),
    inspection,
    inspection_failure: null,
    policy_failure: null,
    decision,
    facts: null,
    params_sha256: 'a'.repeat(64),
    callback_url: null,
  };
};
const outcomeOf = (stage: RecordedOutcome['stage'], change: Partial<RecordedOutcome> = {}): RecordedOutcome => ({
  stage,
  status_code: 200,
  duration_ms: 5,
  result_sha256: null,
  error: null,
  at: new Date(clock).toISOString(),
  ...change,
});

interface Place {
  open(keys?: typeof KEYS): Promise<CallStore>;
  remove(): Promise<void>;
}
async function sqlitePlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-spend-'));
  const file = join(folder, 'calls.db');
  await writeMigrated(file, callMigrations);
  return {
    open: (keys = KEYS) => openCallStore({ target: { file }, keys, now: () => clock }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
async function postgresPlace(): Promise<Place> {
  const { url, stop } = await startPostgres({ migrated: { schema: 'calls', migrations: callMigrations } });
  return {
    open: (keys = KEYS) => openCallStore({ target: { url, schema: 'calls' }, keys, now: () => clock }),
    remove: stop,
  };
}

describe.each([
  ['SQLite', sqlitePlace],
  ['Postgres', postgresPlace],
])('what calls cost, on %s', (_name, newPlace) => {
  let place: Place;
  let store: CallStore;
  const others: CallStore[] = [];
  const another = async (keys = KEYS) => {
    const opened = await place.open(keys);
    others.push(opened);
    return opened;
  };
  beforeEach(async () => {
    clock = T0;
    place = await newPlace();
    store = await place.open();
  }, 120_000);
  afterEach(async () => {
    for (const opened of others.splice(0)) await opened.close();
    await store.close();
    await place.remove();
  });

  const callOf = (change: Partial<CallInput> = {}) =>
    callInput(clock, { tool: 'pay', digest: 'sha256:one', ...change });
  /** The call as its run is told of it. */
  const admitted = async (call: CallInput, spend: AskedSpend | null = asked(), at = store): Promise<CallInput> => {
    const admission = await at.admit(call, staged, NO_LIMIT, spend);
    if (!admission.admitted) throw new Error(JSON.stringify(admission));
    return { ...call, ...(admission.spend && { spend: admission.spend }) };
  };
  const refused = async (call: CallInput, spend = asked(), at = store) => {
    const admission = await at.admit(call, staged, NO_LIMIT, spend);
    return 'over' in admission ? admission.over : admission;
  };
  const spent = async (agent: string | null = null, month = '2026-03') => {
    const { spentMicros, reservedMicros } = await store.spend.of('acme', agent, month);
    return [spentMicros, reservedMicros];
  };
  const allowed = async (call = callOf(), spend = asked()) => {
    const told = await admitted(call, spend);
    await store.commitVerdict('allowed', evidenceOf(told, 'green'));
    return told;
  };
  const parked = async (call = callOf(), spend = asked()) => {
    const told = await admitted(call, spend);
    await store.commitVerdict('decided', evidenceOf(told, 'yellow'));
    await store.move(told.correlation_id, 'park', { pending_id: randomUUID(), deadline_ms: clock + 60_000 });
    return told;
  };

  it('keeps nothing of a call that costs nothing and has no budget', async () => {
    const told = await admitted(callOf(), null);
    await store.commitVerdict('denied', evidenceOf(told, 'red', 0));
    expect([told.spend, await spent(), await spent('bot')]).toEqual([undefined, [0, 0], [0, 0]]);
  });

  it('reserves the most that a call may cost, of its tenant and its agent, and tells what stood against the budget', async () => {
    expect((await admitted(callOf())).spend).toEqual({
      month: '2026-03',
      reserved_micros: 30,
      prices: { pay: 20 },
      budget: { of: 'tenant', budget_micros: 100, spent_micros: 0 },
    });
    const second = await admitted(callOf({ agent: 'other' }), asked({ agentMicros: 40 }));
    // The one of which less is left.
    expect(second.spend?.budget).toEqual({ of: 'agent', budget_micros: 40, spent_micros: 0 });
    expect([await spent(), await spent('bot'), await spent('other')]).toEqual([
      [0, 60],
      [0, 30],
      [0, 30],
    ]);
    expect(await store.spend.byAgent('acme', '2026-03', 10)).toEqual([
      { agent: 'bot', spentMicros: 0, reservedMicros: 30 },
      { agent: 'other', spentMicros: 0, reservedMicros: 30 },
    ]);
  });

  it('refuses what does not fit beside what is spent and reserved, and keeps nothing of it', async () => {
    for (let made = 0; made < 3; made += 1) await admitted(callOf());
    const call = callOf();
    expect(await refused(call)).toEqual({
      of: 'tenant',
      budgetMicros: 100,
      spentMicros: 0,
      reservedMicros: 90,
      askedMicros: 30,
    });
    expect(await store.request(call.correlation_id, call.digest)).toBeNull();
    // What fits exactly is let in.
    await admitted(callOf(), asked({ mostMicros: 10 }));
    expect(await spent()).toEqual([0, 100]);
    // A call that costs nothing is refused too, once nothing is left.
    expect(await refused(callOf(), asked({ mostMicros: 0, prices: {} }))).toMatchObject({ of: 'tenant' });
    expect(await spent()).toEqual([0, 100]);
  });

  it('counts a refused call in no window', async () => {
    const window = { limit: 2, windowMs: 60_000 };
    await store.admit(callOf(), staged, window, asked());
    for (let again = 0; again < 3; again += 1)
      expect(await store.admit(callOf(), staged, window, asked({ tenantMicros: 30 }))).toHaveProperty('over');
    expect(await store.admit(callOf(), staged, window, asked())).toMatchObject({ admitted: true, recent: 2 });
    expect(await spent()).toEqual([0, 60]);
  });

  it('reserves nothing for a request under the id of another one', async () => {
    const call = callOf();
    await admitted(call, null);
    const other = await store.admit({ ...call, digest: 'sha256:two' }, staged, NO_LIMIT, asked());
    expect([other, await spent()]).toEqual([expect.objectContaining({ digest: 'sha256:one' }), [0, 0]]);
  });

  it.each([
    ['a budget of nothing lets nothing through', { tenantMicros: 0, mostMicros: 0 }, 'tenant'],
    ['a call that may cost more than all of it', { tenantMicros: 29 }, 'tenant'],
    ['the same of its agent’s', { agentMicros: 29 }, 'agent'],
  ])('refuses before anybody spent anything: %s', async (_what, budgets, of) => {
    expect(await refused(callOf(), asked(budgets))).toMatchObject({ of, spentMicros: 0, reservedMicros: 0 });
    expect([await spent(), await spent('bot')]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('lets an agent in that spent its own budget, without a reservation, for the rules to deny', async () => {
    const first = await allowed(callOf(), asked({ agentMicros: 30, mostMicros: 25 }));
    await store.move(first.correlation_id, 'claim');
    await store.move(first.correlation_id, 'complete', { outcome: outcomeOf('completed') });
    expect(await spent('bot')).toEqual([25, 0]);
    const { spend } = await admitted(callOf(), asked({ agentMicros: 25 }));
    expect(spend).toMatchObject({
      reserved_micros: 0,
      budget: { of: 'agent', budget_micros: 25, spent_micros: 25 },
    });
    expect([await spent(), await spent('bot')]).toEqual([
      [25, 0],
      [25, 0],
    ]);
    // Rules that deny nothing: what it costs is counted.
    const watched = await admitted(callOf({ mode: 'observe' }), asked({ agentMicros: 25 }));
    expect([watched.spend?.reserved_micros, await spent(), await spent('bot')]).toEqual([30, [25, 30], [25, 30]]);
  });

  it.each([
    ['denied', async (call: CallInput) => store.commitVerdict('denied', evidenceOf(call, 'red')), 5],
    ['abandoned', async (call: CallInput) => store.commitVerdict('abandoned', evidenceOf(call, 'green')), 5],
  ])('a call that is %s at once cost what its inspection did', async (_what, end, cost) => {
    await end(await admitted(callOf()));
    expect([await spent(), await spent('bot')]).toEqual([
      [cost, 0],
      [cost, 0],
    ]);
  });

  it.each([
    ['completed', 'complete', 25],
    ['uncertain', 'lose', 25],
    ['not run', 'not_run', 5],
  ] as const)('one whose attempt is %s costs its tool where that ran, or may have', async (_what, move, cost) => {
    const call = await allowed();
    await store.move(call.correlation_id, 'claim');
    expect(await spent()).toEqual([0, 30]);
    const stage = move === 'complete' ? 'completed' : move === 'lose' ? 'uncertain' : 'not_run';
    await store.move(call.correlation_id, move, { outcome: outcomeOf(stage) });
    // Again, it changes nothing.
    await store.move(call.correlation_id, move, { outcome: outcomeOf(stage) });
    expect([await spent(), await spent('bot')]).toEqual([
      [cost, 0],
      [cost, 0],
    ]);
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'a tool that is called %s costs its price, or nothing',
    async (tool) => {
      for (const prices of [{}, Object.fromEntries([[tool, 20]])]) {
        const call = await allowed(callOf({ tool }), asked({ prices }));
        await store.move(call.correlation_id, 'claim');
        const done = await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed') });
        expect(done.record.state).toBe('completed');
      }
      expect(await spent()).toEqual([30, 0]);
    },
  );

  it('gives the price back where it is found that the tool did not run', async () => {
    const call = await allowed();
    await store.move(call.correlation_id, 'claim');
    await store.move(call.correlation_id, 'lose', { outcome: outcomeOf('uncertain') });
    expect(await spent()).toEqual([25, 0]);
    const by = {
      by: 'person',
      at: new Date(clock).toISOString(),
      decided_by: 'operator:dev',
      reason: 'looked',
    } as const;
    const { applied } = await store.move(call.correlation_id, 'ruled_out', {
      reconciliation: { settled: { status_code: null, result_sha256: null, error: null, reconciled: by } },
    });
    expect([applied, await spent()]).toEqual([true, [5, 0]]);
  });

  it('keeps what a parked call reserved, for as long as it waits', async () => {
    const call = await parked();
    expect(await spent()).toEqual([0, 30]);
    await store.move(call.correlation_id, 'expire');
    expect(await spent()).toEqual([5, 0]);
    const other = await parked();
    await store.move(other.correlation_id, 'deny');
    expect(await spent()).toEqual([10, 0]);
  });

  it('counts a verdict for who runs the call himself as if it ran', async () => {
    await allowed(callOf({ contract: 'gate.decision/v1' }));
    expect(await spent()).toEqual([25, 0]);
  });

  it('reserves nothing twice for the same id, whoever asks, and before and after it has ended', async () => {
    const call = callOf();
    await admitted(call);
    await admitted(call, asked(), await another());
    expect(await spent()).toEqual([0, 30]);
    const again = () => ({ ...callOf(), correlation_id: call.correlation_id });
    await Promise.all([admitted(again()), admitted(again(), asked(), await another())]);
    expect(await spent()).toEqual([0, 30]);
  });

  it('counts what was asked for in a month in that month, also where it ends in the next', async () => {
    const call = await parked();
    clock = Date.parse('2026-04-01T00:00:01Z');
    await store.move(call.correlation_id, 'expire');
    await admitted(callOf());
    expect([await spent(), await spent(null, '2026-04')]).toEqual([
      [5, 0],
      [0, 30],
    ]);
  });

  it('says which budget does not bear a call any more that waited', async () => {
    const [call] = [await parked(), await parked()];
    const over = (tenantMicros: number | null, agentMicros: number | null = null) =>
      store.spend.over(call, { tenantMicros, agentMicros });
    expect(await over(60)).toBeNull();
    expect(await over(59)).toMatchObject({ of: 'tenant', budgetMicros: 59, reservedMicros: 60 });
    expect(await over(null, 59)).toMatchObject({ of: 'agent' });
    expect(await over(null)).toBeNull();
    expect(await over(0)).toMatchObject({ of: 'tenant' });
  });

  describe('what models are paid', () => {
    const paid = (call: CallInput, micros: number, at = store) =>
      at.keepInspection(call, { asked_sha256: randomUUID(), inspection: inspected(micros) });

    it('counts each time, and not only what a record names', async () => {
      const call = await admitted(callOf(), asked({ tenantMicros: 1_000 }));
      for (let again = 0; again < 5; again += 1) await paid(call, 7);
      expect(await spent()).toEqual([0, 30]);
      await store.commitVerdict('denied', evidenceOf(call, 'red', 7));
      expect([await spent(), await spent('bot')]).toEqual([
        [35, 0],
        [35, 0],
      ]);
      // By a worker that did not know that the call had ended.
      await paid(call, 7);
      expect([await spent(), await spent('bot')]).toEqual([
        [42, 0],
        [42, 0],
      ]);
    });

    it('counts with the tool that ran, and is corrected with it', async () => {
      const call = await admitted(callOf());
      await paid(call, 4);
      await paid(call, 5);
      await store.commitVerdict('allowed', evidenceOf(call, 'green', 5));
      await store.move(call.correlation_id, 'claim');
      await store.move(call.correlation_id, 'lose', { outcome: outcomeOf('uncertain') });
      expect(await spent()).toEqual([29, 0]);
    });

    it('counts at once where nothing was reserved, and once where two processes pay', async () => {
      const call = await admitted(callOf(), asked({ mostMicros: 0, prices: {} }));
      await Promise.all([paid(call, 7), paid(call, 6, await another())]);
      expect([await spent(), await spent('bot')]).toEqual([
        [13, 0],
        [13, 0],
      ]);
      await store.commitVerdict('denied', evidenceOf(call, 'red', 6));
      expect(await spent()).toEqual([13, 0]);
    });

    it('leaves the price of its tool to be reserved where the call comes again', async () => {
      const call = await admitted(callOf());
      await paid(call, 25);
      clock += 60_000;
      expect([await store.spend.settleLost(clock, 10), await spent()]).toEqual([1, [25, 0]]);
      const again = await admitted({ ...call, received_ms: clock, not_after_ms: clock + 10_000 });
      expect([again.spend?.reserved_micros, await spent()]).toEqual([20, [25, 20]]);
    });

    it('is all that counts of a verdict that was taken back, and the rest is given back with it', async () => {
      const call = await admitted(callOf());
      await paid(call, 5);
      await store.commitVerdict('decided', evidenceOf(call, 'yellow'));
      await store.takeBack(call.correlation_id);
      expect([await spent(), await spent('bot')]).toEqual([
        [5, 0],
        [5, 0],
      ]);
      expect((await admitted(call)).spend?.reserved_micros).toBe(25);
      // Of one that stands nothing is given back.
      const other = await parked();
      await store.takeBack(other.correlation_id);
      expect(await spent()).toEqual([5, 55]);
    });
  });

  describe('what a process left that died', () => {
    const again = (call: CallInput): CallInput => ({ ...call, received_ms: clock, not_after_ms: clock + 10_000 });

    it('is reserved as long as the run that its id has by then', async () => {
      const call = await admitted(callOf());
      clock += 60_000;
      const asking = await admitted(again(call));
      expect([asking.spend?.reserved_micros, await store.spend.settleLost(clock, 10), await spent()]).toEqual([
        30,
        0,
        [0, 30],
      ]);
      await store.commitVerdict('allowed', evidenceOf(asking, 'green'));
      // A clock that is behind shortens it for nobody.
      const late = await admitted(callOf());
      await admitted({ ...late, not_after_ms: late.not_after_ms - 9_000 });
      expect(await store.spend.settleLost(late.not_after_ms - 1_000, 10)).toBe(0);
    });

    it.each(['allowed', 'decided'] as const)('is given back: no verdict lets it run after that (%s)', async (state) => {
      const call = await admitted(callOf());
      clock += 60_000;
      expect(await store.spend.settleLost(clock, 10)).toBe(1);
      await expect(store.commitVerdict(state, evidenceOf(call, 'green'))).rejects.toMatchObject({
        code: 'store_unavailable',
      });
      expect([await store.find(call.correlation_id), await spent()]).toEqual([null, [0, 0]]);
      const asking = await admitted(again(call));
      await store.commitVerdict(state, evidenceOf(asking, 'green'));
      expect(await spent()).toEqual([0, 30]);
    });

    it('and is swept while it is asked for again, or judged: what may run has its reservation', async () => {
      const [sweeper, judge] = [await another(), await another()];
      const given = asked({ tenantMicros: 10_000 });
      const running = new Map<string, number>();
      for (let round = 0; round < 10; round += 1) {
        const [asking, judged] = [await admitted(callOf(), given), await admitted(callOf(), given)];
        clock += 60_000;
        const [told, isJudged] = await Promise.all([
          admitted(again(asking), given),
          judge.commitVerdict('allowed', evidenceOf(judged, 'green')).then(
            () => true,
            (error: { code?: string }) => {
              expect(error.code).toBe('store_unavailable');
              return false;
            },
          ),
          sweeper.spend.settleLost(clock, 10),
        ]);
        running.set(told.correlation_id, told.spend?.reserved_micros ?? 0);
        await store.commitVerdict('allowed', evidenceOf(told, 'green'));
        expect((await store.find(judged.correlation_id)) !== null).toBe(isJudged);
        if (isJudged) running.set(judged.correlation_id, 30);
        const held = [...running.values()].reduce((sum, micros) => sum + micros, 0);
        expect(await spent()).toEqual([0, held]);
      }
      for (const id of running.keys()) {
        await store.move(id, 'claim');
        await store.move(id, 'complete', { outcome: outcomeOf('completed') });
      }
      expect(await spent()).toEqual([25 * running.size, 0]);
    }, 60_000);

    it('is found behind any number of calls that wait, and of those that nobody can read any more', async () => {
      const [both, blind] = [ROTATED.join(), ROTATED[0] ?? ''].map((ring) => parseKeyRing(ring)) as [
        typeof KEYS,
        typeof KEYS,
      ];
      const given = asked({ tenantMicros: 1_000 });
      for (let made = 0; made < 2; made += 1) await parked(callOf(), given);
      for (let made = 0; made < 2; made += 1) await allowed(callOf(), given);
      const rotated = await another(both);
      clock += 1;
      const lost = callOf();
      await admitted(lost, given, rotated);
      await rotated.keepInspection(lost, { asked_sha256: 'b'.repeat(64), inspection: inspected(7) });
      clock += 600_000;
      const without = await another(blind);
      expect([await without.spend.settleLost(clock, 1), await spent()]).toEqual([1, [0, 120]]);
    });

    it('before a verdict: what it reserved is given back, and the inspection that was paid for is counted', async () => {
      const free = await admitted(callOf());
      const paid = await admitted(callOf());
      await store.keepInspection(paid, {
        asked_sha256: 'b'.repeat(64),
        inspection: inspected(7),
      });
      expect(await store.spend.settleLost(free.not_after_ms, 10)).toBe(0);
      clock += 60_000;
      expect([await store.spend.settleLost(clock, 10), await store.spend.settleLost(clock, 10)]).toEqual([2, 0]);
      expect([await spent(), await spent('bot')]).toEqual([
        [7, 0],
        [7, 0],
      ]);
      // The same id again reserves what is left of it to pay for, and costs no inspection twice.
      const again = await admitted({ ...paid, received_ms: clock, not_after_ms: clock + 10_000 });
      expect([again.spend?.reserved_micros, await spent()]).toEqual([23, [7, 23]]);
      await store.commitVerdict('denied', evidenceOf(again, 'red', 7));
      expect(await spent()).toEqual([7, 0]);
    });

    it('with a call that waits or runs: it keeps what it reserved', async () => {
      await parked();
      const running = await allowed();
      await store.move(running.correlation_id, 'claim');
      clock += 600_000;
      expect([await store.spend.settleLost(clock, 10), await spent()]).toEqual([0, [0, 60]]);
    });

    it('with a run that was told nothing of its costs: all counts that was reserved', async () => {
      const call = callOf();
      await admitted(call);
      await store.commitVerdict('denied', evidenceOf(call, 'red'));
      clock += 60_000;
      expect([await store.spend.settleLost(clock, 10), await spent()]).toEqual([1, [30, 0]]);
    });

    it('is settled once by two that sweep at a time', async () => {
      for (let made = 0; made < 3; made += 1) await admitted(callOf());
      clock += 60_000;
      const other = await another();
      await Promise.all([store.spend.settleLost(clock, 10), other.spend.settleLost(clock, 10)]);
      expect(await spent()).toEqual([0, 0]);
    });
  });

  it('is never overspent by several processes that reserve and settle at once', async () => {
    const random = seededRandom('budgets');
    const stores = [store, await another(), await another()];
    const budget = 500;
    const running: CallInput[] = [];
    let known = 0;
    const begin = async () => {
      const agent = random.pick(['one', 'two', 'three']);
      const mostMicros = 1 + Math.floor(random.next() * 60);
      const call = callOf({ agent });
      const at = random.pick(stores);
      const given = asked({ tenantMicros: budget, agentMicros: 300, mostMicros, prices: { pay: mostMicros } });
      // Its id is asked again at another process, where it has come to no verdict yet.
      if (random.next() < 0.3) await random.pick(stores).admit(call, staged, NO_LIMIT, given);
      const admission = await at.admit(call, staged, NO_LIMIT, given);
      if (admission.admitted && admission.spend && admission.spend.reserved_micros > 0)
        running.push({ ...call, spend: admission.spend });
      else if (admission.admitted)
        await at.commitVerdict('denied', evidenceOf({ ...call, spend: admission.spend as never }, 'red', 0));
    };
    const end = async () => {
      const [call] = running.splice(Math.floor(random.next() * running.length), 1);
      if (!call) return;
      const at = random.pick(stores);
      const isPaid = random.next() < 0.4;
      await at.commitVerdict(isPaid ? 'allowed' : 'denied', evidenceOf(call, isPaid ? 'green' : 'red', 0));
      if (!isPaid) return;
      await at.move(call.correlation_id, 'claim');
      await at.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed') });
      known += call.spend?.prices['pay'] ?? 0;
    };
    for (let round = 0; round < 25; round += 1) {
      await Promise.all([
        ...Array.from({ length: 8 }, () => (random.next() < 0.6 ? begin() : end())),
        // Nothing of this is lost.
        random.pick(stores).spend.settleLost(clock, 3),
      ]);
      const [sum = 0, reserved = 0] = await spent();
      expect(sum + reserved).toBeLessThanOrEqual(budget);
      const held = running.reduce((micros, { spend }) => micros + (spend?.reserved_micros ?? 0), 0);
      expect([sum, reserved]).toEqual([known, held]);
      const ofAgents = await store.spend.byAgent('acme', '2026-03', 10);
      for (const one of ofAgents) expect(one.spentMicros + one.reservedMicros).toBeLessThanOrEqual(300);
      expect(ofAgents.reduce((micros, one) => micros + one.spentMicros, 0)).toBe(known);
    }
    expect(known).toBeGreaterThan(0);
  }, 120_000);
});
