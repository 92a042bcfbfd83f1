import { REVIEW_CONTRACT } from '../../contracts/call.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { type NewLedgerRow, SIMULATOR_SOURCE, type StateNamespace } from '../../contracts/ledger.js';
import type { DecisionPrincipal } from '../../contracts/review.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { type ActorRefusal, delegationOf, type GrantRefusal, isGrantRefusal } from '../identity/grant-terms.js';
import { isStopped, type Stopped } from '../identity/standing.js';
import { inRow } from '../inspection/lane-table.js';
import { fittingRow, sidecarText } from '../ledger/fitting-row.js';
import { sidecarSha256 } from '../ledger/sidecar-digest.js';
import { type CallRecord, escalatedMs, type RecordedOutcome, type StagedRequest } from './record.js';
import { eventKept, keptReasons, reasonsKept } from '../masking/kept-reasons.js';
import { namedSecrets, type NamedSecrets, NO_SECRETS } from '../masking/named-secrets.js';
import { changedBody } from '../decision/modification.js';
import { argumentsOfRead } from '../mcp/read-methods.js';
import { LEDGER_EVENT_OF } from '../decision/transitions.js';
import { TAMPERED } from './transitions.js';
import type { RecordedInspection } from '../inspection/response-judge.js';
import { pricePaid } from './cost.js';
import { stepsOfBatch, type ToldStep } from './batch-steps.js';
import { responseRow } from './response-row.js';

/**
 * The id of a call's row: the same event of the same call is one row, however often it is appended
 * (docs/architecture/ledger-rows.md#appending).
 */
export const ledgerRowId = (correlationId: string, kind: EventKind, ordinal = 0): string =>
  uuidFromDigest('gate.ledger-row', correlationId, kind, String(ordinal));

/**
 * The ordinals of a call's `upstream.outcome` rows: the attempt, then the end that a probe or a person gave an unknown outcome; the looks of
 * probes follow. The rows come in the order in which they are known: those of a batch's calls right after its attempt.
 */
export const SETTLED_ROW = 1;
const FIRST_LOOK_ROW = 2;
/** The calls of a batch have rows of their own after that of the attempt, beyond any number of looks. */
const FIRST_STEP_ROW = 1_000;

const basisPoints = (value: number): number => Math.round(value * 10_000);
/** The scores of an inspection as its row has them: integers, so that they are the same text everywhere. */
export const brainScores = (inspection: InspectionResponse): JsonObject =>
  inRow('score', inspection, (value) => (typeof value === 'number' ? basisPoints(value) : value));
const NONE: ReadonlyMap<string, number> = new Map();
/** Gate's own checked values: JSON, and perhaps `undefined`, which canonical text omits. */
const asJson = (value: unknown): Json => (value ?? null) as Json;

/**
 * Every ledger row that a record implies by now, in the order of docs/architecture/ledger-rows.md#event-kinds. A function of the record and
 * its request alone, so that rows appended late, twice, or by reconciliation are still the same rows. `held` says how many rows of a kind
 * the ledger has already; these are left out.
 */
