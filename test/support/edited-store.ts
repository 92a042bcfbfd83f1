import { DatabaseSync } from '@photostructure/sqlite';
import type { Migration } from 'kysely';
import pg from 'pg';
import { startPostgres, type TestPostgres } from './postgres.js';

/** A store as somebody has it who may write it and has no key. */
export interface EditedStore {
  /** Columns with their types by table, without those of the migrator and of SQLite itself. */
  columns(): Promise<Record<string, Record<string, string>>>;
  all(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  put(table: string, key: string, id: string, values: Readonly<Record<string, unknown>>): Promise<unknown>;
}

const grouped = (rows: readonly Record<string, unknown>[]): Record<string, Record<string, string>> => {
  const tables: Record<string, Record<string, string>> = {};
  for (const { table, column, type } of rows) {
    if (/^(kysely|sqlite|lite_start)/.test(String(table))) continue;
    (tables[String(table)] ??= {})[String(column)] = String(type).toLowerCase();
  }
  return tables;
};

const editedWith = (all: EditedStore['all'], columns: string): EditedStore => ({
  all,
  columns: async () => grouped(await all(columns)),
  put(table, key, id, values) {
    const names = Object.keys(values);
    return all(`update ${table} set ${names.map((name) => `${name} = ?`).join(', ')} where ${key} = ?`, [
      ...names.map((name) => values[name]),
      id,
    ]);
  },
});

/** `written` resolves when what was written so far is in the file. */
export const editedSqlite = (file: string, written: () => Promise<unknown> = () => Promise.resolve()): EditedStore =>
  editedWith(async (text, values = []) => {
    await written();
    const connection = new DatabaseSync(file);
    try {
      return connection.prepare(text).all(...(values as string[])) as Record<string, unknown>[];
    } finally {
      connection.close();
    }
  }, `select m.name as "table", c.name as "column", c.type as "type" from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`);

const databases = new Map<string, TestPostgres>();
export const stopEditedPostgres = async (): Promise<void> => {
  for (const { stop } of databases.values()) await stop();
};

const SCHEMA = 'edited';

/** A database that has these migrations behind it. The one before it of that name is dropped: a file of tests uses one at a time. */
export async function editedPostgres(
  name: string,
  migrations: Readonly<Record<string, Migration>>,
): Promise<EditedStore & { readonly target: { readonly url: string; readonly schema: string } }> {
  await databases.get(name)?.stop();
  const database = await startPostgres({ migrated: { schema: SCHEMA, migrations } });
  const { url } = database;
  const editor = new pg.Pool({ connectionString: url, max: 1, options: `-c search_path=${SCHEMA}` });
  editor.on('error', () => {
    // The database is dropped while an idle connection is still closing.
  });
  databases.set(name, { url, stop: async () => (await editor.end(), await database.stop()) });
  const all: EditedStore['all'] = async (text, values = []) => {
    let at = 0;
    const numbered = text.replace(/\?/g, () => `$${(at += 1)}`);
    return (await editor.query<Record<string, unknown>>(numbered, [...values])).rows;
  };
  return {
    ...editedWith(
      all,
      `select table_name as "table", column_name as "column", data_type as "type" from information_schema.columns where table_schema = current_schema()`,
    ),
    target: { url, schema: SCHEMA },
  };
}
