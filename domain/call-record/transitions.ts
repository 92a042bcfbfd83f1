import type { CallContract, CallState } from '../../contracts/call.js';

/**
 * The one table of a call's moves (docs/architecture/record-and-claim.md). Every move is a compare-and-set on the stored state: whoever
 * finds another state takes what is there. Pure: the workflow, the in-process host and the store all read it.
 */
export const CALL_MOVES = {
  /** The review row is stored and the workflow waits. */
  park: { from: ['decided'], to: 'parked' },
  approve: { from: ['parked'], to: 'approved' },
  deny: { from: ['parked'], to: 'denied' },
  expire: { from: ['parked'], to: 'expired' },
  /** The right to the one attempt. Whoever holds it may send bytes; nobody gets it twice. */
  claim: { from: ['allowed', 'approved'], to: 'intended' },
  complete: { from: ['intended'], to: 'completed' },
  /** The attempt began and its outcome is not known. */
  lose: { from: ['intended'], to: 'uncertain' },
  /** The attempt surely had no effect: never claimed, or no byte was sent. */
  not_run: { from: ['allowed', 'approved', 'intended'], to: 'not_run' },
  /** Too late to begin: the caller has given up. */
  abandon: { from: ['decided', 'allowed'], to: 'abandoned' },
  /** Closed by reconciliation, fail closed. */
  abort: { from: ['decided', 'parked', 'allowed', 'approved'], to: 'aborted' },
} as const satisfies Record<string, { from: readonly CallState[]; to: CallState }>;

export type CallMove = keyof typeof CALL_MOVES;

/**
 * Where a record ends that is not what Gate wrote, whatever state it claims. No move leads there, because a move trusts the state it
 * starts from: the store closes such a record itself.
 */
export const TAMPERED = 'tampered' satisfies CallState;

/** The state after a move, or `null` where the table has no such move. */
export function nextState(state: CallState, move: CallMove): CallState | null {
  const { from, to } = CALL_MOVES[move];
  return (from as readonly CallState[]).includes(state) ? to : null;
}

/** The id of the workflow that tells the caller how its review ended: a second start meets the first. */
export const callbackIdOf = (correlationId: string, ended: CallState): string => `callback/${correlationId}/${ended}`;

/** The states of a call that is still to come to an end. */
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

/** Nothing more will happen to this call. Under `gate.decision/v1` an allow is an end too: the host executes, not Gate. */
export const isFinal = (state: CallState, contract: CallContract): boolean =>
  TERMINAL.has(state) || (contract === 'gate.decision/v1' && (state === 'allowed' || state === 'approved'));

/** Where a record begins; as `tampered`, where what was staged is not the request of its digest. */
export type FirstState = 'decided' | 'denied' | 'allowed' | 'abandoned' | typeof TAMPERED;
