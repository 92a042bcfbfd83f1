import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CompiledQuery, type Compilable, type Kysely, sql } from 'kysely';
import { identityMigrations } from '../../migrations/identity.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openStore, type Store } from '../store/database.js';
import { grantsMadeSince, grantsToEnd, takenBackSince } from './grant-store.js';
import type { IdentityTables } from './identity-tables.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe.each(STORES)('what is looked for among grants on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<IdentityTables>;
  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openStore<IdentityTables>(place.target, identityMigrations);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });

  it.each<[string, string, (db: Kysely<IdentityTables>) => Compilable]>([
    [
      'of an agent, for another grant or a stop',
      'identity_grants_made',
      (db) => grantsMadeSince(db, 'bot', takenBackSince(NOW)).selectAll().orderBy('id'),
    ],
    ['by the sweep', 'identity_grants_open', (db) => grantsToEnd(db, NOW)],
  ])('%s is found without a look at every one', async (_what, index, query) => {
    const plan = await store.db.transaction().execute(async (db) => {
      // The few rows of a test are read one by one where the planner may.
      if (kind === 'postgres') await sql`set local enable_seqscan = off`.execute(db);
      const { sql: text, parameters } = query(db).compile();
      const how = kind === 'postgres' ? 'explain' : 'explain query plan';
      return db.executeQuery(CompiledQuery.raw(`${how} ${text}`, [...parameters]));
    });
    const told = JSON.stringify(plan.rows);
    expect(told).toContain(index);
    // By both columns, and not by the first alone.
    if (kind === 'sqlite') expect(told).toMatch(/\(\w+=\? AND \w+>\?\)/);
  });
});
