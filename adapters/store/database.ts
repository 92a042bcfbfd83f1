import { performance } from 'node:perf_hooks';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import {
  type DatabaseIntrospector,
  DEFAULT_MIGRATION_TABLE,
  Kysely,
  type Migration,
  Migrator,
  PostgresDialect,
  type PostgresDialectConfig,
  sql,
  SqliteDialect,
  type TableMetadata,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { errorText } from '../../domain/errors.js';
import { privateDatabase } from './durable-file.js';
import type { SilenceLimits } from './postgres-pool.js';
import type { Ask, Statement, Value } from './statement.js';

export type StoreTarget = { readonly file: string } | { readonly url: string; readonly schema: string };
export type StoreKind = 'sqlite' | 'postgres';

/** The database of one authority: an SQLite file, or one schema of a Postgres database. The same Kysely code runs on both. */
export interface Store<Tables> {
  readonly kind: StoreKind;
  readonly db: Kysely<Tables>;
  /** SQLite only: the connection below Kysely, for statements on the hot path. */
  readonly sqlite: DatabaseSyncInstance | null;
  /** Postgres only: the pool below Kysely. */
  readonly pool: pg.Pool | null;
  /**
   * Only in a file that this process owns: runs a prepared statement at once in the open transaction, without waiting for Kysely's queue.
   */
  readonly ask?: Ask;
  close(): Promise<void>;
}

/**
 * Opens the store and migrates it to the newest version, together with the other authorities in the same place, each by its name. SQLite
 * runs in WAL mode with `synchronous=FULL`: a commit that returned survives kill -9 and power loss. Throws when the file or server cannot
 * be opened; nothing falls back to another store (docs/architecture/identity-and-routes.md#state).
 */
export async function openStore<Tables>(
  target: StoreTarget,
  migrations: Record<string, Migration>,
  beside: Readonly<Record<string, Record<string, Migration>>> = {},
  hooks: StatementHooks = {},
): Promise<Store<Tables>> {
  const store =
    'file' in target ? openSqlite<Tables>(target.file, hooks) : await openPostgres<Tables>(target.url, target.schema);
  try {
    if ('file' in target) await migrateAll(store, migrations, beside);
    else await migrateSchema(store, target, migrations, beside);
    store.sqlite?.exec(`PRAGMA synchronous=FULL; PRAGMA busy_timeout=${WRITING_MS}`);
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

type Migrations = Readonly<Record<string, Migration>>;

const tableOf = (authority: string): string => `kysely_migration_${authority}`;

async function migrateAll<Tables>(
  store: Store<Tables>,
  migrations: Migrations,
  beside: Readonly<Record<string, Migrations>>,
  schema?: string,
): Promise<void> {
  await migrate(store, migrations, { schema });
  for (const [authority, more] of Object.entries(beside))
    await migrate(store, more, { schema, table: tableOf(authority) });
}

/** Over connections of its own, since a migration takes as long as the tables are large; at most starts there is nothing to migrate. */
async function migrateSchema<Tables>(
  store: Store<Tables>,
  { url, schema }: { readonly url: string; readonly schema: string },
  migrations: Migrations,
  beside: Readonly<Record<string, Migrations>>,
): Promise<void> {
  if (await areMigrated(store, schema, migrations, beside)) return;
  const migrating = await openPostgres<Tables>(url, schema, UNLIMITED);
  try {
    await migrateAll(migrating, migrations, beside, schema);
  } finally {
    await migrating.close();
  }
}

async function areMigrated<Tables>(
  store: Store<Tables>,
  schema: string,
  migrations: Migrations,
  beside: Readonly<Record<string, Migrations>>,
): Promise<boolean> {
  const all: (readonly [string, Migrations])[] = [
    [DEFAULT_MIGRATION_TABLE, migrations],
    ...Object.entries(beside).map(([authority, more]) => [tableOf(authority), more] as const),
  ];
  // A server's log has an error for each statement about a table that is not there.
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = ${schema} and c.relkind = 'r'`.execute(store.db);
  const there = new Set(rows.map(({ name }) => name));
  for (const [table, known] of all) if (!there.has(table) || !(await isMigrated(store, known, table))) return false;
  return true;
}

function openSqlite<Tables>(file: string, hooks: StatementHooks): Store<Tables> {
  privateDatabase(file);
  const connection = new DatabaseSync(file);
  // First of all: the others read the file, which another process may be about to make.
  connection.exec(`PRAGMA busy_timeout=${BUSY_MS}`);
  // Room for the pages of a list or a search: with SQLite's own 2 MB each look at 2,000 reviews reads all of them from the file again.
  connection.exec('PRAGMA cache_size=-16000');
  toWal(connection);
  // Synced only after the migrations: one that a power cut undoes runs again, and the first commit after it syncs it too.
  connection.exec('PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;');
  return sqliteStore(connection, hooks);
}

/** How long a statement waits for another process while the file is opened, which the other one may be migrating. */
const BUSY_MS = 5_000;
/**
 * How long later ones wait, with all that this thread does. Transactions take milliseconds; a process that was frozen within one keeps the file
 * until it goes on or ends.
 */
const WRITING_MS = 1_000;

/** Runs what belongs to the opening of a store that is open: it waits for another process as long as the opening itself. */
export async function asAtOpening<Result>(
  { sqlite }: Pick<Store<unknown>, 'sqlite'>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!sqlite) return work();
  const { timeout } = sqlite.prepare('PRAGMA busy_timeout').get() as { timeout: number };
  sqlite.exec(`PRAGMA busy_timeout=${Math.max(timeout, BUSY_MS)}`);
  try {
    return await work();
  } finally {
    sqlite.exec(`PRAGMA busy_timeout=${timeout}`);
  }
}

/** SQLite does not wait where another process makes the same change to a new file. */
function toWal(connection: DatabaseSyncInstance): void {
  const until = performance.now() + BUSY_MS;
  for (;;)
    try {
      connection.exec('PRAGMA journal_mode=WAL');
      return;
    } catch (error) {
      if (!/\blocked\b/.test(errorText(error)) || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
}

/** A file that somebody else keeps, over a connection that cannot write to it. Throws where there is none. */
export function openToRead<Tables>(file: string, hooks: StatementHooks): Store<Tables> {
  const connection = new DatabaseSync(file, { readOnly: true });
  connection.exec(`PRAGMA busy_timeout=${BUSY_MS}`);
  return sqliteStore(connection, hooks);
}

/** Called on a SQLite connection before each query; when it throws, its query throws that. */
export interface StatementHooks {
  readonly beforeWrite?: () => void;
  readonly beforeStatement?: (text: string) => void;
  /** Nothing begins or ends a transaction through Kysely here, so prepared statements need not wait for it. */
  readonly atOnce?: boolean;
}

const PREPARED_STATEMENTS = 256;

/** Stands for a statement that has nothing to do. */
const NOTHING = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values() as IterableIterator<unknown>,
};

const SELECTS = /^\s*select\b/i;
/** It has no code of its own. */
const isTooLarge = (error: unknown): boolean =>
  errorText(error).includes('too large to be represented as a JavaScript number');

/**
 * The rows of a query that holds an integer which no number of JavaScript is: such a one is text, as Postgres gives it. Gate writes none, so
 * somebody put it there; unreadable, that one row would hide all that are asked for with it.
 */
function withLargeIntegers(
  connection: DatabaseSyncInstance,
  query: string,
  values: Parameters<ReturnType<DatabaseSyncInstance['prepare']>['all']>,
): unknown[] {
  const statement = connection.prepare(query);
  statement.setReadBigInts(true);
  return statement.all(...values).map((row) =>
    Object.fromEntries(
      Object.entries(row as Record<string, unknown>).map(([column, value]) => {
        if (typeof value !== 'bigint') return [column, value];
        const number = Number(value);
        return [column, Number.isSafeInteger(number) ? number : value.toString()];
      }),
    ),
  );
}

/** A store over an open SQLite connection, unchanged: for files that are only read, where no pragma may write. */
export function sqliteStore<Tables>(
  connection: DatabaseSyncInstance,
  { beforeWrite, beforeStatement, atOnce = false }: StatementHooks = {},
): Store<Tables> {
  const prepare = (query: string) => {
    const statement = connection.prepare(query);
    type Values = Parameters<typeof statement.all>;
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => {
        try {
          return statement.all(...(parameters as Values)) as unknown[];
        } catch (error) {
          // Only what changes nothing may run again.
          if (!isTooLarge(error) || !SELECTS.test(query)) throw error;
          return withLargeIntegers(connection, query, parameters as Values);
        }
      },
      run: (parameters: readonly unknown[]) => statement.run(...(parameters as Values)),
      // A walk in steps gets its own statement, because another query with the same text must not interrupt it.
      iterate: (parameters: readonly unknown[]) =>
        connection.prepare(query).iterate(...(parameters as Values)) as IterableIterator<unknown>,
    };
  };
  // Preparing a statement costs as much as running it, and the same few texts recur.
  const prepared = new LRUCache<string, ReturnType<typeof prepare>>({ max: PREPARED_STATEMENTS });
  const preparedOnce = (query: string) => {
    // SQLite ends a transaction itself when the disk is full. Rolling it back again would fail, and hide why it ended.
    if (query === 'rollback' && !connection.isTransaction) return NOTHING;
    beforeStatement?.(query);
    if (beforeWrite && !SELECTS.test(query)) beforeWrite();
    const known = prepared.get(query) ?? prepare(query);
    prepared.set(query, known);
    return known;
  };
  const dialect = new SqliteDialect({ database: { close: () => connection.close(), prepare: preparedOnce } });
  const ask = async <Row>({ text }: Statement<Row>, ...values: Value[]) => {
    const known = preparedOnce(text);
    if (known.reader) return { rows: known.all(values) as Row[], changes: 0 };
    return { rows: [], changes: Number(known.run(values).changes) };
  };
  const db = new Kysely<Tables>({ dialect });
  return { kind: 'sqlite', db, sqlite: connection, pool: null, ...(atOnce && { ask }), close: () => db.destroy() };
}

/**
 * What the migrator asks for: the tables of its own schema, by name. Kysely's own introspection reads every column of every schema of the
 * database, several times at each start.
 */
class OneSchema extends PostgresDialect {
  readonly #schema: string;
  constructor(config: PostgresDialectConfig, schema: string) {
    super(config);
    this.#schema = schema;
  }
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    const schema = this.#schema;
    const introspector = super.createIntrospector(db);
    const getTables = async (): Promise<TableMetadata[]> => {
      const { rows } = await sql<{ name: string }>`
        select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where n.nspname = ${schema} and c.relkind in ('r', 'p')`.execute(db);
      return rows.map(({ name }) => ({ name, schema, isView: false, columns: [] }));
    };
    return Object.assign(introspector, { getTables });
  }
}

const UNLIMITED: Partial<SilenceLimits> = { queryMs: null };

async function openPostgres<Tables>(
  url: string,
  schema: string,
  over: Partial<SilenceLimits> = {},
): Promise<Store<Tables>> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw new Error(`not a schema name: ${schema}`);
  // Loaded only when there is a server; everything else starts without it.
  const { postgresPool, SILENCE_LIMITS } = await import('./postgres-pool.js');
  const pool = postgresPool({ url, schema }, 8, { ...SILENCE_LIMITS, ...over });
  const db = new Kysely<Tables>({ dialect: new OneSchema({ pool }, schema) });
  const store: Store<Tables> = { kind: 'postgres', db, sqlite: null, pool, close: () => db.destroy() };
  try {
    await sql`create schema if not exists ${sql.id(schema)}`.execute(db);
  } catch (error) {
    // Two processes that start together race for the catalogue; the second finds that the schema exists.
    if ((error as { code?: string }).code !== '23505') {
      await store.close();
      throw error;
    }
  }
  return store;
}

/**
 * Migrates the tables of one authority to the newest version. Authorities that share a file each keep their migrations in a table of their
 * own.
 */
export async function migrate<Tables>(
  store: Store<Tables>,
  migrations: Migrations,
  { schema, table }: { readonly schema?: string | undefined; readonly table?: string | undefined } = {},
): Promise<void> {
  if (!store.sqlite) return toLatest(store, migrations, { schema, table });
  if (await isMigrated(store, migrations, table)) return;
  // The migrator locks no file: of two processes that first open one, the other waits here until all is there.
  store.sqlite.exec('begin immediate');
  try {
    if (!(await isMigrated(store, migrations, table))) await toLatest(store, migrations, { schema, table });
    store.sqlite.exec('commit');
  } catch (error) {
    if (store.sqlite.isTransaction) store.sqlite.exec('rollback');
    throw error;
  }
}

async function toLatest<Tables>(
  store: Store<Tables>,
  migrations: Migrations,
  { schema, table }: { readonly schema?: string | undefined; readonly table?: string | undefined },
): Promise<void> {
  const migrator = new Migrator({
    db: store.db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    // A store opened between two releases may lack a migration whose number is not the highest (`0004-macs` was added after 0006). Each
    // migration is independent and safe to run late. A migration in the store that this Gate does not know still stops the start.
    allowUnorderedMigrations: true,
    // Without this the migrator would use the migration tables of any schema of the database, and a second authority could not start.
    ...(schema !== undefined && { migrationTableSchema: schema }),
    ...(table !== undefined && { migrationTableName: table, migrationLockTableName: `${table}_lock` }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error instanceof Error ? error : new Error('migration failed', { cause: error });
}

/**
 * Whether a store has exactly these migrations behind it, as at most starts. The migrator finds that out by reading the whole schema, several
 * times.
 */
async function isMigrated<Tables>(
  { db }: Store<Tables>,
  migrations: Migrations,
  table = DEFAULT_MIGRATION_TABLE,
): Promise<boolean> {
  const applied = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(db).then(
    ({ rows }) => rows.map(({ name }) => name),
    () => [],
  );
  const known = Object.keys(migrations).sort();
  return known.length > 0 && known.length === applied.length && known.every((name, index) => name === applied[index]);
}
