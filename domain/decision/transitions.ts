import type { EventKind } from '../../contracts/event-kinds.js';
import type { ModificationDiff, ReviewStatus, SettledReview, SignedDecision } from '../../contracts/review.js';

interface ReviewMove {
  readonly from: ReviewStatus | null;
  /** What happens to the review. `withdraw` undoes a create whose call was answered 503; it leaves no row and no trace for operators. */
  readonly event: string;
  readonly to: ReviewStatus | null;
  /** The row that the call's workflow appends for this transition; `null` for none. */
  readonly ledger: EventKind | null;
}

/**
 * Every transition of a review (docs/architecture/reviews.md#states); `null` means "no row". Anything not listed is impossible: the store
 * asks before it changes a row. Pure, so a workflow may import it.
 */
export const REVIEW_MOVES = [
  { from: null, event: 'create', to: 'pending', ledger: 'hil.created' },
  { from: 'pending', event: 'vote', to: 'pending', ledger: 'hil.vote' },
  { from: 'pending', event: 'escalate', to: 'pending', ledger: 'hil.escalated' },
  { from: 'pending', event: 'approve', to: 'approved', ledger: 'hil.approved' },
  { from: 'pending', event: 'deny', to: 'denied', ledger: 'hil.denied' },
  { from: 'pending', event: 'expire', to: 'expired', ledger: 'hil.expired' },
  { from: 'pending', event: 'abort', to: 'aborted', ledger: 'call.aborted' },
  { from: 'pending', event: 'withdraw', to: null, ledger: null },
] as const satisfies readonly ReviewMove[];

export type SettledStatus = SettledReview['status'];

/** Whether any event leads from one status to the other. */
export const mayMove = (from: ReviewStatus | null, to: ReviewStatus | null): boolean =>
  REVIEW_MOVES.some((move) => move.from === from && move.to === to);

type Move = (typeof REVIEW_MOVES)[number];
/** The move of an event; each has one. */
const moveOf = <Event extends Move['event']>(event: Event): Extract<Move, { event: Event }> =>
  REVIEW_MOVES.find((move) => move.event === event) as Extract<Move, { event: Event }>;
const [APPROVE, DENY, EXPIRE] = [moveOf('approve'), moveOf('deny'), moveOf('expire')];

/** The status after a decision or the deadline. */
export const SETTLES_AS = { approve: APPROVE.to, deny: DENY.to, expire: EXPIRE.to } as const;

/** The ledger row for a status that people, rules or the deadline settled. A call that Gate closed has the row of its own end. */
export const LEDGER_EVENT_OF: Readonly<Record<Exclude<SettledStatus, 'aborted'>, EventKind>> = {
  [APPROVE.to]: APPROVE.ledger,
  [DENY.to]: DENY.ledger,
  [EXPIRE.to]: EXPIRE.ledger,
};

/**
 * Whether this decision is a repeat of the one that settled the review: the same decision by the same decider under the same request id,
 * even if it was signed again because its sender got no answer. A settlement of an earlier Gate has no request id; there the time of the
 * decision is compared.
 */
export const isDecidedBy = (
  settled: {
    readonly status: ReviewStatus;
    readonly decided_at: string | null;
    readonly decided_by: string | null;
    readonly request_id?: string | null | undefined;
    readonly modification?: ToldChange | null | undefined;
  },
  sent: Pick<SignedDecision, 'decision' | 'request_id'> & {
    readonly modification?: ToldChange | undefined;
    readonly decided_at?: string;
    readonly principal: Pick<SignedDecision['principal'], 'subject'>;
  },
): boolean =>
  // A changed call may have been refused when it was judged.
  (sent.decision === 'modify'
    ? isSettled(settled.status)
    : statusTold(settled) === statusTold({ status: SETTLES_AS[sent.decision], decided_by: sent.principal.subject })) &&
  isSameChange(settled.modification ?? undefined, sent.modification) &&
  settled.decided_by === sent.principal.subject &&
  (settled.request_id == null ? settled.decided_at === sent.decided_at : settled.request_id === sent.request_id);

/** A change of a call: what it replaces, or where that is not told the digest of what it makes of the call. */
interface ToldChange {
  readonly diff?: ModificationDiff | undefined;
  readonly reviewed_digest?: string | undefined;
}

function isSameChange(one: ToldChange | undefined, other: ToldChange | undefined): boolean {
  if (!one || !other) return one === other;
  // Both are in the order of the contract, which is also that of canonical JSON.
  if (one.diff && other.diff) return JSON.stringify(one.diff) === JSON.stringify(other.diff);
  return one.reviewed_digest !== undefined && one.reviewed_digest === other.reviewed_digest;
}

/** A settled status is final; the first decision stands. A tampered row is not settled. */
export const isSettled = (status: ReviewStatus): status is SettledStatus | 'withdrawn' =>
  status !== 'tampered' && !REVIEW_MOVES.some((move) => move.from === status);