export function rowsOf(
  record: CallRecord,
  request: StagedRequest | null,
  held: ReadonlyMap<string, number> = NONE,
): NewLedgerRow[] {
  const { evidence, decision, outcome } = record;
  const { call, verdict } = evidence;
  /** Nobody judged what no call asked for: its first row is that of its review, which has the request. */
  const outsideCall = call.contract === REVIEW_CONTRACT;
  const row = (
    kind: EventKind,
    authorized: boolean,
    reasoning: string,
    policyDecision: JsonObject,
    extra: Extra = {},
    ordinal = 0,
  ): NewLedgerRow =>
    fittingRow({
      id: ledgerRowId(record.correlation_id, kind, ordinal),
      agent_id: call.agent,
      method: kind,
      event_kind: kind,
      intent_category: verdict?.intent_category ?? 'Direct Execution',
      authorized,
      reasoning,
      policy_decision: policyDecision,
      state_namespace: call.state_namespace ?? 'operator',
      correlation_id: record.correlation_id,
      agent_spiffe: call.agent_spiffe,
      tenant: call.tenant,
      agent_kind: 'mcp',
      tool_params_sha256: evidence.params_sha256,
      credential_fingerprint: call.credential_fingerprint,
      tool_name: call.tool,
      ...(outsideCall && { source: SIMULATOR_SOURCE }),
      ...extra,
    });
  const rows: NewLedgerRow[] = [];
  const delegated = {
    ...(call.grant && { delegation: asJson(delegationOf(call.grant)) }),
    ...(call.actor && { actor: { ...call.actor } }),
  };
  const secrets = request ? secretsOf(request.body) : NO_SECRETS;
  // A tampered record proves nothing, so it gets only its alarm row. Events that did happen have their rows already.
  if (record.state === TAMPERED)
    return [
      {
        ...row('alarm.record_tampered', false, outcome?.error ?? 'the record is not what Gate wrote', {
          pending_id: record.pending_id,
          request_digest: record.digest,
          at: outcome?.at ?? null,
        }),
        agent_id: 'gate-proxy',
        intent_category: 'Privileged Action',
      },
    ];

  // A verdict whose review row is not stored yet may still be withdrawn with a 503, so it has no row yet.
  if (verdict && record.state !== 'decided' && !outsideCall) {
    const reasoning = reasoningOf(verdict, secrets);
    const bundle = asJson(evidence.decision?.policy_bundle);
    if (!held.has('proxy.verdict'))
      rows.push(
        row(
          'proxy.verdict',
          verdict.tier === 'green',
          reasoning,
          {
            tier: verdict.tier,
            outcome: verdict.outcome,
            would: verdict.would,
            layer: verdict.layer,
            mode: call.mode,
            contract: call.contract,
            rpc_method: call.method,
            idempotency_id: call.idempotency_id,
            request_digest: record.digest,
            approval_tier: verdict.approval_tier,
            ...delegated,
            ...reasonsKept(verdict, secrets),
            policy_bundle: bundle,
            ...(evidence.lookalikes && { lookalikes: asJson(evidence.lookalikes) }),
            ...(call.spend && { spend: asJson(call.spend) }),
            ...(call.decoy && { decoy: asJson(call.decoy) }),
          },
          {
            ...sidecar(request?.body),
            ...(call.upstream?.id && { upstream_id: call.upstream.id }),
            ...(call.upstream?.signal && { signal: call.upstream.signal }),
            ...(evidence.lookalikes && { signal: 'tool_name_lookalike' }),
            ...(call.decoy && { signal: 'decoy_tripped' }),
          },
        ),
      );
    const { inspection } = evidence;
    const paidMicros = inspection ? inspection.cost_micros : 0;
    if (!held.has('brain.inspection'))
      rows.push(
        inspection
          ? row(
              'brain.inspection',
              inspection.authorized,
              inspection.reason,
              {
                available: true,
                ...inRow('finding', inspection),
                degraded: inspection.degraded ?? [],
              },
              {
                cost_micros: paidMicros,
                brain_scores: brainScores(inspection),
                ...evidenceSidecar(asJson(keptEvidence(inspection))),
              },
            )
          : row('brain.inspection', false, `inspection unavailable: ${evidence.inspection_failure ?? 'unknown'}`, {
              available: false,
            }),
      );
    const policy = evidence.decision;
    if (policy && evidence.facts && !held.has('policy.evaluated')) {
      const input = { ...(asJson(evidence.facts) as JsonObject), arguments: argumentsOf(request?.body) };
      rows.push(
        row(
          'policy.evaluated',
          policy.allow,
          reasoningOf(policy, secrets),
          {
            allow: policy.allow,
            ...reasonsKept(policy, secrets),
            approval_tier: policy.approval_tier,
            retention_class: policy.retention_class,
            policy_bundle: bundle,
            ...(evidence.forensic_event && { event: eventKept(evidence.forensic_event, secrets) }),
          },
          request ? sidecar(input) : {},
        ),
      );
    } else if (evidence.policy_failure) {
      const reasoning = `policy unavailable: ${evidence.policy_failure}`;
      rows.push(row('policy.evaluated', false, reasoning, { available: false }));
    }
  }
  if (record.pending_id && !held.has('hil.created')) {
    rows.push(
      row(
        'hil.created',
        false,
        keptReasons(verdict?.review_reasons ?? [], secrets).join(' | '),
        {
          kind: 'hil.created',
          pending_id: record.pending_id,
          status: 'pending',
          approval_tier: record.approval_tier,
          deadline: record.deadline_ms === null ? null : new Date(record.deadline_ms).toISOString(),
          request_digest: record.digest,
          ...delegated,
          ...evidence.shown,
          ...(outsideCall && { contract: call.contract, rpc_method: call.method }),
        },
        outsideCall ? sidecar(request?.body) : {},
      ),
    );
  }
  const { votes = [], required_approvers } = evidence;
  for (const [ordinal, { signed }] of votes.entries()) {
    if (ordinal < (held.get('hil.vote') ?? 0)) continue;
    const policyDecision = {
      kind: 'hil.vote',
      pending_id: record.pending_id,
      status: 'pending',
      decision: signed.decision,
      decided_at: signed.decided_at,
      decided_by: signed.principal.subject,
      decided_via: signed.decided_via,
      decision_reason: signed.reason,
      approver_provenance: signed.principal.method,
      credential_kind: signed.principal.credential_kind,
      approval_tier: record.approval_tier,
      vote: ordinal + 1,
      required_approvers: required_approvers ?? 1,
      request_digest: record.digest,
      ...evidence.shown,
      ...(signed.approval && { approval: asJson(signed.approval) }),
    };
    rows.push(row('hil.vote', false, signed.reason ?? '', policyDecision, approverOf(signed.principal), ordinal));
  }
  for (const [ordinal, atMs] of escalatedMs(evidence).entries()) {
    if (ordinal < (held.get('hil.escalated') ?? 0)) continue;
    const policyDecision = {
      kind: 'hil.escalated',
      pending_id: record.pending_id,
      status: 'pending',
      escalated_at: new Date(atMs).toISOString(),
      ...(ordinal > 0 && { escalation: ordinal + 1 }),
      approval_tier: record.approval_tier,
      request_digest: record.digest,
    };
    rows.push(row('hil.escalated', false, 'nobody has decided yet', policyDecision, {}, ordinal));
  }
  const changed = changedParts(decision, request);
  if (decision && changed && !held.has('hil.modified')) {
    const { call: told, digests, diff, params, body } = changed;
    const secretsThen = body ? secretsOf(body) : secrets;
    rows.push(
      row(
        'hil.modified',
        decision.status === 'approved',
        reasoningOf(told, secretsThen),
        {
          kind: 'hil.modified',
          pending_id: record.pending_id,
          decided_by: decision.decided_by,
          decided_at: decision.decided_at,
          modification_diff: diff,
          ...digests,
          tier: told.tier,
          approval_tier: told.approval_tier,
          ...(told.effect && { predicted_effect: told.effect }),
          ...reasonsKept(told, secretsThen),
          policy_bundle: asJson(told.policy_bundle),
          ...(told.forensic_event && { event: eventKept(told.forensic_event, secretsThen) }),
        },
        { ...params, ...sidecar(body) },
      ),
    );
  }
  if (decision) {
    const kind = LEDGER_EVENT_OF[decision.status];
    if (!held.has(kind))
      rows.push(
        row(
          kind,
          decision.status === 'approved',
          decision.reason ?? '',
          {
            kind,
            pending_id: record.pending_id,
            status: decision.status,
            decided_at: decision.decided_at,
            decided_by: decision.decided_by,
            decided_via: decision.decided_via,
            decision_reason: decision.reason,
            approver_provenance: decision.principal?.method ?? 'system',
            credential_kind: decision.principal?.credential_kind ?? null,
            approval_tier: record.approval_tier,
            request_digest: record.digest,
            ...evidence.shown,
            ...(changed && { decision: 'modify', modification_diff: changed.diff, ...changed.digests }),
            ...(decision.signed?.approval && { approval: asJson(decision.signed.approval) }),
            ...(decision.approvals && {
              approvals: asJson(decision.approvals),
              required_approvers: required_approvers ?? 1,
            }),
          },
          { ...(decision.principal && approverOf(decision.principal)), ...changed?.params },
        ),
      );
  }
  if (outcome) {
    const { probes = [], reconciled, lost, ...ended } = outcome;
    const attempt = lost ?? ended;
    const kind =
      attempt.stage === 'aborted'
        ? 'call.aborted'
        : attempt.stage === 'abandoned'
          ? 'call.abandoned'
          : 'upstream.outcome';
    const outcomeRow = (told: typeof ended, reasoning: string, extra: JsonObject = {}, more: Extra = {}, ordinal = 0) =>
      row(
        kind,
        told.stage === 'completed' || told.stage === 'failed',
        reasoning,
        {
          stage: told.stage,
          ...(told.code && { code: told.code }),
          ...(told.cause && { cause: told.cause }),
          status_code: told.status_code,
          duration_ms: told.duration_ms,
          result_sha256: told.result_sha256,
          ...(told.receipt_sha256 && { receipt_sha256: told.receipt_sha256 }),
          ...(told.answers && { answers: asJson(told.answers) }),
          ...(told.answers_more && { answers_more: told.answers_more }),
          error: told.error,
          at: told.at,
          ...pricePaid(told.stage, evidence, extra['reconciled'] !== undefined),
          ...extra,
        },
        { ...changed?.params, ...stoppedSignal(told.code, decision !== null), ...more },
        ordinal,
      );
    const steps = stepsOfBatch(record);
    const placeOf = (at: number, { id }: ToldStep) => ({
      ...(id !== undefined && { id }),
      call: at + 1,
      of: steps.length,
    });
    const all = [
      () => outcomeRow(attempt, attempt.error ?? ''),
      // They name their tools in what they say: the row is about the batch, which is what was judged and approved.
      ...steps.map((step, at) => () => {
        const { stage, error, inspected: _, ...told } = step;
        const reasoning = `call ${at + 1} of ${steps.length}, ${step.tool}: ${stage.replaceAll('_', ' ')}${error ? `: ${error}` : ''}`;
        return row(
          kind,
          stage === 'completed' || stage === 'failed',
          reasoning,
          { stage: 'step', outcome: stage, ...placeOf(at, step), ...told, error },
          changed?.params,
          FIRST_STEP_ROW + at,
        );
      }),
      ...probes.map((step, look) => () => {
        const { said, detail, probe, ...told } = step;
        const reasoning = `the probe ${probe} said ${said.replaceAll('_', ' ')}${detail === null ? '' : `: ${detail}`}`;
        const decided = { stage: 'probed', probe, said, detail, look: look + 1, ...told };
        return row(kind, false, reasoning, decided, changed?.params, FIRST_LOOK_ROW + look);
      }),
      ...(reconciled
        ? [
            () =>
              outcomeRow(
                ended,
                reconciled.reason,
                { reconciled: reconciled.by, decided_by: reconciled.decided_by, decision_reason: reconciled.reason },
                reconciled.by === 'person' ? { actor_sub: reconciled.decided_by } : {},
                SETTLED_ROW,
              ),
          ]
        : []),
    ];
    rows.push(...all.slice(held.get(kind) ?? 0).map((made) => made()));
    const { inspected } = outcome;
    if (inspected && !held.has('response.inspected')) {
      const { authorized, reasoning, extra, said } = responseRow(inspected, outcome.result_sha256);
      rows.push(row('response.inspected', authorized, reasoning, said, { ...changed?.params, ...extra }));
    }
    const looked = steps.flatMap((step, at) =>
      step.inspected
        ? [
            () => {
              const of = responseRow(step.inspected as RecordedInspection, step.result_sha256 ?? null);
              const said = { ...of.said, ...placeOf(at, step), tool: step.tool };
              const more = { ...changed?.params, ...of.extra };
              return row('response.inspected', of.authorized, of.reasoning, said, more, at);
            },
          ]
        : [],
    );
    rows.push(...looked.slice(held.get('response.inspected') ?? 0).map((made) => made()));
  }
  return rows;
}

