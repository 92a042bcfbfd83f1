import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import pg from 'pg';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { errorText, GateError } from '../../domain/errors.js';
import { migrate, sqliteStore } from '../store/database.js';

/** Entries per read. */
const PAGE = 500;

export interface ExportResult {
  readonly entries: number;
  readonly sidecars: number;
}

type Value = string | bigint | Uint8Array | null;

/**
 * Copies the chain of a Postgres schema, as of one moment, into a new ledger file: entries, sealed sidecars and the retained head, byte for
 * byte. Hidden rows are copied with their marks. It judges nothing: a chain that is invalid there is invalid in the copy, at the same
 * entry. The file appears complete or not at all. Throws `ledger_store_unavailable` when the database cannot be read or holds no ledger, or
 * when `to` exists.
 */
export async function exportChain(
  from: { readonly url: string; readonly schema: string },
  to: string,
): Promise<ExportResult> {
  const file = resolve(to);
  if (existsSync(file)) throw refused(`${to} is there already; give a name that is free`);
  const aside = `${file}.exporting`;
  rmSync(aside, { force: true });
  const client = new pg.Client({ connectionString: from.url, options: `-c search_path=${from.schema}` });
  client.on('error', () => {
    // The query in flight rejects with the same error.
  });
  try {
    await client.connect();
    // One snapshot for all reads; rows appended meanwhile are not in the copy.
    await client.query('begin isolation level repeatable read read only');
    await requireLedger(client, from.schema);
    const connection = await emptyLedger(aside);
    let counts: ExportResult;
    try {
      counts = await copy(client, connection);
    } finally {
      connection.close();
    }
    syncFile(aside);
    renameSync(aside, file);
    syncFile(dirname(file));
    return counts;
  } catch (error) {
    rmSync(aside, { force: true });
    if (error instanceof GateError) throw error;
    throw refused(`the export failed: ${errorText(error)}`, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function requireLedger(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select table_schema as name from information_schema.tables where table_name = 'ledger_entries' order by 1",
  );
  if (rows.some(({ name }) => name === schema)) return;
  const found = rows.map(({ name }) => name).join(', ');
  throw refused(
    `there is no ledger in the schema ${schema}; ${found ? `this database has one in: ${found}` : 'nor in any other of this database that its user may read'}`,
  );
}

/** Without a write-ahead log, so that one file is the whole copy. Foreign keys stay off, because broken data is copied as it is. */
async function emptyLedger(file: string): Promise<DatabaseSyncInstance> {
  const connection = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  connection.exec('PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;');
  const store = sqliteStore(connection);
  await migrate(store, ledgerMigrations);
  return connection;
}

/** Copies every table of the ledger, the chain first. Columns and tables that an older schema lacks stay empty. */
async function copy(client: pg.Client, connection: DatabaseSyncInstance): Promise<ExportResult> {
  const names = connection
    .prepare(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like 'kysely%'",
    )
    .all()
    .map(({ name }) => String(name));
  const counts: Record<string, number> = {};
  connection.exec('BEGIN IMMEDIATE');
  for (const table of new Set(['ledger_entries', 'entry_payloads', 'ledger_head', ...names]))
    counts[table] = await copyTable(client, connection, table);
  connection.exec('COMMIT');
  return { entries: counts['ledger_entries'] ?? 0, sidecars: counts['entry_payloads'] ?? 0 };
}

async function copyTable(client: pg.Client, connection: DatabaseSyncInstance, table: string): Promise<number> {
  const { rows: there } = await client.query<{ name: string }>(
    'select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = $1',
    [table],
  );
  const columns = connection
    .prepare('select name, type from pragma_table_info(?)')
    .all(table)
    .map((column) => ({ name: String(column['name']), integer: String(column['type']).toLowerCase() === 'integer' }))
    .filter(({ name }) => there.some((found) => found.name === name));
  // A migration may have inserted rows; the copy must hold only the source's.
  connection.exec(`delete from ${table}`);
  if (columns.length === 0) return 0;
  const list = columns.map(({ name }) => name).join(', ');
  const insert = connection.prepare(`insert into ${table} (${list}) values (${columns.map(() => '?').join(', ')})`);
  await client.query(`declare rows no scroll cursor for select ${list} from ${table} order by 1`);
  let count = 0;
  for (;;) {
    const page = await client.query<Value[]>({ rowMode: 'array', text: `fetch ${PAGE} from rows` });
    if (page.rows.length === 0) break;
    // Postgres returns integers as digits.
    for (const cells of page.rows)
      insert.run(
        ...cells.map((cell, index) => (columns[index]?.integer && cell !== null ? BigInt(cell as string) : cell)),
      );
    count += page.rows.length;
  }
  await client.query('close rows');
  return count;
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const refused = (text: string, cause?: unknown): GateError =>
  new GateError('ledger_store_unavailable', text, { cause });
