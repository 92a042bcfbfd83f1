import {
  type ModificationDiff,
  modificationDiff,
  type PendingRequest,
  pendingRequest,
  type PendingSummary,
  pendingSummary,
  type sinceLastCall,
} from '../../contracts/review.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { mask, MASKED, maskedAt } from '../masking/mask.js';
import { namedSecrets, type NamedSecrets, withoutNamed } from '../masking/named-secrets.js';
import { canonicalJson } from '../crypto/digest.js';
import { modified, ModificationRefused, pathInRequest } from '../decision/modification.js';

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
  rehearsal: 'plain',
  executed_by: 'plain',
  delegation: 'plain',
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
  escalation_pool_by: 'plain',
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
  rehearsal: 'plain',
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
/** The same of everything in one answer: of a list of large calls the first ones are shown. */
const ANSWER_UNITS = 524_288;
const TOO_LARGE = '[MASKED: too large to be masked here]';
/** Summaries are cut at so many units. What is written with blanks and would be masked as a whole has no more than so many. */
const SUMMARY_UNITS = 500;
const PART = 80;

/** What may still be masked of an answer. */
interface Rest {
  units: number;
}
const whole = (): Rest => ({ units: ANSWER_UNITS });

const unitsOf = (field: Json): number => JSON.stringify(field).length;

function maskedField(
  name: string,
  field: Json,
  rest: Rest,
  { units = unitsOf(field), isCut = isCutSummary(field) }: { readonly units?: number; readonly isCut?: boolean } = {},
): Json {
  if (units > MASKED_UNITS || units > rest.units) return instead(name, field, rest);
  rest.units -= units;
  return name === 'risk_summary' && typeof field === 'string' ? summaryShown(field, isCut) : mask(field);
}

/**
 * Why a call waits, for who looks on: of a text that was cut nothing from the last blank before its end on, which may be half a secret. Also what
 * a search of his looks in.
 */
export function summaryShown(text: string, isCut = isCutSummary(text)): string {
  const masked = mask(text) as string;
  return isCut ? `${masked.slice(0, Math.max(0, masked.lastIndexOf(' ', masked.length - PART)))}…` : masked;
}
const isCutSummary = (text: Json): boolean => typeof text === 'string' && text.length >= SUMMARY_UNITS;

/** The name of a tool, for who looks on. */
export const toolShown = (name: string): string => maskedField('tool', name, whole()) as string;

/** Of a call which tool it is of. */
function instead(name: string, field: Json, rest: Rest): Json {
  if (Array.isArray(field)) return [TOO_LARGE];
  if (!isObject(field)) return TOO_LARGE;
  const { params = null } = field;
  const tool = isObject(params) && typeof params['name'] === 'string' ? params['name'] : '';
  return name === 'request_payload' ? { params: { name: maskedField('tool', tool, rest), arguments: TOO_LARGE } } : {};
}

const maskedBy =
  (fields: Readonly<Record<string, Seen>>) =>
  (value: object, rest: Rest, made: JsonObject = {}): JsonObject =>
    Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, field]) => {
        if (Object.hasOwn(made, name)) return [name, made[name] ?? null];
        const seen = Object.hasOwn(fields, name) ? fields[name] : 'masked';
        return [name, seen === 'plain' ? field : seen === 'withheld' ? null : maskedField(name, field, rest)];
      }),
    );
const fieldsOfRow = maskedBy(ROW);
const summaryMasked = maskedBy(SUMMARY);

function rowMasked(row: JsonObject, rest: Rest): JsonObject {
  const { request_payload: request = null, sandbox_report, modification_diff, since_last_call } = row;
  const units = unitsOf(request);
  const masked = maskedField('request_payload', request, rest, { units });
  const secrets = namedSecrets(request);
  const told = (name: 'risk_summary' | 'review_reasons') => {
    const said = row[name] ?? null;
    // By itself a text does not say whether it quotes a secret of a request in which none is looked for.
    if (units > MASKED_UNITS) return instead(name, said, rest);
    // Without what it quotes it is shorter, and cut all the same.
    return maskedField(name, quoting(said, secrets), rest, { isCut: isCutSummary(said) });
  };
  const risk_summary = told('risk_summary');
  return fieldsOfRow(row, rest, {
    // A rule may quote a secret of the request that only its name tells.
    risk_summary,
    // In a list a row has its request in short, in which no secret is known; the summary was made where it was at hand.
    review_reasons: row['payload_summary'] === true ? [risk_summary] : told('review_reasons'),
    request_payload: masked,
    ...(isObject(sandbox_report) && { sandbox_report: reportSeen(sandbox_report, row, masked, rest) }),
    ...(isObject(modification_diff) && { modification_diff: replacementsSeen(modification_diff, request, rest) }),
    ...(isObject(since_last_call) && { since_last_call: differencesSeen(since_last_call, rest) }),
  });
}

