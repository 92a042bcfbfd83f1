import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Kysely, type Migration, sql } from 'kysely';
import { errorText } from '../../domain/errors.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { openStore, type Store } from './database.js';

const creating = (table: string): Record<string, Migration> => ({
  '0001-table': {
    async up(db: Kysely<unknown>) {
      await db.schema.createTable(table).addColumn('id', 'integer').execute();
    },
  },
});

describe('a store in a file', () => {
  it('syncs every commit from when it is migrated, at its first opening and later', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-store-'));
    for (let opening = 0; opening < 2; opening += 1) {
      const store = await openStore<never>({ file: join(folder, 'calls.db') }, creating('things'));
      const level = await sql<{ synchronous: number }>`pragma synchronous`.execute(store.db);
      expect(level.rows).toEqual([{ synchronous: 2 }]);
      await store.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('that another process keeps is told to its writer after a second, and read meanwhile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-store-'));
    const target = { file: join(folder, 'calls.db') };
    const [store, other] = [
      await openStore<never>(target, creating('things')),
      await openStore<never>(target, creating('things')),
    ];
    other.sqlite?.exec('begin immediate');
    const begun = performance.now();
    await expect(sql`insert into things values (1)`.execute(store.db)).rejects.toThrow('database is locked');
    expect(performance.now() - begun).toBeLessThan(3_000);
    expect((await sql`select id from things`.execute(store.db)).rows).toEqual([]);
    other.sqlite?.exec('rollback');
    await sql`insert into things values (1)`.execute(store.db);
    await store.close();
    await other.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives integers that no number of JavaScript is as text, and the other rows as they are; a write runs once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-store-'));
    const store = await openStore<never>({ file: join(folder, 'calls.db') }, creating('things'));
    await sql`insert into things values (1), (9223372036854775807), (-9007199254740992), (9007199254740991), (null)`.execute(
      store.db,
    );
    const ids = async () => (await sql<{ id: unknown }>`select id from things order by id`.execute(store.db)).rows;
    expect(await ids()).toEqual(
      [null, '-9007199254740992', 1, 9007199254740991, '9223372036854775807'].map((id) => ({ id })),
    );
    const written = sql`update things set id = id - 1 where id > 9007199254740991 returning id`.execute(store.db);
    await expect(written).rejects.toThrow('too large');
    expect((await ids()).at(-1)).toEqual({ id: '9223372036854775806' });
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('that is full while it is migrated says so, whatever SQLite has rolled back by itself', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-store-'));
    const filling: Record<string, Migration> = {
      '0001-fill': {
        async up(db: Kysely<unknown>) {
          // As SQLite does when the disk is full: the transaction is gone before anybody rolls it back.
          await sql`rollback`.execute(db);
          throw new Error('database or disk is full');
        },
      },
    };
    const failed = openStore<never>({ file: join(folder, 'calls.db') }, filling).then(
      () => null,
      (error: Error) => `${error.message} ${errorText(error.cause)}`,
    );
    expect(await failed).toMatch(/full/);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('the migrations of a file', () => {
  /** A migration that says when it runs. */
  const told = (ran: string[], ...names: string[]): Record<string, Migration> =>
    Object.fromEntries(names.map((name) => [name, { up: async () => void ran.push(name) }]));
  const opened = async (file: string, ...names: string[]): Promise<string[]> => {
    const ran: string[] = [];
    await (await openStore<never>({ file }, told(ran, ...names), { beside: told(ran, ...names) })).close();
    return ran;
  };
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-migrated-'));
    file = join(folder, 'calls.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('run once each, for each authority, and what is new runs later, also between two that ran', async () => {
    expect(await opened(file, 'a', 'c')).toEqual(['a', 'c', 'a', 'c']);
    expect(await opened(file, 'c', 'a')).toEqual([]);
    expect(await opened(file, 'a', 'b', 'c')).toEqual(['b', 'b']);
    expect(await opened(file, 'a', 'b', 'c', 'd')).toEqual(['d', 'd']);
    expect(await opened(file, 'a', 'b', 'c', 'd')).toEqual([]);
  });

  it('that this Gate does not know stop the start, however many there are', async () => {
    await opened(file, 'a', 'b');
    await expect(opened(file, 'a')).rejects.toThrow(/b/);
    await expect(opened(file, 'a', 'c')).rejects.toThrow(/b/);
    await expect(opened(file, 'a', 'c', 'd')).rejects.toThrow(/b/);
    expect(await opened(file, 'a', 'b')).toEqual([]);
  });

  it('are looked up with one statement where all of them ran', async () => {
    const asked: string[] = [];
    const ran: string[] = [];
    const open = async () =>
      (
        await openStore<never>({ file }, told(ran, 'a', 'b'), {}, { beforeStatement: (text) => void asked.push(text) })
      ).close();
    await open();
    expect(asked.length).toBeGreaterThan(5);
    asked.length = 0;
    await open();
    expect([asked.length, ran]).toEqual([1, ['a', 'b']]);
  });
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

  it('reads no column of what else is in the database, at its first start and later', async () => {
    const at = { url: postgres.url, schema: 'beside_others' };
    for (let start = 0; start < 2; start += 1) {
      const store = await openStore<never>(at, creating('things'));
      const tables = await store.db.introspection.getTables({ withInternalKyselyTables: true });
      expect(tables.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1))).toEqual([
        'kysely_migration',
        'kysely_migration_lock',
        'things',
      ]);
      expect(tables.filter(({ schema, columns }) => schema !== at.schema || columns.length > 0)).toEqual([]);
      await store.close();
    }
  });

  it('refuses a schema name that would have to be quoted', async () => {
    await expect(openStore({ url: postgres.url, schema: 'Hil"; drop' }, {})).rejects.toThrow('not a schema name');
  });
});

describe('a connection that the server ends', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres.stop());

  const pidOf = async (db: Kysely<never>): Promise<number> =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid as number;
  /** When the connection that is taken next has said that it ended. No listener for its error: that is the store's to have. */
  const nextGone = ({ pool }: Store<never>) =>
    new Promise<void>((gone) => pool?.once('acquire', (client) => client.once('end', gone)));

  it('in the middle of a transaction is told to its caller alone, and the store goes on', async () => {
    const at = { url: postgres.url, schema: 'calls' };
    const store = await openStore<never>(at, {});
    const other = await openStore<never>(at, {});
    const gone = nextGone(store);
    const broken = store.db.transaction().execute(async (transaction) => {
      await sql`select pg_terminate_backend(${await pidOf(transaction)}::integer)`.execute(other.db);
      // Nobody asks anything of the connection while it tells that it ends.
      await gone;
      await pidOf(transaction);
    });
    await expect(broken).rejects.toThrow();
    expect(await pidOf(store.db)).toBeGreaterThan(0);
    await store.close();
    await other.close();
  });

  it('while it lies in the pool is replaced', async () => {
    const at = { url: postgres.url, schema: 'calls' };
    const store = await openStore<never>(at, {});
    const other = await openStore<never>(at, {});
    const gone = nextGone(store);
    await sql`select pg_terminate_backend(${await pidOf(store.db)}::integer)`.execute(other.db);
    await gone;
    expect(await pidOf(store.db)).toBeGreaterThan(0);
    await store.close();
    await other.close();
  });
});
