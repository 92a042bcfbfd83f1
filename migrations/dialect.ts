import { PostgresAdapter, sql, type Migration, type RawBuilder } from 'kysely';

type Database = Parameters<Migration['up']>[0];

interface Dialect {
  /** Whether a migration runs on Postgres; otherwise it runs on SQLite. */
  readonly postgres: boolean;
  /** Text that both stores keep and compare byte for byte. */
  readonly text: RawBuilder<unknown>;
  readonly integer: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** Goes after a table's columns; makes SQLite enforce their types like Postgres. */
  readonly strict: RawBuilder<unknown>;
}

/** Column types for hand-written tables, so that both stores return the same values. */
export const dialectOf = (db: Database): Dialect => {
  const postgres = db.getExecutor().adapter instanceof PostgresAdapter;
  return {
    postgres,
    text: sql.raw(postgres ? 'text collate "C"' : 'text'),
    integer: sql.raw(postgres ? 'bigint' : 'integer'),
    bytes: sql.raw(postgres ? 'bytea' : 'blob'),
    strict: sql.raw(postgres ? '' : 'strict'),
  };
};

/** For migrations that add a column: on SQLite an interrupted migration runs again over its partial result. */
export async function hasColumn(db: Database, table: string, column: string): Promise<boolean> {
  const { rows } = await (dialectOf(db).postgres
    ? sql`select 1 from information_schema.columns
           where table_schema = current_schema() and table_name = ${table} and column_name = ${column}`
    : sql`select 1 from pragma_table_info(${table}) where name = ${column}`
  ).execute(db);
  return rows.length > 0;
}

/** On Postgres, where a migration makes its tables. */
export async function currentSchema(db: Database): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_schema() as name`.execute(db);
  return rows[0]?.name ?? 'public';
}
