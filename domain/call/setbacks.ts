import type { CallState } from '../../contracts/call.js';

/**
 * What reconciliation may have to do for a call: end it, append its rows, settle its review row, send its callback, probe for a lost
 * outcome, raise the alarm about its end.
 */
export const DUTIES = ['open', 'rows', 'review', 'callback', 'probe', 'alarm'] as const;

export type Duty = (typeof DUTIES)[number];

/** A duty of one call that could not be done, and when it is tried again. For `alarm`: an alarm that is not in the ledger yet. */
export interface Setback {
  readonly correlation_id: string;
  readonly duty: Duty;
  readonly attempts: number;
  readonly since_ms: number;
  readonly next_ms: number;
  readonly reason: string;
  /** For `alarm`: the state that the call was closed in. */
  readonly state: CallState | null;
  /** The alarm row is in the ledger. */
  readonly alarmed: boolean;
}

export interface Setbacks {
  all(): Promise<Setback[]>;
  put(setback: Setback): Promise<void>;
  clear(correlationId: string, duty: Duty): Promise<void>;
  /** Forgets duties that were done, and calls whose record is gone. */
  prune(): Promise<void>;
  /** How many calls cannot be helped at present, and since when the first of them could not. */
  stuck(): Promise<{ readonly calls: number; readonly since_ms: number | null }>;
}
