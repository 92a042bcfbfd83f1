import { randomInt } from 'node:crypto';
import { type Kysely, sql, type SqlBool } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../../contracts/json.js';
import { type HuntRow, type HuntSum, huntSumOf, huntSumOfAll } from '../../../domain/evidence/reports/hunt.js';
import { isDenial } from '../../../domain/evidence/reports/outcome.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import { extent, filtered, turn } from '../../ledger/rows.js';

interface Sizes {
  /** Places of the smallest stretch whose sum is kept. A window reads the rows of two such stretches, where it begins and ends. */
  readonly smallest: number;
  /** A larger stretch is so many of the next smaller ones. */
  readonly parts: number;
}
const SIZES: Sizes = { smallest: 2_048, parts: 16 };
/**
 * Kinds of rows in all sums of one size together, some twenty megabytes. There are four sizes in a chain of a hundred million rows. Each has
 * room of its own, because the parts of a large stretch would push it out as soon as it is made.
 */
const KEPT = 100_000;
/**
 * Rows are read anew after half of this at the earliest, each stretch at another moment, so that nobody waits for all of them: what an editor
 * of the store had there for a while, and took away again, is in no report for longer.
 */
const LIFE_MS = 4 * 3_600_000;
/** A decision may be a quarter of a megabyte, and a page of them is in memory at once. */
const DECISIONS = 100;

export type HuntScope = Pick<RowFilter, 'tenant' | 'demoPrefix' | 'from' | 'to'>;

/** The place of a stretch that begins and ends where others of its size do. */
interface Stretch {
  readonly size: number;
  readonly first: number;
  readonly last: number;
}

interface Made {
  readonly sum: HuntSum;
  /** When one of its rows is to be read anew. */
  readonly untilMs: number;
}
interface KeptSum extends Made {
  /** What the sum stands for: the chain up to the last row of the stretch, and how many of its rows nobody may read. */
  readonly endHash: string;
  readonly hidden: number;
}

/**
 * Sums rows for hunts, and keeps the sum of each closed stretch of the chain: appends change none of them. A sum counts only while the last
 * row of its stretch has the hash that it was made under and no further row of it was hidden, and none for longer than four hours. What is kept
 * has a limit of its own; without it all is read again.
 */
