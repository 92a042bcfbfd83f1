import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import pg from 'pg';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { errorText, GateError } from '../errors.js';
import { migrate, sqliteStore } from '../store/database.js';
import { ENTRY_COLUMNS } from './chain-store.js';

/** Entries per read. */
const PAGE = 500;
const INTEGERS = ['seq', 'chain_version', 'authorized', 'cost_micros', 'entry_seq'];
const PAYLOAD_COLUMNS = ['entry_seq', 'kind', 'entry_id', 'sealed', 'purged_at', 'purge_seal'] as const;

export interface ExportResult {
  readonly entries: number;
  readonly sidecars: number;
}

type Value = string | bigint | Uint8Array | null;

/**
 * Copies the chain of a Postgres schema into a new ledger file as it stands at one moment: entries, what lies sealed beside them and
 * the retained head, byte for byte, judging nothing. A chain that does not hold there does not hold here, at the same entry. The file
 * appears whole or not at all. Throws `ledger_store_unavailable` when the database cannot be read, holds no ledger, or `to` is there.
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
    // One snapshot for all reads: the ledger goes on meanwhile, and its new rows are not in it.
    await client.query('begin isolation level repeatable read read only');
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
    const { code } = error as { code?: string };
    throw code === '42P01'
      ? refused(`there is no ledger in the schema ${from.schema} of this database`, error)
      : refused(`the export failed: ${errorText(error)}`, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Without a log beside it: the one file is the whole copy. */
async function emptyLedger(file: string): Promise<DatabaseSyncInstance> {
  const connection = new DatabaseSync(file);
  connection.exec('PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;');
  const store = sqliteStore(connection);
  await migrate(store, ledgerMigrations);
  return connection;
}

async function copy(client: pg.Client, connection: DatabaseSyncInstance): Promise<ExportResult> {
  const head = await client.query<{ length: string; head_hash: string; head_seal: Buffer | null }>(
    'select length, head_hash, head_seal from ledger_head where id = 1',
  );
  const insert = (table: string, columns: readonly string[]) =>
    connection.prepare(`insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`);
  const entry = insert('ledger_entries', ENTRY_COLUMNS);
  const payload = insert('entry_payloads', PAYLOAD_COLUMNS);
  const counts = { entries: 0, sidecars: 0 };
  connection.exec('BEGIN IMMEDIATE');
  let last: string | null = null;
  for (;;) {
    const page: pg.QueryArrayResult<(string | null)[]> = await client.query<(string | null)[]>({
      rowMode: 'array',
      text: `select ${ENTRY_COLUMNS.join(', ')} from ledger_entries where $1::bigint is null or seq > $1 order by seq limit ${PAGE}`,
      values: [last],
    });
    for (const cells of page.rows) entry.run(...stored(ENTRY_COLUMNS, cells));
    counts.entries += page.rows.length;
    const first: string | null = page.rows[0]?.[0] ?? null;
    last = page.rows.at(-1)?.[0] ?? last;
    if (first === null) break;
    const beside = await client.query<Value[]>({
      rowMode: 'array',
      text: `select ${PAYLOAD_COLUMNS.join(', ')} from entry_payloads where entry_seq between $1 and $2 order by entry_seq, kind`,
      values: [first, last],
    });
    for (const cells of beside.rows) payload.run(...stored(PAYLOAD_COLUMNS, cells));
    counts.sidecars += beside.rows.length;
  }
  const [found] = head.rows;
  if (found)
    connection
      .prepare('update ledger_head set length = ?, head_hash = ?, head_seal = ? where id = 1')
      .run(BigInt(found.length), found.head_hash, found.head_seal);
  // A head that is missing there is missing here, and `verify` says so.
  else connection.exec('delete from ledger_head');
  connection.exec('COMMIT');
  return counts;
}

/** Postgres hands integers over as digits. */
const stored = (columns: readonly string[], cells: readonly Value[]): Value[] =>
  cells.map((cell, index) =>
    typeof cell === 'string' && INTEGERS.includes(columns[index] as string) ? BigInt(cell) : cell,
  );

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const refused = (text: string, cause?: unknown): GateError =>
  new GateError('ledger_store_unavailable', text, { cause });
