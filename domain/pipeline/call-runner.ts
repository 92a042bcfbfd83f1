import type { CallInput, CallSummary } from '../../contracts/call.js';

/** Runs calls: the engine in the full stack, this very process in lite. */
export interface CallRunner {
  /**
   * Starts the call or joins the one that runs under its id, and returns its answer; `null` when there is none by the deadline or the
   * run ended before: the record then has the word. Throws GateError: `pipeline_unavailable` naming the layer, or a conflict.
   */
  start(call: CallInput, deadlineMs: number): Promise<CallSummary | null>;
  /** Throws what `start` would in the end while calls surely cannot be run; nothing of a new call is kept before this is asked. */
  assertUp?(): void;
}
