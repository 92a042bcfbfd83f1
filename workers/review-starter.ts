import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError, type WorkflowUpdateHandle } from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { CallInput, CallSummary } from '../contracts/call.js';
import { ASK_AGAIN, GateError } from '../domain/errors.js';
import { endedBefore } from '../domain/review/backlog.js';
import type { ReviewStarter } from '../domain/review/ports.js';
import { REVIEW } from '../workflows/review/messages.js';
import { answerUpdate, FAILURES } from '../workflows/tool-call/messages.js';
import { type CallQueue, failureType, startOf } from './call-runner.js';
import type { EngineClient } from './client.js';

/**
 * Starts the workflow `review` of a review without a call. The workflow is asked for its answer, which binds its id to this review, before
 * the row is stored: a row that is visible always has something that takes its decision.
 */
export const createReviewStarter = (
  { client, circuit }: Pick<EngineClient, 'client' | 'circuit'>,
  queue: CallQueue,
): ReviewStarter => ({
  async start(call, open) {
    const inTime = <Result>(work: () => Promise<Result>) =>
      circuit.whileUp(client.withDeadline(call.not_after_ms, work));
    let answer: WorkflowUpdateHandle<CallSummary>;
    try {
      circuit.assertUp();
      answer = await inTime(() =>
        client.workflow.startUpdateWithStart(answerUpdate, {
          updateId: randomUUID(),
          args: [{ digest: call.digest }],
          waitForStage: 'ACCEPTED',
          startWorkflowOperation: startOf(REVIEW, call, queue),
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'over';
      throw refusalOf(error, call);
    }
    await open();
    try {
      await inTime(() => answer.result());
      return 'under way';
    } catch (error) {
      throw refusalOf(error, call);
    }
  },
});

function refusalOf(error: unknown, call: CallInput): GateError {
  if (error instanceof WorkflowUpdateFailedError) {
    const { cause } = error;
    if (failureType(error) === FAILURES.conflict) return new GateError('pending_conflict');
    if (failureType(error) === FAILURES.unavailable && cause instanceof ApplicationFailure)
      return endedBefore(call, String(cause.details?.[0]), `the review could not be opened; ${ASK_AGAIN}`, error);
  }
  return new GateError('orchestrator_unavailable', undefined, { cause: error });
}
