import { proxyLocalActivities, TemporalFailure } from '@temporalio/workflow';
import type { StepActivities } from '../../activities/steps.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import { PipelineUnavailable } from '../../domain/call/pipeline.js';
import { unwrapped } from '../tool-call/steps.js';
import { lifeOf } from '../tool-call/workflow.js';

/**
 * Ten minutes in all. Whoever asked is told within seconds that the row is not stored; but a row that is stored needs its run, also where HIL or
 * the store of calls is away meanwhile.
 */
const { takeIn } = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '6s',
  retry: { initialInterval: '1s', backoffCoefficient: 1.1, maximumInterval: '30s', maximumAttempts: 48 },
  summary: 'the review is taken in from its row',
});

/**
 * A review that no call asked for (docs/architecture/reviews.md#a-review-without-a-call). It waits, is decided and ends like a parked call,
 * with the same messages; nothing was judged before and nothing runs afterwards.
 */
export const review = (
  call: CallInput,
  resumed: CallSummary | null = null,
  rowsAppended = false,
): Promise<CallSummary> =>
  lifeOf(call, resumed, rowsAppended, {
    judge: async (input) => {
      try {
        return await unwrapped(takeIn(input));
      } catch (error) {
        // Whatever stands under the id may be another's, and is not closed.
        if (error instanceof TemporalFailure) throw new PipelineUnavailable('hil', error.message);
        throw error;
      }
    },
    analyze: () => Promise.resolve(),
  });
