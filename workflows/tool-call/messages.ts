import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { DecisionVerdict } from '../../activities/review.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { CarriedDecision } from '../../contracts/review.js';
import type { DecisionRefusal } from '../../domain/decision/transitions.js';

/** The workflow's type. Under another name, open calls would find no code to continue with. */
export const TOOL_CALL = 'toolCall';

/** Asks for the answer of a call; completes with it. `digest` must be the call's own: another one belongs to another request. */
export const answerUpdate = defineUpdate<CallSummary, [{ digest: string }]>('answer');

/**
 * Decides a parked call. Unlike a signal, an update has an answer and can be refused: the first valid decision wins, every other one is
 * refused.
 */
export const decideUpdate = defineUpdate<DecisionVerdict, [CarriedDecision]>('decide');

/** The state of the call, for people who look at the workflow. */
export const viewQuery = defineQuery<CallView>('view');

export interface CallView {
  readonly correlation_id: string;
  readonly contract: CallInput['contract'];
  readonly summary: CallSummary | null;
  readonly waiting_for: 'verdict' | 'decision' | 'upstream' | 'ledger' | null;
}

/** In the memo of a parked call's run: the run that judged it. */
export const JUDGED_BY_RUN = 'judged_by_run';

/** Why a decision is refused, as the type of the failure that its sender reads. */
const REFUSALS = {
  refused: 'decision_refused',
  decided: 'already_decided',
  expired: 'pending_expired',
  aborted: 'pending_aborted',
  notPending: 'not_pending',
  tampered: 'call_tampered',
} as const satisfies Record<string, DecisionRefusal>;

/** Failure types by which senders of messages learn what happened. */
export const FAILURES = {
  conflict: 'idempotency_conflict',
  unavailable: 'PipelineUnavailable',
  /** An argument of an activity that Gate did not seal. */
  unsealed: 'unsealed_argument',
  ...REFUSALS,
} as const;

/** The workflow `toolCall`, as a continued run starts it. */
export type ToolCall = (call: CallInput, resumed?: CallSummary | null, rowsAppended?: boolean) => Promise<CallSummary>;
