import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  patched,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { RecordActivities } from '../../activities/call-record.js';
import type { LedgerActivities } from '../../activities/ledger.js';
import type { ReviewActivities } from '../../activities/review.js';
import type { Stepped, StepActivities } from '../../activities/steps.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import { PipelineUnavailable } from '../../domain/pipeline/pipeline.js';
import { FAILURES } from './messages.js';

// Judging a call is local: one workflow task takes it from request to verdict. Each step ends within a second or two, or fails.
export const local = proxyLocalActivities<
  Omit<StepActivities, 'execute'> & RecordActivities & ReviewActivities & LedgerActivities
>({
  startToCloseTimeout: '5s',
  retry: { initialInterval: '20ms', maximumInterval: '200ms', maximumAttempts: 3 },
});

// What must happen eventually, however long a service is away: ledger rows and review rows.
export const durable = proxyActivities<LedgerActivities & ReviewActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '15s' },
});

/** The upstream activity as the workflow sees it: the abort signal is the worker's business. */
interface UpstreamActivity {
  execute(call: CallInput, claimNotAfterMs: number, version?: number): Promise<Stepped>;
  settleExecution(correlationId: string, reason: string): Promise<CallSummary>;
}

export const { settleExecution } = proxyLocalActivities<UpstreamActivity>({
  startToCloseTimeout: '2s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

// An effect is tried once: after a lost reply nobody knows whether the tool ran (docs/architecture/record-and-claim.md#the-claim).
// An attempt that did not start within 10 s surely did not run.
export const attemptOf = (call: CallInput): Pick<UpstreamActivity, 'execute'> =>
  proxyActivities<UpstreamActivity>({
    scheduleToStartTimeout: '10s',
    // Beyond the call's own time: claim, a last look at a session that was refused (5 s), outcome.
    startToCloseTimeout: call.upstream_timeout_ms + 15_000,
    heartbeatTimeout: '10s',
    retry: { maximumAttempts: 1 },
  });

/**
 * Whether the retrying activity did it within its hour. If not, the record still says that it is due: reconciliation does it, and raises
 * an alarm if it cannot either.
 */
export const orReconciled = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!patched('owed-to-reconciliation')) throw error;
      return false;
    },
  );

/**
 * A dependency that is down is thrown by an activity as a typed failure; the pipeline knows it as PipelineUnavailable. The failure of a
 * local activity is not wrapped, any other is.
 */
export async function unwrapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error;
    if (cause instanceof ApplicationFailure && cause.type === FAILURES.unavailable) {
      throw new PipelineUnavailable(
        (cause.details?.[0] as PipelineUnavailable['layer'] | undefined) ?? 'proxy',
        cause.message,
      );
    }
    throw error;
  }
}

/** An expiry must not be lost to a store that is away for a moment, so it is retried until it succeeds. */
export async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= 200) throw error;
      await condition(() => false, Math.min(30_000, 250 * 2 ** Math.min(attempt, 7)));
    }
  }
}
