import type { JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';

/** What a row says of a judgement, by its event kind or, without one, its method. */
export interface Judged {
  readonly kind: string;
  readonly decision: JsonObject | null;
  readonly authorized: boolean;
}

export const judgedBy = ({ event_kind, method, policy_decision, authorized }: LedgerEntry): Judged => ({
  kind: event_kind ?? method,
  decision: policy_decision,
  authorized,
});

/**
 * What Gate did with a call, by its verdict row; `null` for any other row. `authorized` says only whether nothing spoke against the call:
 * one that was parked, or that was executed while Gate observed, is not authorized and was not denied.
 */
export function outcomeOf({ kind, decision, authorized }: Judged): 'allowed' | 'denied' | 'reviewed' | null {
  if (kind !== 'proxy.verdict') return null;
  switch (decision?.['outcome']) {
    case 'allow':
      return 'allowed';
    case 'park':
      return 'reviewed';
    case 'deny':
    case 'rate_limited':
      return 'denied';
    default:
      return authorized ? 'allowed' : 'denied';
  }
}

/** Refused for good: by the verdict, or by a person afterwards. */
export const isDenial = (fact: Judged): boolean => outcomeOf(fact) === 'denied' || fact.kind === 'hil.denied';
