import { randomInt } from 'node:crypto';
import { type Kysely, sql, type SqlBool } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import { extent } from '../../ledger/rows.js';

interface Sizes {
  /** Places of the smallest stretch whose sum is kept. A window reads the rows of two such stretches, where it begins and ends. */
  readonly smallest: number;
  /** A larger stretch is so many of the next smaller ones. */
  readonly parts: number;
}
const SIZES: Sizes = { smallest: 2_048, parts: 16 };
/**
 * What all sums of one size hold together: some twenty megabytes, of kinds of rows for hunts. There are four sizes in a chain of a hundred
 * million rows. Each has room of its own, because the parts of a large stretch would push it out as soon as it is made.
 */
const KEPT = 100_000;
/**
 * Rows are read anew after half of this at the earliest, each stretch at another moment, so that nobody waits for all of them: what an editor
 * of the store had there for a while, and took away again, is in no report for longer.
 */
const LIFE_MS = 4 * 3_600_000;

export type SumScope = Pick<RowFilter, 'tenant' | 'demoPrefix' | 'from' | 'to'>;

/** What is summed, so that the sums of stretches that follow each other add up to that of the whole. */
export interface Summed<Sum> {
  /** The sum of the rows between two places, of which there are no more than `smallest`. */
  readonly read: (scope: SumScope, first: number, last: number) => Promise<Sum>;
  /** In chain order. */
  readonly addUp: (sums: readonly Sum[]) => Sum;
  /** How much of `KEPT` a sum takes. */
  readonly sizeOf: (sum: Sum) => number;
  /** The earliest and the latest time of its rows, `null` without rows; not for what is only asked of the whole chain. */
  readonly timesOf?: (sum: Sum) => { readonly least: string; readonly most: string } | null;
}

/** The place of a stretch that begins and ends where others of its size do. */
interface Stretch {
  readonly size: number;
  readonly first: number;
  readonly last: number;
}

interface Made<Sum> {
  readonly sum: Sum;
  /** When one of its rows is to be read anew. */
  readonly untilMs: number;
}
interface KeptSum<Sum> extends Made<Sum> {
  /** What the sum stands for: the chain up to the last row of the stretch, and how many of its rows nobody may read. */
  readonly endHash: string;
  readonly hidden: number;
}

/**
 * Sums rows for reports, and keeps the sum of each closed stretch of the chain: appends change none of them. A sum counts only while the last
 * row of its stretch has the hash that it was made under and no further row of it was hidden, and none for longer than four hours. What is kept
 * has a limit of its own; without it all is read again.
 */