export function createHuntSums(
  db: Kysely<LedgerTables>,
  clock: () => number,
  { smallest, parts }: Sizes = SIZES,
): (scope: HuntScope) => Promise<HuntSum> {
  const bySize = new Map<number, LRUCache<string, KeptSum>>();
  const keptOf = (size: number): LRUCache<string, KeptSum> => {
    const known = bySize.get(size);
    if (known) return known;
    const kept = new LRUCache<string, KeptSum>({ maxSize: KEPT, sizeCalculation: ({ sum }) => 1 + sum.alike.size });
    bySize.set(size, kept);
    return kept;
  };
  /** The stretch that holds every place up to `high`. */
  const whole = (high: number): Stretch => {
    let size = smallest;
    while (size <= high) size *= parts;
    return { size, first: 0, last: size - 1 };
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
  const making = new Map<string, Promise<Made>>();

  return async (scope) => {
    const { tenant, demoPrefix, from, to } = scope;
    const { low, high } = await extent(db, scope);
    if (low > high) return huntSumOfAll([]);
    const sums: HuntSum[] = [];
    const inWindow = async (first: number, last: number) => sums.push(huntSumOf(await rowsOf(db, scope, first, last)));
    if (demoPrefix !== undefined) {
      for (let first = low; first <= high; first += smallest)
        await inWindow(first, Math.min(high, first + smallest - 1));
      return huntSumOfAll(sums);
    }

    const hidden = await hiddenIn(db, low, high, smallest);
    const hashes = await hashesOf(db, wholeWithin(whole(high), low, high));
    /** The sum of a stretch, in the chain as it is. */
    const sumOf = async (stretch: Stretch): Promise<Made> => {
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
    const make = async (stretch: Stretch): Promise<Made> => {
      if (stretch.size === smallest) {
        const untilMs = clock() + LIFE_MS / 2 + randomInt(LIFE_MS / 2);
        return { sum: huntSumOf(await rowsOf(db, { tenant }, stretch.first, stretch.last)), untilMs };
      }
      const made: Made[] = [];
      for (const part of partsOf(stretch)) made.push(await sumOf(part));
      return {
        sum: huntSumOfAll(made.map(({ sum }) => sum)),
        untilMs: Math.min(...made.map(({ untilMs }) => untilMs)),
      };
    };
    const visit = async (stretch: Stretch): Promise<void> => {
      const [first, last] = [Math.max(low, stretch.first), Math.min(high, stretch.last)];
      if (first > last) return;
      if (first === stretch.first && last === stretch.last) {
        const { sum } = await sumOf(stretch);
        const { least = '', most = '' } = sum.times ?? {};
        if (sum.times === null || (to !== undefined && least >= to) || (from !== undefined && most < from)) return;
        if ((from === undefined || least >= from) && (to === undefined || most < to)) {
          sums.push(sum);
          return;
        }
      }
      if (stretch.size === smallest) await inWindow(first, last);
      else for (const part of partsOf(stretch)) await visit(part);
    };
    await visit(whole(high));
    return huntSumOfAll(sums);
  };
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
  const stretch = sql<number | string>`seq / ${sql.lit(smallest)}`;
  const rows = await db
    .selectFrom('ledger_entries')
    .select((make) => [stretch.as('stretch'), make.fn.countAll().as('rows')])
    .where(sql<SqlBool>`(deleted_at is not null or demo_deleted_at is not null)`)
    .where('seq', '>=', low)
    .where('seq', '<=', high)
    .groupBy(stretch)
    .execute();
  const hidden = rows.map((row) => ({ first: Number(row.stretch) * smallest, rows: Number(row.rows) }));
  return ({ first, last }) =>
    hidden.reduce((sum, one) => (one.first >= first && one.first <= last ? sum + one.rows : sum), 0);
}

const COLUMNS = [
  'seq',
  'timestamp',
  'agent_id',
  'agent_name',
  'method',
  'event_kind',
  'authorized',
  'correlation_id',
  'signal',
] as const;

/** The rows of at most one of the smallest stretches. Decisions, which are most of a row, are read only where they may say that it was denied. */
async function rowsOf(db: Kysely<LedgerTables>, scope: HuntScope, first: number, last: number): Promise<HuntRow[]> {
  const denied = await deniedIn(db, scope, first, last);
  const rows = await filtered(db.selectFrom('ledger_entries').select(COLUMNS), {
    ...scope,
    seqFrom: first,
    seqTo: last,
  })
    .orderBy('seq')
    .execute();
  await turn();
  return rows.map((row) => ({
    seq: Number(row.seq),
    at: row.timestamp,
    agentId: row.agent_id as string,
    agentName: row.agent_name,
    method: row.method as string,
    authorized: Number(row.authorized) === 1,
    correlationId: row.correlation_id,
    signal: row.signal,
    denied: denied.has(Number(row.seq)),
  }));
}

/** The places of those rows whose call was refused for good. A call that was let through says so in its row, or names no such outcome. */
async function deniedIn(
  db: Kysely<LedgerTables>,
  scope: HuntScope,
  first: number,
  last: number,
): Promise<ReadonlySet<number>> {
  const denied = new Set<number>();
  for (let from = first; from <= last; ) {
    const rows = await filtered(
      db.selectFrom('ledger_entries').select(['seq', 'event_kind', 'method', 'authorized', 'policy_decision']),
      { ...scope, seqFrom: from, seqTo: last },
    )
      .where(
        sql<SqlBool>`(coalesce(event_kind, method) = 'hil.denied' or (coalesce(event_kind, method) = 'proxy.verdict'
          and (authorized = 0 or policy_decision like '%"deny"%' or policy_decision like '%"rate_limited"%')))`,
      )
      .orderBy('seq')
      .limit(DECISIONS)
      .execute();
    for (const { seq, event_kind: event, method, authorized, policy_decision: decision } of rows)
      if (
        isDenial({
          kind: event ?? (method as string),
          decision: decision === null ? null : (JSON.parse(decision) as JsonObject),
          authorized: Number(authorized) === 1,
        })
      )
        denied.add(Number(seq));
    if (rows.length < DECISIONS) break;
    from = Number(rows.at(-1)?.seq) + 1;
  }
  return denied;
}
