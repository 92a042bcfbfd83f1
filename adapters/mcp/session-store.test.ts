import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { mcpSessionMigrations } from '../../migrations/mcp-sessions.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { type McpSessionTables, sessionStoreOver } from './session-store.js';

describe.each(STORES)('what is stored of sessions on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<McpSessionTables>;
  let now: number;
  beforeEach(async () => {
    now = 1_000;
    place = await ledgerPlace(kind, { migrated: mcpSessionMigrations });
    store = await openStore<McpSessionTables>(place.target, mcpSessionMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const sessions = () => sessionStoreOver(store, { now: () => now });

  it('is the level that its client set last, for every replica', async () => {
    expect(await sessions().logLevel('a')).toBeNull();
    await sessions().setLogLevel('a', 'error', 5_000);
    await sessions().setLogLevel('b', 'debug', 5_000);
    await sessions().setLogLevel('a', 'notice', 5_000);
    expect([await sessions().logLevel('a'), await sessions().logLevel('b')]).toEqual(['notice', 'debug']);
  });

  it('is that it ended, once and for all', async () => {
    expect(await sessions().ended('a')).toBe(false);
    await sessions().end('a', 5_000);
    await sessions().end('a', 5_000);
    expect([await sessions().ended('a'), await sessions().ended('b')]).toEqual([true, false]);
  });

  it.each(['ended_mcp_sessions', 'mcp_log_levels'])(
    '%s: what is over is found without a look at every row',
    async (table) => {
      const plan = await store.db.transaction().execute(async (db) => {
        // The few rows of a test are read one by one where the planner may.
        if (kind === 'postgres') await sql`set local enable_seqscan = off`.execute(db);
        const how = sql.raw(kind === 'postgres' ? 'explain' : 'explain query plan');
        return sql`${how} delete from ${sql.table(table)} where until_ms < ${now}`.execute(db);
      });
      expect(JSON.stringify(plan.rows)).toContain(`${table}_until`);
    },
  );

  it('goes once the age of the session refuses it, when something is written', async () => {
    await sessions().end('a', 5_000);
    await sessions().setLogLevel('a', 'error', 5_000);
    now = 5_001;
    await sessions().end('b', 9_000);
    await sessions().setLogLevel('b', 'info', 9_000);
    for (const table of ['ended_mcp_sessions', 'mcp_log_levels'] as const)
      expect(await store.db.selectFrom(table).select('id').execute()).toEqual([{ id: 'b' }]);
  });
});
