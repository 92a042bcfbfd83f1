import { type CallContract, type CallInput, type CallSummary, DECISION_CONTRACT } from '../../contracts/call.js';
import type { ErrorCodeName } from '../../contracts/error-codes.js';

/** The refusal of a request whose id belongs to another request. */
export const conflictCode = (contract: CallContract): ErrorCodeName =>
  contract === DECISION_CONTRACT ? 'decision_idempotency_conflict' : 'server_execution_idempotency_conflict';

/** Runs calls: the workflow engine in the full stack, this process in lite. */
export interface CallRunner {
  /**
   * Starts the call, or joins the run under its id, and returns its answer; `null` when there is none by the deadline or the run ended
   * earlier: the record then has the answer. Throws GateError: `pipeline_unavailable` naming the layer, or a conflict.
   */
  start(call: CallInput, deadlineMs: number): Promise<CallSummary | null>;
  /** Throws at once what `start` would throw after a wait, while no call can be run. Called before anything of a new call is stored. */
  assertUp?(): void;
}
