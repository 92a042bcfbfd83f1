import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { keyRing } from '../../domain/crypto/key-ring.js';
import type { UpstreamCaller } from '../../domain/upstream/upstream.js';
import { mcpSessionMigrations } from '../../migrations/mcp-sessions.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { heldSubscriptionsOver, type SubscriptionTables } from './held-subscriptions.js';

const ALICE: UpstreamCaller = { tenant: 'acme', agent: 'alice' };
const PRIVATE = 'file:///home/alice/diary.txt';
const key = (byte: number) => Buffer.alloc(32, byte);

describe.each(STORES)('what is stored of subscriptions on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<SubscriptionTables>;
  let now: number;
  beforeEach(async () => {
    now = 1_000;
    place = await ledgerPlace(kind, { migrated: mcpSessionMigrations });
    store = await openStore<SubscriptionTables>(place.target, mcpSessionMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const over = (keys = keyRing(new Map([['one', key(1)]]))) => heldSubscriptionsOver(store, { keys, now: () => now });
  const held = async (caller = ALICE) => (await over().of(caller)).map(({ holder, uri }) => `${holder} ${uri}`);
  const ids = async (caller = ALICE) => (await over().of(caller)).map(({ id }) => id);

  it('is who holds what, by agent and what its client can be asked, the oldest first', async () => {
    const able: UpstreamCaller = { ...ALICE, client_can: ['elicitation', 'sampling'] };
    await over().add(ALICE, { holder: 'two', uri: 'test://b', untilMs: 5_000 });
    now += 1;
    await over().add(ALICE, { holder: 'one', uri: 'test://a', untilMs: 5_000 });
    await over().add({ ...ALICE, tenant: 'umbrella' }, { holder: 'three', uri: 'test://c', untilMs: 5_000 });
    await over().add(able, { holder: 'four', uri: 'test://d', untilMs: 2_000 });
    expect([await held(), await held(able), await held({ ...ALICE, agent: 'bob' })]).toEqual([
      ['two test://b', 'one test://a'],
      ['four test://d'],
      [],
    ]);
    now = 2_000;
    expect(await over().over(9, [])).toMatchObject([{ holder: 'four', uri: 'test://d', caller: able }]);
    expect(await over().over(9, [ALICE])).toHaveLength(1);
    expect(await over().over(9, [ALICE, able])).toEqual([]);
  });

  it('stays after it counts no more until it is removed, and is removed only then', async () => {
    for (const holder of ['one', 'two', 'three'])
      await over().add(ALICE, { holder, uri: 'test://a', untilMs: holder === 'three' ? 1_500 : 5_000 });
    const [first] = (await over().of(ALICE)).filter(({ holder }) => holder === 'one').map(({ id }) => id);
    const all = await ids();
    await over().letGo([first as string]);
    expect(await held()).toEqual(expect.arrayContaining(['two test://a', 'three test://a']));
    now = 1_500;
    expect(await held()).toEqual(['two test://a']);
    expect((await over().over(9, [])).map(({ holder }) => holder)).toEqual(['one', 'three']);
    expect(await over().over(1, [])).toHaveLength(1);
    await over().remove(all);
    expect([await held(), await over().over(9, [])]).toEqual([['two test://a'], []]);
    for (const none of [over().letGo([]), over().remove([])]) await none;
  });

  it('ends with its holder, and lasts as long as that renews, which brings nothing back', async () => {
    for (const uri of ['test://a', 'test://b']) await over().add(ALICE, { holder: 'one', uri, untilMs: 2_000 });
    await over().add(ALICE, { holder: 'two', uri: 'test://a', untilMs: 5_000 });
    await over().letGo((await over().of(ALICE)).filter(({ uri }) => uri === 'test://b').map(({ id }) => id));
    await over().renew('one', 9_000);
    now = 6_000;
    expect(await held()).toEqual(['one test://a']);
    await over().letGoOf('one');
    expect(await over().renew('one', 9_000)).toBe(false);
    expect(await held()).toEqual([]);
  });

  it('that is past its time is not renewed, and its holder hears of that: the upstream may have been told already', async () => {
    await over().add(ALICE, { holder: 'one', uri: 'test://a', untilMs: 2_000 });
    expect(await over().renew('one', 3_000)).toBe(true);
    now = 3_000;
    expect(await over().renew('one', 9_000)).toBe(false);
    expect([await held(), (await over().over(9, [])).length]).toEqual([[], 1]);
  });

  it('says nowhere what is watched, and counts for nothing under other keys or in another row', async () => {
    await over().add(ALICE, { holder: 'one', uri: PRIVATE, untilMs: 5_000 });
    await over().add(ALICE, { holder: 'two', uri: 'test://a', untilMs: 5_000 });
    const rows = await store.db.selectFrom('mcp_subscriptions').selectAll().execute();
    for (const { sealed, ...clear } of rows) {
      expect(Buffer.from(sealed).includes('diary')).toBe(false);
      expect(JSON.stringify(clear)).not.toContain('diary');
    }
    const more = keyRing(
      new Map([
        ['two', key(2)],
        ['one', key(1)],
      ]),
    );
    expect(await over(more).of(ALICE)).toHaveLength(2);
    await store.db.updateTable('mcp_subscriptions').set({ holder: 'three' }).where('holder', '=', 'one').execute();
    expect(await held()).toEqual(['two test://a']);
    expect(await over(keyRing(new Map([['two', key(2)]]))).of(ALICE)).toEqual([]);
    expect(await store.db.selectFrom('mcp_subscriptions').select('id').execute()).toEqual([]);
  });

  it.each([
    ['mcp_subscriptions_of_agent', sql`tenant = 'acme' and agent = 'alice' and client_can = ''`],
    ['mcp_subscriptions_holder', sql`holder = 'one'`],
    ['mcp_subscriptions_until', sql`until_ms <= 5`],
  ])('%s finds rows without a look at every one', async (index, where) => {
    const plan = await store.db.transaction().execute(async (db) => {
      // The few rows of a test are read one by one where the planner may.
      if (kind === 'postgres') await sql`set local enable_seqscan = off`.execute(db);
      const how = sql.raw(kind === 'postgres' ? 'explain' : 'explain query plan');
      return sql`${how} select id from mcp_subscriptions where ${where}`.execute(db);
    });
    expect(JSON.stringify(plan.rows)).toContain(index);
  });
});
