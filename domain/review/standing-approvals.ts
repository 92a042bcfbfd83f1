import type { PendingRequest } from '../../contracts/review.js';
import { standingOf } from '../decision/quorum.js';
import type { OpenedReviews } from './ports.js';

/** Who may approve the call of a row now. */
export type ApproversOf = (row: PendingRequest) => Promise<readonly string[]>;

/**
 * Rows as they are read, with approvals marked that do not count any more because who gave them may not approve now
 * (docs/architecture/reviews.md#quorum). A row stores who approved; who still may changes without it.
 */
export function withStandingApprovals<Reviews extends Pick<OpenedReviews, 'reads' | 'lists' | 'feed'>>(
  reviews: Reviews,
  approversOf: ApproversOf,
): Reviews {
  const { reads, lists, feed } = reviews;

  async function marked<Row extends PendingRequest>(row: Row): Promise<Row> {
    if (row.status !== 'pending' || !row.approvals?.length) return row;
    const now = await approversOf(row);
    const approvals = row.approvals.map((given) =>
      now.includes(given.by) ? given : { ...given, lapsed: true as const },
    );
    return { ...row, approvals };
  }
  const markedIfAny = async (row: PendingRequest | null) => row && marked(row);

  return {
    ...reviews,
    reads: {
      ...reads,
      get: async (id, tenant) => markedIfAny(await reads.get(id, tenant)),
      byCorrelation: async (id, tenant) => markedIfAny(await reads.byCorrelation(id, tenant)),
    },
    lists: {
      ...lists,
      async list(query) {
        const { rows, ...page } = await lists.list(query);
        return { ...page, rows: await Promise.all(rows.map(marked)) };
      },
      async summaries(query) {
        const { items, ...page } = await lists.summaries(query);
        const counted = items.map(async (item) => {
          // Of those that wait few have an approval, and only their rows say whose.
          if (item.status !== 'pending' || item.approvals_count === 0) return item;
          const row = await markedIfAny(await reads.get(item.id, item.tenant));
          return row ? { ...item, approvals_count: standingOf(row.approvals).length } : item;
        });
        return { ...page, items: await Promise.all(counted) };
      },
    },
    feed: {
      ...feed,
      changes() {
        const source = feed.changes();
        return {
          async next() {
            const { changes, gap } = await source.next();
            const shown = changes.map(async ({ row, ...change }) => ({ ...change, row: await marked(row) }));
            return { gap, changes: await Promise.all(shown) };
          },
        };
      },
    },
  };
}
