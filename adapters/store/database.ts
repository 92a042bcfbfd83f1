import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { Kysely, Migrator, PostgresDialect, SqliteDialect, sql, type Migration } from 'kysely';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { privateDatabase } from './durable-file.js';
import type { Ask, Statement, Value } from './statement.js';

export type StoreTarget = { readonly file: string } | { readonly url: string; readonly schema: string };
export type StoreKind = 'sqlite' | 'postgres';

/** One authority's database: SQLite in a file, or one schema of a Postgres database; the same Kysely code over both. */
export interface Store<Tables> {
  readonly kind: StoreKind;
  readonly db: Kysely<Tables>;
  /** SQLite only: the connection below Kysely, for statements on the hot path. */
  readonly sqlite: DatabaseSyncInstance | null;
  /** Postgres only: the pool below Kysely. */
  readonly pool: pg.Pool | null;
  /** Only in a file of this process's own: runs a written statement at once, in the open transaction, and not in turn with Kysely's. */
  readonly ask?: Ask;
  close(): Promise<void>;
}

/**
 * Opens the store and brings it to the newest migration, and with it the authorities that share its place, each by its name. SQLite runs
 * in WAL mode with `synchronous=FULL`: a commit that returned survives kill -9 and power loss. Throws when the file or server cannot be
 * opened; nothing falls back to another store (docs/architecture/identity-and-routes.md#state).
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
    const schema = 'schema' in target ? target.schema : undefined;
    await migrate(store, migrations, { schema });
    for (const [authority, more] of Object.entries(beside))
      await migrate(store, more, { schema, table: `kysely_migration_${authority}` });
    store.sqlite?.exec('PRAGMA synchronous=FULL');
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

function openSqlite<Tables>(file: string, hooks: StatementHooks): Store<Tables> {
  privateDatabase(file);
  const connection = new DatabaseSync(file);
  // Synced from when it is migrated: a migration that a power cut takes back runs again, and the first commit after it syncs it too.
  connection.exec(
    'PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;',
  );
  return sqliteStore(connection, hooks);
}

/** Called on a SQLite connection before statements run; what one throws is what its query throws. */
export interface StatementHooks {
  readonly beforeWrite?: () => void;
  readonly beforeStatement?: (text: string) => void;
  /** Nobody begins or ends a transaction through Kysely, so written statements need not wait for their turn. */
  readonly atOnce?: boolean;
}

const PREPARED_STATEMENTS = 256;

/** A store over an open SQLite connection, as it is: for files that are only read, where no pragma may write. */
export function sqliteStore<Tables>(
  connection: DatabaseSyncInstance,
  { beforeWrite, beforeStatement, atOnce = false }: StatementHooks = {},
): Store<Tables> {
  const prepare = (query: string) => {
    const statement = connection.prepare(query);
    type Values = Parameters<typeof statement.all>;
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...(parameters as Values)) as unknown[],
      run: (parameters: readonly unknown[]) => statement.run(...(parameters as Values)),
      // A walk in steps has a statement of its own: another query of the same text must not cut it off.
      iterate: (parameters: readonly unknown[]) =>
        connection.prepare(query).iterate(...(parameters as Values)) as IterableIterator<unknown>,
    };
  };
  // Preparing costs as much as running; the same few texts come again and again.
  const prepared = new LRUCache<string, ReturnType<typeof prepare>>({ max: PREPARED_STATEMENTS });
  const preparedOnce = (query: string) => {
    beforeStatement?.(query);
    if (beforeWrite && !/^\s*select\b/i.test(query)) beforeWrite();
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

async function openPostgres<Tables>(url: string, schema: string): Promise<Store<Tables>> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) throw new Error(`not a schema name: ${schema}`);
  // Loaded where there is a server: everything else starts without it.
  const { postgresPool } = await import('./postgres-pool.js');
  const pool = postgresPool({ url, schema }, 8);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const store: Store<Tables> = { kind: 'postgres', db, sqlite: null, pool, close: () => db.destroy() };
  try {
    await sql`create schema if not exists ${sql.id(schema)}`.execute(db);
  } catch (error) {
    // Two processes that start together race on the catalogue; the loser finds the schema there.
    if ((error as { code?: string }).code !== '23505') {
      await store.close();
      throw error;
    }
  }
  return store;
}

/** Brings one authority's tables to the newest migration. Authorities that share a file each count theirs in a table of their own. */
export async function migrate<Tables>(
  store: Store<Tables>,
  migrations: Record<string, Migration>,
  { schema, table }: { readonly schema?: string | undefined; readonly table?: string | undefined } = {},
): Promise<void> {
  const migrator = new Migrator({
    db: store.db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    // A place that was opened between two changes may lack one whose number is not the highest (`0004-macs` came after 0006 in its time).
    // Each stands alone and is safe to run late; one that a place knows and this Gate does not still stops the start.
    allowUnorderedMigrations: true,
    // Without it the migrator takes the migration tables of any schema of the database for its own, and a second authority cannot start.
    ...(schema !== undefined && { migrationTableSchema: schema }),
    ...(table !== undefined && { migrationTableName: table, migrationLockTableName: `${table}_lock` }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error instanceof Error ? error : new Error('migration failed', { cause: error });
}
