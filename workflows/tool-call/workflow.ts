import {
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  ContinueAsNew,
  makeContinueAsNewFunc,
  ParentClosePolicy,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  startChild,
  upsertSearchAttributes,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { LedgerActivities } from '../../activities/ledger.js';
import type { RecordActivities } from '../../activities/call-record.js';
import type { ReviewActivities } from '../../activities/review.js';
import type { Stepped, StepActivities } from '../../activities/steps.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { SettledReview } from '../../contracts/review.js';
import { callbackIdOf } from '../../domain/call-record/transitions.js';
import { runCall, PipelineUnavailable, type PipelineSteps } from '../../domain/pipeline/pipeline.js';
import { isDecidedBy, isOver } from '../../domain/review/transitions.js';
import type { callback as callbackWorkflow } from '../callback/workflow.js';
import { answerUpdate, decideUpdate, FAILURES, viewQuery, type CallView } from './messages.js';

// Judging a call is local: one workflow task takes it from request to verdict. Each step ends within a second or two, or fails.
const local = proxyLocalActivities<
  Omit<StepActivities, 'execute'> & RecordActivities & ReviewActivities & LedgerActivities
>({
  startToCloseTimeout: '5s',
  retry: { initialInterval: '20ms', maximumInterval: '200ms', maximumAttempts: 3 },
});
// What must happen eventually, however long a service is away: ledger rows and review rows.
const durable = proxyActivities<LedgerActivities & ReviewActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '15s' },
});
/**
 * Whether the retrying activity did it within its hour. If not, the record still says that it is due: reconciliation does it, and raises
 * an alarm if it cannot either.
 */
const orReconciled = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!patched('owed-to-reconciliation')) throw error;
      return false;
    },
  );

/** The upstream activity as the workflow sees it: the abort signal is the worker's business. */
interface UpstreamActivity {
  execute(call: CallInput, claimNotAfterMs: number, version?: number): Promise<Stepped>;
  settleExecution(correlationId: string, reason: string): Promise<CallSummary>;
}
const settle = proxyLocalActivities<UpstreamActivity>({
  startToCloseTimeout: '2s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
});

/**
 * One tool call (docs/architecture/record-and-claim.md). Its id is the correlation id, so a second request under the same id meets this
 * run and not another. `resumed` is the record's state of a call that was parked before and goes on here, with a history of five events
 * instead of everything up to its verdict; `rowsAppended` says whether its rows up to there are in the ledger.
 */
