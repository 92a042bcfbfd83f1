import { sql } from 'kysely';
import { changeOf, type ReviewChanges } from '../../domain/review/feed.js';
import { NO_CONTENT, view } from '../../domain/review/review-view.js';
import type { StoreKind } from '../store/database.js';
import { type Ask, statement } from '../store/statement.js';
import type { rowViews } from './row-views.js';
import type { Listed } from './stored-row.js';

/** If more rows than this changed since the last look, they are not told one by one. */
const AT_ONCE = 1_000;
/** On Postgres, how far behind the newest change a reader begins to remember what it has seen. */
const BEHIND = 1_000;
/** Changes that a reader remembers while another transaction of the database goes on. */
const REMEMBERED = 10_000;

const NONE = '[]';

/** A hundred years: no clock is that far ahead. */
const AHEAD_MS = 3_155_760_000_000;
const NOW_MS = `cast(unixepoch('subsec') * 1000 as integer)`;
/**
 * Numbers that Gate can have given. No MAC covers them: one that somebody wrote into a row, larger than all others, would hide every change that
 * comes after it.
 */
const GIVEN: Readonly<Record<StoreKind, string>> = {
  sqlite: `change_seq <= ${NOW_MS} + ${AHEAD_MS}`,
  postgres: `change_seq <= (select last_value from review_changes)`,
};

/**
 * The number of a change, in the statement that makes it. In a file of SQLite writers take turns, so numbers become visible in order; they are
 * of the clock, because the row with the highest one may be deleted. On Postgres a later number may be visible before an earlier one; its
 * transaction has an id before it has the number, by which `reviewChanges` knows when nothing below a number is still to come.
 */
export const NEXT_CHANGE: Readonly<Record<StoreKind, string>> = {
  sqlite: `max(coalesce((select max(change_seq) from reviews where ${GIVEN.sqlite}), 0) + 1, ${NOW_MS})`,
  postgres: `case when pg_current_xact_id() is not null then nextval('review_changes') end`,
};

/** The same for a statement of Kysely. */
export const nextChange = (kind: StoreKind) => sql<number>`${sql.raw(NEXT_CHANGE[kind])}`;

interface Changed {
  readonly id: string;
  readonly version: number | string;
  readonly change_seq: number | string;
}
const afterOf = (kind: StoreKind) =>
  statement<Changed>(
    `select id, version, change_seq from reviews where change_seq > ? and ${GIVEN[kind]} order by change_seq limit ${REMEMBERED}`,
  );
const AFTER = { sqlite: afterOf('sqlite'), postgres: afterOf('postgres') };
const newestOf = (kind: StoreKind) =>
  statement<{ newest: number | string | null }>(`select max(change_seq) as newest from reviews where ${GIVEN[kind]}`);
const NEWEST = { sqlite: newestOf('sqlite'), postgres: newestOf('postgres') };
/** Rows with a number that Gate gave nobody: what changed in them cannot be told. */
const madeUpOf = (kind: StoreKind) =>
  statement<Changed>(
    `select id, version, change_seq from reviews where ${GIVEN[kind].replace('<=', '>')} order by change_seq limit ${AT_ONCE}`,
  );
const MADE_UP = { sqlite: madeUpOf('sqlite'), postgres: madeUpOf('postgres') };
/**
 * Rows without a number: those of a store from before there were any, whose number grows smaller, and one whose number somebody took out. Counted up
 * to a thousand.
 */
const NONE_GIVEN = statement<{ rows: number | string }>(
  `select count(*) as rows from (select 1 from reviews where change_seq is null limit ${AT_ONCE}) as without_number`,
);
const RUNNING = statement<{ oldest: string; next: string }>(
  `select pg_snapshot_xmin(running)::text as oldest, pg_snapshot_xmax(running)::text as next from pg_current_snapshot() as running`,
);

export interface ChangesOptions {
  readonly ask: Ask;
  readonly kind: StoreKind;
  readonly clock: () => number;
  /** The rows of these ids, verified, in this order, those that were withdrawn included. */
  readonly listed: (ids: readonly string[]) => Promise<Listed[]>;
  readonly reportOf: ReturnType<typeof rowViews>['reportOf'];
}