const quoting = (said: Json, secrets: NamedSecrets): Json =>
  typeof said === 'string'
    ? withoutNamed(said, secrets)
    : Array.isArray(said)
      ? said.map((line) => quoting(line, secrets))
      : said;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The prediction of a call of which nothing is masked; of another one how far it reaches, without a word of what it says. */
function reportSeen(
  report: JsonObject,
  { request_payload: request, retention, payload_summary: short }: JsonObject,
  masked: Json,
  rest: Rest,
): Json {
  const isWhole =
    short !== true && isObject(request) && isObject(retention) && retention['payload_availability'] === 'available';
  if (isWhole && canonicalJson(masked) === canonicalJson(request)) return maskedField('sandbox_report', report, rest);
  return Object.fromEntries(
    REPORT_SEEN.flatMap((name) => (Object.hasOwn(report, name) ? [[name, report[name] ?? null]] : [])),
  );
}
const REPORT_SEEN = ['contract', 'analyzer_version', 'analyzed', 'operation_class', 'severity', 'reversible', 'scope'];

/** What an approver changed: each value as it is masked among the arguments of the changed request, and none where there is no such request. */
function replacementsSeen(diff: JsonObject, request: Json, rest: Rest): Json {
  const { contract = null } = diff;
  const read = modificationDiff.safeParse(diff);
  const units = unitsOf(diff);
  if (!read.success || units > MASKED_UNITS || units > rest.units) return { contract, replacements: [] };
  rest.units -= units;
  const changed = isObject(request) ? changedIn(request, read.data) : null;
  const seen = read.data.replacements.map(({ path }) => ({
    path: path.map((name) => mask(name)),
    value: changed === null ? MASKED : maskedAt(changed, pathInRequest(changed, path)),
  }));
  return { contract, replacements: seen };
}

function changedIn(request: JsonObject, diff: ModificationDiff): JsonObject | null {
  try {
    return modified(request, diff);
  } catch (error) {
    if (error instanceof ModificationRefused) return null;
    throw error;
  }
}

/** Where the arguments differ, without their values. */
function differencesSeen(last: JsonObject, rest: Rest): JsonObject {
  const { changes, ...told } = last;
  const places = (Array.isArray(changes) ? changes : []).filter(isObject).map(({ path = null, kind = null }) => ({
    path: typeof path === 'string' && path.length <= PATH_UNITS ? maskedPath(path) : '/…',
    kind,
  }));
  return { ...maskedBy(SINCE)(told, rest), changes: places };
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

/** Rows of one answer. */
export function maskedRows(rows: readonly PendingRequest[]): PendingRequest[] {
  const rest = whole();
  return rows.map((row) => rowMasked(row as unknown as JsonObject, rest) as unknown as PendingRequest);
}

/** Rows of a list. A search for who sees them so is one of the review service (`masked`): else he could guess at what is masked. */
export const maskedList = (rows: readonly object[], rest = whole()): PendingSummary[] =>
  rows.map((row) => summaryMasked(row, rest) as PendingSummary);

/** What the review service answers: a row, rows, a page of them in short, an event about one, or numbers in which no call is. */
export type ReviewAnswer = 'row' | 'rows' | 'summaries' | 'event' | 'counts';

/** An answer of the review service as text, masked as what it is. Throws `console_neighbour_away` for one that is something else. */
export function maskedAnswer(is: ReviewAnswer, text: string): string {
  return JSON.stringify(MASKED_AS[is](parsed(text), whole()));
}

const MASKED_AS: Readonly<Record<ReviewAnswer, (answer: Json, rest: Rest) => Json>> = {
  row: (answer, rest) => rowMasked(objectIn(answer), rest),
  rows: (answer, rest) => listIn(answer).map((row) => rowMasked(objectIn(row), rest)),
  summaries(answer, rest) {
    const { items, ...page } = objectIn(answer);
    const rows = maskedList(listIn(items ?? null).map(objectIn), rest);
    return { items: rows as unknown as Json[], ...maskedBy(PAGE)(page, rest) };
  },
  event(answer, rest) {
    const event = objectIn(answer);
    const { pending } = event;
    // A reset tells of no call.
    return maskedBy(EVENT)(event, rest, {
      ...(pending !== undefined && { pending: summaryMasked(objectIn(pending), rest) }),
    });
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
