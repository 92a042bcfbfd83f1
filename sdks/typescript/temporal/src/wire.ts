/** What workflows and activities tell each other. Loaded into workflows too, so it imports nothing. */

/** The call of a tool as Gate is asked about it. `idempotencyId` is the workflow's own: however often it asks, it is one request. */
export interface AskedCall {
  readonly name: string;
  readonly arguments: unknown;
  readonly idempotencyId: string;
}

export interface Refused {
  readonly kind: 'deny';
  /** Gate's stable code. */
  readonly code: string;
  readonly reasons: readonly string[];
  readonly correlationId?: string | undefined;
  /** What would be allowed, and whether a person can help; of a rule's denial. */
  readonly advice?: object | undefined;
}
export interface Allowed {
  readonly kind: 'allow';
  readonly correlationId?: string | undefined;
}
export interface Waits {
  readonly kind: 'pending';
  readonly correlationId: string;
  /** How soon it is worth asking what became of it. */
  readonly pollAfterMs?: number | undefined;
}

export interface AskedDecision {
  readonly correlationId: string;
}

export const DECIDE = 'gate.decide';
export const DECISION = 'gate.decision';
export const DECIDED_SIGNAL = 'gate.decided';

/** What a tool's activity carries: the call that Gate allowed. */
export interface Authorization {
  /** The call in Gate's ledger; absent where an observing Gate, or SDK, had no verdict. */
  readonly correlationId?: string | undefined;
  /** The same for each attempt of the activity: what makes a tool's effect happen once. */
  readonly idempotencyId: string;
  /** Of which activity. */
  readonly activityType: string;
}
export const AUTHORIZATION_HEADER = 'gate-authorization';
