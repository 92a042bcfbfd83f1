import { PostgresAdapter, sql, type Migration, type RawBuilder } from 'kysely';

type Database = Parameters<Migration['up']>[0];

interface Dialect {
  /** Whether a migration runs on Postgres; otherwise it runs on SQLite. */
  readonly postgres: boolean;
  /** Text that either store keeps and compares byte for byte. */
  readonly text: RawBuilder<unknown>;
  readonly integer: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** Behind a table's columns: SQLite then keeps to their types as Postgres does. */
  readonly strict: RawBuilder<unknown>;
}

/** The column types of hand-written tables, so that the same values come back from both stores. */
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

/** For a migration that adds a column: on SQLite one that was cut off runs again, over what it had done already. */
export async function hasColumn(db: Database, table: string, column: string): Promise<boolean> {
  const { rows } = await (dialectOf(db).postgres
    ? sql`select 1 from information_schema.columns
           where table_schema = current_schema() and table_name = ${table} and column_name = ${column}`
    : sql`select 1 from pragma_table_info(${table}) where name = ${column}`
  ).execute(db);
  return rows.length > 0;
}
