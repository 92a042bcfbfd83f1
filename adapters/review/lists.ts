import type { ListedReview } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import type { ListReviews, ReviewLists } from '../../domain/review/ports.js';
import { FORSAKEN_AFTER_MS, NO_CONTENT, view } from '../../domain/review/review-view.js';
import { LISTED_COLUMNS } from '../../domain/review/sealed-review.js';
import { statement } from '../store/statement.js';
import { asked } from './faults.js';
import type { ReviewRows } from './rows.js';
import { reviewStats } from './stats.js';
import { reviewSummaries } from './summaries.js';

/** The index `reviews_undecided` answers this alone. Its condition is repeated here word for word, or SQLite would not use it. */
const selectBacklog = statement<{ count: number | string; oldest: number | string | null }>(
  `select count(*) as "count", min(created_ms) as oldest from reviews
     where deadline_ms > ? and status = 'pending' and withdrawn_at is null`,
);

/** Many rows, without their requests. */
export function reviewLists(rows: ReviewRows): ReviewLists {
  const { ask, clock, keys, check, views } = rows;
  return {
    async list(query) {
      const { limit = 200 } = query;
      const now = clock();
      const found = await page(rows, query, limit + 1, now);
      const shown = await Promise.all(found.slice(0, limit).map(check.checkedForList));
      return {
        rows: shown.map((row): ListedReview => {
          const content = { ...NO_CONTENT, report: views.reportOf(row) };
          return { ...view(row, content, now, 'summary'), payload_summary: true };
        }),
        next_before: shown.length < found.length ? (shown.at(-1)?.id ?? null) : null,
      };
    },
    summaries: reviewSummaries({ ask, keys, clock, heads: check.headsOf }),
    stats: reviewStats({ ask, clock }),
    async backlog() {
      const { rows: counted } = await ask(selectBacklog, clock() - FORSAKEN_AFTER_MS);
      const { count = 0, oldest = null } = counted[0] ?? {};
      return { pending: Number(count), oldest_created_ms: oldest === null ? null : Number(oldest) };
    },
  };
}

/** The rows of one page, as they are stored. */
async function page(
  { store: { db }, stored }: ReviewRows,
  { tenant, status = 'pending', before, agent_id, sort = 'newest' }: ListReviews,
  most: number,
  now: number,
) {
  const [behind, direction] = sort === 'newest' ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
  const forsaken = now - FORSAKEN_AFTER_MS;
  const tenants = typeof tenant === 'string' ? [tenant] : tenant;
  const statuses = typeof status === 'string' ? [status] : status;
  let query = db
    .selectFrom('reviews')
    .leftJoin('review_keys', 'review_id', 'id')
    .select([...LISTED_COLUMNS, 'wrapped as data_key'])
    .where('tenant', 'in', [...tenants])
    .where('withdrawn_at', 'is', null)
    .where((where) =>
      where.or(
        statuses.flatMap((one) => {
          if (one === 'pending')
            return [where.and([where('status', 'in', [one, 'tampered']), where('deadline_ms', '>', forsaken)])];
          const written = where('status', '=', one);
          return one === 'expired'
            ? [written, where.and([where('status', '=', 'pending'), where('deadline_ms', '<=', forsaken)])]
            : [written];
        }),
      ),
    );
  if (agent_id !== undefined) query = query.where('agent_id', '=', agent_id);
  if (before !== undefined) {
    // A withdrawn row still has its place in the order.
    const cursor = await stored('id', before.toLowerCase());
    if (!cursor || !tenants.includes(cursor.tenant))
      throw new GateError('invalid_request', 'before: names no row of this list');
    query = query.where((where) =>
      where.or([
        where('created_ms', behind, cursor.created_ms),
        where.and([where('created_ms', '=', cursor.created_ms), where('id', behind, cursor.id)]),
      ]),
    );
  }
  return asked(() => query.orderBy('created_ms', direction).orderBy('id', direction).limit(most).execute());
}
