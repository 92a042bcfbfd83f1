import type { CallContract, CallState } from '../../contracts/call.js';

/** An approved call must begin within this time after its decision was taken, by the worker's clock; later the claim is refused and nothing runs. */
export const APPROVED_CLAIM_LIMIT_MS = 60_000;

/**
 * The one table of a call's transitions (docs/architecture/record-and-claim.md). Each is a compare-and-set on the stored state: if it finds
 * another state, that state stands. Pure: the workflow, the in-process runner and the store all read it.
 */
export const CALL_MOVES = {
  /** The review row is stored and the workflow waits. */
  park: { from: ['decided'], to: 'parked' },
  /** One approval of several: the call waits for the others. */
  vote: { from: ['parked'], to: 'parked' },
  /** Nobody has decided at a share of its time: people are told again, and the call waits on. */
  escalate: { from: ['parked'], to: 'parked' },
  approve: { from: ['parked'], to: 'approved' },
  deny: { from: ['parked'], to: 'denied' },
  expire: { from: ['parked'], to: 'expired' },
  /** The right to the single attempt. Its holder may send bytes; nobody gets it twice. */
  claim: { from: ['allowed', 'approved'], to: 'intended' },
  /** One call of a batch has ended, and the next may be sent. */
  step: { from: ['intended'], to: 'intended' },
  complete: { from: ['intended'], to: 'completed' },
  /** The attempt began and its outcome is unknown. */
  lose: { from: ['intended'], to: 'uncertain' },
  /** A probe looked whether the tool ran, and nothing is proved: the look is kept. */
  probe: { from: ['uncertain'], to: 'uncertain' },
  /** A probe or a person has evidence that the tool ran. Without evidence the store refuses the move. */
  found: { from: ['uncertain'], to: 'completed' },
  /** The same, that it did not. Gate does not run it either: nothing leads from here to a claim. */
  ruled_out: { from: ['uncertain'], to: 'not_run' },
  /** The attempt certainly had no effect: never claimed, or no byte was sent. */
  not_run: { from: ['allowed', 'approved', 'intended'], to: 'not_run' },
  /** Too late to begin: the caller has given up. */
  abandon: { from: ['decided', 'allowed'], to: 'abandoned' },
  /** Closed by reconciliation, without an effect. */
  abort: { from: ['decided', 'parked', 'allowed', 'approved'], to: 'aborted' },
} as const satisfies Record<string, { from: readonly CallState[]; to: CallState }>;

export type CallMove = keyof typeof CALL_MOVES;

/**
 * The final state of a record that Gate did not write, whatever state it claims. No transition leads there, because a transition trusts the
 * state it starts from: the store itself closes such a record.
 */
export const TAMPERED = 'tampered' satisfies CallState;

/** The state after a transition; `null` when the table has no such transition. */
export function nextState(state: CallState, move: CallMove): CallState | null {
  const { from, to } = CALL_MOVES[move];
  return (from as readonly CallState[]).includes(state) ? to : null;
}

/** The id of the workflow that tells the caller how its review ended; a second start finds the first. */
export const callbackIdOf = (correlationId: string, ended: CallState): string => `callback/${correlationId}/${ended}`;

/** The states of a call that has not ended. */
export const OPEN_STATES = ['decided', 'parked', 'allowed', 'approved', 'intended'] as const satisfies CallState[];

const TERMINAL: ReadonlySet<CallState> = new Set([
  'denied',
  'completed',
  'uncertain',
  'not_run',
  'expired',
  'abandoned',
  'aborted',
  TAMPERED,
]);

/**
 * Nothing more will happen to this call by itself; evidence may still tell how an uncertain one ended. Where Gate does not execute it, an allow is
 * final too.
 */
export const isFinal = (state: CallState, contract: CallContract): boolean =>
  TERMINAL.has(state) || (contract !== 'gate.server-execution/v1' && (state === 'allowed' || state === 'approved'));

/** The first state of a record; `tampered` when the staged bytes are not the request of its digest. */
export type FirstState = 'decided' | 'denied' | 'allowed' | 'abandoned' | typeof TAMPERED;
