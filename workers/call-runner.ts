import {
  type Client,
  isGrpcServiceError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  defineSearchAttributeKey,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import type { Runs } from '../activities/reconcile.js';
import type { CallInput, CallSummary } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import { uuidFromDigest } from '../domain/crypto/digest.js';
import { ASK_AGAIN, errorText, GateError } from '../domain/errors.js';
import { endedBefore } from '../domain/review/backlog.js';
import { carried, type ChangeSeal, withChangeOf } from '../domain/review/carried-change.js';
import type { DecisionOutcome, DecisionSender, RowSettler } from '../domain/review/ports.js';
import { DECISION_REFUSALS, type DecisionRefusal } from '../domain/decision/transitions.js';
import { foreignText } from '../domain/text.js';
import { callLine } from '../workflows/line.js';
import { parkedQueueOf } from '../workflows/queues.js';
import type { REVIEW } from '../workflows/review/messages.js';
import { SETTLE_ROW } from '../workflows/settle-row/messages.js';
import { answerUpdate, decideUpdate, FAILURES, TOOL_CALL, type ToolCall } from '../workflows/tool-call/messages.js';
import type { EngineClient } from './client.js';
import { type CallRunner, conflictCode } from '../domain/call/call-runner.js';

/** Where a parked call waits: in a run of its own on the parked queue, or in the run that judged it. */
export type ParkMode = 'continue' | 'stay';

const KEYWORD = SearchAttributeType.KEYWORD;
const GATE_TENANT = defineSearchAttributeKey('GateTenant', KEYWORD);
const GATE_AGENT = defineSearchAttributeKey('GateAgent', KEYWORD);
const GATE_TOOL = defineSearchAttributeKey('GateTool', KEYWORD);

/** Where calls run, and wait. */
export interface CallQueue {
  readonly taskQueue: string;
  readonly park?: ParkMode;
}

/** Starts the run of a call, or finds the one that is under way under its id. */
export function startOf(
  workflow: typeof TOOL_CALL | typeof REVIEW,
  call: CallInput,
  { taskQueue, park = 'continue' }: CallQueue,
) {
  const parked = park === 'continue' ? { parked_task_queue: parkedQueueOf(taskQueue) } : {};
  const operation = new WithStartWorkflowOperation<ToolCall>(workflow, {
    workflowId: call.correlation_id,
    taskQueue,
    args: [{ ...call, ...parked }],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    workflowIdConflictPolicy: 'USE_EXISTING',
    // A dead worker then costs three seconds, not ten.
    workflowTaskTimeout: '3s',
    staticSummary: callLine(call),
    typedSearchAttributes: [
      { key: GATE_TENANT, value: call.tenant },
      { key: GATE_AGENT, value: call.agent },
      { key: GATE_TOOL, value: foreignText(call.tool, 200) },
    ],
  });
  // The operation's own promise rejects too; the update's error is the one that is reported.
  operation.workflowHandle().catch(() => undefined);
  return operation;
}

export function createCallRunner(
  { client, circuit }: Pick<EngineClient, 'client' | 'circuit'>,
  taskQueue: string,
  { park = 'continue' }: { readonly park?: ParkMode } = {},
): CallRunner {
  const attempt = async (call: CallInput, deadlineMs: number, updateId: string): Promise<CallSummary | null> => {
    const startWorkflowOperation = startOf(TOOL_CALL, call, { taskQueue, park });
    const given = client.withDeadline(deadlineMs, () =>
      client.workflow.executeUpdateWithStart<ToolCall, CallSummary, [{ digest: string }]>(answerUpdate, {
        updateId,
        args: [{ digest: call.digest }],
        startWorkflowOperation,
      }),
    );
    // Only the answer returns early. What the engine was given may or may not run under this id, and the record says which to whoever asks
    // again.
    return circuit.whileUp(given);
  };

  return {
    assertUp: () => circuit.assertUp(),
    async start(call, deadlineMs) {
      // Identical requests share one update, and so one answer. The engine keeps the answer with the run, even when that run failed; an
      // update of this request's own then starts the next run.
      let updateId = `answer-${call.digest}`;
      const anew = `${updateId}-${call.received_ms}`;
      for (let tried = 1; ; tried += 1) {
        try {
          return await attempt(call, deadlineMs, updateId);
        } catch (error) {
          if (updateId !== anew && isOfEarlierRun(error, call)) updateId = anew;
          else if (noAnswer(error)) return null;
          else if (error instanceof GateError) throw error;
          else {
            const refused = toGateError(error, call);
            if (refused) throw refused;
            if (tried >= 2 || Date.now() >= deadlineMs) throw engineUnavailable(error);
          }
        }
      }
    },
  };
}

/** The answer of a run that this request did not start and that ended without a verdict: the same id may start again. */
const isOfEarlierRun = (error: unknown, call: CallInput): boolean => {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  if (failureType(error) === RUN_ENDED) return true;
  const { cause } = error;
  return (
    cause instanceof ApplicationFailure &&
    cause.type === FAILURES.unavailable &&
    cause.details?.[1] !== call.received_ms
  );
};

/** The engine's own failure type for an update whose run ended before it. */
const RUN_ENDED = 'AcceptedUpdateCompletedWorkflow';

/** gRPC status codes that mean "no answer in time" and "no such run". */
const DEADLINE_EXCEEDED = 4;
const CANCELLED = 1;
const NOT_FOUND = 5;

const noAnswer = (error: unknown): boolean =>
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  error instanceof WorkflowExecutionAlreadyStartedError ||
  error instanceof WorkflowNotFoundError ||
  (isGrpcServiceError(error) &&
    (error.code === DEADLINE_EXCEEDED || error.code === CANCELLED || error.code === NOT_FOUND)) ||
  // The run closed while the update was on its way; the record says how.
  (error instanceof WorkflowUpdateFailedError && failureType(error) === RUN_ENDED);

export const failureType = (error: WorkflowUpdateFailedError): string | undefined =>
  error.cause instanceof ApplicationFailure ? (error.cause.type ?? undefined) : undefined;

function toGateError(error: unknown, call: CallInput): GateError | null {
  if (!(error instanceof WorkflowUpdateFailedError)) return null;
  const cause = error.cause;
  if (failureType(error) === FAILURES.conflict) {
    return new GateError(conflictCode(call.contract));
  }
  const layer =
    cause instanceof ApplicationFailure && typeof cause.details?.[0] === 'string' ? cause.details[0] : 'proxy';
  // The failure's text may name addresses and stores, so it goes only to the log, as the cause.
  return endedBefore(call, layer, `the call could not be judged; ${ASK_AGAIN}`, error);
}

const engineUnavailable = (error: unknown): GateError =>
  new GateError('pipeline_unavailable', `the workflow engine does not answer; ${ASK_AGAIN}`, {
    fields: { layer: 'engine' },
    cause: error,
  });

const DECISION_LIMIT_MS = 10_000;

/**
 * Sends HIL's decisions to their workflow as the `decide` update and returns the workflow's answer. `seal` keeps changed values out of the
 * history.
 */
export const createDecisionSender = (
  { client, circuit }: Pick<EngineClient, 'client' | 'circuit'>,
  seal: Pick<ChangeSeal, 'sealed'>,
): DecisionSender => ({
  async decide(decision: SignedDecision): Promise<DecisionOutcome> {
    if (circuit.away()) throw new GateError('orchestrator_unavailable');
    const {
      pending_id,
      principal,
      decision: said,
      request_id,
      signature,
      standing_approvers = [],
      modification,
    } = decision;
    // With other votes beside it, or another change, it is another decision.
    const changes = modification ? [modification.reviewed_digest] : [];
    const same = [pending_id, principal.subject, said, request_id, ...standing_approvers, ...changes];
    const sent = await carried(decision, seal);
    const send = async (updateId: string): Promise<DecisionOutcome> => {
      const verdict = await circuit.whileUp(
        client.withDeadline(Math.min(Date.now() + DECISION_LIMIT_MS, Date.parse(decision.not_after)), () =>
          client.workflow.getHandle(decision.correlation_id).executeUpdate(decideUpdate, { updateId, args: [sent] }),
        ),
      );
      if (verdict.applied && verdict.settled === null) return { outcome: 'voted', approvals: verdict.approvals };
      const settled = verdict.settled && { settled: withChangeOf(decision, verdict.settled) };
      if (!verdict.applied) {
        const { code, clock_ms } = verdict;
        return { outcome: 'refused', code, ...settled, ...(clock_ms !== undefined && { clock_ms }) };
      }
      return { outcome: 'applied', settled: withChangeOf(decision, verdict.settled), row_settled: verdict.row_settled };
    };
    try {
      // Repeated sendings are one update, and so have one answer. The engine also keeps a failure, and the answer that an earlier sending
      // came too late. In those cases this sending is an update of its own, and the workflow recognises the same decision.
      const anew = () => send(uuidFromDigest('gate.decide', ...same, signature));
      const kept = await send(uuidFromDigest('gate.decide', ...same)).catch((error: unknown) => {
        if (!isNotApplied(error)) throw error;
        return anew();
      });
      const cameLate =
        kept.outcome === 'refused' && (kept.code === FAILURES.refused || kept.code === 'modification_unjudged');
      return cameLate && Date.now() < Date.parse(decision.not_after) ? await anew() : kept;
    } catch (error) {
      const code = refusalOf(error);
      if (code) return { outcome: 'refused', code };
      if (isNotApplied(error)) throw new GateError('store_unavailable', DECISION_UNTOLD, { cause: error });
      throw new GateError('orchestrator_unavailable', undefined, { cause: error });
    }
  },
});

/** Whoever decides waits for it. */
const SETTLE_LIMIT_MS = 5_000;

/** Has a worker settle the row of a call that is over: the worker alone can read the call's record. */
export const createRowSettler =
  ({ client, circuit }: Pick<EngineClient, 'client' | 'circuit'>, taskQueue: string): RowSettler =>
  async (correlationId) => {
    circuit.assertUp();
    await circuit.whileUp(
      client.withDeadline(Date.now() + SETTLE_LIMIT_MS, () =>
        client.workflow.execute(SETTLE_ROW, {
          taskQueue,
          workflowId: `settle-row/${correlationId}`,
          args: [correlationId],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowExecutionTimeout: SETTLE_LIMIT_MS,
        }),
      ),
    );
  };

/** The workflow accepted the decision but could not apply it to the call's record. */
const isNotApplied = (error: unknown): boolean => error instanceof WorkflowUpdateFailedError && !refusalOf(error);

const DECISION_UNTOLD =
  'the store of the calls does not answer, and the decision may or may not be in it; send it again under the same X-Request-Id';

function refusalOf(error: unknown): DecisionRefusal | null {
  if (error instanceof WorkflowNotFoundError) return FAILURES.notPending;
  if (!(error instanceof WorkflowUpdateFailedError)) return null;
  const type = failureType(error);
  return DECISION_REFUSALS.find((code) => code === type) ?? (type === RUN_ENDED ? FAILURES.notPending : null);
}

/** What reconciliation asks the engine about a call's run. */
export const createRuns = (client: Client): Runs => ({
  async status(correlationId) {
    try {
      const { status } = await client.workflow.getHandle(correlationId).describe();
      return status.name === 'RUNNING' ? 'running' : 'closed';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'missing';
      throw new GateError('orchestrator_unavailable', errorText(error), { cause: error });
    }
  },
  async end(correlationId, reason) {
    try {
      await client.workflow.getHandle(correlationId).terminate(reason);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError))
        throw new GateError('orchestrator_unavailable', errorText(error), { cause: error });
    }
  },
});