export async function toolCall(
  call: CallInput,
  resumed: CallSummary | null = null,
  rowsAppended = false,
): Promise<CallSummary> {
  let summary: CallSummary | null = resumed;
  let answered: CallSummary | null = null;
  let failure: ApplicationFailure | null = null;
  let waitingFor: CallView['waiting_for'] = 'verdict';
  let settled: CallSummary | null = null;
  /** The decision that settled it; `null` where the deadline did. */
  let stands: SettledReview | null = null;
  /**
   * Whether a decision is too early, in time or too late. After a crash the review row may be visible before this run has reached its
   * point again.
   */
  let review: 'ahead' | 'open' | 'over' = 'ahead';
  let deciding = false;

  setHandler(viewQuery, () => ({
    correlation_id: call.correlation_id,
    contract: call.contract,
    summary,
    waiting_for: waitingFor,
  }));
  setHandler(
    answerUpdate,
    async () => {
      await condition(() => answered !== null || failure !== null);
      if (failure) throw failure;
      return answered as unknown as CallSummary;
    },
    {
      validator: (asked) => {
        if (asked?.digest !== call.digest) throw refusal(FAILURES.conflict, 'this id is bound to another request');
      },
    },
  );
  // Set from the start, so that a row can be decided as soon as it is visible.
  setHandler(
    decideUpdate,
    async (sent) => {
      await condition(() => !deciding && review !== 'ahead');
      if (settled && stands && isDecidedBy(stands, sent)) return { applied: true, summary: settled, settled: stands };
      if (settled) return { applied: false, code: lateFor(settled), settled: stands, summary: settled };
      if (review === 'over') return { applied: false, code: 'not_pending', settled: null, summary: null };
      deciding = true;
      try {
        const verdict = await local.applyDecision(sent);
        // A refusal also brings the record's state: it may hold an earlier decision that this workflow has not seen.
        settled ??= verdict.summary;
        stands ??= verdict.settled;
        return verdict;
      } finally {
        deciding = false;
      }
    },
    {
      validator: (sent) => {
        if (typeof sent?.signature !== 'string' || sent.correlation_id !== call.correlation_id) {
          throw refusal(FAILURES.refused, 'the decision did not decode or is for another call');
        }
        // A failed task is retried, and its updates may come in another order. The decision that won before still wins.
        if (settled && stands && isDecidedBy(stands, sent)) return;
        if (settled) throw refusal(lateFor(settled), 'the first decision stands');
        if (review === 'over') throw refusal(FAILURES.notPending, 'this call does not wait for a decision');
        // Updates are handed over before timers: after a stop the timer alone would come too late to refuse this.
        if (isOver(summary?.deadline_ms, Date.now())) throw refusal(FAILURES.expired, 'the deadline has passed');
        // Its own `not_after` is checked with the record, which may already hold this decision after a crash.
      },
    },
  );

  // An effect is tried once: after a lost reply nobody knows whether the tool ran (docs/architecture/record-and-claim.md#the-claim).
  // An attempt that did not start within 10 s surely did not run.
  const { execute } = proxyActivities<UpstreamActivity>({
    scheduleToStartTimeout: '10s',
    // Beyond the call's own time: claim, a last look at a session that was refused (5 s), outcome.
    startToCloseTimeout: call.upstream_timeout_ms + 15_000,
    heartbeatTimeout: '10s',
    retry: { maximumAttempts: 1 },
  });

  const rows = rowAppender(call.correlation_id);
  if (resumed) rows.taken(rowsAppended);
  let reviewRow: Promise<unknown> = Promise.resolve();
  /** What a step did beside its own work is not done again; what it could not do is left to the retrying activities. */
  const taken = ({ summary: reached, rows_appended, review_settled }: Stepped): CallSummary => {
    rows.taken(rows_appended);
    if (!review_settled) reviewRow = orReconciled(durable.settleReviewRow(call.correlation_id));
    return reached;
  };
  /** Continues as a new run under the same id. Returns only when a decision arrived before that could happen. */
  const continueParked = async (parked: CallSummary, taskQueue: string): Promise<void> => {
    // Everybody who waits in this run is answered before it ends; a decision that has reached it is settled here.
    await condition(allHandlersFinished);
    if (settled) return;
    const goOn = makeContinueAsNewFunc<typeof toolCall>({ taskQueue });
    await goOn(call, parked, rows.allTaken());
  };
  const steps: PipelineSteps = {
    now: () => Date.now(),
    judge: async (input) => taken(await unwrapped(local.judge(input))),
    async openReview(input) {
      summary = taken(await unwrapped(local.park(input, Date.now())));
      return summary;
    },
    async awaitDecision(_input, parked) {
      summary = parked;
      review = 'open';
      waitingFor = 'decision';
      if (!resumed) {
        upsertSearchAttributes({ GateTier: ['yellow'], GateOutcome: ['parked'] });
        if (call.parked_task_queue) await continueParked(parked, call.parked_task_queue);
      }
      const inTime = await condition(() => settled !== null, Math.max(1, (parked.deadline_ms ?? 0) - Date.now()));
      if (!inTime) await condition(() => !deciding);
      if (!settled) {
        settled = taken(await durableLocal(() => local.expire(call.correlation_id)));
        return settled;
      }
      const decided = settled;
      // Rows that are not appended and a review row that is not settled by now are left to the retrying activities.
      const late = { summary: decided, rows_appended: false, review_settled: false };
      return taken(await local.afterDecision(decided).catch(() => late));
    },
    async execute(input, permitted, claimNotAfterMs) {
      review = 'over';
      waitingFor = 'upstream';
      if (permitted.state === 'intended')
        return settle.settleExecution(call.correlation_id, 'the attempt was under way when its workflow began anew');
      let reason = 'another attempt holds the claim and left no result';
      try {
        const reached = await execute(input, claimNotAfterMs, permitted.version);
        if (reached.summary.state !== 'intended') return taken(reached);
      } catch (error) {
        reason = `the attempt's worker was lost: ${error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error)}`;
      }
      return settle.settleExecution(call.correlation_id, reason);
    },
    appendRows: () => rows.append(),
    async notify(input, decided) {
      try {
        await startChild<typeof callbackWorkflow>('callback', {
          args: [input.correlation_id],
          workflowId: callbackIdOf(input.correlation_id, decided.state),
          parentClosePolicy: ParentClosePolicy.ABANDON,
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },
    answer(given) {
      summary = given;
      answered ??= given;
    },
    async appended() {
      review = 'over';
      waitingFor = 'ledger';
      await rows.drained();
      await reviewRow;
    },
  };

  // A cancel request undoes neither a verdict nor an effect, so the call goes on to its end.
  return CancellationScope.nonCancellable(async () => {
    try {
      summary = await runCall(call, steps, resumed);
    } catch (error) {
      if (error instanceof ContinueAsNew) throw error;
      review = 'over';
      const closed = await closeAfter(error, call);
      if (closed instanceof ApplicationFailure) {
        failure = closed;
        await condition(allHandlersFinished);
        throw failure;
      }
      summary = closed;
      await rows.append();
      steps.answer(closed);
      await steps.appended();
    }
    waitingFor = null;
    upsertSearchAttributes({ GateTier: [summary.tier ?? 'none'], GateOutcome: [summary.state] });
    await condition(allHandlersFinished);
    return summary;
  });
}

/** Before a verdict stands an error is a 503 and the same id may start again; afterwards the record is closed, fail closed. */
async function closeAfter(error: unknown, call: CallInput): Promise<CallSummary | ApplicationFailure> {
  if (error instanceof PipelineUnavailable) return unavailable(call, error.layer, error.message);
  const reason = error instanceof Error ? error.message : String(error);
  try {
    const closed = await local.abortCall(call.correlation_id, `pipeline error: ${reason}`);
    return closed ?? unavailable(call, 'proxy', reason);
  } catch {
    // The store is away: reconciliation closes what is open when it is back.
    return unavailable(call, 'proxy', reason);
  }
}

/** Names the request that began this run, so that a later request can tell this run's failure from that of its own. */
const unavailable = (call: CallInput, layer: string, reason: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(reason, FAILURES.unavailable, layer, call.received_ms);

/** A refused update; the type is what its sender reads. */
/** What a decision is told that came after the end of the review. */
const lateFor = ({ state }: CallSummary) => (state === 'tampered' ? FAILURES.tampered : FAILURES.decided);

const refusal = (type: string, message: string): ApplicationFailure => ApplicationFailure.nonRetryable(message, type);

/**
 * A dependency that is down is thrown by an activity as a typed failure; the pipeline knows it as PipelineUnavailable. The failure of a
 * local activity is not wrapped, any other is.
 */
async function unwrapped<T>(work: Promise<T>): Promise<T> {
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
async function durableLocal<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= 200) throw error;
      await condition(() => false, Math.min(30_000, 250 * 2 ** Math.min(attempt, 7)));
    }
  }
}

/** Rows now where the ledger takes them, later where it does not; the call never waits for the ledger before it answers. */
function rowAppender(correlationId: string) {
  let background: Promise<void> | null = null;
  let again = false;
  let takenByStep: boolean | null = null;
  /** The retrying activity gave up; the record says that they are still due. */
  let owed = false;
  const appendLater = async () => {
    do {
      again = false;
      owed = !(await orReconciled(durable.appendRows(correlationId)));
    } while (again);
    background = null;
  };
  return {
    /** A step has tried the rows itself and says whether the ledger took them, so the next `append` need not try. */
    taken(appended: boolean): void {
      takenByStep = appended;
    },
    async append(): Promise<void> {
      const tried = takenByStep;
      takenByStep = null;
      if (tried === true) return;
      if (background) {
        again = true;
        return;
      }
      const appended = tried ?? (await local.tryAppendRows(correlationId).catch(() => false));
      if (!appended) background = appendLater();
    },
    /** The ledger has taken everything that was handed over: nothing is under way, and nothing was given up. */
    allTaken: (): boolean => background === null && !owed,
    async drained(): Promise<void> {
      while (background) await background;
    },
  };
}
