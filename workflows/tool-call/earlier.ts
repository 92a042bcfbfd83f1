import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { LedgerActivities } from '../../activities/ledger.js';
import type { ReviewActivities } from '../../activities/review.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { RowAppender } from '../../domain/call/row-appender.js';
import { type Appending, attemptOf, orReconciled, untilDone, unwrapped } from './steps.js';

/**
 * The result of a step in histories from before the steps had names of their own: such a step also appended rows and settled the review
 * row.
 */
interface Stepped {
  readonly summary: CallSummary;
  readonly rows_appended: boolean;
  readonly review_settled: boolean;
}
type Brought = Stepped | CallSummary;

interface EarlierSteps {
  judge(call: CallInput): Promise<Brought>;
  park(call: CallInput, atMs: number): Promise<Brought>;
  afterDecision(summary: CallSummary): Promise<Brought>;
  expire(correlationId: string): Promise<Brought>;
}

const local = proxyLocalActivities<EarlierSteps & LedgerActivities>({
  startToCloseTimeout: '5s',
  retry: { initialInterval: '20ms', maximumInterval: '200ms', maximumAttempts: 3 },
});
const durable = proxyActivities<LedgerActivities & ReviewActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '15s' },
});

export const earlierAppending: Appending = {
  atOnce: (correlationId) => local.tryAppendRows(correlationId).catch(() => false),
  later: (correlationId) => orReconciled(durable.appendRows(correlationId)),
};

/**
 * The steps of a call under the names of an earlier Gate, for that part of its history. Delete this with the next release in which no call
 * of that Gate can be open (docs/how-to/change-a-workflow.md).
 */
export function earlierSteps(call: CallInput, rows: RowAppender) {
  let reviewRow: Promise<unknown> = Promise.resolve();
  /**
   * Steps of an earlier Gate also appended rows and settled the review. What they did is not repeated; the rest is left to retrying
   * activities.
   */
  const taken = (brought: Brought): CallSummary => {
    // A step that the earlier Gate started and this one finished did neither.
    const { summary, rows_appended, review_settled } =
      'summary' in brought ? brought : { summary: brought, rows_appended: false, review_settled: false };
    rows.tried(rows_appended);
    if (!review_settled) reviewRow = orReconciled(durable.settleReviewRow(call.correlation_id));
    return summary;
  };
  return {
    judge: async (): Promise<CallSummary> => taken(await unwrapped(local.judge(call))),
    park: async (): Promise<CallSummary> => taken(await unwrapped(local.park(call, Date.now()))),
    expire: async (): Promise<CallSummary> => taken(await untilDone(() => local.expire(call.correlation_id))),
    afterDecision: async (summary: CallSummary): Promise<CallSummary> =>
      taken(await local.afterDecision(summary).catch(() => summary)),
    execute: async (claimNotAfterMs: number, version: number | undefined): Promise<CallSummary> => {
      const brought = (await attemptOf(call).execute(call, claimNotAfterMs, version)) as Brought;
      // An attempt without a result is settled before its rows are due.
      return 'summary' in brought && brought.summary.state === 'intended' ? brought.summary : taken(brought);
    },
    reviewSettled: (): Promise<unknown> => reviewRow,
  };
}
