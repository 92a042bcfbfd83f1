import type { ReviewStatus } from '../../contracts/review.js';
import { FORSAKEN_AFTER_MS } from '../../domain/review/review-view.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import { CLOSED_BY_GATE, WITHDRAWN_BY_AGENT } from '../../domain/decision/transitions.js';

/** Rows that are stored with this status, of which this condition in SQL also holds. */
export interface StoredRange {
  readonly status: ReviewStatus;
  readonly and: string | null;
  /** Only rows that still wait, or only those whose call is long gone; either where it is absent. */
  readonly waits?: boolean;
}

const BY_GATE = `decided_by in (${CLOSED_BY_GATE.map((by) => `'${by}'`).join(', ')})`;
/** Of the index `reviews_closed_by_gate`, whose condition SQLite wants to read here word for word. */
const EARLIER_ABORTED = `status = 'expired' and ${BY_GATE}`;
const BY_AGENT = `decided_by = '${WITHDRAWN_BY_AGENT}'`;
/** Of the index `reviews_withdrawn_by_agent`. */
const WITHDRAWN = `status = 'denied' and ${BY_AGENT}`;

/**
 * Where the rows of a shown status are among the stored ones. A row that nobody closed is shown as expired a day after its deadline; an earlier
 * Gate stored `expired` for a call that it closed itself (docs/architecture/reviews.md#deadline). What its agent took back is stored as a denial.
 */
export const STORED_AS = {
  pending: [
    { status: 'pending', and: null, waits: true },
    { status: 'tampered', and: null, waits: true },
  ],
  tampered: [{ status: 'tampered', and: null }],
  approved: [{ status: 'approved', and: null }],
  denied: [{ status: 'denied', and: `(decided_by is null or not ${BY_AGENT})` }],
  expired: [
    { status: 'expired', and: `(decided_by is null or not ${BY_GATE})` },
    { status: 'pending', and: null, waits: false },
  ],
  aborted: [
    { status: 'aborted', and: null },
    { status: 'expired', and: EARLIER_ABORTED },
  ],
  withdrawn: [{ status: 'denied', and: WITHDRAWN }],
} as const satisfies Record<ReviewStatus, readonly StoredRange[]>;

/** Of deadlines up to this one the calls are long gone. */
export const forsakenAt = (now: number): number => now - FORSAKEN_AFTER_MS;

/** Whether a row that stands in the ranges of a shown status is shown with it now, by whether it still waits. */
export const isShownAs = (
  status: ReviewStatus,
  row: Pick<StoredReview, 'status' | 'deadline_ms'>,
  now: number,
): boolean =>
  STORED_AS[status].some(
    ({ status: stored, waits }: StoredRange) =>
      stored === row.status && (waits === undefined || waits === Number(row.deadline_ms) > forsakenAt(now)),
  );
