import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import { type HuntRow, huntAgents, type HuntSum, huntSumOf } from '../../../domain/evidence/reports/hunt.js';
import { isDenial, isRehearsal, judgedBy } from '../../../domain/evidence/reports/outcome.js';
import { rosterOf, SILENCE_KINDS } from '../../../domain/evidence/reports/silence.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { ledgerMigrations } from '../../../migrations/ledger.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { openStore, type Store } from '../../store/database.js';
import { huntsOver } from './hunt-sums.js';
import { rostersOver } from './rosters.js';
import { createStretchSums, type SumScope } from './stretch-sums.js';

const START = Date.parse('2026-03-10T12:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ROWS = 80;
/** Rows of one commit, which have one time. */
const TOGETHER = 3;
const EVERY = { limit: 1_000 };

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

describe.each(STORES)('sums of stretches of the chain, on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  let store: Store<LedgerTables>;
  let sums: (scope: SumScope) => Promise<HuntSum>;
  let now: number;
  const random = numbers(7);
  const pick = <Item>(of: readonly Item[]): Item => of[random(of.length)] as Item;
  /** Rows, some of them committed together. */
  const append = async (count: number): Promise<void> => {
    const rows = Array.from({ length: count }, () => {
      const outcome = pick(['allow', 'allow', 'park', 'deny', 'rate_limited', 'other']);
      const event = pick(['proxy.verdict', 'proxy.verdict', 'brain.inspection', 'hil.denied']);
      return testRow({
        agent_id: pick(['one', 'two', 'three']),
        agent_name: pick([null, null, 'One', 'Other']),
        tenant: pick(['acme', 'acme', 'other']),
        event_kind: event,
        method: event,
        authorized: pick([true, false]),
        signal: pick([null, null, 'decoy_tripped', 'grant_expired', 'quota_exceeded']),
        policy_decision: pick([
          { outcome, decided_by: 'operator:dev' },
          { outcome, reasons: ['"deny"', 'deny'] },
        ]),
        state_namespace: pick(['operator', 'demo']),
        source: pick([null, null, 'simulator']),
      });
    });
    for (let from = 0; from < rows.length; from += TOGETHER) {
      now += TOGETHER * MINUTE;
      await ledger.append(rows.slice(from, from + TOGETHER));
    }
  };
  beforeEach(async () => {
    now = START;
    place = await ledgerPlace(kind);
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
    store = await openStore<LedgerTables>(place.target, ledgerMigrations);
    sums = createStretchSums(store.db, () => now, huntsOver(store.db), { smallest: 4, parts: 3 });
    await append(ROWS);
  });
  afterEach(async () => {
    await store.close();
    await ledger.close();
    await place.remove();
  });

  /** What the rows themselves come to, each read anew. */
  async function fromRows({ tenant, demoPrefix, from, to }: SumScope) {
    const all = await ledger.byAgent('*', { tenant, demoPrefix, from, to });
    const rows = all.filter((row) => !isRehearsal({ ...row, source: row['source'] }));
    return huntSumOf(
      rows.map(
        (row): HuntRow => ({
          seq: row.seq,
          at: row.timestamp,
          agentId: row.agent_id,
          agentName: row['agent_name'] as string | null,
          method: row.method,
          authorized: row.authorized,
          correlationId: row.correlation_id,
          signal: row['signal'] as string | null,
          denied: isDenial(judgedBy(row)),
        }),
      ),
    );
  }
  const ago = (ms: number) => new Date(now - ms).toISOString();
  const scopes = (): SumScope[] => [
    { tenant: 'acme' },
    {},
    { tenant: 'acme', from: ago(67 * MINUTE) },
    { tenant: 'acme', from: ago(67 * MINUTE), to: ago(13 * MINUTE) },
    { tenant: 'other', to: ago(20 * MINUTE) },
    { tenant: 'acme', from: ago(3 * MINUTE) },
    { tenant: 'nobody' },
    { from: ago(-HOUR) },
    { demoPrefix: '55555555' },
  ];
  async function sameAsRows(): Promise<void> {
    for (const scope of scopes()) {
      const expected = await fromRows(scope);
      const found = await sums(scope);
      expect([...found.alike]).toEqual([...expected.alike]);
      for (const asked of [{}, { signal: 'grant_expired' }, { methods: ['hil.denied'], authorized: false }])
        expect(huntAgents(found, { ...EVERY, ...asked })).toEqual(huntAgents(expected, { ...EVERY, ...asked }));
    }
  }

  it('are what the rows come to, whatever was kept, as the chain and the window move on', async () => {
    await sameAsRows();
    await sameAsRows();
    for (let more = 0; more < 2; more += 1) {
      await append(5);
      await sameAsRows();
    }
  });

  it('count no row that was hidden meanwhile', async () => {
    await sameAsRows();
    await ledger.erasure.cleanUpDemo();
    await sameAsRows();
    await ledger.erasure.tombstoneTenant('other');
    expect((await sums({ tenant: 'other' })).alike.size).toBe(0);
    await sameAsRows();
  });

  it('tell of agents what the rows do, in whatever stretches these are', async () => {
    for (const event of [
      'agent.registered',
      'agent.suspended',
      'proxy.verdict',
      'agent.registered',
      'agent.unsuspended',
    ])
      for (const agent of ['one', 'four']) {
        await append(random(4));
        await ledger.append([testRow({ agent_id: 'registry', agent_name: agent, event_kind: event, method: event })]);
      }
    const rosters = createStretchSums(store.db, () => now, rostersOver(store.db), { smallest: 4, parts: 3 });
    for (let again = 0; again < 2; again += 1)
      for (const tenant of ['acme', 'other', undefined]) {
        const rows = (await ledger.byAgent('*', { tenant })).filter(({ event_kind: event }) =>
          SILENCE_KINDS.some((one) => one === event),
        );
        const expected = rosterOf(
          rows.map((row) => ({
            kind: row.event_kind as string,
            agentId: row.agent_id,
            agentName: row['agent_name'] as string | null,
            tenant: row['tenant'] as string | null,
            at: row.timestamp,
          })),
        );
        expect([...(await rosters({ tenant }))]).toEqual([...expected]);
        await append(2);
        await rosters({ tenant });
      }
  });

  it('read no row of a closed stretch twice', async () => {
    const read: string[] = [];
    const counting = countingReads(store.db, (text) => read.push(text));
    const counted = createStretchSums(counting, () => now, huntsOver(counting), { smallest: 4, parts: 3 });
    await counted({ tenant: 'acme' });
    const first = read.filter((text) => text.includes('agent_name')).length;
    read.length = 0;
    await counted({ tenant: 'acme' });
    // 80 rows are 20 stretches and more; what is read again is where the window ends.
    expect(first).toBeGreaterThan(18);
    expect(read.filter((text) => text.includes('agent_name')).length).toBeLessThanOrEqual(2);
  });

  it('are made anew where the chain became another one, and after four hours in any case', async () => {
    const hits = async () => [...(await sums({ tenant: 'acme' })).alike.values()].filter((of) => of.agentId === 'put');
    expect(await hits()).toEqual([]);
    await place.unlock();
    // Another history from a row on: every later row has another hash than before.
    await place.sql("update ledger_entries set agent_id = 'put', tenant = 'acme', source = null where seq = 8");
    await place.sql("update ledger_entries set entry_hash = 'other ' || seq where seq >= 8");
    expect(await hits()).toMatchObject([{ seq: 8 }]);
    now += HOUR;
    expect(await hits()).toHaveLength(1);
    // An edit that leaves every hash is what the walk of the chain finds; what it showed is gone with it, after four hours at most.
    await place.sql("update ledger_entries set agent_id = 'put', tenant = 'acme', source = null where seq = 17");
    expect(await hits()).toHaveLength(1);
    now += 4 * HOUR;
    expect((await hits()).reduce((count, rows) => count + rows.count, 0)).toBe(2);
    await place.sql("update ledger_entries set agent_id = 'one' where seq in (8, 17)");
    now += 4 * HOUR;
    expect(await hits()).toEqual([]);
  });
});

/** The same database, each of whose queries is told. */
function countingReads(db: Kysely<LedgerTables>, tell: (text: string) => void): Kysely<LedgerTables> {
  return db.withPlugin({
    transformQuery({ node }) {
      tell(JSON.stringify(node));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
}
