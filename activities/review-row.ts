import type { ReachedRecord } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import { within } from '../domain/within.js';
import type { DecisionVerdict, ReviewActivities } from './review.js';

/** How long a step waits for the review store before that is left to a retrying activity. */
const SETTLE_LIMIT_MS = 500;

/** What is done at once with the row of a review that has ended. */
export interface ReviewRow {
  /** The row as it is then; `null` when the store did not answer in time. Never throws. */
  settled(correlationId: string, reached?: ReachedRecord): Promise<boolean | null>;
  /** Applies a decision and settles its row, so that its sender has nothing left to write. */
  decided(decision: SignedDecision): Promise<DecisionVerdict>;
}

export function reviewRow(
  parts: Pick<ReviewActivities, 'applyDecision' | 'settleReviewRow'>,
  waitMs = SETTLE_LIMIT_MS,
): ReviewRow {
  const settled = async (correlationId: string, reached?: ReachedRecord): Promise<boolean | null> => {
    try {
      return await within(waitMs, parts.settleReviewRow(correlationId, reached), () => new Error('not in time'));
    } catch {
      return null;
    }
  };
  return {
    settled,
    async decided(decision) {
      const verdict = await parts.applyDecision(decision);
      if (!verdict.applied || verdict.settled === null) return verdict;
      return { ...verdict, row_settled: (await settled(decision.correlation_id, verdict.summary)) === true };
    },
  };
}
