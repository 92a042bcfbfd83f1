import type { Json, JsonObject } from '../../../contracts/json.js';
import type { PendingRequest, PendingSummary } from '../../../contracts/review.js';
import { mask } from '../../../domain/masking/mask.js';
import { isAtLeast, type Role } from '../../roles.js';

const masked = <Value>(value: Value): Value => mask(value as Json) as Value;

/**
 * A row as a role may see it (docs/architecture/console.md#pages-and-forms). Who decides sees exactly what will run; who looks on sees secrets and personal
 * data masked, as in the ledger. Why it waits may quote what was asked for, as policies word it.
 */
export function seenBy(role: Role, row: PendingRequest): PendingRequest {
  if (isAtLeast(role, 'approver')) return row;
  return {
    ...row,
    request_payload: masked(row.request_payload),
    risk_summary: masked(row.risk_summary),
    review_reasons: masked(row.review_reasons),
    ...(row.modification_diff && { modification_diff: masked(row.modification_diff) }),
    ...(row.since_last_call && { since_last_call: masked(row.since_last_call) }),
    ...(row.sandbox_report && { sandbox_report: masked(row.sandbox_report) }),
  };
}

/** The same of a row of a list, which says what the call would do. */
export const summarySeenBy = (role: Role, summary: PendingSummary): PendingSummary =>
  isAtLeast(role, 'approver')
    ? summary
    : { ...summary, risk_summary: masked(summary.risk_summary), predicted: masked(summary.predicted) };

/** Rows of a list as a role may see them. Whoever looks for a text finds no row by what is masked for him: else he could guess at it. */
export const listSeenBy = (role: Role, rows: readonly PendingSummary[], q = ''): readonly PendingSummary[] =>
  rows
    .map((row) => summarySeenBy(role, row))
    .filter((row) => isAtLeast(role, 'approver') || says(row, q.toLowerCase()));

function says({ id, correlation_id, agent_id, method, tool, risk_summary, predicted }: PendingSummary, text: string) {
  const said = [agent_id, method, tool, risk_summary, predicted ?? ''];
  return (
    said.some((one) => one.toLowerCase().includes(text)) ||
    [id, correlation_id].some((one) => one.startsWith(text.trim()))
  );
}

/** The same of an answer of the review service as text: a row, a list of rows, a page of them in short, or an event about one. */
export function textSeenBy(role: Role, text: string, q?: string): string {
  if (isAtLeast(role, 'approver')) return text;
  const answer = JSON.parse(text) as JsonObject;
  const seen = (one: Json | undefined): Json | undefined => {
    if (one === null || typeof one !== 'object') return one;
    if ('request_payload' in one) return seenBy(role, one as unknown as PendingRequest) as unknown as Json;
    return 'predicted' in one ? { ...summarySeenBy(role, one as unknown as PendingSummary) } : one;
  };
  const { items, pending } = answer;
  if (Array.isArray(answer)) return JSON.stringify(answer.map(seen));
  if (Array.isArray(items))
    return JSON.stringify({ ...answer, items: listSeenBy(role, items as unknown as PendingSummary[], q) });
  return JSON.stringify(pending === undefined ? seen(answer) : { ...answer, pending: seen(pending) });
}
