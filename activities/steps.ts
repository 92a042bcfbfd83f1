import type { CallInput, CallSummary, ReachedRecord } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import type { CarriedDecision } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { evaluateCall, inspectCall, judgeCall, type Inspected, type JudgeSteps } from '../domain/call/pipeline.js';
import type { CallbackActivities } from './callback.js';
import { handedOn } from './handed-on.js';
import type { InspectionActivities } from './inspection.js';
import type { LedgerActivities } from './ledger.js';
import type { ParkedRoom } from './parked-room.js';
import type { DecisionVerdict, ReviewActivities } from './review.js';
import { type Opened, reviewRow } from './review-row.js';
import type { SandboxActivities } from './sandbox.js';
import type { TakeInActivities } from './take-in.js';
import type { UpstreamActivities } from './upstream.js';

/**
 * How long a step tries: `at_once` tries briefly and returns whether it succeeded; `until_taken` throws when it did not, and the engine
 * tries again.
 */
export type Insistence = 'at_once' | 'until_taken';

type StepParts = Omit<JudgeSteps, 'now'> &
  Pick<InspectionActivities, 'inspectedBefore'> &
  LedgerActivities &
  Pick<
    ReviewActivities,
    'openReview' | 'decideByRule' | 'applyDecision' | 'escalateReview' | 'expireReview' | 'settleReviewRow'
  > &
  SandboxActivities &
  TakeInActivities &
  Pick<UpstreamActivities, 'callUpstream'> &
  Pick<CallbackActivities, 'deliver'>;

/** What a history shows of an inspection; nothing is decided by it. */
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

/** What a history shows of a report: nothing of the call itself. */
export interface SandboxTold {
  readonly report: Pick<SandboxReport, 'operation_class' | 'severity'> | null;
}

/** A parked call, and how long it should stay in the run that judged it; without a time it may move to the parked queue now. */
export type Parked = Opened & { readonly move_after_ms?: number };

/**
 * The steps of a call under the names they have in its history (docs/how-to/read-a-history.md). The record that the previous step left
 * spares the next one a read when both run in one process; otherwise the step reads it. Each step consists of activities that are safe to
 * repeat, in the same order, and so is safe to repeat itself. When a worker dies in the middle, what the last activity made durable
 * remains.
 */
export function createStepActivities(
  parts: StepParts,
  { waitForReviewsMs, room }: { readonly waitForReviewsMs?: number; readonly room?: ParkedRoom } = {},
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
  const inspected = handedOn<Inspected>();
  const reported = handedOn<SandboxReport | null>();
  const foundBefore = (call: CallInput): { inspected: Inspected } | null => {
    const known = inspected.take(call);
    return known && { inspected: known.value };
  };
  /** The report stays in this process for the review. A step that begins again in another one asks again: the same call, the same report. */
  const reportOn = async (call: CallInput): Promise<SandboxReport | null> => {
    const known = reported.take(call);
    return known ? known.value : parts.analyzeCall(call).catch(() => null);
  };

  return {
    /**
     * Asks Brain. A call that comes too late, or is not as it was staged, is closed instead. The result is for readers of the history; the
     * verdict itself stays in this process for `evaluate`.
     */
    async inspect(call: CallInput): Promise<InspectionTold> {
      const looked = await inspectCall(call, judging);
      if ('closed' in looked) return looked;
      inspected.put(call, looked.inspected);
      return told(looked.inspected);
    },

    /**
     * Asks policy, folds both answers into the verdict and commits it. Repeated, the first verdict stands. Brain's verdict comes from this
     * process or is asked for again, never from the history, where whoever reaches the engine could put another call's result. What models said
     * is not asked for again: without what they left, Brain has no word.
     */
    async evaluate(call: CallInput): Promise<CallSummary> {
      const inspect = call.inspection_timeout_ms === undefined ? judging.inspect : parts.inspectedBefore;
      const looked = foundBefore(call) ?? (await inspectCall(call, { ...judging, inspect }));
      return 'closed' in looked ? looked.closed : evaluateCall(call, looked.inspected, judging);
    },

    /** Takes in a review that no call asked for. */
    takeIn: (call: CallInput): Promise<CallSummary> => parts.takeIn(call),

    /** Asks the sandbox what the call would do. Where it has no report in time, the call waits without one. */
    async analyze(call: CallInput): Promise<SandboxTold> {
      const report = await parts.analyzeCall(call);
      reported.put(call, report);
      return { report: report && { operation_class: report.operation_class, severity: report.severity } };
    },

    /** Stores the review row and parks the record; a call of the tier `auto` is approved with it. */
    async park(call: CallInput, atMs: number, verdict?: ReachedRecord): Promise<Parked> {
      const parked = await row.opened(call, atMs, verdict, await reportOn(call));
      if (!room || parked.state !== 'parked' || call.parked_task_queue === undefined) return parked;
      const waitMs = room.enter(call.correlation_id);
      return waitMs === 0 ? parked : { ...parked, move_after_ms: waitMs };
    },

    /** Asks the rule about a call of tier `auto` that was found parked. Where a person must decide, it stays parked. */
    askRule: (call: CallInput, atMs: number): Promise<Opened> => row.askedAgain(call, atMs),

    /** Milliseconds until a parked call should ask again whether it may move to the parked queue; 0 where it may now. */
    roomForParked: (correlationId: string): Promise<number> => Promise.resolve(room?.ask(correlationId) ?? 0),

    /** Says of a call that nobody has decided at a share of its time that people should look again. */
    escalate: (correlationId: string, dueMs: number): Promise<CallSummary> =>
      parts.escalateReview(correlationId, dueMs),

    /**
     * Moves a parked record past its deadline to expired, and settles its row where the review store takes it at once: whoever is refused by the
     * workflow from then on finds the row closed. Too late, it returns the record as it is.
     */
    async expire(correlationId: string): Promise<CallSummary> {
      const reached = await parts.expireReview(correlationId);
      await row.settled(correlationId);
      return reached;
    },

    /** The single attempt at the upstream. */
    execute: (call: CallInput, claimNotAfterMs: number, signal?: AbortSignal, version?: number): Promise<CallSummary> =>
      parts.callUpstream(call, claimNotAfterMs, signal, version),

    /** Appends every row that the record implies by now. */
    async appendLedger(correlationId: string, insistence: Insistence, reached?: ReachedRecord): Promise<boolean> {
      if (insistence === 'at_once') return parts.tryAppendRows(correlationId, reached);
      await parts.appendRows(correlationId);
      return true;
    },

    /** Applies a decision; its row is settled with it, where the review store takes it at once. */
    applyDecision: (decision: CarriedDecision): Promise<DecisionVerdict> => row.decided(decision),

    /** Brings the review row to what the record says: after an expiry, or when that could not be done with the decision. */
    async settleReview(correlationId: string, insistence: Insistence, reached?: ReachedRecord): Promise<boolean> {
      if (insistence === 'at_once') return (await row.settled(correlationId, reached)) !== 'owed';
      await parts.settleReviewRow(correlationId);
      return true;
    },

    /** Sends the decision or the expiry to the address that the caller gave. */
    callback: (correlationId: string): Promise<void> => parts.deliver(correlationId),

    /** Open calls of an earlier Gate may still ask for these: both halves of judging as one step (docs/how-to/change-a-workflow.md). */
    judge: (call: CallInput): Promise<CallSummary> => judgeCall(call, judging),
  };
}
export type StepActivities = ReturnType<typeof createStepActivities>;