/** A request that its agent's limits refused before it was judged; the caller decides how often that gets a row. */
export interface LimitedRequest {
  readonly correlationId: string;
  readonly atMs: number;
  readonly tenant: string;
  readonly agent: string;
  readonly spiffe: string;
  readonly tool: string;
  readonly reason: string;
  readonly namespace?: StateNamespace | undefined;
  /** Names what was exceeded. */
  readonly limits: JsonObject;
  /** How its agent was stopped, whose budget is spent, or why its grant, or the token of another Gate, does not count, where that is why. */
  readonly signal?: Stopped | QuotaSignal | GrantRefusal | ActorRefusal;
}

/** Whose budget does not bear a call. */
export type QuotaSignal = 'quota_exceeded_tenant' | 'quota_exceeded_agent';
export const isQuota = (limit: string): limit is QuotaSignal =>
  limit === 'quota_exceeded_tenant' || limit === 'quota_exceeded_agent';

export function limitedRow(limited: LimitedRequest): NewLedgerRow {
  const signal: Stopped | QuotaSignal | GrantRefusal | ActorRefusal | 'rate_limited_agent' =
    limited.signal ?? 'rate_limited_agent';
  return fittingRow({
    id: uuidFromDigest('gate.rate-limited', limited.correlationId, String(limited.atMs)),
    agent_id: limited.agent,
    method: 'proxy.verdict',
    event_kind: 'proxy.verdict',
    intent_category: 'Direct Execution',
    authorized: false,
    reasoning: limited.reason,
    policy_decision: {
      // Denied to who reads rows; how it was stopped, the signal says.
      outcome: limited.signal && !isQuota(limited.signal) ? 'deny' : 'rate_limited',
      scope: 'agent',
      key: `${limited.tenant}/${limited.agent}`,
      ...limited.limits,
    },
    state_namespace: limited.namespace ?? 'operator',
    correlation_id: limited.correlationId,
    agent_spiffe: limited.spiffe,
    tenant: limited.tenant,
    tool_name: limited.tool,
    signal,
  });
}

