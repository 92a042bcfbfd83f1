import type { LedgerEntry } from '../../../contracts/ledger.js';
import { judgedBy, outcomeOf } from '../reports/outcome.js';

/** Nothing to look at; a person was asked; something was refused. In ascending order. */
export const SEVERITIES = ['info', 'medium', 'high'] as const;
export type Severity = (typeof SEVERITIES)[number];

const ASKED = new Set(['hil.created', 'hil.vote', 'hil.escalated', 'hil.assigned', 'hil.modified']);

/** How much attention a row deserves, derived from its content. */
export function severityOf(row: LedgerEntry): Severity {
  const { event_kind: kind, authorized, policy_decision: detail } = row;
  if (kind?.startsWith('alarm.')) return 'high';
  if (kind !== null && ASKED.has(kind)) return 'medium';
  const { tier, would, reasons, review_reasons: toReview } = detail ?? {};
  const outcome = outcomeOf(judgedBy(row));
  // In observe mode the call ran; `would` says what enforcement would have done.
  if (outcome === 'allowed') return typeof would === 'string' ? 'medium' : 'info';
  if (outcome === 'reviewed') return 'medium';
  const some = (list: unknown) => Array.isArray(list) && list.length > 0;
  if (tier === 'yellow' || (some(toReview) && !some(reasons))) return 'medium';
  return authorized ? 'info' : 'high';
}

export const atLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
