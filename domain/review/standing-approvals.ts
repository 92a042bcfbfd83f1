import type { PendingRequest, ShownApproval } from '../../contracts/review.js';
import type { OpenedReviews } from './ports.js';

/** What of a row says whether its approvals count. */
type Approvable = Pick<PendingRequest, 'tenant' | 'agent_id' | 'created_at' | 'status' | 'approvals'>;

/** Who may approve the calls of a tenant now: asked for once, it answers for each of its rows. */
export type ApproversOf = (tenant: string) => Promise<(row: Approvable) => readonly string[]>;

export interface StandingApprovalsOptions {
  readonly approversOf: ApproversOf;
  /** Told why it could not be looked up who may approve. */
  readonly failed: (error: unknown) => void;
}

const waitsWithApprovals = ({ status, approvals = [] }: Approvable): boolean =>
  status === 'pending' && approvals.length > 0;

/**
 * Rows as they are read, with approvals marked that do not count any more because who gave them may not approve now
 * (docs/architecture/reviews.md#quorum). A row stores who approved; who still may changes without it. Where that cannot be looked up, the approvals
 * are shown as they are stored, each with a mark: no list is lost by it.
 */
export function createStandingApprovals({ approversOf, failed }: StandingApprovalsOptions) {
  /** `null` where it cannot be looked up. */
  const lookedUp = async (tenant: string) => {
    try {
      return await approversOf(tenant);
    } catch (error) {
      failed(error);
      return null;
    }
  };

  /** The rows in their order, and whether all of them could be looked at. */
  async function look<Row extends Approvable>(rows: readonly Row[]): Promise<{ rows: Row[]; whole: boolean }> {
    const tenants = [...new Set(rows.filter(waitsWithApprovals).map(({ tenant }) => tenant))];
    const found = await Promise.all(tenants.map(async (tenant) => [tenant, await lookedUp(tenant)] as const));
    const known = new Map(found);
    const marked = rows.map((row): Row => {
      if (!waitsWithApprovals(row)) return row;
      const now = known.get(row.tenant)?.(row);
      const approvals = row.approvals?.map((given): ShownApproval => {
        if (!now) return { ...given, unchecked: true };
        return now.includes(given.by) ? given : { ...given, lapsed: true };
      });
      return { ...row, approvals };
    });
    return { rows: marked, whole: [...known.values()].every((one) => one !== null) };
  }
  async function marked<Row extends Approvable>(row: Row): Promise<Row> {
    const { rows } = await look([row]);
    return rows[0] ?? row;
  }
  const markedIfAny = async (row: PendingRequest | null) => row && marked(row);

  return {
    /** The row as it is shown. */
    marked,

    /** The same rows, each as it is shown. */
    over<Reviews extends Pick<OpenedReviews, 'reads' | 'lists' | 'feed'>>(reviews: Reviews): Reviews {
      const { reads, lists, feed } = reviews;
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
            const page = await lists.list(query);
            return { ...page, rows: (await look(page.rows)).rows };
          },
          summaries: (query) => lists.summaries(query, async (rows) => (await look(rows)).rows),
        },
        feed: {
          ...feed,
          changes() {
            const source = feed.changes();
            return {
              async next() {
                const { changes, gap } = await source.next();
                const { rows, whole } = await look(changes.map(({ row }) => row));
                const shown = changes.map((change, at) => ({ ...change, row: rows[at] ?? change.row }));
                // An event has a number and no mark: whoever follows lists anew, and the list looks again.
                return { gap: gap || !whole, changes: shown };
              },
            };
          },
        },
      };
    },
  };
}
