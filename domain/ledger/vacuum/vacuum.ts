import type { Kysely } from 'kysely';
import type { KeyRing } from '../../crypto/key-ring.js';
import { GateError } from '../../errors.js';
import { type ChainHead, EMPTY_CHAIN } from '../chain.js';
import { type Cell, type ChainStore, reading, sealHead, type Steps } from '../chain-store.js';
import type { LedgerTables } from '../tables.js';
import type { TransparencyLog } from '../tlog/transparency-log.js';
import { walkRange } from '../verify.js';
import {
  CURSOR_COLUMNS,
  readCursor,
  readVacuumedRow,
  sealCursor,
  VACUUMED_COLUMNS,
  type VacuumCursor,
  vacuumedDigest,
} from './cursor.js';

export interface VacuumTables extends LedgerTables {
  ledger_checkpoints: { tree_size: number | string };
  egress_cursors: { sink_id: string; last_seq: number | string; updated_at: string };
}

export interface VacuumPass {
  /** Entries younger than this stay. */
  readonly retentionMs: number;
  /** Whose confirmation is waited for; without it every sink that ever asked for rows. */
  readonly sinks?: readonly string[] | undefined;
  /** Entries of one transaction. */
  readonly batchRows?: number | undefined;
  /** Ends the pass behind the batch under way. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes the oldest entries out of the chain (docs/decisions/ledger-vacuum.md): those older than the retention that the cold tier holds, that a signed
 * checkpoint covers and that every sink has confirmed, never the newest one. They go from the beginning, in batches; each is walked once
 * more before it goes, so that nothing is cleared away that does not hold. What stays of an entry: `VacuumedRow`. A batch is one
 * transaction, so a pass may be cut off anywhere and be repeated; of two at once one finds that the other was there. How many went; none
 * under a legal hold. Throws `chain_verification_incomplete` when the chain does not hold, `checkpoint_inconsistent`,
 * `export_sink_unavailable` when the cold tier's copy is not what it was, `ledger_store_unavailable`.
 */
export type Vacuum = (pass: VacuumPass, copies: ColdCopies) => Promise<number>;

/** What the vacuum asks of the copies kept elsewhere before it deletes anything. */
export interface ColdCopies {
  /** The last entry up to which every one behind `after` has been copied; `after` itself where nothing was. */
  copiedThrough(after: number): Promise<number>;
  /** Compares the copies of a range with their digests. Throws `export_sink_unavailable` when one is missing or is not what was written. */
  copyCheck(): (seqFrom: number, seqTo: number) => Promise<void>;
}

interface VacuumOptions {
  readonly db: Kysely<VacuumTables>;
  readonly chain: ChainStore;
  readonly keys: KeyRing;
  readonly transparency: Pick<TransparencyLog, 'checkpoint'> | null;
  readonly legalHold: boolean;
  /** Told after every batch how many entries went. */
  readonly onBatch?: ((entries: number) => void) | undefined;
  readonly clock: () => number;
}

/** At some 30 ms per thousand entries: appends wait no longer than that. */
const BATCH_ROWS = 500;

export function createVacuum(options: VacuumOptions): Vacuum {
  const { db, chain, keys, transparency, legalHold, onBatch, clock } = options;

  const keptFrom = (cursor: VacuumCursor | null): ChainHead =>
    cursor ? { length: cursor.seq, hash: cursor.entryHash } : EMPTY_CHAIN;

  /** The last place that a signed checkpoint covers. The chain is verified on the way there. */
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

  /** The last entry of the next batch, or `null` when nothing behind the cursor may go. */
  async function batchEnd(after: number, through: number, cutoff: string): Promise<number | null> {
    const rows = await db
      .selectFrom('ledger_entries')
      .select(['seq', 'timestamp'])
      .where('seq', '>', after)
      .where('seq', '<=', through)
      .orderBy('seq')
      .execute();
    // Signed rows carry their signer's time: the first young one ends the batch, whatever stands behind it.
    const young = rows.findIndex(({ timestamp }) => timestamp >= cutoff);
    const last = young < 0 ? rows.at(-1) : rows[young - 1];
    return last ? Number(last.seq) : null;
  }

  /** What the entry behind that place says came before it. */
  async function pointsBackTo(seq: number): Promise<string | undefined> {
    const next = await db
      .selectFrom('ledger_entries')
      .select('prev_hash')
      .where('seq', '=', seq + 1)
      .executeTakeFirst();
    return next?.prev_hash;
  }

  /** One batch, in one transaction. False when somebody else moved the cursor meanwhile. */
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
    // From here on the triggers let the batch go.
    yield { text: 'delete from entry_payloads where entry_seq between ? and ?', values: range };
    yield { text: 'delete from ledger_entries where seq between ? and ?', values: range };
    // An append that waited for this transaction knows the old seal: it looks again, and finds ids that moved meanwhile.
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
        // Gone already: somebody else vacuumed them.
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
