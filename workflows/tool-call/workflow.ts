import {
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  ContinueAsNew,
  ParentClosePolicy,
  startChild,
  upsertSearchAttributes,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Opened } from '../../activities/review-row.js';
import type { Parked } from '../../activities/steps.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import { callbackIdOf } from '../../domain/call/transitions.js';
import { closeCall } from '../../domain/call/close.js';
import { isReviewed, runCall, PipelineUnavailable, type PipelineSteps } from '../../domain/call/pipeline.js';
import { CALLBACK, OF_CALL } from '../callback/messages.js';
import type { callback } from '../callback/workflow.js';
import { lineOf } from '../line.js';
import { earlierSteps } from './earlier.js';
import { toldOf } from './handlers.js';
import { FAILURES } from './messages.js';
import { continueAsParked, mayMove, reviewOf } from './park.js';
import { rowsOf } from './rows.js';
import {
  abortCall,
  analyze,
  answersInLine,
  askRule,
  attemptOf,
  escalate,
  evaluate,
  expire,
  inspect,
  park,
  ruleAskedAgain,
  settleExecution,
  settleReview,
  type Settling,
  underOwnNames,
  untilDone,
  unwrapped,
  withReport,
} from './steps.js';

/**
 * One tool call (docs/architecture/record-and-claim.md). Its id is the correlation id, so a second request under the same id reaches this
 * run. `resumed` is the record's state of a call that was parked before and continues here, with a history of five events instead of
 * everything up to its verdict; `rowsAppended` says whether its rows up to there are in the ledger.
 */
export const toolCall = (
  call: CallInput,
  resumed: CallSummary | null = null,
  rowsAppended = false,
): Promise<CallSummary> => lifeOf(call, resumed, rowsAppended);

