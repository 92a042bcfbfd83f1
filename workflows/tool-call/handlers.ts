import { ApplicationFailure, condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import { callLine } from '../line.js';
import { answerUpdate, type CallView, FAILURES, viewQuery } from './messages.js';

/** A refused update; its sender reads the type. */
export const refusal = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, type);

/** What may be asked of a run at any time: its state, and its answer. */
export interface Told {
  reached(summary: CallSummary): void;
  waitsFor(what: CallView['waiting_for']): void;
  /** Gives all waiting callers the answer. Only the first one counts. */
  answer(given: CallSummary): void;
  /** All waiting callers get this failure. */
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
  const tell = () => setCurrentDetails(`${callLine(call)} · ${howFar(waitingFor, summary)}`);
  tell();
  return {
    reached(reached) {
      summary = reached;
      tell();
    },
    waitsFor(what) {
      waitingFor = what;
      tell();
    },
    answer(given) {
      summary = given;
      answered ??= given;
    },
    fail: (given) => void (failure = given),
  };
}

/** The state of a call, for its current details. */
function howFar(waitingFor: CallView['waiting_for'], summary: CallSummary | null): string {
  switch (waitingFor) {
    case 'verdict':
      return 'is being judged';
    case 'decision':
      return `waits for a person until ${new Date(summary?.deadline_ms ?? 0).toISOString().slice(11, 16)} UTC`;
    case 'upstream':
      return 'is at its tool';
    case 'ledger':
      return `${summary?.state ?? 'over'}, its rows go to the ledger`;
    case null:
      return summary?.state ?? 'could not be judged';
  }
}
