import type { JsonObject } from '../../contracts/json.js';
import { ERROR_CODES, type ErrorCodeName } from '../../contracts/error-codes.js';
import type { CallRecord } from '../../domain/call/record.js';
import { stepsOfBatch } from '../../domain/call/batch-steps.js';
import { executionId } from '../../domain/call/receipt.js';
import { WITHDRAWN_BY_AGENT } from '../../domain/decision/transitions.js';
import { ASK_AGAIN, GateError } from '../../domain/errors.js';
import { eachLane } from '../../domain/inspection/lane-table.js';
import { isStopped } from '../../domain/identity/standing.js';
import { RETRY_AFTER_SECS, retryAfterSecs } from '../plugins/errors.js';
import { adviceOf } from './advice.js';

/** An HTTP answer: bytes that were retained, or an object to print. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | Buffer | null;
  /** The body is a message of Gate's own in the form in which its client reads it. */
  readonly whole?: true;
  /** No attempt of its call began: no tool said anything. */
  readonly unsent?: true;
}

/** How long the approver has, as stated in the 202; the same at every replay. */
const ttlSecs = ({ evidence, approval_tier }: CallRecord): number => evidence.call.ttl_secs[approval_tier];

/**
 * What the caller is told about its call, as a function of the record (docs/architecture/requests-and-answers.md#answers): every exact
 * replay gets the same answer. `null` while there is none yet.
 */
export function answerOf(record: CallRecord, result: Buffer | null, replayed: boolean): Answer | null {
  const { call, verdict } = record.evidence;
  const decisionOnly = call.contract !== 'gate.server-execution/v1';
  const headers =
    verdict?.would === 'deny'
      ? { 'X-Gate-Would-Deny': 'true' }
      : verdict?.would === 'pend'
        ? { 'X-Gate-Would-Pend': 'true' }
        : {};
  switch (record.state) {
    case 'denied':
      if (isWithdrawn(record))
        return refusal(record, 'call_withdrawn', 'withdrawn', 'proxy', ['the agent withdrew its call']);
      return record.decision
        ? refusal(record, 'review_denied', 'review_denied', 'hil', [
            record.decision.reason ?? 'an operator denied the call',
          ])
        : verdict?.layer === 'definitions'
          ? refusal(record, 'tool_quarantined', 'denied', 'proxy', verdict.reasons)
          : refusal(record, 'policy_denied', 'denied', verdict?.layer ?? 'policy', verdict?.reasons ?? []);
    case 'expired':
      return refusal(record, 'review_expired', 'review_expired', 'hil', ['nobody decided before the deadline']);
    case 'parked':
      return {
        status: 202,
        headers,
        body: {
          status: 'pending',
          correlation_id: record.correlation_id,
          ttl_secs: ttlSecs(record),
          tier: 'yellow',
          contract: 'gate.pending-authorization/v1',
          pending_id: record.pending_id,
          idempotency_id: call.idempotency_id,
          payload_sha256: record.digest,
          ttl_seconds: ttlSecs(record),
          poll_after_ms: 1_000,
          review_reasons: [...(verdict?.review_reasons ?? [])],
        },
      };
    case 'allowed':
    case 'approved':
      if (!decisionOnly) return null;
      return {
        status: 200,
        headers,
        body: { contract: call.contract, decision: 'allow', correlation_id: record.correlation_id, executable: false },
      };
    case 'completed':
      if (record.outcome?.inspected?.released === 'withheld')
        return refusal(record, 'egress_blocked', 'denied', 'egress', [
          `the tool ran, and its answer is withheld: ${record.outcome.inspected.reason}`,
        ]);
      return {
        status: record.outcome?.status_code ?? 200,
        headers: {
          ...headers,
          'Content-Type': 'application/json',
          'X-Gate-Execution-Id': executionId(record.correlation_id),
          'X-Gate-Result-Sha256': `sha256:${record.outcome?.result_sha256 ?? ''}`,
          'X-Gate-Server-Execution-Replayed': String(replayed),
          ...(record.decision?.signed?.modification && {
            'X-Gate-Modified': record.decision.signed.modification.reviewed_digest,
          }),
          ...(record.outcome?.receipt_sha256 && {
            'X-Gate-Server-Execution-Receipt-Sha256': `sha256:${record.outcome.receipt_sha256}`,
          }),
        },
        body: result,
      };
    case 'uncertain':
      return withSteps(
        refusal(record, 'server_execution_uncertain', 'error', 'proxy', [
          record.outcome?.error ?? 'the outcome is not known',
        ]),
        record,
      );
    case 'not_run':
      if (record.outcome?.code === 'reconciled_not_run')
        return refusal(record, 'reconciled_not_run', 'error', 'proxy', [
          record.outcome.error ?? 'the call did not run',
        ]);
      if (record.outcome?.code === 'attempt_not_begun')
        return refusal(record, 'attempt_not_begun', 'error', 'engine', [record.outcome.error ?? 'nothing was sent']);
      if (record.outcome?.code)
        return refusal(record, record.outcome.code, 'denied', 'proxy', [record.outcome.error ?? 'nothing was sent']);
      return refusal(record, 'upstream_unreachable', 'error', 'upstream', [
        record.outcome?.error ?? 'nothing was sent',
      ]);
    case 'abandoned':
      return refusal(record, 'call_abandoned', 'error', 'proxy', [record.outcome?.error ?? 'too late to begin']);
    case 'aborted':
      return refusal(record, 'call_aborted', 'error', 'proxy', [record.outcome?.error ?? 'closed by reconciliation']);
    case 'tampered':
      return refusal(record, 'call_tampered', 'error', 'proxy', [
        record.outcome?.error ?? 'the record is not what Gate wrote',
      ]);
    default:
      return null;
  }
}

