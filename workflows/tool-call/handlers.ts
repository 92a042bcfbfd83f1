import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import { answerUpdate, type CallView, FAILURES, viewQuery } from './messages.js';

/** A refused update; the type is what its sender reads. */
export const refusal = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, type);

/** What may be asked of a run at any time: how far the call is, and its answer. */
export interface Told {
  /** The record's state as far as this run knows it. */
  readonly summary: CallSummary | null;
  reached(summary: CallSummary): void;
  waitsFor(what: CallView['waiting_for']): void;
  /** Gives everybody who waits for it the answer. Only the first one counts. */
  answer(given: CallSummary): void;
  /** Everybody who waits for the answer gets this failure. */
  fail(failure: ApplicationFailure): void;
}

export function toldOf(call: CallInput, resumed: CallSummary | null): Told {
  let summary = resumed;
  let waitingFor: CallView['waiting_for'] = 'verdict';
  let answered: CallSummary | null = null;
  let failure: ApplicationFailure | null = null;

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
  return {
    get summary() {
      return summary;
    },
    reached: (reached) => void (summary = reached),
    waitsFor: (what) => void (waitingFor = what),
    answer(given) {
      summary = given;
      answered ??= given;
    },
    fail: (given) => void (failure = given),
  };
}
