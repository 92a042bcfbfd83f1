import { proxyActivities } from '@temporalio/workflow';
import type { CallbackActivities } from '../../activities/deliver.js';

// At least once, at most five times, the same bytes each time (review sheet 12); the row and the poll stay the truth.
const { deliver } = proxyActivities<CallbackActivities>({
  startToCloseTimeout: '10s',
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 4,
    maximumInterval: '5m',
    maximumAttempts: 5,
    nonRetryableErrorTypes: ['callback_not_allowed'],
  },
});

/** Reports a decision or an expiry to the address its caller gave. A workflow of its own, so that no attempt delays the call. */
export async function callback(correlationId: string): Promise<'delivered' | 'given_up'> {
  try {
    await deliver(correlationId);
    return 'delivered';
  } catch {
    return 'given_up';
  }
}
