import type { Kysely } from 'kysely';
import { GateError } from '../../../domain/errors.js';
import { completeNodes, completeRoot, leafHash, spanRoot } from '../../../domain/ledger/tlog/merkle.js';

export interface TreeTables {
  ledger_tree_nodes: { level: number | string; idx: number | string; hash: string };
  ledger_entries: { seq: number | string; entry_hash: string };
  ledger_vacuumed_rows: { seq: number | string; entry_hash: string };
}

/** Only levels that are multiples of this are stored; the same height as the tiles of C2SP tlog-tiles. */
const HEIGHT = 8;
const WIDTH = 2 ** HEIGHT;
/** Blocks of `WIDTH` entries per read; the event loop runs between reads. */
const BLOCKS_PER_READ = 8;

export interface LedgerTree {
  /**
   * Recomputes the stored nodes of the first `size` entries from the entries, as far as they reach beyond the first `from`. Stores one node
   * per 256 entries. Safe to repeat.
   */
  grow(from: number, size: number): Promise<void>;
  /** The roots over spans within the entries that `grow` covered. A handful of reads each, whatever the size of the ledger. */
  roots(spans: readonly { readonly from: number; readonly to: number }[]): Promise<Buffer[]>;
}

/**
 * The tree over the entries of a ledger, including vacuumed ones. Leaf `seq - 1` is the RFC 6962 leaf hash of the 32 bytes of the entry's
 * hash.
 */
export function ledgerTree(db: Kysely<TreeTables>): LedgerTree {
  /** Leaf hashes of the entries `from + 1` to `to`. */
  async function leaves(from: number, to: number): Promise<Buffer[]> {
    const hashes = (table: 'ledger_entries' | 'ledger_vacuumed_rows') =>
      db
        .selectFrom(table)
        .select(['seq', 'entry_hash'])
        .where('seq', '>', from)
        .where('seq', '<=', to)
        .orderBy('seq')
        .execute();
    // Entries are read first: one that is vacuumed between the two reads is then in both results.
    const kept = await hashes('ledger_entries');
    const firstKept = Number(kept[0]?.seq ?? Number.POSITIVE_INFINITY);
    const gone = firstKept === from + 1 ? [] : await hashes('ledger_vacuumed_rows');
    const rows = [...gone.filter(({ seq }) => Number(seq) < firstKept), ...kept];
    return Array.from({ length: to - from }, (_, index) => {
      const row = rows[index];
      const bytes = Buffer.from(row?.entry_hash ?? '', 'hex');
      if (Number(row?.seq) !== from + index + 1 || bytes.length !== 32)
        throw new GateError('checkpoint_inconsistent', `entry ${from + index + 1} is missing or its hash is malformed`);
      return leafHash(bytes);
    });
  }

  async function kept(level: number, first: number, count: number): Promise<Buffer[]> {
    const rows = await db
      .selectFrom('ledger_tree_nodes')
      .select(['idx', 'hash'])
      .where('level', '=', level)
      .where('idx', '>=', first)
      .where('idx', '<', first + count)
      .orderBy('idx')
      .execute();
    return Array.from({ length: count }, (_, index) => {
      const row = rows[index];
      // A missing node counts as a wrong hash: the comparison with the signed root fails, and the tree is recomputed.
      return Number(row?.idx) === first + index ? Buffer.from(row?.hash ?? '', 'hex') : Buffer.alloc(32);
    });
  }

  async function node(level: number, index: number): Promise<Buffer> {
    const below = level - (level % HEIGHT);
    const width = 2 ** (level - below);
    const first = index * width;
    return completeRoot(below === 0 ? await leaves(first, first + width) : await kept(below, first, width));
  }

  async function keep(nodes: readonly { level: number; idx: number; hash: Buffer }[]): Promise<void> {
    if (nodes.length === 0) return;
    await db
      .insertInto('ledger_tree_nodes')
      .values(nodes.map(({ level, idx, hash }) => ({ level, idx, hash: hash.toString('hex') })))
      .onConflict((conflict) =>
        conflict.columns(['level', 'idx']).doUpdateSet((row) => ({ hash: row.ref('excluded.hash') })),
      )
      .execute();
  }

  return {
    async grow(from, size) {
      const blocks = Math.floor(size / WIDTH);
      for (let block = Math.floor(from / WIDTH); block < blocks; block += BLOCKS_PER_READ) {
        const end = Math.min(block + BLOCKS_PER_READ, blocks);
        const hashes = await leaves(block * WIDTH, end * WIDTH);
        await keep(
          Array.from({ length: end - block }, (_, at) => ({
            level: HEIGHT,
            idx: block + at,
            hash: completeRoot(hashes.slice(at * WIDTH, (at + 1) * WIDTH)),
          })),
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      for (let level = HEIGHT * 2; 2 ** level <= size; level += HEIGHT) {
        const width = 2 ** level;
        for (let idx = Math.floor(from / width); (idx + 1) * width <= size; idx++)
          await keep([{ level, idx, hash: completeRoot(await kept(level - HEIGHT, idx * WIDTH, WIDTH)) }]);
      }
    },
    roots: (spans) =>
      Promise.all(
        spans.map(async (span) =>
          spanRoot(await Promise.all(completeNodes(span).map(({ level, index }) => node(level, index)))),
        ),
      ),
  };
}
