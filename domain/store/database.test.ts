import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Kysely, Migration } from 'kysely';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { openStore } from './database.js';

const creating = (table: string): Record<string, Migration> => ({
  '0001-table': {
    async up(db: Kysely<unknown>) {
      await db.schema.createTable(table).addColumn('id', 'integer').execute();
    },
  },
});

describe('several authorities share one Postgres database, each in its schema', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres.stop());

  it('migrates each schema by itself, also when they start together and start again', async () => {
    for (let start = 0; start < 2; start += 1) {
      const stores = await Promise.all(
        ['calls', 'hil', 'ledger'].map((schema) =>
          openStore<{ things: { id: number } }>({ url: postgres.url, schema }, creating('things')),
        ),
      );
      for (const [index, store] of stores.entries())
        await store.db.insertInto('things').values({ id: index }).execute();
      for (const [index, store] of stores.entries())
        expect(await store.db.selectFrom('things').select('id').distinct().execute()).toEqual([{ id: index }]);
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it('refuses a schema name that would have to be quoted', async () => {
    await expect(openStore({ url: postgres.url, schema: 'Hil"; drop' }, {})).rejects.toThrow('not a schema name');
  });
});
