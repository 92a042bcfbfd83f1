import {
  type PendingRequest,
  pendingRequest,
  type PendingSummary,
  pendingSummary,
  type sinceLastCall,
} from '../../contracts/review.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { mask } from '../masking/mask.js';
import { canonicalJson } from '../crypto/digest.js';

/**
 * Review rows for who only looks on (docs/architecture/console.md#pages-and-forms): secrets and personal data are masked, as in the ledger. Why a
 * call waits may quote what was asked for, as policies word it. A field that is not named here is masked. What was made of arguments without
 * their names, or cut, is `withheld`: by itself nothing says that it has to be masked.
 */
type Seen = 'plain' | 'masked' | 'withheld';
type Fields<Shape extends object> = Readonly<Record<keyof Shape, Seen>>;

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
  modification_diff: 'withheld',
  reviewed_payload_digest: 'plain',
  candidate_execution_payload_digest: 'plain',
  approver_provenance: 'plain',
  approver_assertion: 'plain',
  credential_kind: 'plain',
  original_payload_digest: 'plain',
  sandbox_report: 'withheld',
  sandbox_report_digest: 'plain',
  policy_bundle_sha256: 'plain',
  payload_bytes: 'plain',
  approval_tier: 'plain',
  required_approvers: 'plain',
  approvals: 'plain',
  tenant: 'plain',
  state_namespace: 'plain',
  retention: 'masked',
  since_last_call: 'withheld',
};
const SUMMARY: Fields<typeof pendingSummary.shape> = {
  id: 'plain',
  correlation_id: 'plain',
  agent_id: 'plain',
  method: 'plain',
  tool: 'masked',
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
  predicted: 'withheld',
  projected_cost_micros: 'plain',
  decided_at: 'plain',
  decided_by: 'plain',
  decided_via: 'plain',
  tenant: 'plain',
  state_namespace: 'plain',
};

/** Larger than that nothing is masked here, since others would wait: it is not shown at all. */
const MASKED_UNITS = 16_384;
const TOO_LARGE = '[MASKED: too large to be masked here]';
/** Summaries are cut at so many units. What is written with blanks and would be masked as a whole has no more than so many. */
const SUMMARY_UNITS = 500;
const PART = 80;

function maskedField(name: string, field: Json): Json {
  if (JSON.stringify(field).length > MASKED_UNITS) return instead(name, field);
  return name === 'risk_summary' && typeof field === 'string' ? summaryShown(field) : mask(field);
}

/** Why a call waits, for who looks on: of a text that was cut nothing from the last blank before its end on, which may be half a secret. Also what a search of his looks in. */
export function summaryShown(text: string): string {
  const masked = mask(text) as string;
  return text.length < SUMMARY_UNITS
    ? masked
    : `${masked.slice(0, Math.max(0, masked.lastIndexOf(' ', masked.length - PART)))}…`;
}

/** The name of a tool, for who looks on. */
export const toolShown = (name: string): string => maskedField('tool', name) as string;

/** Of a call which tool it is of. */
function instead(name: string, field: Json): Json {
  if (Array.isArray(field)) return [TOO_LARGE];
  if (!isObject(field)) return TOO_LARGE;
  const { params = null } = field;
  const tool = isObject(params) && typeof params['name'] === 'string' ? params['name'] : '';
  return name === 'request_payload' ? { params: { name: toolShown(tool), arguments: TOO_LARGE } } : {};
}

const maskedBy =
  (fields: Readonly<Record<string, Seen>>, withheld: (name: string, of: JsonObject) => Json = () => null) =>
  (value: object): JsonObject =>
    Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, field]) => {
        const seen = Object.hasOwn(fields, name) ? fields[name] : 'masked';
        if (seen === 'plain') return [name, field];
        return [name, seen === 'withheld' ? withheld(name, value as JsonObject) : maskedField(name, field)];
      }),
    );
const rowMasked = maskedBy(ROW, (name, row) => {
  const field = row[name] ?? null;
  if (!isObject(field)) return null;
  if (name === 'sandbox_report') return reportSeen(field, row);
  return name === 'modification_diff' ? replacementsSeen(field) : differencesSeen(field);
});
const summaryMasked = maskedBy(SUMMARY);

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The prediction of a call of which nothing is masked; of another one how far it reaches, without a word of what it says. */
function reportSeen(
  report: JsonObject,
  { request_payload: request, retention, payload_summary: short }: JsonObject,
): Json {
  const isWhole =
    short !== true && isObject(request) && isObject(retention) && retention['payload_availability'] === 'available';
  if (isWhole && canonicalJson(maskedField('request_payload', request)) === canonicalJson(request))
    return maskedField('sandbox_report', report);
  return Object.fromEntries(
    REPORT_SEEN.flatMap((name) => (Object.hasOwn(report, name) ? [[name, report[name] ?? null]] : [])),
  );
}
const REPORT_SEEN = ['contract', 'analyzer_version', 'analyzed', 'operation_class', 'severity', 'reversible', 'scope'];

/** What an approver changed: each value as it is masked among the arguments, by the names that lead to it. */
function replacementsSeen(diff: JsonObject): Json {
  const { contract = null, replacements } = diff;
  if (JSON.stringify(diff).length > MASKED_UNITS) return { contract, replacements: [] };
  const seen = (Array.isArray(replacements) ? replacements : []).filter(isObject).map(({ path, value = null }) => {
    const names = Array.isArray(path) ? path.map(String) : [];
    return { path: names.map((name) => mask(name)), value: maskedAt(names, value) };
  });
  return { contract, replacements: seen };
}
function maskedAt(names: readonly string[], value: Json): Json {
  let masked = mask(names.reduceRight<Json>((inner, name) => ({ [name]: inner }), value));
  for (const _name of names) masked = isObject(masked) ? (Object.values(masked)[0] ?? null) : masked;
  return masked;
}

/** Where the arguments differ, without their values. */
function differencesSeen(last: JsonObject): JsonObject {
  const { changes, ...rest } = last;
  const places = (Array.isArray(changes) ? changes : []).filter(isObject).map(({ path = null, kind = null }) => ({
    path: typeof path === 'string' && path.length <= PATH_UNITS ? maskedPath(path) : '/…',
    kind,
  }));
  return { ...(maskedBy(SINCE)(rest) as JsonObject), changes: places };
}
/** A longer one is cut, and has a digest of what it was. */
const PATH_UNITS = 200;
const maskedPath = (path: string): string =>
  path
    .split('/')
    .map((name) => mask(name) as string)
    .join('/');
const SINCE: Omit<Fields<typeof sinceLastCall.shape>, 'changes'> = {
  pending_id: 'plain',
  correlation_id: 'plain',
  created_at: 'plain',
  status: 'plain',
  decided_at: 'plain',
  decided_by: 'plain',
  modified: 'plain',
  arguments: 'plain',
  changes_omitted: 'plain',
};

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
