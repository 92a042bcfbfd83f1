import type { CallInput, CallSummary, ReachedRecord } from '../contracts/call.js';
import type { CarriedDecision } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { within } from '../domain/within.js';
import type { DecisionVerdict, ReviewActivities } from './review.js';

/** How long a step waits for the review store before that is left to a retrying activity. */
const SETTLE_LIMIT_MS = 500;

/** What is done at once with the row of a review that has ended. */
export interface ReviewRow {
  /** The row as it is then; `null` when the store did not answer in time. Never throws. */
  settled(correlationId: string, reached?: ReachedRecord): Promise<boolean | null>;
  /**
   * Opens the review of a call. What policy put into the tier `auto` is approved at once, with its row; if HIL cannot do that now, the call
   * waits for a person.
   */
  opened(
    call: CallInput,
    atMs: number,
    verdict: ReachedRecord | undefined,
    report: SandboxReport | null,
  ): Promise<CallSummary>;
  /** Applies a decision and settles its row, so that its sender has nothing left to write. */
  decided(decision: CarriedDecision): Promise<DecisionVerdict>;
}

export function reviewRow(
  parts: Pick<ReviewActivities, 'openReview' | 'decideByRule' | 'applyDecision' | 'settleReviewRow'>,
  waitMs = SETTLE_LIMIT_MS,
): ReviewRow {
  const settled = async (correlationId: string, reached?: ReachedRecord): Promise<boolean | null> => {
    try {
      return await within(waitMs, parts.settleReviewRow(correlationId, reached), () => new Error('not in time'));
    } catch {
      return null;
    }
  };
  const decided: ReviewRow['decided'] = async (decision) => {
    const verdict = await parts.applyDecision(decision);
    if (!verdict.applied || verdict.settled === null) return verdict;
    return { ...verdict, row_settled: (await settled(decision.correlation_id, verdict.summary)) === true };
  };
  return {
    settled,
    decided,
    async opened(call, atMs, verdict, report) {
      const parked = await parts.openReview(call, atMs, verdict, report);
      if (parked.state !== 'parked' || parked.approval_tier !== 'auto' || parked.pending_id === null) return parked;
      try {
        const decision = await parts.decideByRule(parked.pending_id);
        return (decision && (await decided(decision)).summary) ?? parked;
      } catch {
        return parked;
      }
    },
  };
}
