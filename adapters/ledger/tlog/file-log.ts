import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kysely } from 'kysely';
import { errorText } from '../../../domain/errors.js';
import { type Checkpoint, parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import {
  createTransparencyLog,
  inconsistent,
  isSignedBy,
  type LogKey,
  type LogTables,
  type TransparencyLog,
  type TransparencyLogOptions,
} from './transparency-log.js';
import { ledgerTree, type TreeTables } from './tree.js';

interface FileLogOptions extends Pick<TransparencyLogOptions, 'verifiedHead' | 'entry'> {
  /** A connection to the ledger file; it may be read-only. */
  readonly connection: DatabaseSyncInstance;
  /** Kysely over that connection. */
  readonly db: Kysely<LogTables>;
  readonly by: LogKey;
}

type StoredCheckpoint = { readonly tree_size: number; readonly note: string; readonly signed_at: string };

/** The checkpoints stored in a ledger file, newest first; none in files from before checkpoints existed. */
function* keptCheckpoints(connection: DatabaseSyncInstance): Generator<StoredCheckpoint> {
  if (!connection.prepare("select 1 from main.sqlite_master where name = 'ledger_checkpoints'").get()) return;
  const before = connection.prepare(
    'select tree_size, note, signed_at from main.ledger_checkpoints where tree_size < ? order by tree_size desc limit 1',
  );
  let size = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const row = before.get(size) as StoredCheckpoint | undefined;
    if (!row) return;
    yield row;
    size = row.tree_size;
  }
}

/** The newest checkpoint in a ledger file, whoever signed it; `null` when there is none. */
export function newestCheckpoint(connection: DatabaseSyncInstance): Checkpoint | null {
  for (const stored of keptCheckpoints(connection)) return read(stored);
  return null;
}

function read({ tree_size: size, note }: StoredCheckpoint): Checkpoint {
  try {
    return parseCheckpoint(note);
  } catch (error) {
    throw inconsistent(`the stored checkpoint over ${size} entries cannot be read (${errorText(error)})`);
  }
}

/**
 * The transparency log of a file that is only read. Temporary tables of this connection take the place of the file's own, and disappear
 * with it. The tree is computed from the entries. It must extend the file's newest checkpoint, whoever signed that one; otherwise
 * `checkpoint_inconsistent`.
 */
export async function fileLog({ connection, db, by, verifiedHead, entry }: FileLogOptions): Promise<TransparencyLog> {
  connection.exec(`
    create temp table ledger_tree_nodes (
      level integer not null, idx integer not null, hash text not null, primary key (level, idx)
    ) strict;
    create temp table ledger_checkpoints (
      tree_size integer not null primary key, note text not null, signed_at text not null
    ) strict;
    create temp table ledger_cosignatures (
      tree_size integer not null, witness text not null, key_id text not null, cosigned_at integer not null,
      line text not null, primary key (tree_size, witness, key_id)
    ) strict`);
  const promised = newestCheckpoint(connection);
  if (promised) {
    const newest = connection.prepare('select max(seq) as seq from main.ledger_entries').get();
    const length = Number(newest?.['seq'] ?? 0);
    if (promised.size > length)
      throw inconsistent(`a checkpoint over ${promised.size} entries was signed, the chain has ${length}`);
    await verifiedHead();
    await keepPromise(db, promised);
  }
  for (const stored of keptCheckpoints(connection)) {
    if (!isSignedBy(read(stored), by.key)) continue;
    const { tree_size: size, note, signed_at: signedAt } = stored;
    connection.prepare('insert into temp.ledger_checkpoints values (?, ?, ?)').run(size, note, signedAt);
    connection
      .prepare('insert into temp.ledger_cosignatures select * from main.ledger_cosignatures where tree_size = ?')
      .run(size);
    break;
  }
  return createTransparencyLog(db, { by: () => by, witnesses: [], verifiedHead, entry, clock: Date.now });
}

async function keepPromise(db: Kysely<LogTables>, { size, root }: Checkpoint): Promise<void> {
  const tree = ledgerTree(db as unknown as Kysely<TreeTables>);
  await tree.grow(0, size);
  const [found] = await tree.roots([{ from: 0, to: size }]);
  if (!found?.equals(root))
    throw inconsistent(`the first ${size} entries are not those of the checkpoint that was signed over them`);
}
