import type { Kysely } from 'kysely';
import { GateError } from '../../../domain/errors.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';

/** Entries of a window that were vacuumed. */
export interface Gone {
  readonly rows: number;
  readonly seqLo: number;
  readonly seqHi: number;
  /** The newest vacuumed entry of the whole chain; kept entries follow it. */
  readonly cursor: { readonly seq: number; readonly entryHash: string };
}

export const windowVacuumed = ({ rows, seqLo, seqHi, cursor }: Gone): GateError =>
  new GateError(
    'window_vacuumed',
    `${rows} rows of the window (seq ${seqLo} to ${seqHi}) were vacuumed; the chain is kept from seq ${cursor.seq + 1} on, older rows are in the cold tier`,
    { fields: { kept_from_seq: cursor.seq + 1 } },
  );

interface Question {
  /** Half-open, with timestamps as the chain writes them. */
  readonly from: string;
  readonly to: string;
  /** Without it, every tenant. */
  readonly tenant?: string | undefined;
  readonly seqTo?: number | undefined;
}

/**
 * Which rows of a window were vacuumed (docs/architecture/ledger-reads.md#vacuum); `null` when none were. For results that would otherwise
 * pass for complete. Costs one read of the cursors when the window is newer than all of them.
 */
export type GoneFrom = (window: Question) => Promise<Gone | null>;

/** Rows counted by one statement. */
const BLOCK = 20_000;

export const createGoneFrom =
  (db: Kysely<LedgerTables>): GoneFrom =>
  async ({ from, to, tenant, seqTo = Number.MAX_SAFE_INTEGER }) => {
    const cursors = await db
      .selectFrom('ledger_vacuum_cursors')
      .select(['seq', 'entry_hash', 'time_lo', 'time_hi'])
      .orderBy('seq')
      .execute();
    const newest = cursors.at(-1);
    if (!newest) return null;
    let rows = 0;
    let [low, high] = [Number.MAX_SAFE_INTEGER, 0];
    const count = async (first: number, last: number) => {
      let query = db
        .selectFrom('ledger_vacuumed_rows')
        .select(({ fn }) => [fn.countAll().as('rows'), fn.min('seq').as('low'), fn.max('seq').as('high')])
        .where('seq', '>=', first)
        .where('seq', '<=', Math.min(last, seqTo))
        .where('timestamp', '>=', from)
        .where('timestamp', '<', to);
      if (tenant !== undefined) query = query.where('tenant', '=', tenant);
      const found = await query.executeTakeFirstOrThrow();
      if (Number(found.rows) === 0) return;
      rows += Number(found.rows);
      low = Math.min(low, Number(found.low));
      high = Math.max(high, Number(found.high));
    };
    // Adjacent batches that may hold rows of the window are joined.
    const stretches: { first: number; last: number }[] = [];
    let before = 0;
    for (const { seq, time_lo, time_hi } of cursors) {
      if (time_lo < to && time_hi >= from) {
        const open = stretches.at(-1);
        if (open?.last === before) open.last = Number(seq);
        else stretches.push({ first: before + 1, last: Number(seq) });
      }
      before = Number(seq);
    }
    for (const { first, last } of stretches)
      for (let at = first; at <= last; at += BLOCK) {
        await count(at, Math.min(at + BLOCK - 1, last));
        await new Promise((resolve) => setImmediate(resolve));
      }
    if (rows === 0) return null;
    return { rows, seqLo: low, seqHi: high, cursor: { seq: Number(newest.seq), entryHash: newest.entry_hash } };
  };
