import type { CallInput, CallSummary } from '../contracts/call.js';
import { judgeCall, type JudgeSteps } from '../domain/pipeline/pipeline.js';
import type { LedgerActivities } from './ledger.js';
import type { ReviewActivities } from './review.js';
import type { UpstreamActivities } from './upstream.js';

/** The result of a step, and which of its duties it also did. The others are left to retrying activities. */
export interface Stepped {
  readonly summary: CallSummary;
  /** Every row the record implies by now is in the ledger. */
  readonly rows_appended: boolean;
  /** The review row says what the record says; true where there is none to settle. */
  readonly review_settled: boolean;
}

type StepParts = Omit<JudgeSteps, 'now'> &
  LedgerActivities &
  Pick<ReviewActivities, 'openReview' | 'expireReview' | 'settleReviewRow'> &
  Pick<UpstreamActivities, 'callUpstream'>;

/** How long a step waits for the review store after a decision before that is left to a retrying activity. */
const SETTLE_LIMIT_MS = 500;

/**
 * The steps of a call as the engine runs them. Each is one activity, because every trip between engine, workflow and activity costs as
 * much as what most of them do; each is made of activities that are safe to meet twice, in the same order, and so is safe to meet twice
 * itself. A worker lost in the middle leaves what the last of them made durable.
 */
export function createStepActivities(parts: StepParts, { waitForReviewsMs = SETTLE_LIMIT_MS } = {}) {
  const rowsOf = (summary: CallSummary): Promise<boolean> => parts.tryAppendRows(summary.correlation_id);
  const reviewRowOf = async (summary: CallSummary): Promise<boolean> => {
    let timer: NodeJS.Timeout | undefined;
    try {
      const limit = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('the review store did not answer in time')), waitForReviewsMs);
      });
      await Promise.race([parts.settleReviewRow(summary.correlation_id), limit]);
      return true;
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  };
  const withRows = async (summary: CallSummary): Promise<Stepped> => ({
    summary,
    rows_appended: await rowsOf(summary),
    review_settled: true,
  });
  const settled = async (summary: CallSummary): Promise<Stepped> => {
    const [rows_appended, review_settled] = await Promise.all([rowsOf(summary), reviewRowOf(summary)]);
    return { summary, rows_appended, review_settled };
  };

  return {
    /** From the request to a verdict that stands, and its rows. A verdict that asks for review has none yet. */
    async judge(call: CallInput): Promise<Stepped> {
      const summary = await judgeCall(call, {
        now: Date.now,
        inspect: (input) => parts.inspect(input),
        evaluate: (input, inspected) => parts.evaluate(input, inspected),
        commitVerdict: (input, inspected, evaluated) => parts.commitVerdict(input, inspected, evaluated),
        abandonCall: (input) => parts.abandonCall(input),
        closeTampered: (input, why) => parts.closeTampered(input, why),
      });
      return summary.state === 'decided' ? { summary, rows_appended: false, review_settled: true } : withRows(summary);
    },

    /** Stores the review row, parks the record, appends the rows. */
    park: async (call: CallInput, atMs: number): Promise<Stepped> => withRows(await parts.openReview(call, atMs)),

    /** What follows a decision that the record holds: its rows, and the review row where HIL died before it wrote it. */
    afterDecision: (summary: CallSummary): Promise<Stepped> => settled(summary),

    /** Moves a parked record past its deadline to expired, with rows and review row. Too late, it returns what stands. */
    expire: async (correlationId: string): Promise<Stepped> => settled(await parts.expireReview(correlationId)),

    /** The one attempt and its rows. */
    execute: async (
      call: CallInput,
      claimNotAfterMs: number,
      signal?: AbortSignal,
      version?: number,
    ): Promise<Stepped> => withRows(await parts.callUpstream(call, claimNotAfterMs, signal, version)),
  };
}
export type StepActivities = ReturnType<typeof createStepActivities>;
