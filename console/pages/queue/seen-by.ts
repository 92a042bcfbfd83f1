import type { Json, JsonObject } from '../../../contracts/json.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { mask } from '../../../domain/masking/mask.js';
import { isAtLeast, type Role } from '../../roles.js';

/**
 * A row as a role may see it (docs/architecture/console.md#pages-and-forms). Who decides sees exactly what will run; who looks on sees secrets and personal
 * data masked, as in the ledger.
 */
export function seenBy(role: Role, row: PendingRequest): PendingRequest {
  if (isAtLeast(role, 'approver')) return row;
  const masked = <Value>(value: Value): Value => mask(value as JsonObject) as Value;
  return {
    ...row,
    request_payload: masked(row.request_payload),
    ...(row.modification_diff && { modification_diff: masked(row.modification_diff) }),
    ...(row.since_last_call && { since_last_call: masked(row.since_last_call) }),
    ...(row.sandbox_report && { sandbox_report: masked(row.sandbox_report) }),
  };
}

/** The same of an answer of the review service as text: a row, a list of rows, or a page of them. */
export function textSeenBy(role: Role, text: string): string {
  if (isAtLeast(role, 'approver')) return text;
  const answer = JSON.parse(text) as JsonObject;
  const seen = (one: Json): Json =>
    one !== null && typeof one === 'object' && 'request_payload' in one
      ? (seenBy(role, one as unknown as PendingRequest) as unknown as Json)
      : one;
  const { items } = answer;
  if (Array.isArray(answer)) return JSON.stringify(answer.map(seen));
  return JSON.stringify(Array.isArray(items) ? { ...answer, items: items.map(seen) } : seen(answer));
}
