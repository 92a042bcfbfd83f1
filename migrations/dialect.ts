import { PostgresAdapter, type Migration } from 'kysely';

/** Whether a migration runs on Postgres; otherwise it runs on SQLite. */
export const isPostgres = (db: Parameters<Migration['up']>[0]): boolean =>
  db.getExecutor().adapter instanceof PostgresAdapter;
