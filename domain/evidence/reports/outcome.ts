import type { JsonObject } from '../../../contracts/json.js';
import { type LedgerEntry, SIMULATOR_SOURCE } from '../../../contracts/ledger.js';
import type { CallTier } from '../../../contracts/ledger-reports.js';
import { approvalTier } from '../../../contracts/policy.js';
import { isPerson } from '../../decision/deciders.js';
import { WITHDRAWN_BY_AGENT } from '../../decision/transitions.js';

/** The fields of a row that show how a call was judged. `kind` is the event kind, or the method of a row without one. */
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
 * Whether a row is of a review that no call asked for (docs/architecture/reviews.md#a-review-without-a-call). It names an agent, and is
 * neither that agent's doing nor a decision about a call.
 */
export const isRehearsal = ({ event_kind, method, source }: RehearsalColumns): boolean =>
  source === SIMULATOR_SOURCE && (event_kind ?? method)?.startsWith('hil.') === true;

interface RehearsalColumns {
  readonly event_kind: string | null;
  readonly method: string | null;
  readonly source?: unknown;
}

/**
 * What Gate did with a call, from its verdict row; `null` for any other row. `authorized` alone does not tell: it is false for a call that
 * was parked, and for one that ran in observe mode although enforcement would have stopped it. Neither was denied.
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

const APPROVAL_TIERS: readonly unknown[] = approvalTier.options;

/** The tier of a call, from its verdict row; `null` for any other row. A refusal for a rate names none. */
export function tierOf(row: Judged): CallTier | null {
  const outcome = outcomeOf(row);
  if (outcome === null) return null;
  const { tier, approval_tier: approval } = row.decision ?? {};
  if (tier === 'green' || tier === 'red') return tier;
  if (tier === 'yellow' && APPROVAL_TIERS.includes(approval)) return approval as CallTier;
  return outcome === 'allowed' ? 'green' : outcome === 'denied' ? 'red' : 'standard';
}

/** The people who decided, from the row of the decision; none where Gate itself did, or nobody is named. */
export function peopleOf(decision: JsonObject | null): string[] {
  const approvals = decision?.['approvals'];
  const all = [
    decision?.['decided_by'],
    ...(Array.isArray(approvals)
      ? approvals.map((one) => typeof one === 'object' && one !== null && !Array.isArray(one) && one['by'])
      : []),
  ];
  const named = all.filter((one): one is string => typeof one === 'string' && one !== '');
  return named.every(isPerson) ? [...new Set(named)] : [];
}

/** How the review of a call ended: through people, unless the word says otherwise. */
export const REVIEW_ENDS = [
  'approved',
  'denied',
  'expired',
  'changed_then_denied',
  'approved_by_rule',
  'denied_by_gate',
  'withdrawn',
] as const;
export type ReviewEnd = (typeof REVIEW_ENDS)[number];

/**
 * How the review of a call ended, from the row of its end; `null` for any other row, and for one that does not say who decided. The kind alone
 * does not tell: an agent that takes its call back, a tenant that leaves and a rule decide by the same rows as people, and so does policy that
 * refuses what a person made of a call (`changed_then_denied`).
 */
export function reviewEndOf(row: Judged): ReviewEnd | null {
  if (row.kind === 'hil.expired') return 'expired';
  if (row.kind !== 'hil.approved' && row.kind !== 'hil.denied') return null;
  const by = row.decision?.['decided_by'];
  if (peopleOf(row.decision).length > 0) {
    if (row.kind === 'hil.approved') return 'approved';
    return row.decision?.['decision'] === 'modify' ? 'changed_then_denied' : 'denied';
  }
  if (typeof by !== 'string' || by === '') return null;
  if (row.kind === 'hil.approved') return 'approved_by_rule';
  return by === WITHDRAWN_BY_AGENT ? 'withdrawn' : 'denied_by_gate';
}

/** Refused for good: by the verdict, or later by a person, or by policy as a person had changed it. */
export function isDenial(reportRow: Judged): boolean {
  if (outcomeOf(reportRow) === 'denied') return true;
  const end = reviewEndOf(reportRow);
  return end === 'denied' || end === 'changed_then_denied';
}
