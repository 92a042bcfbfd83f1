import type { CallInput, CallSummary, ReachedRecord } from '../contracts/call.js';
import type { CarriedDecision } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { isReviewed } from '../domain/call/pipeline.js';
import { within } from '../domain/within.js';
import type { DecisionVerdict, ReviewActivities } from './review.js';

/** How long a step waits for the review store before that is left to a retrying activity. */
const SETTLE_LIMIT_MS = 500;

/** `row_owed`: the review is over, and its row could not be made to say so. Absent while it is not over, and from an earlier Gate. */
export type Opened = CallSummary & { readonly row_owed?: boolean };

/**
 * How a row stands once it was tried to settle it at once. `differs`: it is gone or was closed as something else, and nothing is left to do; `owed`: the
 * store did not answer in time, and the row is left to a retrying activity.
 */
export type RowStanding = 'agrees' | 'differs' | 'owed';

/** What is done at once with the row of a review that has ended. */
export interface ReviewRow {
  /** Brings the row to what the record says. Never throws. */
  settled(correlationId: string, reached?: ReachedRecord): Promise<RowStanding>;
  /**
   * Opens the review of a call. What policy put into the tier `auto` is approved at once, with its row; if HIL cannot do that now, the call
   * waits for a person. A review that is found to be over has its row settled: whoever ended it may have died before.
   */
  opened(
    call: CallInput,
    atMs: number,
    verdict: ReachedRecord | undefined,
    report: SandboxReport | null,
  ): Promise<Opened>;
  /**
   * Asks the rule about a call of the tier `auto` that was found parked. Looks at the record first: who parked it, or asked before, may have died
   * at any point. Parked where a person must decide, where HIL cannot say it now, and where the time is over. Safe to repeat: the first
   * decision stands.
   */
  askedAgain(call: CallInput, atMs: number): Promise<Opened>;
  /** Applies a decision and settles its row, so that its sender has nothing left to write. */
  decided(decision: CarriedDecision): Promise<DecisionVerdict>;
}

export function reviewRow(
  parts: Pick<ReviewActivities, 'openReview' | 'decideByRule' | 'applyDecision' | 'settleReviewRow'>,
  waitMs = SETTLE_LIMIT_MS,
): ReviewRow {
  const settled = async (correlationId: string, reached?: ReachedRecord): Promise<RowStanding> => {
    try {
      const settling = parts.settleReviewRow(correlationId, reached);
      return (await within(waitMs, settling, () => new Error('not in time'))) ? 'agrees' : 'differs';
    } catch {
      return 'owed';
    }
  };
  const decided: ReviewRow['decided'] = async (decision) => {
    const verdict = await parts.applyDecision(decision);
    if (!verdict.applied || verdict.settled === null) return verdict;
    return { ...verdict, row_settled: (await settled(decision.correlation_id, verdict.summary)) === 'agrees' };
  };
  const ended = async (reached: CallSummary): Promise<Opened> =>
    isReviewed(reached)
      ? { ...reached, row_owed: (await settled(reached.correlation_id, reached)) === 'owed' }
      : reached;
  const ruled = async (parked: CallSummary): Promise<Opened> => {
    if (parked.state !== 'parked' || parked.approval_tier !== 'auto' || parked.pending_id === null) return parked;
    try {
      const decision = await parts.decideByRule(parked.pending_id);
      const verdict = decision && (await decided(decision));
      if (!verdict?.summary) return parked;
      const rowSettled = verdict.applied && verdict.settled !== null && verdict.row_settled === true;
      return rowSettled ? { ...verdict.summary, row_owed: false } : await ended(verdict.summary);
    } catch {
      return parked;
    }
  };
  const opened: ReviewRow['opened'] = async (call, atMs, verdict, report) => {
    const reached = await parts.openReview(call, atMs, verdict, report);
    return reached.state === 'parked' ? ruled(reached) : ended(reached);
  };
  return {
    settled,
    decided,
    opened,
    askedAgain: (call, atMs) => opened(call, atMs, undefined, null),
  };
}
