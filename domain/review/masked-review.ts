import { type PendingRequest, pendingRequest, type PendingSummary, pendingSummary } from '../../contracts/review.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { mask } from '../masking/mask.js';

/**
 * Review rows for who only looks on (docs/architecture/console.md#pages-and-forms): secrets and personal data are masked, as in the ledger. Why a
 * call waits may quote what was asked for, as policies word it. A field that is not named here is masked.
 */
type Fields<Shape extends object> = Readonly<Record<keyof Shape, 'plain' | 'masked'>>;

const ROW: Fields<typeof pendingRequest.shape> = {
  id: 'plain',
  correlation_id: 'plain',
  agent_id: 'plain',
  agent_spiffe: 'plain',
  method: 'plain',
  request_payload: 'masked',
  risk_summary: 'masked',
  review_reasons: 'masked',
  created_at: 'plain',
  ttl_seconds: 'plain',
  status: 'plain',
  decided_at: 'plain',
  decided_by: 'plain',
  decision_reason: 'plain',
  decided_via: 'plain',
  assigned_to: 'plain',
  assigned_by: 'plain',
  escalation_pool: 'plain',
  escalated_at: 'plain',
  escalates_at: 'plain',
  escalated_again_at: 'plain',
  escalates_again_at: 'plain',
  incident_summary: 'plain',
  incident_by: 'plain',
  decision_request_id: 'plain',
  modification_diff: 'masked',
  reviewed_payload_digest: 'plain',
  candidate_execution_payload_digest: 'plain',
  approver_provenance: 'plain',
  approver_assertion: 'plain',
  credential_kind: 'plain',
  original_payload_digest: 'plain',
  sandbox_report: 'masked',
  sandbox_report_digest: 'plain',
  policy_bundle_sha256: 'plain',
  payload_bytes: 'plain',
  approval_tier: 'plain',
  required_approvers: 'plain',
  approvals: 'plain',
  tenant: 'plain',
  state_namespace: 'plain',
  retention: 'plain',
  since_last_call: 'masked',
};
const SUMMARY: Fields<typeof pendingSummary.shape> = {
  id: 'plain',
  correlation_id: 'plain',
  agent_id: 'plain',
  method: 'plain',
  tool: 'plain',
  risk_summary: 'masked',
  status: 'plain',
  created_at: 'plain',
  ttl_seconds: 'plain',
  expires_at: 'plain',
  approval_tier: 'plain',
  required_approvers: 'plain',
  approvals_count: 'plain',
  assigned_to: 'plain',
  escalation_pool: 'plain',
  escalated_at: 'plain',
  severity: 'plain',
  operation_class: 'plain',
  predicted: 'masked',
  projected_cost_micros: 'plain',
  decided_at: 'plain',
  decided_by: 'plain',
  decided_via: 'plain',
  tenant: 'plain',
  state_namespace: 'plain',
};

const maskedBy =
  (fields: Readonly<Record<string, 'plain' | 'masked'>>) =>
  (value: object): JsonObject =>
    Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name,
        Object.hasOwn(fields, name) && fields[name] === 'plain' ? (field as Json) : mask(field as Json),
      ]),
    );
const rowMasked = maskedBy(ROW);
const summaryMasked = maskedBy(SUMMARY);

export const maskedRow = (row: PendingRequest): PendingRequest => rowMasked(row) as PendingRequest;

/** Rows of a list. A search for who sees them so is one of the review service (`masked`): else he could guess at what is masked. */
export const maskedList = (rows: readonly object[]): PendingSummary[] =>
  rows.map((row) => summaryMasked(row) as PendingSummary);

/** What the review service answers: a row, rows, a page of them in short, an event about one, or numbers in which no call is. */
export type ReviewAnswer = 'row' | 'rows' | 'summaries' | 'event' | 'counts';

/** An answer of the review service as text, masked as what it is. Throws `console_neighbour_away` for one that is something else. */
export function maskedAnswer(is: ReviewAnswer, text: string): string {
  return JSON.stringify(MASKED[is](parsed(text)));
}

const MASKED: Readonly<Record<ReviewAnswer, (answer: Json) => Json>> = {
  row: (answer) => rowMasked(objectIn(answer)),
  rows: (answer) => listIn(answer).map((row) => rowMasked(objectIn(row))),
  summaries(answer) {
    const { items, ...page } = objectIn(answer);
    const rows = maskedList(listIn(items ?? null).map(objectIn));
    return { items: rows as unknown as Json[], ...maskedBy(PAGE)(page) };
  },
  event(answer) {
    const event = objectIn(answer);
    const { pending, ...rest } = event;
    const told = maskedBy(EVENT)(rest);
    // In its own order; a reset tells of no call.
    return Object.fromEntries(
      Object.keys(event).map((name) => [
        name,
        name === 'pending' ? summaryMasked(objectIn(pending ?? null)) : (told[name] ?? null),
      ]),
    );
  },
  // No value of a call is in them, and the time of no decision is told by a name that a secret could have.
  counts: objectIn,
};
const PAGE = { next_cursor: 'plain', searched_to: 'plain', pending_count: 'plain' } as const;
const EVENT = { type: 'plain', at: 'plain' } as const;

const somethingElse = (): GateError =>
  new GateError('console_neighbour_away', 'the review service answered with something else than was asked for');

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw somethingElse();
  }
}

function objectIn(value: Json): JsonObject {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw somethingElse();
  return value as JsonObject;
}

function listIn(value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw somethingElse();
  return value as readonly Json[];
}
