import { ActivityFailure, type ActivityOptions, patched, proxyActivities } from '@temporalio/workflow';
import type { CallbackActivities } from '../../activities/callback.js';
import type { StepActivities } from '../../activities/steps.js';
import { FINAL_FAILURES } from './messages.js';

// docs/architecture/reviews.md#callbacks: at least once, at most five times, the same bytes each time. Ledger row and poll remain
// authoritative.
const attempts: ActivityOptions = {
  startToCloseTimeout: '10s',
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 4,
    maximumInterval: '5m',
    maximumAttempts: 5,
    nonRetryableErrorTypes: [...FINAL_FAILURES],
  },
};
const { callback: tell } = proxyActivities<StepActivities>({
  ...attempts,
  summary: 'the decision or expiry goes to the address the caller gave',
});
/** The name of the same activity in older histories. */
const { deliver } = proxyActivities<CallbackActivities>(attempts);

// The row about a given-up callback is retried for long, because the ledger may be down.
const { giveUpCallback } = proxyActivities<CallbackActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  summary: 'every attempt failed: an alarm row says so',
});

/** Reports a decision or an expiry to the address that its caller gave. A separate workflow, so that no attempt delays the call. */
export async function callback(correlationId: string): Promise<'delivered' | 'given_up'> {
  try {
    await (patched('steps-under-their-own-names') ? tell(correlationId) : deliver(correlationId));
    return 'delivered';
  } catch (error) {
    if (patched('given-up-is-told')) await giveUpCallback(correlationId, reasonOf(error));
    return 'given_up';
  }
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
};