/** Of a call that did not run since its agent was stopped, or its grant counts no more: an approval that came to nothing is the graver one. */
function stoppedSignal(code: RecordedOutcome['code'], approved: boolean): Extra {
  if (isGrantRefusal(code)) {
    const signal: GrantRefusal = code;
    return { signal };
  }
  if (!isStopped(code)) return {};
  const signal: Stopped | 'review_approved_but_suspended' = approved ? 'review_approved_but_suspended' : code;
  return { signal };
}

/** A call without objections also needs a reason. */
function reasoningOf(
  said: { readonly reasons: readonly string[]; readonly review_reasons: readonly string[] },
  secrets: NamedSecrets,
): string {
  const { reasons, review_reasons } = reasonsKept(said, secrets);
  return [...reasons, ...review_reasons].join(' | ') || 'passed: no rule speaks against it';
}

/** What is secret by its name in that of a request which its rules may quote. */
export const secretsOf = (body: JsonObject): NamedSecrets =>
  namedSecrets(body['method'] === BATCH_METHOD ? (body['params'] ?? null) : argumentsOf(body));

/** The fields of a row besides those that every row of a call has. */
type Extra = Omit<Partial<NewLedgerRow>, 'id'>;

/**
 * The request in clear text belongs to the row's sidecar, committed by its digest: encrypted there, and purgeable
 * (docs/architecture/ledger-rows.md#sidecars).
 */
