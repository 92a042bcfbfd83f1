import {
  allHandlersFinished,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { CarriedSettlement } from '../../contracts/review.js';
import { isDecidedBy, isOver } from '../../domain/decision/transitions.js';
import { refusal } from './handlers.js';
import { decideUpdate, FAILURES, JUDGED_BY_RUN, type ToolCall } from './messages.js';
import { applyDecision, roomForParked, underOwnNames } from './steps.js';

/** The review of one call in its run: whether it is open, and whose decision was first. */
export interface Review {
  /** From here on decisions are accepted. */
  open(parked: CallSummary): void;
  /** From here on no decision is accepted. */
  close(): void;
  /**
   * The state that a decision brought the record to; if there was none in time, the state after `expire`. `escalate` is called before, at each
   * time that the call has for it where nobody has decided by then; the state after it names the next one.
   */
  settled(steps: { escalate: Escalate; expire: () => Promise<CallSummary> }): Promise<Settled>;
  /** Whether a decision has arrived. */
  isSettled(): boolean;
  /** Waits so long; `false` as soon as a decision has arrived, and at once where something is due before. */
  waitsFor(ms: number): Promise<boolean>;
}

type Escalate = (dueMs: number) => Promise<CallSummary>;

export interface Settled {
  readonly summary: CallSummary;
  readonly by: 'decision' | 'deadline';
  /** The review row says so already. */
  readonly row_settled: boolean;
}

/**
 * Sets the handler of decisions at the start, so that a row can be decided as soon as it is visible. `onVote` appends the row of an approval
 * that others are still needed for.
 */
export function reviewOf(
  call: CallInput,
  resumed: CallSummary | null,
  onVote: (summary: CallSummary) => Promise<void>,
): Review {
  let deadlineMs = resumed?.deadline_ms ?? null;
  let escalatesMs: number | null = null;
  // A decision may come before its run has reached the review: after a crash the row is visible before the run is back.
  let begun = false;
  let over = false;
  /** A decision, or the deadline, is being applied to the record. */
  let deciding = false;
  let settled: CallSummary | null = null;
  /** The decision that settled it; `null` when the deadline did. */
  let stands: CarriedSettlement | null = null;
  let rowSettled = false;

  /** All waiters are woken at once, and one continues: results of two local activities may arrive in another order in a replay. */
  const crowded = () => deciding && underOwnNames();
  const inTurn = async (): Promise<void> => {
    do await condition(() => !deciding);
    while (crowded());
  };
  const settledBefore = (ms: number, summary: string): Promise<boolean> =>
    condition(() => settled !== null, Math.max(1, ms - Date.now()), { summary });

  /** Tells people again, once; when they are told next, `null` for never. A store that is away then may be back before the deadline. */
  async function escalated(dueMs: number, escalate: Escalate): Promise<number | null> {
    for (let atMs = dueMs; !isOver(deadlineMs, Math.max(atMs, Date.now())); atMs = Date.now() + ESCALATE_AGAIN_MS) {
      if (await settledBefore(atMs, 'then people are told again')) return null;
      await inTurn();
      if (settled) return null;
      deciding = true;
      try {
        const { escalates_ms: next = 0 } = await escalate(dueMs);
        // What the record did not take then, it does not take: its time is over there.
        return next > dueMs ? next : null;
      } catch (error) {
        // A store that is away. Anything else is a fault of this worker, and its task is retried.
        if (!(error instanceof TemporalFailure)) throw error;
      } finally {
        deciding = false;
      }
    }
    return null;
  }

  setHandler(
    decideUpdate,
    async (sent) => {
      do await condition(() => !deciding && (begun || over));
      while (crowded());
      if (settled && stands && isDecidedBy(stands, sent))
        return { applied: true, summary: settled, settled: stands, row_settled: rowSettled };
      if (settled) return { applied: false, code: lateFor(settled), settled: stands, summary: settled };
      if (over) return { applied: false, code: FAILURES.notPending, settled: null, summary: null };
      deciding = true;
      try {
        const verdict = await applyDecision(call, sent);
        if (verdict.applied && verdict.settled === null) {
          await onVote(verdict.summary);
          return verdict;
        }
        // A refusal also returns the record's state, which may contain an earlier decision that this workflow has not seen.
        settled ??= verdict.summary;
        stands ??= verdict.settled;
        rowSettled ||= verdict.applied && verdict.row_settled === true;
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
        // A failed task is retried, and its updates may arrive in another order. The decision that won before still wins.
        if (settled && stands && isDecidedBy(stands, sent)) return;
        if (settled) throw refusal(lateFor(settled), 'the first decision stands');
        if (over) throw refusal(FAILURES.notPending, 'this call does not wait for a decision');
        // Whether it is late is seen with the record, which is closed before anybody is told so. There its own `not_after` is checked too:
        // after a crash the record may already contain this decision.
      },
    },
  );

  return {
    open(parked) {
      deadlineMs = parked.deadline_ms;
      escalatesMs = parked.escalates_ms ?? null;
      begun = true;
    },
    close: () => void (over = true),
    async settled({ escalate, expire }) {
      for (let dueMs = escalatesMs; dueMs !== null; ) dueMs = await escalated(dueMs, escalate);
      if (!(await settledBefore(deadlineMs ?? 0, 'then the call expires'))) await inTurn();
      if (settled) return { summary: settled, by: 'decision', row_settled: rowSettled };
      deciding = true;
      try {
        settled = await expire();
      } finally {
        deciding = false;
      }
      return { summary: settled, by: 'deadline', row_settled: false };
    },
    isSettled: () => settled !== null,
    async waitsFor(ms) {
      const untilMs = Date.now() + ms;
      if (untilMs >= Math.min(escalatesMs ?? Infinity, deadlineMs ?? 0)) return false;
      return !(await settledBefore(untilMs, 'then it asks for room on the parked queue'));
    },
  };
}

const ESCALATE_AGAIN_MS = 15_000;

/** The answer to a decision that came after the end of the review. */
const lateFor = ({ state }: CallSummary) =>
  state === 'tampered' || state === 'expired' || state === 'aborted' ? FAILURES[state] : FAILURES.decided;

/**
 * Waits until there is room on the parked queue, `waitMs` at first (docs/decisions/continue-as-new-at-park.md). `false` where the call stays
 * here: it was decided meanwhile, or something is due sooner. `answer` tells the caller that the call is parked: when the wait is over, so that
 * callers do not park calls faster than they can move, but after three seconds at the latest; `null` where he knows.
 */
export async function mayMove(
  call: CallInput,
  review: Review,
  { waitMs, answer }: { waitMs: number; answer: (() => void) | null },
): Promise<boolean> {
  const beginsMs = Date.now();
  const waits = async (ms: number): Promise<boolean> => {
    const untilAnswerMs = beginsMs + ANSWER_WITHIN_MS - Date.now();
    if (answer && untilAnswerMs > 0 && untilAnswerMs < ms) {
      if (!(await review.waitsFor(untilAnswerMs))) return false;
      answer();
      return review.waitsFor(ms - untilAnswerMs);
    }
    return review.waitsFor(ms);
  };
  try {
    for (let ms = waitMs; ms > 0; ) {
      if (!(await waits(ms))) return false;
      // Without an answer it moves: that is right in any case, only less considerate.
      ms = await roomForParked(call.correlation_id).catch(() => 0);
    }
    return true;
  } finally {
    answer?.();
  }
}

const ANSWER_WITHIN_MS = 3_000;

/**
 * Continues as a new run under the same id, with a history of five events instead of everything up to the verdict. All callers that wait in
 * this run are answered before it ends; a decision that has reached it is settled here, and then this returns.
 */
export async function continueAsParked(
  call: CallInput,
  parked: CallSummary,
  { taskQueue, review, rowsAppended }: { taskQueue: string; review: Review; rowsAppended: () => boolean },
): Promise<void> {
  await condition(allHandlersFinished);
  if (review.isSettled()) return;
  const goOn = makeContinueAsNewFunc<ToolCall>({ taskQueue, memo: { [JUDGED_BY_RUN]: workflowInfo().runId } });
  await goOn(call, parked, rowsAppended());
}