/** Recorded as the decider of a row that nobody decided (docs/architecture/reviews.md#deadline). */
export const TTL_SWEEP = 'system:ttl-sweep';
/** Recorded as the decider of a row whose call reconciliation closed. */
export const RECONCILIATION = 'system:reconciliation';
/** Recorded as the decider of a row that policy lets the machine decide (docs/architecture/reviews.md#tiers). */
export const POLICY_TIER = 'system:policy-tier';
/** Recorded as the decider of a row whose tenant left (docs/architecture/reviews.md#tenants). */
export const TENANT_OFFBOARD = 'system:tenant-offboard';
/** Recorded as the decider of a demonstration's row when that is cleaned up. */
export const DEMO_CLEANUP = 'system:demo-cleanup';
/** Recorded as the decider of a row whose agent withdrew its call while it waited (docs/architecture/mcp-sessions.md#tasks). */
export const WITHDRAWN_BY_AGENT = 'system:withdrawn-by-agent';
/** Recorded as the decider of a row whose call's record is not what Gate wrote. This is independent of its deadline. */
export const TAMPER_CHECK = 'system:tamper-check';

/** Who Gate names as the decider where it closed the call itself, before the deadline or not. */
export const CLOSED_BY_GATE = [RECONCILIATION, TAMPER_CHECK] as const;

interface Ended<Status> {
  readonly status: Status;
  readonly decided_by?: string | null;
}

/** The status that is stored of a settlement. To a worker of an earlier Gate, a call that Gate closed had `expired`. */
export const statusStored = <Status extends string>({ status, decided_by: by }: Ended<Status>): Status | 'aborted' =>
  status === 'expired' && CLOSED_BY_GATE.some((closer) => closer === by) ? 'aborted' : status;

/**
 * The word for how a review ended, wherever it is told: rows, lists, messages, polls, callbacks. An agent takes its call back by a signed denial
 * in Gate's name, which is stored as one; nobody denied it.
 */
export const statusTold = <Status extends string>(ended: Ended<Status>): Status | 'aborted' | 'withdrawn' =>
  ended.status === 'denied' && ended.decided_by === WITHDRAWN_BY_AGENT ? 'withdrawn' : statusStored(ended);

/** Why a decision is refused (docs/architecture/reviews.md#decisions). */
export const DECISION_REFUSALS = [
  'already_decided',
  'pending_expired',
  'pending_aborted',
  'not_pending',
  'decision_refused',
  'clocks_apart',
  'call_tampered',
  'modification_unjudged',
  'unsupported_decision',
] as const;
export type DecisionRefusal = (typeof DECISION_REFUSALS)[number];

/** How many seconds a review stays open, by tier, if its creator does not say. */
export const DEFAULT_TTL_SECONDS = { auto: 120, standard: 600, strict: 1800 } as const;

/** When a review closes, in epoch milliseconds. Row and workflow both compute it from the same two fields, so they agree. */
export const deadlineOf = (review: { readonly created_at: string; readonly ttl_seconds: number }): number =>
  Date.parse(review.created_at) + review.ttl_seconds * 1000;

/**
 * When a review that nobody has decided is escalated: at each of these shares of its time, and twice at no time. Whole seconds of a row and a
 * share of two digits make whole milliseconds.
 */
export const escalationsOf = (
  review: { readonly created_at: string; readonly ttl_seconds: number },
  shares: readonly number[],
): readonly number[] => {
  const createdMs = Date.parse(review.created_at);
  return [...new Set(shares.map((share) => createdMs + Math.max(1, Math.round(review.ttl_seconds * 1000 * share))))];
};

/** When nobody had decided a row and people were told again, in order. */
export const escalationTimes = ({
  escalated_at: first,
  escalated_again_at: again = [],
}: {
  readonly escalated_at?: string | null | undefined;
  readonly escalated_again_at?: readonly string[] | undefined;
}): readonly string[] => (first == null ? [] : [first, ...again]);

/** A review is over from its deadline on, including that millisecond; row, workflow and answers agree on that. */
export const isOver = (deadlineMs: number | null | undefined, nowMs: number): boolean =>
  typeof deadlineMs === 'number' && nowMs >= deadlineMs;

/** Why a decision about a review that ended so is refused. */
export const LATE = {
  approved: 'already_decided',
  denied: 'already_decided',
  withdrawn: 'already_decided',
  expired: 'pending_expired',
  aborted: 'pending_aborted',
} as const satisfies Record<SettledStatus | 'withdrawn', DecisionRefusal>;

/** Why a row takes no decision any more, whatever the time; `null` while it is pending. */
export function whySettled(review: {
  readonly status: ReviewStatus;
  readonly decided_by?: string | null;
}): Exclude<DecisionRefusal, 'decision_refused'> | null {
  if (review.status === 'tampered') return 'not_pending';
  if (review.status === 'aborted' && review.decided_by === TAMPER_CHECK) return 'call_tampered';
  return isSettled(review.status) ? LATE[review.status] : null;
}

/**
 * Why a decision arriving at `nowMs` is too late: the row is settled, or its deadline (inclusive) has passed. `null` when it is in time.
 * The caller supplies the clock. HIL's own ends no wait: of a call's row it asks `whySettled` (docs/architecture/reviews.md#deadline).
 */
export const whyNotDecidable = (
  review: Parameters<typeof whySettled>[0] & { readonly created_at: string; readonly ttl_seconds: number },
  nowMs: number,
): ReturnType<typeof whySettled> =>
  whySettled(review) ?? (isOver(deadlineOf(review), nowMs) ? 'pending_expired' : null);