export function createStretchSums<Sum>(
  db: Kysely<LedgerTables>,
  clock: () => number,
  { read, addUp, sizeOf, timesOf }: Summed<Sum>,
  { smallest, parts }: Sizes = SIZES,
): (scope: SumScope) => Promise<Sum> {
  const bySize = new Map<number, LRUCache<string, KeptSum<Sum>>>();
  const keptOf = (size: number): LRUCache<string, KeptSum<Sum>> => {
    const known = bySize.get(size);
    if (known) return known;
    const kept = new LRUCache<string, KeptSum<Sum>>({ maxSize: KEPT, sizeCalculation: ({ sum }) => 1 + sizeOf(sum) });
    bySize.set(size, kept);
    return kept;
  };
  /** The stretch that holds every place up to `high`. */
  const whole = (high: number): Stretch => {
    let size = smallest;
    while (size < high) size *= parts;
    return { size, first: 1, last: size };
  };
  const partsOf = ({ first, size: of }: Stretch): Stretch[] =>
    Array.from({ length: parts }, (_, at) => {
      const size = of / parts;
      return { size, first: first + at * size, last: first + (at + 1) * size - 1 };
    });
  /** The largest stretches that lie within the places, in their order. */
  const wholeWithin = (stretch: Stretch, low: number, high: number): Stretch[] => {
    if (stretch.last < low || stretch.first > high) return [];
    if (stretch.first >= low && stretch.last <= high) return [stretch];
    return stretch.size === smallest ? [] : partsOf(stretch).flatMap((part) => wholeWithin(part, low, high));
  };
  const making = new Map<string, Promise<Made<Sum>>>();

  return async (scope) => {
    const { tenant, demoPrefix } = scope;
    const { low, high } = await extent(db, scope);
    if (low > high) return addUp([]);
    const sums: Sum[] = [];
    const inWindow = async (first: number, last: number) => sums.push(await read(scope, first, last));
    if (demoPrefix !== undefined) {
      for (let first = low; first <= high; first += smallest)
        await inWindow(first, Math.min(high, first + smallest - 1));
      return addUp(sums);
    }

    const hidden = await hiddenIn(db, low, high, smallest);
    const hashes = await hashesOf(db, wholeWithin(whole(high), low, high));
    /** The sum of a stretch, in the chain as it is. */
    const sumOf = async (stretch: Stretch): Promise<Made<Sum>> => {
      const endHash = hashes.get(stretch.last) ?? (await hashesOf(db, [stretch])).get(stretch.last);
      const hides = hidden(stretch);
      const key = JSON.stringify([tenant ?? null, stretch.first, stretch.size]);
      const kept = keptOf(stretch.size);
      const known = kept.get(key);
      if (known && known.endHash === endHash && known.hidden === hides && clock() < known.untilMs) return known;
      const moment = JSON.stringify([key, endHash, hides]);
      const made = making.get(moment) ?? make(stretch);
      making.set(moment, made);
      try {
        const sum = await made;
        if (endHash !== undefined) kept.set(key, { ...sum, endHash, hidden: hides });
        return sum;
      } finally {
        making.delete(moment);
      }
    };
    const make = async (stretch: Stretch): Promise<Made<Sum>> => {
      if (stretch.size === smallest) {
        const untilMs = clock() + LIFE_MS / 2 + randomInt(LIFE_MS / 2);
        return { sum: await read({ tenant }, stretch.first, stretch.last), untilMs };
      }
      const made: Made<Sum>[] = [];
      for (const part of partsOf(stretch)) made.push(await sumOf(part));
      return {
        sum: addUp(made.map(({ sum }) => sum)),
        untilMs: Math.min(...made.map(({ untilMs }) => untilMs)),
      };
    };
    const visit = async (stretch: Stretch): Promise<void> => {
      const [first, last] = [Math.max(low, stretch.first), Math.min(high, stretch.last)];
      if (first > last) return;
      if (first === stretch.first && last === stretch.last) {
        const { sum } = await sumOf(stretch);
        const lies = timesOf ? where(timesOf(sum), scope) : 'within';
        if (lies === 'within') sums.push(sum);
        if (lies !== 'across') return;
      }
      if (stretch.size === smallest) await inWindow(first, last);
      else for (const part of partsOf(stretch)) await visit(part);
    };
    await visit(whole(high));
    return addUp(sums);
  };
}

/** Where rows of these times lie beside a window. */
function where(
  times: { readonly least: string; readonly most: string } | null,
  { from, to }: SumScope,
): 'within' | 'across' | 'outside' {
  if (times === null || (to !== undefined && times.least >= to) || (from !== undefined && times.most < from))
    return 'outside';
  const within = (from === undefined || times.least >= from) && (to === undefined || times.most < to);
  return within ? 'within' : 'across';
}

async function hashesOf(db: Kysely<LedgerTables>, stretches: readonly Stretch[]): Promise<Map<number, string>> {
  if (stretches.length === 0) return new Map();
  const ends = stretches.map(({ last }) => last);
  const rows = await db.selectFrom('ledger_entries').select(['seq', 'entry_hash']).where('seq', 'in', ends).execute();
  return new Map(rows.map(({ seq, entry_hash: hash }) => [Number(seq), hash]));
}

/** How many rows of a stretch are hidden. To be hidden is the one change of a row that its hash does not tell, and it happens in steps. */
async function hiddenIn(
  db: Kysely<LedgerTables>,
  low: number,
  high: number,
  smallest: number,
): Promise<(stretch: Stretch) => number> {
  const stretch = sql<number | string>`(seq - 1) / ${sql.lit(smallest)}`;
  const rows = await db
    .selectFrom('ledger_entries')
    .select((make) => [stretch.as('stretch'), make.fn.countAll().as('rows')])
    .where(sql<SqlBool>`(deleted_at is not null or demo_deleted_at is not null)`)
    .where('seq', '>=', low)
    .where('seq', '<=', high)
    .groupBy(stretch)
    .execute();
  const hidden = rows.map((row) => ({ first: Number(row.stretch) * smallest + 1, rows: Number(row.rows) }));
  return ({ first, last }) =>
    hidden.reduce((sum, one) => (one.first >= first && one.first <= last ? sum + one.rows : sum), 0);
}