/** Of a batch, what became of each call: the agent must know which ones ran. */
function withSteps(answer: Answer, record: CallRecord): Answer {
  const steps = stepsOfBatch(record);
  if (steps.length === 0 || answer.body === null || Buffer.isBuffer(answer.body)) return answer;
  const calls = steps.map(({ id, tool, stage }) => ({ ...(id !== undefined && { id }), name: tool, outcome: stage }));
  return { ...answer, body: { ...answer.body, calls } };
}

/** Whether the agent took its call back while it waited. */
export const isWithdrawn = ({ decision }: CallRecord): boolean =>
  decision?.status === 'denied' && decision.decided_by === WITHDRAWN_BY_AGENT;

/** Nothing was executed; the same action may be requested again under a new id, after a wait. */
const ANOTHER_LATER: ReadonlySet<ErrorCodeName> = new Set(['call_abandoned', 'attempt_not_begun']);

/** A call that ends in these was never given to a tool. */
const WITHOUT_ATTEMPT: ReadonlySet<CallRecord['state']> = new Set(['denied', 'expired', 'abandoned']);

/** The error envelope (docs/architecture/requests-and-answers.md#error-envelope); inapplicable fields are left out. */
function refusal(
  record: CallRecord,
  code: ErrorCodeName,
  kind: string,
  layer: string,
  reasons: readonly string[],
): Answer {
  const { verdict } = record.evidence;
  return {
    status: ERROR_CODES[code].status,
    ...(WITHOUT_ATTEMPT.has(record.state) && { unsent: true }),
    headers: ANOTHER_LATER.has(code) ? { 'Retry-After': String(RETRY_AFTER_SECS) } : {},
    body: {
      error: code,
      ...(verdict && { intent_category: verdict.intent_category }),
      reasoning: reasons.join(' | '),
      correlation_id: record.correlation_id,
      verdict: kind,
      layer,
      reasons: [...reasons],
      ...(verdict && verdict.review_reasons.length > 0 && { review_reasons: [...verdict.review_reasons] }),
      advice: adviceOf(code, reasons),
    },
  };
}

/**
 * What each detector found, for operators who tune them (`GATE_PROXY_VERBOSE_VERDICTS`). Only in answers; never in a row, a record or a
 * signature.
 */
export function withDetail(answer: Answer, { evidence: { inspection, call } }: CallRecord): Answer {
  const { body, status } = answer;
  if (call.decoy && body !== null && !Buffer.isBuffer(body))
    return { ...answer, body: { ...body, detail: { decoy: { ...call.decoy } } } };
  if (inspection === null || body === null || Buffer.isBuffer(body) || (status !== 403 && status !== 202))
    return answer;
  const detail: JsonObject = {
    detectors: eachLane().map(([detector, lane]) => ({ detector, ...lane.detail(inspection) })),
    ...(inspection.degraded && { degraded: [...inspection.degraded] }),
  };
  return { ...answer, body: { ...body, detail } };
}

const LARGE = 'or had no time for a request as large as this, or too many of them wait';

/** What an agent is told when a dependency is unavailable. The exact fault is in the log, under the same correlation id. */
const OUTAGES: Readonly<Record<string, string>> = {
  brain: `the inspection does not answer, ${LARGE}, and nothing is allowed without it; ${ASK_AGAIN}`,
  policy: `the policy engine does not answer, ${LARGE}, and nothing is allowed without it; ${ASK_AGAIN}`,
  hil: `human review does not answer, and nothing waits or is authorized without it; ${ASK_AGAIN}`,
  engine: `the workflow engine does not answer; ${ASK_AGAIN}`,
};

const reasoningOf = ({ code, fields, message }: GateError): string =>
  (code === 'pipeline_unavailable' && typeof fields['layer'] === 'string' && OUTAGES[fields['layer']]) || message;

/** An error that is not a verdict, in the proxy's envelope. */
export function errorAnswer(error: GateError, correlationId: string): Answer & { readonly body: JsonObject } {
  const headers: Record<string, string> = {};
  const waitSecs = retryAfterSecs(error);
  if (waitSecs !== null) headers['Retry-After'] = String(waitSecs);
  // Faults in the contract headers have a form of their own (docs/architecture/requests-and-answers.md#contract-selection).
  if ((error.status === 400 || error.status === 426) && 'contract' in error.fields) {
    return {
      status: error.status,
      headers,
      body: { error: error.code, correlation_id: correlationId, reasoning: reasoningOf(error), ...error.fields },
    };
  }
  return {
    status: error.status,
    headers,
    body: {
      error: error.code,
      reasoning: reasoningOf(error),
      correlation_id: correlationId,
      verdict: error.status === 429 ? 'rate_limited' : 'error',
      layer: layerOf(error.code),
      ...error.fields,
    },
  };
}

const layerOf = (code: ErrorCodeName): string => {
  if (
    code === 'unauthorized' ||
    code === 'credential_not_judged' ||
    code === 'credentials_disagree' ||
    code === 'certificate_required'
  )
    return 'identity';
  if (
    code.startsWith('a2a_') ||
    code.startsWith('token_') ||
    code.startsWith('grant_') ||
    isStopped(code) ||
    code === 'scope_outside_envelope'
  )
    return 'identity';
  if (code.startsWith('upstream_')) return 'upstream';
  if (code === 'review_backlog_full' || code === 'tenant_offboarded') return 'hil';
  if (
    code === 'rate_limited' ||
    code.endsWith('_conflict') ||
    code === 'tool_quarantined' ||
    code === 'tool_unknown' ||
    code === 'decision_handle_unknown' ||
    code === 'pipeline_unavailable' ||
    code === 'store_unavailable'
  )
    return 'proxy';
  return 'gateway';
};