/** The life of a call; `begins` is how one begins that is not judged. */
export async function lifeOf(
  call: CallInput,
  resumed: CallSummary | null,
  rowsAppended: boolean,
  begins: Partial<Pick<PipelineSteps, 'judge' | 'analyze'>> = {},
): Promise<CallSummary> {
  const told = toldOf(call, resumed);
  const rows = rowsOf(call.correlation_id);
  const review = reviewOf(call, resumed, (voted) => rows.append(voted));
  if (resumed) rows.tried(rowsAppended);

  const earlier = earlierSteps(call, rows);
  /** How long the parked call stays in this run at least. */
  let moveAfterMs = 0;
  /** The call stands in line, and its caller is told so by `mayMove`. */
  let answersLater = false;
  let reviewRow: Settling = { settled: Promise.resolve() };

  /** An earlier Gate told nobody of a review that it found to be over when it parked the call. */
  let untold = false;
  const reviewed = async ({ row_owed = false, ...reached }: Opened): Promise<CallSummary> => {
    if (row_owed) reviewRow = await settleReview(call.correlation_id, reached);
    told.reached(reached);
    return reached;
  };

  // What each step does; `runCall` defines their order.
  const steps: PipelineSteps = {
    now: () => Date.now(),

    async judge(input) {
      if (!underOwnNames()) return earlier.judge();
      const looked = await inspect(input);
      const judged = looked !== null && 'closed' in looked ? looked.closed : await unwrapped(evaluate(input));
      // A task that was lost after its decision was stored starts again and finds it: what follows from the decision is still due.
      if (isReviewed(judged)) {
        reviewRow = await settleReview(call.correlation_id, judged);
        if (call.has_callback) await steps.notify(input, judged);
      }
      return judged;
    },

    async analyze(input) {
      if (underOwnNames() && withReport()) await analyze(input).catch(() => null);
    },

    async openReview(input, verdict) {
      const { move_after_ms = 0, ...opened }: Parked = underOwnNames()
        ? await unwrapped(park(input, Date.now(), verdict))
        : await earlier.park();
      moveAfterMs = move_after_ms;
      untold = isReviewed(opened) && opened.state !== 'approved' && opened.row_owed === undefined;
      return reviewed(opened);
    },

    async askRule(input, parked) {
      // The run that moved here had the rule's answer before it moved.
      if (resumed || !ruleAskedAgain()) return parked;
      return reviewed(await askRule(input, Date.now()).catch(() => parked));
    },
    async awaitDecision(_input, parked) {
      told.reached(parked);
      told.waitsFor('decision');
      review.open(parked);
      if (!resumed) {
        upsertSearchAttributes({ GateTier: ['yellow'], GateOutcome: ['parked'] });
        if (
          call.parked_task_queue &&
          (await mayMove(call, review, {
            waitMs: moveAfterMs,
            answer: answersLater ? () => told.answer(parked) : null,
          }))
        )
          await continueAsParked(call, parked, {
            taskQueue: call.parked_task_queue,
            review,
            rowsAppended: rows.allTaken,
          });
      }
      const { summary, by, row_settled } = await review.settled({
        escalate: async (dueMs) => {
          const reached = await escalate(call.correlation_id, dueMs);
          await rows.append(reached);
          return reached;
        },
        expire: () => (underOwnNames() ? untilDone(() => expire(call.correlation_id)) : earlier.expire()),
      });
      if (row_settled) return summary;
      if (underOwnNames()) reviewRow = await settleReview(call.correlation_id, summary);
      else if (by === 'decision') await earlier.afterDecision(summary);
      return summary;
    },

    async execute(input, permitted, claimNotAfterMs) {
      review.close();
      told.waitsFor('upstream');
      if (permitted.state === 'intended')
        return settleExecution(call.correlation_id, 'the attempt was under way when its workflow began anew');
      let reason = 'another attempt holds the claim and left no result';
      try {
        const reached = underOwnNames()
          ? await attemptOf(call).execute(input, claimNotAfterMs, permitted.version)
          : await earlier.execute(claimNotAfterMs, permitted.version);
        if (reached.state !== 'intended') return reached;
      } catch (error) {
        reason = `the attempt's worker was lost: ${error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error)}`;
      }
      return settleExecution(call.correlation_id, reason);
    },

    appendRows: (_input, reached) => rows.append(reached),

    async notify(input, decided) {
      if (untold) return;
      try {
        await startChild<typeof callback>(CALLBACK, {
          args: [input.correlation_id],
          workflowId: callbackIdOf(input.correlation_id, decided.state),
          parentClosePolicy: ParentClosePolicy.ABANDON,
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          staticSummary: lineOf(input.agent, input.tool, `tells the caller: ${decided.state}`),
          memo: { [OF_CALL]: input.correlation_id },
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },

    answer(given) {
      answersLater = given.state === 'parked' && moveAfterMs > 0 && answersInLine();
      if (!answersLater) told.answer(given);
    },

    async appended() {
      review.close();
      told.waitsFor('ledger');
      await rows.drained();
      await reviewRow.settled;
      await earlier.reviewSettled();
    },

    ...begins,
  };

  // A cancel request undoes neither a verdict nor an effect, so the call continues to its end.
  return CancellationScope.nonCancellable(async () => {
    let summary: CallSummary;
    try {
      summary = await runCall(call, steps, resumed);
    } catch (error) {
      if (error instanceof ContinueAsNew) throw error;
      review.close();
      try {
        summary = await closeCall(call, error, steps, abortCall);
      } catch (unclosed) {
        if (!(unclosed instanceof PipelineUnavailable)) throw unclosed;
        const failure = unavailable(call, unclosed);
        told.fail(failure);
        await condition(allHandlersFinished);
        throw failure;
      }
    }
    told.reached(summary);
    told.waitsFor(null);
    upsertSearchAttributes({ GateTier: [summary.tier ?? 'none'], GateOutcome: [summary.state] });
    await condition(allHandlersFinished);
    return summary;
  });
}

/** Names the request that started this run, so that a later request can tell this run's failure from that of its own. */
const unavailable = (call: CallInput, { layer, message }: PipelineUnavailable): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, FAILURES.unavailable, layer, call.received_ms);
