import type { Kysely } from 'kysely';
import type { KeyRing } from '../../../domain/crypto/key-ring.js';
import { GateError } from '../../../domain/errors.js';
import { type ChainHead, EMPTY_CHAIN } from '../../../domain/ledger/chain.js';
import { type ChainStore, reading, sealHead, type Steps } from '../../../domain/ledger/chain-store.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import type { TransparencyLog } from '../tlog/transparency-log.js';
import { walkRange } from '../../../domain/ledger/verify.js';
import {
  CURSOR_COLUMNS,
  readCursor,
  readVacuumedRow,
  sealCursor,
  VACUUMED_COLUMNS,
  type VacuumCursor,
  vacuumedDigest,
} from '../../../domain/ledger/vacuum/cursor.js';
import type { Cell } from '../../../domain/ledger/cells.js';

export interface VacuumTables extends LedgerTables {
  ledger_checkpoints: { tree_size: number | string };
  egress_cursors: { sink_id: string; last_seq: number | string; updated_at: string };
}

export interface VacuumPass {
  /** Younger entries stay. */
  readonly retentionMs: number;
  /** Sinks that must have confirmed an entry; without it, every sink that ever asked for rows. */
  readonly sinks?: readonly string[] | undefined;
  /** Entries per transaction. */
  readonly batchRows?: number | undefined;
  /** Ends the pass after the current batch. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes the oldest entries from the chain (docs/decisions/ledger-vacuum.md). An entry is removed when it is older than the retention, the
 * cold tier holds it, a signed checkpoint covers it, and every sink confirmed it; the newest entry always stays. Entries go in order, in
 * batches. Each batch is walked once more first, so that no evidence of a change is removed. A `VacuumedRow` of each entry is kept. A batch
 * is one transaction, so a pass may be interrupted and repeated; of two concurrent passes one finds the cursor moved. Returns how many
 * entries were removed; 0 under a legal hold. Throws `chain_verification_incomplete` when the chain does not verify,
 * `checkpoint_inconsistent`, `export_sink_unavailable` when the cold tier's copy was changed, and `ledger_store_unavailable`.
 */
export type Vacuum = (pass: VacuumPass, copies: ColdCopies) => Promise<number>;

/** What the vacuum asks of the copies kept elsewhere before it deletes anything. */
export interface ColdCopies {
  /** The last entry of the gapless copy that follows `after`; `after` itself when nothing was copied. */
  copiedThrough(after: number): Promise<number>;
  /**
   * Returns a function that compares the copies of a range with their digests. It throws `export_sink_unavailable` when one is missing or
   * differs.
   */
  copyCheck(): (seqFrom: number, seqTo: number) => Promise<void>;
}

interface VacuumOptions {
  readonly db: Kysely<VacuumTables>;
  readonly chain: ChainStore;
  readonly keys: KeyRing;
  readonly transparency: Pick<TransparencyLog, 'checkpoint'> | null;
  readonly legalHold: boolean;
  /** Called after every batch with the number of removed entries. */
  readonly onBatch?: ((entries: number) => void) | undefined;
  readonly clock: () => number;
}

/** A thousand entries take about 30 ms, and appends wait for the whole batch. */
const BATCH_ROWS = 500;

export function createVacuum(options: VacuumOptions): Vacuum {
  const { db, chain, keys, transparency, legalHold, onBatch, clock } = options;

  const keptFrom = (cursor: VacuumCursor | null): ChainHead =>
    cursor ? { length: cursor.seq, hash: cursor.entryHash } : EMPTY_CHAIN;

  /** The last entry that a signed checkpoint covers. Making a checkpoint also verifies the chain. */
  async function inTree(): Promise<number> {
    if (!transparency)
      throw new GateError(
        'chain_verification_incomplete',
        'nothing is vacuumed without checkpoints: set GATE_LEDGER_CHECKPOINT_KEY_FILE',
      );
    await transparency.checkpoint();
    const newest = await db
      .selectFrom('ledger_checkpoints')
      .select((make) => make.fn.max('tree_size').as('size'))
      .executeTakeFirstOrThrow();
    return Number(newest.size ?? 0);
  }

  async function confirmed(sinks: readonly string[] | undefined): Promise<number> {
    const cursors = await db.selectFrom('egress_cursors').select(['sink_id', 'last_seq']).execute();
    const places = new Map(cursors.map(({ sink_id, last_seq }) => [sink_id, Number(last_seq)]));
    const awaited = sinks ?? [...places.keys()];
    return Math.min(Number.MAX_SAFE_INTEGER, ...awaited.map((sink) => places.get(sink) ?? 0));
  }

  /** The last entry of the next batch; `null` when nothing after the cursor may go. */
  async function batchEnd(after: number, through: number, cutoff: string): Promise<number | null> {
    const rows = await db
      .selectFrom('ledger_entries')
      .select(['seq', 'timestamp'])
      .where('seq', '>', after)
      .where('seq', '<=', through)
      .orderBy('seq')
      .execute();
    // Signed rows carry their signer's time, so times may be out of order. The first young row ends the batch.
    const young = rows.findIndex(({ timestamp }) => timestamp >= cutoff);
    const last = young < 0 ? rows.at(-1) : rows[young - 1];
    return last ? Number(last.seq) : null;
  }

  /** The `prev_hash` of the entry after that place. */
  async function pointsBackTo(seq: number): Promise<string | undefined> {
    const next = await db
      .selectFrom('ledger_entries')
      .select('prev_hash')
      .where('seq', '=', seq + 1)
      .executeTakeFirst();
    return next?.prev_hash;
  }

  /** Removes one batch in one transaction. False when another pass moved the cursor meanwhile. */
  function* takeAway(head: ChainHead, from: ChainHead, to: ChainHead): Steps<boolean> {
    const [at] = yield {
      text: `select ${CURSOR_COLUMNS.join(', ')} from ledger_vacuum_cursors order by seq desc limit 1`,
      values: [],
    };
    if (keptFrom(readCursor(at ?? [])).length !== from.length || head.length <= to.length) return false;
    const range: Cell[] = [from.length + 1, to.length];
    const columns = VACUUMED_COLUMNS.join(', ');
    yield {
      text: `insert into ledger_vacuumed_rows (${columns}) select ${columns} from ledger_entries where seq between ? and ?`,
      values: range,
    };
    const kept = yield {
      text: `select ${columns} from ledger_vacuumed_rows where seq between ? and ? order by seq`,
      values: range,
    };
    const rows = kept.map(readVacuumedRow);
    const end = rows.at(-1);
    if (rows.length !== to.length - from.length || end?.entryHash !== to.hash)
      throw new GateError('chain_verification_incomplete', `entries up to ${to.length} are not what was walked`);
    const times = rows.map(({ timestamp }) => timestamp).sort();
    const cursor = {
      seq: to.length,
      entryHash: to.hash,
      rowsSha256: vacuumedDigest(rows),
      timeLo: times[0] as string,
      timeHi: times.at(-1) as string,
      vacuumedAt: new Date(clock()).toISOString(),
    };
    const { seq, entryHash, rowsSha256, timeLo, timeHi, vacuumedAt } = cursor;
    yield {
      text: `insert into ledger_vacuum_cursors (${CURSOR_COLUMNS.join(', ')}) values (?, ?, ?, ?, ?, ?, ?)`,
      values: [seq, entryHash, rowsSha256, timeLo, timeHi, vacuumedAt, sealCursor(keys, cursor)],
    };
    // With the cursor stored, the triggers allow deleting the batch.
    yield { text: 'delete from entry_payloads where entry_seq between ? and ?', values: range };
    yield { text: 'delete from ledger_entries where seq between ? and ?', values: range };
    // An append that waited for this transaction still expects the old seal. The new one makes it read again, and find ids that moved.
    yield { text: 'update ledger_head set head_seal = ? where id = 1', values: [sealHead(keys, head)] };
    return true;
  }

  return ({ retentionMs, sinks, batchRows = BATCH_ROWS, signal }, copies) =>
    reading(async () => {
      if (legalHold) return 0;
      const cutoff = new Date(clock() - retentionMs).toISOString();
      const checked = await inTree();
      const start = (await chain.bounds()).cursor?.seq ?? 0;
      const copied = await copies.copiedThrough(start);
      const through = Math.min(checked, copied, await confirmed(sinks));
      const checkCopy = copies.copyCheck();
      let vacuumed = 0;
      while (!signal?.aborted) {
        const { head, cursor } = await chain.bounds();
        const from = keptFrom(cursor);
        const most = Math.min(through, from.length + batchRows, (head?.length ?? 0) - 1);
        const end = most > from.length ? await batchEnd(from.length, most, cutoff) : null;
        if (end === null) break;
        await checkCopy(from.length + 1, end);
        const walk = await walkRange(chain, keys, { from: from.length + 1, to: end, prev: from.hash });
        const linked = walk.stop === null && (await pointsBackTo(end)) === walk.last;
        // Another pass already removed them.
        if (!linked && (await chain.bounds()).cursor?.seq !== cursor?.seq) continue;
        if (!linked)
          throw new GateError(
            'chain_verification_incomplete',
            `entry ${from.length + 1 + walk.checked} does not hold; nothing from there on is vacuumed`,
          );
        const to = { length: end, hash: walk.last };
        if (await chain.exclusively((tail) => takeAway(tail, from, to))) {
          vacuumed += end - from.length;
          onBatch?.(end - from.length);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return vacuumed;
    });
}
