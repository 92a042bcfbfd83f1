import { proxyActivities } from '@temporalio/workflow';
import type { ReviewActivities } from '../../activities/review.js';

// Whoever decides waits for this. What fails here is found by reconciliation.
const { settleReviewRow } = proxyActivities<ReviewActivities>({
  startToCloseTimeout: '2s',
  retry: { initialInterval: '100ms', maximumAttempts: 2 },
  summary: 'the review row as the record says',
});

/**
 * Brings the review row of a call that is over to what the call's record says, for HIL, which cannot read the record. Returns whether they agree
 * now.
 */
export async function settleRow(correlationId: string): Promise<boolean> {
  return settleReviewRow(correlationId);
}
