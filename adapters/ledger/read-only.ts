import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kysely } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { sqliteStore } from '../store/database.js';
import { sqliteFault, storeFaultText } from '../../domain/store-faults.js';
import { createLedgerReader } from './ledger-reader.js';
import { sqliteChainReader } from './sqlite-chain.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import type { Checkpoint } from '../../domain/ledger/tlog/checkpoint.js';
import { fileLog, newestCheckpoint } from './tlog/file-log.js';
import {
  type EntryName,
  entryNamed,
  type LogKey,
  type LogTables,
  type TransparencyLog,
} from './tlog/transparency-log.js';
import { CURSOR_COLUMNS, VACUUMED_COLUMNS } from '../../domain/ledger/vacuum/cursor.js';
import { createVerifier, verifiedHead, type Verifier } from '../../domain/ledger/verifier.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

export interface ReadOnlyLedger extends LedgerReader, Verifier {
  /** For reports. */
  readonly db: Kysely<LedgerTables>;
  /** An entry by its seq, its id or its hash, also one that is hidden or was vacuumed. */
  named(of: EntryName): ReturnType<typeof entryNamed>;
  /** The newest checkpoint in the file, whoever signed it; `null` when there is none. Throws `checkpoint_inconsistent`. */
  newestCheckpoint(): Checkpoint | null;
  /**
   * The file as a transparency log: checkpoints and proofs as the ledger itself would make them; nothing is written to the file. Call it
   * once per opening. Throws `chain_verification_incomplete` and `checkpoint_inconsistent`.
   */
  transparencyLog(by: LogKey): Promise<TransparencyLog>;
  close(): Promise<void>;
}

/**
 * Opens a ledger file only to read it. Nothing is created, migrated or changed, in the file or beside it, and a ledger that runs on it is
 * not disturbed. Without keys, sidecars and the head's seal stay unchecked. Throws when the file does not exist or is no ledger.
 */
export function openLedgerReadOnly(
  file: string,
  { sidecarKeys = null }: { sidecarKeys?: KeyRing | null } = {},
): ReadOnlyLedger {
  if (!existsSync(file) || !statSync(file).isFile()) throw refused(`no ledger file at ${file}`);
  const { connection, release } = opened(file);
  try {
    // An older file lacks the columns and tables for hidden and vacuumed rows. Temporary views of this connection supply them, empty.
    if (!connection.prepare("select 1 from pragma_table_info('ledger_entries') where name = 'deleted_at'").get())
      connection.exec(
        'create temp view ledger_entries as select *, null as deleted_at, null as demo_deleted_at from main.ledger_entries',
      );
    for (const [table, columns] of Object.entries({
      ledger_vacuum_cursors: CURSOR_COLUMNS,
      ledger_vacuumed_rows: VACUUMED_COLUMNS,
    }))
      if (!connection.prepare('select 1 from pragma_table_info(?)').get(table))
        connection.exec(
          `create temp view ${table} as select ${columns.map((column) => `null as ${column}`).join(', ')} where false`,
        );
    const store = sqliteStore<LedgerTables>(connection);
    const reader = createLedgerReader(store, sidecarKeys);
    const verifier = createVerifier(sqliteChainReader(connection), sidecarKeys, {
      promisedLength: () => Promise.resolve(promisedLength(connection)),
    });
    return {
      ...verifier,
      ...reader,
      named: (of) => entryNamed(store.db as unknown as Kysely<LogTables>, of),
      newestCheckpoint: () => newestCheckpoint(connection),
      transparencyLog: (by) =>
        fileLog({
          connection,
          db: store.db as unknown as Kysely<LogTables>,
          by,
          verifiedHead: () => verifiedHead(verifier),
          entry: (id) => reader.get(id),
        }),
      db: store.db,
      async close() {
        await store.close();
        release();
      },
    };
  } catch (error) {
    connection.close();
    release();
    throw refused(
      sqliteFault(error) === CORRUPT ? `${file}: ${storeFaultText(error)}` : `${file} is not a ledger file`,
      error,
    );
  }
}

const CORRUPT = 11;
const refused = (text: string, cause?: unknown): GateError =>
  new GateError('ledger_store_unavailable', text, { cause });

function opened(file: string): Untouched {
  try {
    return openUntouched(resolve(file));
  } catch (error) {
    throw refused(`${file}: ${storeFaultText(error)}`, error);
  }
}

/** The place of each table in which a ledger keeps how long its chain was. */
const PROMISES = [
  ['ledger_checkpoints', 'tree_size'],
  ['egress_cursors', 'last_seq'],
] as const;

/** The length that the chain had when a checkpoint was signed or a sink confirmed rows; an older file lacks these tables. */
function promisedLength(connection: DatabaseSyncInstance): number {
  const known = connection.prepare('select 1 from main.sqlite_master where name = ?');
  return Math.max(
    0,
    ...PROMISES.filter(([table]) => known.get(table)).map(([table, column]) =>
      Number(connection.prepare(`select max(${column}) as length from main.${table}`).get()?.['length'] ?? 0),
    ),
  );
}

interface Untouched {
  readonly connection: DatabaseSyncInstance;
  readonly release: () => void;
}

/** In WAL mode even a reader may create files beside the database. How to avoid that depends on which files exist. */
function openUntouched(file: string): Untouched {
  const log = existsSync(`${file}-wal`);
  const index = existsSync(`${file}-shm`);
  // Both exist while a ledger runs on the file, and after a crash; an ordinary reader then creates nothing.
  if (log && index) return { connection: new DatabaseSync(file, { readOnly: true }), release: () => {} };
  if (!log || statSync(`${file}-wal`).size === 0) {
    // No log: the file alone is the database, and nobody is writing to it.
    const location = pathToFileURL(file);
    location.searchParams.set('immutable', '1');
    return { connection: new DatabaseSync(location, { readOnly: true }), release: () => {} };
  }
  // A log without its index, for example after copying the files: SQLite would build the index, so let it do that on a copy.
  const directory = mkdtempSync(join(tmpdir(), 'gate-ledger-'));
  const copy = join(directory, basename(file));
  copyFileSync(file, copy);
  copyFileSync(`${file}-wal`, `${copy}-wal`);
  return {
    connection: new DatabaseSync(copy),
    release: () => rmSync(directory, { recursive: true, force: true }),
  };
}
