import type { LedgerEntry } from '../../../contracts/ledger.js';
import { judgedBy, outcomeOf } from '../reports/outcome.js';

/** Nothing to look at, a human was asked, or something was refused. In this order. */
export const SEVERITIES = ['info', 'medium', 'high'] as const;
export type Severity = (typeof SEVERITIES)[number];

const ASKED = new Set(['hil.created', 'hil.vote', 'hil.escalated', 'hil.assigned', 'hil.modified']);

/** How much a row deserves attention, by what it says. */
export function severityOf(row: LedgerEntry): Severity {
  const { event_kind: kind, authorized, policy_decision: detail } = row;
  if (kind?.startsWith('alarm.')) return 'high';
  if (kind !== null && ASKED.has(kind)) return 'medium';
  const { tier, would, reasons, review_reasons: toReview } = detail ?? {};
  const outcome = outcomeOf(judgedBy(row));
  // What was only observed ran: nobody refused it, and enforcing would have.
  if (outcome === 'allowed') return typeof would === 'string' ? 'medium' : 'info';
  if (outcome === 'reviewed') return 'medium';
  const some = (list: unknown) => Array.isArray(list) && list.length > 0;
  if (tier === 'yellow' || (some(toReview) && !some(reasons))) return 'medium';
  return authorized ? 'info' : 'high';
}

export const atLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