/** Reads what changed in the table, by whichever process, look by look. */
export function reviewChanges({ ask, kind, clock, listed, reportOf }: ChangesOptions): ReviewChanges {
  const postgres = kind === 'postgres';
  /** Everything up to here was read and will not grow. */
  let floor: number | null = null;
  /** Becomes the floor once every transaction that ran when it was the newest has ended. */
  let mark: { readonly seq: number; readonly next: bigint | null } | null = null;
  const seen = new Map<string, { readonly version: number; readonly seq: number }>();
  /** Rows whose number somebody made up, each told once. */
  let madeUp = '';
  /** How many rows had no number at the look before. */
  let without = 0;

  const after = async (seq: number): Promise<Changed[]> => (await ask(AFTER[kind], seq)).rows;
  const remember = (rows: readonly Changed[]) => {
    for (const { id, version, change_seq } of rows) seen.set(id, { version: Number(version), seq: Number(change_seq) });
  };

  async function begin(): Promise<void> {
    const newest = Number((await ask(NEWEST[kind])).rows[0]?.newest ?? 0);
    const from = postgres ? Math.max(0, newest - BEHIND) : newest;
    const rows = postgres ? await after(from) : [];
    seen.clear();
    remember(rows);
    madeUp = await madeUpNow();
    without = await withoutNow();
    [floor, mark] = [from, null];
  }

  const madeUpNow = async () => JSON.stringify((await ask(MADE_UP[kind])).rows);
  /** Whether a number was made up since the look before: what it stands for may be a change that nobody was told. */
  async function isMadeUpSince(): Promise<boolean> {
    const now = await madeUpNow();
    // What is remembered of them changes with the look that begins anew: one that fails is made again.
    if (now === NONE) madeUp = now;
    return now !== madeUp;
  }

  const withoutNow = async () => Number((await ask(NONE_GIVEN)).rows[0]?.rows ?? 0);
  /** Whether a row lost its number since the look before: the same is true of what it changed. Gate never takes one out. */
  async function isTakenOutSince(): Promise<boolean> {
    const now = await withoutNow();
    const more = now > without;
    // As above: where there are more, the look that begins anew says so.
    if (!more) without = now;
    return more;
  }

  /** Where the floor may rise to once the rows above it were read. */
  async function settledUpTo(): Promise<number | null> {
    const { rows } = await ask(RUNNING);
    const [running] = rows;
    if (!running || mark === null) return null;
    mark = { ...mark, next: mark.next ?? BigInt(running.next) };
    return mark.next !== null && BigInt(running.oldest) >= mark.next ? mark.seq : null;
  }

  return {
    async next() {
      if (floor === null) {
        await begin();
        return { changes: [], gap: false };
      }
      const settled = postgres ? await settledUpTo() : null;
      const rows = await after(floor);
      const fresh = rows.filter(({ id, version }) => Number(version) > (seen.get(id)?.version ?? 0));
      if (
        (await isMadeUpSince()) ||
        (await isTakenOutSince()) ||
        fresh.length > AT_ONCE ||
        rows.length === REMEMBERED
      ) {
        await begin();
        return { changes: [], gap: true };
      }
      const now = clock();
      const found = await listed(fresh.map(({ id }) => id));
      const newest = rows.length === 0 ? floor : Number(rows.at(-1)?.change_seq);
      if (postgres) {
        remember(rows);
        if (settled !== null) {
          [floor, mark] = [settled, null];
          for (const [id, { seq }] of seen) if (seq <= settled) seen.delete(id);
        }
        if (newest > floor) mark ??= { seq: newest, next: null };
      } else floor = newest;
      return {
        changes: found.map((head) => {
          const row = view(head, { ...NO_CONTENT, report: reportOf(head) }, now, 'summary');
          return { type: changeOf(head, row), row };
        }),
        gap: false,
      };
    },
  };
}
