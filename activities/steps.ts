import { LRUCache } from 'lru-cache';
import type { CallInput, CallSummary, ReachedRecord } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import type { SignedDecision } from '../contracts/review.js';
import { evaluateCall, inspectCall, judgeCall, type Inspected, type JudgeSteps } from '../domain/pipeline/pipeline.js';
import type { CallbackActivities } from './callback.js';
import type { LedgerActivities } from './ledger.js';
import type { DecisionVerdict, ReviewActivities } from './review.js';
import { reviewRow } from './review-row.js';
import type { UpstreamActivities } from './upstream.js';

/**
 * How long a step goes on: `at_once` tries for a moment and says whether it was done; `until_taken` throws where it was not, and the engine
 * tries again.
 */
export type Insistence = 'at_once' | 'until_taken';

type StepParts = Omit<JudgeSteps, 'now'> &
  LedgerActivities &
  Pick<ReviewActivities, 'openReview' | 'applyDecision' | 'expireReview' | 'settleReviewRow'> &
  Pick<UpstreamActivities, 'callUpstream'> &
  Pick<CallbackActivities, 'deliver'>;

/** What a history says of an inspection; nothing is decided by it. */
export type InspectionTold =
  | { readonly closed: CallSummary }
  | {
      readonly inspected:
        | { readonly available: true; readonly inspection: Pick<InspectionResponse, 'authorized' | 'intent_category'> }
        | { readonly available: false; readonly reason: string };
    };

const told = (found: Inspected): InspectionTold => {
  if (!found.available) return { inspected: found };
  const { authorized, intent_category } = found.inspection;
  return { inspected: { available: true, inspection: { authorized, intent_category } } };
};

/** Calls between inspection and policy. */
const INSPECTED = 2_000;

/**
 * The steps of a call under the names they have in its history (docs/how-to/read-a-history.md). What a step is told of the record that
 * the one before reached spares it a look where both run in one process; without it, it looks. Each is made of activities that are safe
 * to meet twice, in the same order, and so is safe to meet twice itself. A worker lost in the middle leaves what the last of them made
 * durable.
 */
export function createStepActivities(
  parts: StepParts,
  { waitForReviewsMs }: { readonly waitForReviewsMs?: number } = {},
) {
  const judging: JudgeSteps = {
    now: Date.now,
    inspect: (call) => parts.inspect(call),
    evaluate: (call, inspected) => parts.evaluate(call, inspected),
    commitVerdict: (call, inspected, evaluated) => parts.commitVerdict(call, inspected, evaluated),
    abandonCall: (call) => parts.abandonCall(call),
    closeTampered: (call, why) => parts.closeTampered(call, why),
  };
  const row = reviewRow(parts, waitForReviewsMs);
  const inspected = new LRUCache<string, { readonly call: CallInput; readonly found: Inspected }>({ max: INSPECTED });
  const foundBefore = ({ correlation_id: id, digest, received_ms }: CallInput): { inspected: Inspected } | null => {
    const known = inspected.get(id);
    inspected.delete(id);
    const same = known?.call.digest === digest && known.call.received_ms === received_ms;
    return same ? { inspected: known.found } : null;
  };

  return {
    /**
     * Asks Brain. A call that comes too late, or is not as it was staged, is closed instead. Its result is for whoever reads the history;
     * what was found waits in this process for `evaluate`.
     */
    async inspect(call: CallInput): Promise<InspectionTold> {
      const looked = await inspectCall(call, judging);
      if ('closed' in looked) return looked;
      inspected.set(call.correlation_id, { call, found: looked.inspected });
      return told(looked.inspected);
    },

    /**
     * Asks policy, folds both into the verdict and commits it. Met twice, the first verdict stands. What was found comes from this process
     * or is looked at again, never from the history: whoever reaches the engine can put another call's result into it.
     */
    async evaluate(call: CallInput): Promise<CallSummary> {
      const looked = foundBefore(call) ?? (await inspectCall(call, judging));
      return 'closed' in looked ? looked.closed : evaluateCall(call, looked.inspected, judging);
    },

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

    /** Applies a decision; its row is settled with it, where the review store takes it at once. */
    applyDecision: (decision: SignedDecision): Promise<DecisionVerdict> => row.decided(decision),

    /** Brings the review row to what the record says: after an expiry, or where it could not be done with the decision. */
    async settleReview(correlationId: string, insistence: Insistence, reached?: ReachedRecord): Promise<boolean> {
      if (insistence === 'at_once') return (await row.settled(correlationId, reached)) !== null;
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
