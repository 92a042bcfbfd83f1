import { FORSAKEN_AFTER_MS } from '../../domain/review/review-view.js';
import { type Ask, statement, type Value } from '../store/statement.js';

type Count = number | string;

const HOUR_MS = 3_600_000;
/** No review waits longer than this for its deadline (`contracts/review.ts`). */
const LONGEST_MS = 86_400_000;

/**
 * Where what counts as waiting begins: rows whose deadline is longer ago are shown as expired. `whole` is the first hour that lies behind that
 * altogether.
 */
function since(now: number) {
  const deadlineMs = now - FORSAKEN_AFTER_MS;
  const whole = Math.floor(deadlineMs / HOUR_MS) + 1;
  return { deadlineMs, whole, wholeMs: whole * HOUR_MS, createdMs: deadlineMs - LONGEST_MS };
}

/**
 * Whole hours come from the counts that the database keeps (`migrations/hil.ts`, 0019); of the hour in which waiting begins, which as a rule
 * holds few rows, those behind it are counted. The condition of the index `reviews_undecided` is repeated here word for word, or SQLite would
 * not use it, and `tenant || ''` keeps it from one that it would have to read as a whole.
 */
const countedOf = (kept: string, row: string): string =>
  `(select coalesce(sum(waiting), 0) from review_counts where ${kept} hour >= ?)
    + (select count(*) from reviews where ${row} deadline_ms > ? and deadline_ms < ?
        and status = 'pending' and withdrawn_at is null)`;

/** The first row in the index `reviews_listed` that does. Rows that were created before the earliest that can wait are not looked at. */
const oldestOf = (tenant: string): string =>
  `select created_ms from reviews where tenant = ${tenant} and status = 'pending' and withdrawn_at is null
     and created_ms > ? and deadline_ms > ? order by created_ms, id limit 1`;

const COUNT = statement<{ count: Count }>(`select ${countedOf('tenant = ? and', "tenant || '' = ? and")} as "count"`);
const OLDEST = statement<{ created_ms: Count }>(oldestOf('?'));
const COUNT_ALL = statement<{ count: Count }>(`select ${countedOf('', '')} as "count"`);
const OLDEST_OF_ALL = statement<{ oldest: Count | null }>(
  `select min((${oldestOf('known.tenant')})) as oldest
     from (select distinct tenant from review_counts where hour >= ?) as known`,
);

/** How many rows of these tenants wait. */
export async function waitingCount(ask: Ask, tenants: readonly string[], now: number): Promise<number> {
  const { whole, deadlineMs, wholeMs } = since(now);
  const found = await Promise.all(tenants.map((tenant) => ask(COUNT, tenant, whole, tenant, deadlineMs, wholeMs)));
  return found.reduce((sum, { rows }) => sum + Number(rows[0]?.count ?? 0), 0);
}

/** When the row of these tenants was created that has waited longest. */
export async function oldestWaiting(ask: Ask, tenants: readonly string[], now: number): Promise<number | null> {
  const { createdMs, deadlineMs } = since(now);
  const found = await Promise.all(tenants.map((tenant) => ask(OLDEST, tenant, createdMs, deadlineMs)));
  const oldest = found.flatMap(({ rows }) => rows.map(({ created_ms }) => Number(created_ms)));
  return oldest.length === 0 ? null : Math.min(...oldest);
}

/** The same of all tenants. */
export async function waitingAnywhere(
  ask: Ask,
  now: number,
): Promise<{ readonly count: number; readonly oldestMs: number | null }> {
  const { whole, deadlineMs, wholeMs, createdMs } = since(now);
  const first = async <Row>(asked: Promise<{ readonly rows: Row[] }>) => (await asked).rows[0];
  const values: Value[] = [whole, deadlineMs, wholeMs];
  const [counted, found] = await Promise.all([
    first(ask(COUNT_ALL, ...values)),
    first(ask(OLDEST_OF_ALL, createdMs, deadlineMs, whole - 1)),
  ]);
  const oldest = found?.oldest ?? null;
  return { count: Number(counted?.count ?? 0), oldestMs: oldest === null ? null : Number(oldest) };
}
