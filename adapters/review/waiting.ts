import { FORSAKEN_AFTER_MS } from '../../domain/review/review-view.js';
import { type Ask, statement } from '../store/statement.js';

/** Indexes answer this alone; the condition of `reviews_listed` is repeated here word for word. */
const WAITING = statement<{ count: number | string; oldest: number | string | null }>(
  `select count(*) as "count", min(created_ms) as oldest from reviews
     where tenant = ? and deadline_ms > ? and status = 'pending' and withdrawn_at is null`,
);

/** How many rows of these tenants wait, and since when the oldest does. */
export async function waitingOf(
  ask: Ask,
  tenants: readonly string[],
  now: number,
): Promise<{ readonly count: number; readonly oldestMs: number | null }> {
  const found = await Promise.all(tenants.map((tenant) => ask(WAITING, tenant, now - FORSAKEN_AFTER_MS)));
  const [counts, oldest] = [
    found.map(({ rows }) => Number(rows[0]?.count ?? 0)),
    found.flatMap(({ rows }) => rows[0]?.oldest ?? []),
  ];
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    oldestMs: oldest.length === 0 ? null : Math.min(...oldest.map(Number)),
  };
}
