import { type CallContract, type CallInput, type CallSummary, DECISION_CONTRACT } from '../../contracts/call.js';
import type { ErrorCodeName } from '../../contracts/error-codes.js';

/** Of a request under the id of another one. */
export const conflictCode = (contract: CallContract): ErrorCodeName =>
  contract === DECISION_CONTRACT ? 'decision_idempotency_conflict' : 'server_execution_idempotency_conflict';

/** Runs calls: the workflow engine in the full stack, this process in lite. */
export interface CallRunner {
  /**
   * Starts the call, or joins the run under its id, and returns its answer; `null` when there is none by the deadline or the run ended
   * earlier: the record then has the answer. Throws GateError: `pipeline_unavailable` naming the layer, or a conflict.
   */
  start(call: CallInput, deadlineMs: number): Promise<CallSummary | null>;
  /** Throws what `start` would throw in the end while calls certainly cannot be run; asked before anything of a new call is stored. */
  assertUp?(): void;
}
