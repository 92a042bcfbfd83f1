import type { CallInput, CallSummary, ReachedRecord } from '../contracts/call.js';
import {
  evaluateCall,
  inspectCall,
  judgeCall,
  type Inspected,
  type JudgeSteps,
  type Looked,
} from '../domain/pipeline/pipeline.js';
import type { CallbackActivities } from './deliver.js';
import type { LedgerActivities } from './ledger.js';
import type { ReviewActivities } from './review.js';
import type { UpstreamActivities } from './upstream.js';

/**
 * How long a step goes on: `at_once` tries for a moment and says whether it was done; `until_taken` throws where it was not, and the engine
 * tries again.
 */
export type Insistence = 'at_once' | 'until_taken';

type StepParts = Omit<JudgeSteps, 'now'> &
  LedgerActivities &
  Pick<ReviewActivities, 'openReview' | 'expireReview' | 'settleReviewRow'> &
  Pick<UpstreamActivities, 'callUpstream'> &
  Pick<CallbackActivities, 'deliver'>;

/** How long a step waits for the review store after a decision before that is left to a retrying activity. */
const SETTLE_LIMIT_MS = 500;

/**
 * The steps of a call under the names they have in its history (docs/how-to/read-a-history.md). What a step is told of the record that
 * the one before reached spares it a look where both run in one process; without it, it looks. Each is made of activities that are safe
 * to meet twice, in the same order, and so is safe to meet twice itself. A worker lost in the middle leaves what the last of them made
 * durable.
 */
export function createStepActivities(parts: StepParts, { waitForReviewsMs = SETTLE_LIMIT_MS } = {}) {
  const judging: JudgeSteps = {
    now: Date.now,
    inspect: (call) => parts.inspect(call),
    evaluate: (call, inspected) => parts.evaluate(call, inspected),
    commitVerdict: (call, inspected, evaluated) => parts.commitVerdict(call, inspected, evaluated),
    abandonCall: (call) => parts.abandonCall(call),
    closeTampered: (call, why) => parts.closeTampered(call, why),
  };
  const settledInTime = async (correlationId: string, reached: ReachedRecord | undefined): Promise<boolean> => {
    let timer: NodeJS.Timeout | undefined;
    try {
      const limit = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('the review store did not answer in time')), waitForReviewsMs);
      });
      await Promise.race([parts.settleReviewRow(correlationId, reached), limit]);
      return true;
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    /** Asks Brain. A call that comes too late, or is not as it was staged, is closed instead. */
    inspect: (call: CallInput): Promise<Looked> => inspectCall(call, judging),

    /** Asks policy, folds both into the verdict and commits it. Met twice, the first verdict stands. */
    evaluate: (call: CallInput, inspected: Inspected): Promise<CallSummary> => evaluateCall(call, inspected, judging),

    /** Stores the review row and parks the record. */
    park: (call: CallInput, atMs: number, verdict?: ReachedRecord): Promise<CallSummary> =>
      parts.openReview(call, atMs, verdict),

    /** Moves a parked record past its deadline to expired. Too late, it returns what stands. */
    expire: (correlationId: string): Promise<CallSummary> => parts.expireReview(correlationId),

    /** The one attempt. */
    execute: (call: CallInput, claimNotAfterMs: number, signal?: AbortSignal, version?: number): Promise<CallSummary> =>
      parts.callUpstream(call, claimNotAfterMs, signal, version),

    /** Appends every row the record implies by now. */
    async appendLedger(correlationId: string, insistence: Insistence, reached?: ReachedRecord): Promise<boolean> {
      if (insistence === 'at_once') return parts.tryAppendRows(correlationId, reached);
      await parts.appendRows(correlationId);
      return true;
    },

    /** Brings the review row to what the record says, where HIL died before it wrote it. */
    async settleReview(correlationId: string, insistence: Insistence, reached?: ReachedRecord): Promise<boolean> {
      if (insistence === 'at_once') return settledInTime(correlationId, reached);
      await parts.settleReviewRow(correlationId);
      return true;
    },

    /** Tells the address that the caller gave of the decision or the expiry. */
    callback: (correlationId: string): Promise<void> => parts.deliver(correlationId),

    /** What calls of an earlier Gate that are still open may ask for: both halves of judging as one step (docs/how-to/change-a-workflow.md). */
    judge: (call: CallInput): Promise<CallSummary> => judgeCall(call, judging),
  };
}
export type StepActivities = ReturnType<typeof createStepActivities>;
