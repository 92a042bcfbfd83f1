import type { EventKind } from '../../contracts/event-kinds.js';
import type { ReviewStatus, SettledReview, SignedDecision } from '../../contracts/review.js';

/** What can happen to a review. `withdraw` undoes a create whose call was answered 503: no row, no trace for operators. */
export type ReviewEvent = 'create' | 'approve' | 'deny' | 'expire' | 'withdraw';

export interface ReviewMove {
  readonly from: ReviewStatus | null;
  readonly event: ReviewEvent;
  readonly to: ReviewStatus | null;
  /** The row the call's workflow appends for this move; `null`: the move leaves no row. */
  readonly ledger: EventKind | null;
}

/**
 * Every move of a review (docs/architecture/reviews.md#states); `null` is "no row". What is not listed is impossible. Store, workflow,
 * lite and the console's buttons read this one table. Pure: a workflow may import it.
 */
export const REVIEW_MOVES = [
  { from: null, event: 'create', to: 'pending', ledger: 'hil.created' },
  { from: 'pending', event: 'approve', to: 'approved', ledger: 'hil.approved' },
  { from: 'pending', event: 'deny', to: 'denied', ledger: 'hil.denied' },
  { from: 'pending', event: 'expire', to: 'expired', ledger: 'hil.expired' },
  { from: 'pending', event: 'withdraw', to: null, ledger: null },
] as const satisfies readonly ReviewMove[];

export type SettledStatus = SettledReview['status'];

/** The move that `event` makes from `from`, or `null` where there is none. */
export function findReviewMove(from: ReviewStatus | null, event: ReviewEvent): ReviewMove | null {
  return REVIEW_MOVES.find((move) => move.from === from && move.event === event) ?? null;
}

/** The status a decision or the deadline leads to. */
export const SETTLES_AS = { approve: 'approved', deny: 'denied', expire: 'expired' } as const satisfies Record<
  'approve' | 'deny' | 'expire',
  SettledStatus
>;

/** The ledger row that goes with a settled status. */
export const LEDGER_EVENT_OF = {
  approved: 'hil.approved',
  denied: 'hil.denied',
  expired: 'hil.expired',
} as const satisfies Record<SettledStatus, EventKind>;

/**
 * Whether this decision is the one that settled the review, met again: the same decider's same decision under the same request id, also
 * where it was signed anew because its sender was not told what came of it. A settlement of an earlier Gate names no request; the moment
 * it was decided at then tells.
 */
export const isDecidedBy = (
  settled: {
    readonly status: ReviewStatus;
    readonly decided_at: string | null;
    readonly decided_by: string | null;
    readonly request_id?: string | null | undefined;
  },
  sent: Pick<SignedDecision, 'decision' | 'request_id'> & {
    readonly decided_at?: string;
    readonly principal: Pick<SignedDecision['principal'], 'subject'>;
  },
): boolean =>
  settled.status === SETTLES_AS[sent.decision] &&
  settled.decided_by === sent.principal.subject &&
  (settled.request_id == null ? settled.decided_at === sent.decided_at : settled.request_id === sent.request_id);

/** Nothing leads out of a settled status; the first decision stands. A tampered row is not settled. */
export const isSettled = (status: ReviewStatus): status is SettledStatus =>
  status !== 'tampered' && !REVIEW_MOVES.some((move) => move.from === status);

/** Who closed a row that nobody decided, and through what (docs/architecture/reviews.md#deadline). */
export const TTL_SWEEP = 'system:ttl-sweep';
/** Who closed a row whose call's record is not what Gate wrote. Its deadline has nothing to do with that. */
export const TAMPER_CHECK = 'system:tamper-check';

/** Why a decision is not taken (docs/architecture/reviews.md#decisions). */
export const DECISION_REFUSALS = [
  'already_decided',
  'pending_expired',
  'not_pending',
  'decision_refused',
  'call_tampered',
] as const;
export type DecisionRefusal = (typeof DECISION_REFUSALS)[number];

/** Seconds a review stays open by tier when its creator names none. */
export const DEFAULT_TTL_SECONDS = { auto: 120, standard: 600, strict: 1800 } as const;

/** When a review closes, in epoch milliseconds. Row and workflow both compute it from the same two fields, so they agree. */
export const deadlineOf = (review: { readonly created_at: string; readonly ttl_seconds: number }): number =>
  Date.parse(review.created_at) + review.ttl_seconds * 1000;

/** A review is over from its deadline on: in that very millisecond nobody decides it any more, in the row, the workflow or the answers. */
export const isOver = (deadlineMs: number | null | undefined, nowMs: number): boolean =>
  typeof deadlineMs === 'number' && nowMs >= deadlineMs;

/**
 * Why a decision arriving at `nowMs` is too late: the row is settled, or its deadline (inclusive) has passed. `null`: it is in time.
 * The caller brings the clock: a workflow its own, HIL the server's.
 */
export function whyNotDecidable(
  review: {
    readonly status: ReviewStatus;
    readonly created_at: string;
    readonly ttl_seconds: number;
    readonly decided_by?: string | null;
  },
  nowMs: number,
): Exclude<DecisionRefusal, 'decision_refused'> | null {
  if (review.status === 'tampered') return 'not_pending';
  if (review.status === 'expired') return review.decided_by === TAMPER_CHECK ? 'call_tampered' : 'pending_expired';
  if (isSettled(review.status)) return 'already_decided';
  return isOver(deadlineOf(review), nowMs) ? 'pending_expired' : null;
}