function sidecar(value: Json | undefined): Extra {
  if (value === undefined) return {};
  const text = sidecarText(value);
  return { payload_sha256: sidecarSha256(text), payload_canonical_json: text };
}

/** What a verdict was based on; where Brain says them, with the masked parameters, which are purged with it. */
const keptEvidence = ({ evidence, masked_params }: InspectionResponse) =>
  masked_params === undefined ? evidence : { ...evidence, masked_params };

function evidenceSidecar(value: Json): Extra {
  const text = sidecarText(value);
  return { brain_evidence_sha256: sidecarSha256(text), brain_evidence_canonical_json: text };
}

/** What the rows of a call say about its approver's change; `null` when there is none. */
function changedParts(decision: CallRecord['decision'], request: StagedRequest | null) {
  const { changed: call, signed } = decision ?? {};
  if (!call || !signed?.modification) return null;
  const { diff, reviewed_digest } = signed.modification;
  return {
    call,
    diff: asJson(diff),
    digests: {
      original_payload_digest: signed.action_digest,
      reviewed_payload_digest: reviewed_digest,
      candidate_execution_payload_digest: reviewed_digest,
    },
    params: { tool_params_sha256: call.params_sha256 },
    body: (request && changedBody(request.body, signed.modification)) ?? undefined,
  };
}

const approverOf = (principal: DecisionPrincipal): Extra => ({
  approver_assertion: assertionOf(asJson(principal)),
  actor_sub: principal.subject,
});

const MAX_ASSERTION = 4_096;
/** Who decided, as JSON; its digest when that exceeds the field, because a part of a JSON text says nothing. */
function assertionOf(principal: Json): string {
  const text = sidecarText(principal);
  return text.length <= MAX_ASSERTION ? text : canonicalJson({ omitted_sha256: sha256Hex(text) });
}

/** What policy judged of a call as its arguments: `params.arguments` of a tool call, `{}` when absent; what a read asks for. */
export function argumentsOf(body: JsonObject | undefined): JsonObject {
  const params = body?.params;
  const read = argumentsOfRead(body?.method, params);
  if (read) return read;
  const value = params && typeof params === 'object' && !Array.isArray(params) ? params.arguments : undefined;
  return value && typeof value === 'object' && !Array.isArray(value) ? value : {};
}
