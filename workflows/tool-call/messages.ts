import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { DecisionVerdict } from '../../activities/review.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { SignedDecision } from '../../contracts/review.js';
import type { DecisionRefusal } from '../../domain/review/transitions.js';

/** The workflow's type. Under another name the calls that are open would find no code to go on with. */
export const TOOL_CALL = 'toolCall';

/** Asks for the answer of a call; completes with it. `digest` must be the call's own: another one is another request. */
export const answerUpdate = defineUpdate<CallSummary, [{ digest: string }]>('answer');

/** Decides a parked call. An update is a signal that answers and refuses: the first valid decision wins, every other one is refused. */
export const decideUpdate = defineUpdate<DecisionVerdict, [SignedDecision]>('decide');

/** The state of the call, for people who look at the workflow. */
export const viewQuery = defineQuery<CallView>('view');

export interface CallView {
  readonly correlation_id: string;
  readonly contract: CallInput['contract'];
  readonly summary: CallSummary | null;
  readonly waiting_for: 'verdict' | 'decision' | 'upstream' | 'ledger' | null;
}

/** In the memo of the run of a parked call: which run judged it. */
export const JUDGED_BY_RUN = 'judged_by_run';

/** Why a decision is refused, as the type of the failure its sender reads. */
const REFUSALS = {
  refused: 'decision_refused',
  decided: 'already_decided',
  expired: 'pending_expired',
  notPending: 'not_pending',
  tampered: 'call_tampered',
} as const satisfies Record<string, DecisionRefusal>;

/** Types of failures by which senders of messages know what happened. */
export const FAILURES = {
  conflict: 'idempotency_conflict',
  unavailable: 'PipelineUnavailable',
  /** An argument of an activity that Gate did not seal. */
  unsealed: 'unsealed_argument',
  ...REFUSALS,
} as const;

/** The workflow `toolCall`, as what goes on in a new run calls it. */
export type ToolCall = (call: CallInput, resumed?: CallSummary | null, rowsAppended?: boolean) => Promise<CallSummary>;
