import { sql } from 'kysely';
import { GateError } from '../../domain/errors.js';
import type { ListReviews, ReviewLists } from '../../domain/review/ports.js';
import { LISTED_COLUMNS } from '../../domain/review/sealed-review.js';
import { asked } from './faults.js';
import type { ReviewRows } from './rows.js';
import { reviewStats } from './stats.js';
import { forsakenAt, STORED_AS, type StoredRange } from './stored-statuses.js';
import { reviewSummaries } from './summaries.js';
import { waitingAnywhere } from './waiting.js';

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
        rows: shown.map((row) => views.listed(row, now)),
        next_before: shown.length < found.length ? (shown.at(-1)?.id ?? null) : null,
      };
    },
    summaries: reviewSummaries({ ask, keys, clock, check, reportOf: views.reportOf }),
    stats: reviewStats({ ask, clock }),
    async backlog() {
      const { count, oldestMs } = await waitingAnywhere(ask, clock());
      return { pending: count, oldest_created_ms: oldestMs };
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
  const forsaken = forsakenAt(now);
  const tenants = typeof tenant === 'string' ? [tenant] : [...new Set(tenant)];
  const statuses = typeof status === 'string' ? [status] : status;
  // A withdrawn row still has its place in the order.
  const cursor = before === undefined ? null : await stored('id', before.toLowerCase());
  if (cursor === undefined || (cursor && !tenants.includes(cursor.tenant)))
    throw new GateError('invalid_request', 'before: names no row of this list');

  /** One range of an index, read in order and no further than the page. */
  const range = (of: string, { status: written, and, waits }: StoredRange) => {
    let rows = db
      .selectFrom('reviews')
      .select(['id', 'created_ms'])
      .where('tenant', '=', of)
      .where('status', '=', written)
      .where('withdrawn_at', 'is', null);
    if (waits !== undefined) rows = rows.where('deadline_ms', waits ? '>' : '<=', forsaken);
    if (and !== null) rows = rows.where(sql<boolean>`${sql.raw(and)}`);
    if (agent_id !== undefined) rows = rows.where('agent_id', '=', agent_id);
    if (cursor)
      rows = rows.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_ms', 'id'), behind, tuple(cursor.created_ms, cursor.id)),
      );
    const ordered = rows.orderBy('created_ms', direction).orderBy('id', direction).limit(most);
    return db.selectFrom(ordered.as('range')).select('id');
  };
  const ranges = tenants.flatMap((of) => statuses.flatMap((one) => STORED_AS[one].map((each) => range(of, each))));
  const [first, ...others] = ranges;
  if (!first) return [];
  const ids = others.reduce((all, next) => all.unionAll(next), first);
  return asked(() =>
    db
      .selectFrom('reviews')
      .leftJoin('review_keys', 'review_id', 'id')
      .select([...LISTED_COLUMNS, 'wrapped as data_key'])
      .where('id', 'in', ids)
      .orderBy('created_ms', direction)
      .orderBy('id', direction)
      .limit(most)
      .execute(),
  );
}
