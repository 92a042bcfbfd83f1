import { type CallInput, type CallSummary, type ReachedRecord, REVIEW_CONTRACT } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type {
  Approval,
  CarriedDecision,
  CarriedSettlement,
  NewReview,
  SettledReview,
  SignedDecision,
} from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { closedIfOver, expireCall } from '../domain/call/expiry.js';
import {
  type ChangedCall,
  escalatedMs,
  escalationDue,
  NotAsStaged,
  summarize,
  summarizeFound,
  type CallRecord,
  type RecordedDecision,
} from '../domain/call/record.js';
import { paramsSha256 } from '../domain/call/params-digest.js';
import { brainScores, secretsOf } from '../domain/call/rows.js';
import { TAMPERED } from '../domain/call/transitions.js';
import { errorText, GateError } from '../domain/errors.js';
import { delegationOf } from '../domain/identity/grant-terms.js';
import { keptReasons } from '../domain/masking/kept-reasons.js';
import { PipelineUnavailable, REVIEW_BACKLOG, TENANT_OFFBOARDED } from '../domain/call/pipeline.js';
import { otherCallThan, type VerifyDecision } from '../domain/review/approval.js';
import { uncarried } from '../domain/review/carried-change.js';
import { shownDigestsOf } from '../domain/review/approval-challenge.js';
import { otherThanAsked } from '../domain/review/as-asked.js';
import { runByContract, whyNotChangeable } from '../domain/review/changeable.js';
import { changedBody } from '../domain/decision/modification.js';
import type { Reviews, UndecidedPlace } from '../domain/review/ports.js';
import { needsMoreEyes } from '../domain/decision/quorum.js';
import { METADATA_LIFE_SECONDS } from '../domain/review/retention.js';
import { reviewIdOf } from '../domain/review/sealed-review.js';
import { type Cast, castVote } from '../domain/review/vote.js';
import {
  deadlineOf,
  type DecisionRefusal,
  isDecidedBy,
  isOver,
  LATE,
  POLICY_TIER,
  RECONCILIATION,
  SETTLES_AS,
  TAMPER_CHECK,
} from '../domain/decision/transitions.js';
import { batchTools } from '../domain/mcp/batch.js';
import { openDefinitions, openSeenDefinitions } from '../domain/tool-definitions/batch-guard.js';
import type { ReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { CLOCKS_APART_MS } from '../domain/clocks.js';
import { foreignText } from '../domain/text.js';
import type { JudgeChanged } from './changed-call.js';
import type { Predict } from './sandbox.js';
import { tamperedReview, tenantOf } from './ledger.js';
import type { CallStore } from '../domain/call/ports.js';

/** What became of a decision that reached the workflow. */
export type DecisionVerdict =
  | {
      readonly applied: true;
      readonly summary: CallSummary;
      readonly settled: CarriedSettlement;
      /** The review row says so already. Absent when an earlier Gate applied it. */
      readonly row_settled?: boolean;
    }
  | {
      /** One approval of several: the call waits on. */
      readonly applied: true;
      readonly summary: CallSummary;
      readonly settled: null;
      readonly approvals: readonly Approval[];
    }
  | {
      readonly applied: false;
      readonly code: DecisionRefusal;
      /** Where it was late: what the worker's clock said, for HIL, whose clock may say something else. */
      readonly clock_ms?: number;
      readonly settled: CarriedSettlement | null;
      /** When the record no longer waits: its present state. The waiting run continues from there. */
      readonly summary: CallSummary | null;
    };

/** Rows that are compared with their records at once. */
const UNDECIDED_PAGE = 500;
const FIRST_ROW: UndecidedPlace = { ms: -1, id: '' };

/** So long after its deadline a row of which no call is known is taken back: nothing waits for it, and nothing else ever ends it. */
const UNKNOWN_MS = METADATA_LIFE_SECONDS * 1_000;

/** Less than the time after which a runner begins the next attempt: two attempts never park at once. */
const OPEN_LIMIT_MS = 4_000;

export interface ReviewActivityOptions {
  readonly calls: CallStore;
  readonly judgeChanged: JudgeChanged;
  readonly predict: Predict;
  readonly reviews: Reviews;
  /** Binds the review to the definition of the tool, and has a note about it for the operator. */
  readonly definitions?: ReviewGuard | undefined;
  /** Checks HIL's signature; throws with the reason when it does not hold. */
  readonly verify: VerifyDecision;
  /** Leaves an alarm row behind when a decision's signature does not hold. */
  readonly alarm: (alarm: {
    correlation_id: string;
    kind: 'alarm.forged_decision' | 'alarm.review_tampered';
    reasoning: string;
    detail: JsonObject;
    tenant: string | null;
  }) => Promise<void>;
  readonly now?: () => number;
}

export const createReviewActivities = ({
  calls,
  judgeChanged,
  predict,
  reviews,
  definitions,
  verify,
  alarm,
  now = Date.now,
}: ReviewActivityOptions) => ({
  /**
   * Stores the review row, with what the sandbox predicts of the call, and parks the record. Safe to repeat, even while an earlier
   * attempt is still running: an attempt withdraws no row that a later one opened, and parks nothing once a later one may have begun. When
   * HIL cannot store the row, a row that may have been stored is withdrawn and PipelineUnavailable('hil') is thrown: nothing is parked.
   * A call whose row was withdrawn and is under a legal hold, or is not as Gate wrote it, is closed as aborted.
   * When the agent's backlog is full, its verdict is taken back as if it had not asked, so that no open record and no rows about it remain.
   */
  async openReview(
    { correlation_id: correlationId }: Pick<CallInput, 'correlation_id'>,
    atMs: number,
    reached?: ReachedRecord,
    report: SandboxReport | null = null,
  ): Promise<CallSummary> {
    const record = await calls.find(correlationId, reached);
    const request = record && (await calls.request(correlationId, record.digest));
    const closed = request instanceof NotAsStaged && (await calls.condemn(correlationId, request.message));
    if (closed) return summarize(closed);
    if (!record || !request || request instanceof NotAsStaged)
      throw new PipelineUnavailable('proxy', 'the call record is not in the store');
    const { call } = record.evidence;
    if (record.state !== 'decided') return summarizeFound(record);
    const { verdict, inspection, callback_url } = record.evidence;
    const ttlSeconds = call.ttl_secs[record.approval_tier];
    const reasons = [...(verdict?.review_reasons ?? [])];
    const attempt_ms = now();
    const withdraw = () => reviews.withdraw(call.correlation_id, attempt_ms).catch(() => undefined);
    try {
      const opening = call.contract === 'gate.server-execution/v1' ? openDefinitions : openSeenDefinitions;
      const definition = definitions && (await opening(definitions, call, batchTools(call.method, request.body)));
      const asked: NewReview = {
        agent_id: call.agent,
        correlation_id: call.correlation_id,
        method: call.method,
        request_payload: request.body,
        // Lists have it without the request, for who looks on too: what it quotes could not be told there.
        risk_summary: foreignText(keptReasons(reasons, secretsOf(request.body)).join('; ') || 'review required', 500),
        state_namespace: call.state_namespace ?? 'operator',
        ttl_seconds: ttlSeconds,
        created_at: new Date(atMs).toISOString(),
        attempt_ms,
        review_reasons: definition ? [...reasons, ...definition.told, ...definition.says] : reasons,
        brain_scores: inspection && brainScores(inspection),
        sandbox_report: report,
        projected_cost_micros: inspection && inspection.cost_micros,
        approval_tier: record.approval_tier,
        policy_bundle_sha256: record.evidence.decision?.policy_bundle.hash_sha256 ?? null,
        agent_spiffe: call.agent_spiffe,
        ...(runByContract(call.contract) === 'agent' && { executed_by: 'agent' as const }),
        ...(call.grant && { delegation: delegationOf(call.grant) }),
        tenant: call.tenant,
        callback_url,
      };
      const row = await reviews.createOnce(asked);
      // A review that no call asked for says of itself what it is.
      const other = call.contract === REVIEW_CONTRACT ? null : otherThanAsked(row, asked, reasons);
      // Nobody decides what somebody else said of the call.
      if (other !== null) {
        await withdraw();
        if (!other.isForged) throw new Error(`the review stood with another ${other.field}: it is opened anew`);
        throw new GateError('review_tampered', `the review of this call was opened with another ${other.field}`);
      }
      // An earlier attempt opened it before the upstream changed: the operator would read one definition and approve another.
      if (definition && !definition.told.every((told) => row.review_reasons.includes(told)))
        throw new Error('the definition of the tool changed while its review was opened');
      const required_approvers = row.required_approvers ?? 1;
      const added = {
        shown: shownDigestsOf(row),
        ...(definition && { reviewed: definition.reviewed }),
        ...(required_approvers > 1 && { required_approvers }),
        ...(row.escalates_at && { escalates_ms: Date.parse(row.escalates_at) }),
        ...(row.escalates_again_at && { escalates_again_ms: row.escalates_again_at.map((at) => Date.parse(at)) }),
      };
      const parked = await calls.move(call.correlation_id, 'park', {
        evidence: { ...record.evidence, ...added },
        pending_id: row.id,
        deadline_ms: deadlineOf(row),
        before_ms: attempt_ms + OPEN_LIMIT_MS,
      });
      if (parked.record.state === 'decided') throw new Error('the review was not open in time');
      // Closed meanwhile: nobody waits for a decision about it.
      if (parked.record.state !== 'parked' && parked.record.pending_id === null) await withdraw();
      return summarize(parked.record);
    } catch (error) {
      // The record says what the caller is told. A parked call keeps its row, whoever parked it. If the record cannot be read, the call may
      // be parked.
      const standing = await calls.find(call.correlation_id).catch(() => null);
      if (standing?.state === 'parked') return summarize(standing);
      if (error instanceof GateError && error.code === 'review_backlog_full') {
        await calls.takeBack(call.correlation_id);
        throw new PipelineUnavailable(REVIEW_BACKLOG, error.message);
      }
      // No later attempt opens it either: the call is over, and its caller is told so, instead of being told to ask again.
      const never = await neverOpens(error, call, alarm);
      if (never !== null) {
        const why = {
          stage: 'aborted' as const,
          status_code: null,
          duration_ms: null,
          result_sha256: null,
          error: never,
          at: new Date(now()).toISOString(),
        };
        const { has_callback: callback } = call;
        return summarize((await calls.move(call.correlation_id, 'abort', { outcome: why, callback })).record);
      }
      if (standing) await withdraw();
      if (error instanceof GateError && error.code === 'tenant_offboarded')
        throw new PipelineUnavailable(TENANT_OFFBOARDED, error.message);
      throw new PipelineUnavailable('hil', foreignText(errorText(error), 300));
    }
  },

  /** HIL's approval of a parked call that policy's tier lets the machine decide; `null` where a person must. */
  decideByRule: (pendingId: string): Promise<SignedDecision | null> => reviews.decideByRule(pendingId),

  /**
   * Applies a decision to the record after verifying its signature. The first decision stands: a repeat of the same decision has the same
   * effect, any other is refused. A forged one changes nothing and leaves an alarm row.
   */
  async applyDecision(sent: CarriedDecision): Promise<DecisionVerdict> {
    let decision: SignedDecision;
    try {
      decision = await uncarried(sent, { opened: (id, sealed) => reviews.openedChange(id, sealed) });
    } catch (error) {
      if (error instanceof GateError && NEVER_OPENS.has(error.code))
        return refused(sent, await tenantOf(calls, sent.correlation_id), 'its change does not open', alarm);
      if (error instanceof GateError && error.code === 'not_found')
        return { applied: false, code: 'not_pending', settled: null, summary: null };
      return { applied: false, code: 'modification_unjudged', settled: null, summary: null };
    }
    try {
      await verify(decision);
    } catch (error) {
      return refused(decision, await tenantOf(calls, decision.correlation_id), errorText(error), alarm);
    }
    const record = await calls.find(decision.correlation_id);
    if (record?.state === TAMPERED) return closedAsTampered(record, decision);
    if (!record || record.pending_id !== decision.pending_id)
      return { applied: false, code: 'not_pending', settled: null, summary: null };
    const request = await calls.request(decision.correlation_id, record.digest);
    if (request instanceof NotAsStaged) return condemned(calls, decision, request);
    // The signature binds the action that the approver saw; a decision about another action is not one about this call.
    const other = request ? otherCallThan(decision, record, request.body) : 'the staged request is gone';
    if (other) return refused(decision, record.evidence.call.tenant, other, alarm);
    if (decision.principal.subject === POLICY_TIER && record.approval_tier !== 'auto')
      return refused(decision, record.evidence.call.tenant, 'a rule approves a call that is for a person', alarm);
    const at = now();
    const recorded: RecordedDecision = {
      status: SETTLES_AS[decision.decision === 'deny' ? 'deny' : 'approve'],
      decided_at: decision.decided_at,
      decided_by: decision.principal.subject,
      decided_via: decision.decided_via,
      reason: decision.reason,
      principal: decision.principal,
      signed: decision,
      applied_ms: at,
    };
    // HIL's clock does not end the wait, but what it signed after the deadline must never count as an approval; nor what it signed so far ahead that
    // `not_after` bounds nothing.
    const decidedMs = Date.parse(decision.decided_at);
    if (
      record.state === 'parked' &&
      !isOver(record.deadline_ms, at) &&
      (isOver(record.deadline_ms, decidedMs) || decidedMs > at + CLOCKS_APART_MS)
    )
      return late(at);
    const lateMs = Date.parse(decision.not_after);
    const beforeMs = Math.min(lateMs, (record.deadline_ms ?? Infinity) - 1);
    // One denial is a veto; an approval may need others.
    const cast: Cast =
      decision.decision === 'approve'
        ? await castVote(calls, record, { signed: decision, applied_ms: at }, { beforeMs, now })
        : { decides: true };
    if (!cast.decides)
      return cast.record
        ? { applied: true, summary: summarize(cast.record), settled: null, approvals: cast.approvals }
        : late(now());
    const change = request ? await changeOf(record, request.body, decision, { judgeChanged, predict }) : UNCHANGED;
    if (change instanceof NotAsStaged) return condemned(calls, decision, change);
    if ('refused' in change) return { applied: false, code: change.refused, settled: null, summary: null };
    const move = decision.decision === 'deny' || change.denies !== null ? 'deny' : 'approve';
    const moved = await calls.move(decision.correlation_id, move, {
      decision: {
        ...recorded,
        ...(cast.approvals && { approvals: cast.approvals }),
        ...(change.changed && { changed: change.changed }),
        ...(change.denies !== null && { status: 'denied', reason: foreignText(change.denies, 1_000) }),
      },
      callback: record.evidence.call.has_callback,
      // A late decision is tried too, although it cannot succeed: it may have been stored already by a worker that died before it could
      // answer.
      before_ms: beforeMs,
      ...(move === 'approve' && record.evidence.call.contract === 'gate.decision/v1' && { counted_ms: at }),
    });
    // A decider who is told "too late" must find the call closed.
    const stands = await closedIfOver(calls, moved.record, now());
    if (stands.state === TAMPERED) return closedAsTampered(stands, decision);
    const settled = settledOf(stands);
    const mine = settled !== null && isDecidedBy(settled, decision);
    if (moved.applied || mine) return { applied: true, summary: summarize(stands), settled: settled as SettledReview };
    if (stands.state === 'parked') return late(now());
    return {
      applied: false,
      code: settled ? LATE[settled.status] : 'not_pending',
      settled,
      summary: summarize(stands),
    };
  },

  /** Leaves an alarm row for a message that a call's workflow refused because no key of Gate's had sealed it. One row per call. */
  async reportForeignPayload(correlationId: string): Promise<void> {
    const record = await calls.find(correlationId);
    await alarm({
      correlation_id: correlationId,
      kind: 'alarm.forged_decision',
      reasoning: "a message that was not sealed with Gate's keys reached the workflow and was refused",
      detail: { pending_id: record?.pending_id ?? null, sealed: false },
      tenant: record?.evidence.call.tenant ?? null,
    });
  },

  /** Moves a parked record past its deadline to expired. Repeated, or too late, it returns the record as it is. */
  async expireReview(correlationId: string): Promise<CallSummary> {
    const record = await calls.find(correlationId);
    if (!record) throw new GateError('not_found', `no call record ${correlationId}`);
    return summarize(await expireCall(calls, record, now()));
  },

  /**
   * Nobody has decided a parked call at a share of its time, which was `dueMs`: the record says so once for each, then the review row, which tells
   * whoever follows. Repeated, the first time stands. A call that no longer waits is returned as it is.
   */
  async escalateReview(correlationId: string, dueMs: number): Promise<CallSummary> {
    const found = await calls.find(correlationId);
    if (!found) throw new GateError('not_found', `no call record ${correlationId}`);
    const at = now();
    const { record } =
      escalationDue(found) !== dueMs
        ? { record: found }
        : await calls.move(correlationId, 'escalate', {
            escalated: { due_ms: dueMs, at_ms: at },
            before_ms: (found.deadline_ms ?? Infinity) - 1,
          });
    const times = escalatedMs(record.evidence).map((atMs) => new Date(atMs).toISOString());
    if (record.state === 'parked' && record.pending_id !== null && times.length > 0)
      await reviews.escalated(record.pending_id, times).catch((error: unknown) => {
        // A row that is gone, or not as Gate wrote it, shows nothing; the record and the ledger say it all the same.
        if (!(error instanceof GateError) || error.status >= 500) throw error;
      });
    return summarize(record);
  },

  /**
   * Owes the settlement of each row that waits although its call's record waits no more: HIL's store was put back from a copy, and what it was
   * told since is owed again. A row whose call is not known when it has been over for as long as a row is kept is withdrawn. `progress` is called for each page of
   * rows. Safe to repeat.
   */
  async oweRowsAgain(progress: () => void = () => undefined): Promise<void> {
    for (let after: UndecidedPlace = FIRST_ROW; ; ) {
      const rows = await reviews.undecided(after, UNDECIDED_PAGE);
      const last = rows.at(-1);
      if (!last) return;
      progress();
      await calls.reviewsOwed(rows.map(({ correlation_id }) => correlation_id));
      // As a rule there is none.
      for (const { correlation_id, ms } of rows) {
        if (ms > now() - UNKNOWN_MS || (await calls.find(correlation_id)) !== null) continue;
        await reviews.withdraw(correlation_id).catch((error: unknown) => {
          // Somebody ended it meanwhile.
          if (!(error instanceof GateError) || error.status >= 500) throw error;
        });
        progress();
      }
      after = { ms: last.ms, id: last.id };
    }
  },

  /**
   * Brings the review row to what the record says; the row of a call that was closed before it was parked is withdrawn. Returns whether the
   * row agrees with the record now: it may be gone, or closed as something else, and then nothing is left to do. Safe to repeat.
   */
  async settleReviewRow(correlationId: string, reached?: ReachedRecord): Promise<boolean> {
    const record = await calls.find(correlationId, reached);
    const settled = record && settledOf(record);
    if (record?.state === 'aborted' && !settled && record.evidence.verdict?.outcome === 'park') {
      await reviews.withdraw(correlationId);
      await calls.followedUp(correlationId, 'review');
    }
    if (!settled) return false;
    let held = true;
    try {
      await reviews.settle(settled);
    } catch (error) {
      held = false;
      // The row is gone after its retention, or was closed as something else before: the record is authoritative, and there is nothing to
      // wait for.
      const final =
        error instanceof GateError &&
        (error.code === 'not_found' || error.code === 'already_decided' || error.code === 'not_pending');
      const tampered = error instanceof GateError && error.code === 'review_tampered';
      if (tampered) await alarm(tamperedReview(settled.pending_id, correlationId, record.evidence.call.tenant));
      else if (!final) throw error;
    }
    await calls.followedUp(correlationId, 'review');
    return held;
  },
});
export type ReviewActivities = ReturnType<typeof createReviewActivities>;

/** The settlement that follows from a record: its decision, or that Gate closed the call while it was parked. */
export function settledOf(record: CallRecord): SettledReview | null {
  const { decision, pending_id } = record;
  if (!pending_id) return null;
  if (!decision) {
    if (record.state !== 'aborted' && record.state !== TAMPERED) return null;
    const by = record.state === TAMPERED ? TAMPER_CHECK : RECONCILIATION;
    const at = record.outcome?.at ?? new Date(record.updated_ms).toISOString();
    return {
      pending_id,
      status: 'aborted',
      decided_at: at,
      decided_by: by,
      decision_reason: record.outcome?.error ?? null,
      decided_via: by,
      principal: null,
    };
  }
  return {
    pending_id,
    status: decision.status,
    decided_at: decision.decided_at,
    decided_by: decision.decided_by,
    decision_reason: decision.reason,
    decided_via: decision.decided_via,
    principal: decision.principal,
    ...(decision.signed && { request_id: decision.signed.request_id }),
    ...(decision.approvals && { approvals: [...decision.approvals] }),
    ...(decision.signed?.modification && { modification: decision.signed.modification }),
  };
}

/** A decision that came after the time for which it was signed, or was made after the deadline. Nothing changes. */
const late = (clock_ms: number): DecisionVerdict => ({
  applied: false,
  code: 'decision_refused',
  clock_ms,
  settled: null,
  summary: null,
});

/** The call was closed while its run waited: the run continues from there, and the operator is told the reason, which is no deadline. */
function closedAsTampered(record: CallRecord, decision: SignedDecision): DecisionVerdict {
  const settled = settledOf(record);
  return {
    applied: false,
    code: 'call_tampered',
    settled: settled?.pending_id === decision.pending_id ? settled : null,
    summary: summarize(record),
  };
}

/** What HIL says of a change that no key of its row opens. */
const NEVER_OPENS: ReadonlySet<string> = new Set(['payload_unavailable', 'review_tampered']);

/** What an approver's change of a call amounts to. */
type Change =
  | {
      /** `null` for a decision that changes nothing. */
      readonly changed: ChangedCall | null;
      /** Why the changed call is denied; `null` when it may run. */
      readonly denies: string | null;
    }
  | {
      readonly refused: Extract<DecisionRefusal, 'decision_refused' | 'modification_unjudged' | 'unsupported_decision'>;
    };
const UNCHANGED: Change = { changed: null, denies: null };

/**
 * Judges a call as its approver changed it (docs/architecture/reviews.md#modify). This person has just read it, so what would wait for as
 * many eyes or fewer runs; anything else is denied. The change is applied to Gate's own request, never to what a row shows.
 */
async function changeOf(
  record: CallRecord,
  body: JsonObject,
  { decision, modification, approvable_effects: forOne }: SignedDecision,
  { judgeChanged, predict }: Pick<ReviewActivityOptions, 'judgeChanged' | 'predict'>,
): Promise<Change | NotAsStaged> {
  // A call that no longer waits is not judged again: what stands is found by the transition.
  if (decision !== 'modify' && modification) return { refused: 'decision_refused' };
  if (decision !== 'modify' || record.state !== 'parked') return UNCHANGED;
  const { call, required_approvers = 1 } = record.evidence;
  // HIL refuses it before it signs anything, but for a row that does not say who runs its call.
  if (whyNotChangeable({ runBy: runByContract(call.contract), required_approvers }) !== null)
    return { refused: 'unsupported_decision' };
  const candidate = modification && changedBody(body, modification);
  if (!candidate) return { refused: 'decision_refused' };
  let judged: Awaited<ReturnType<JudgeChanged>>;
  try {
    judged = await judgeChanged(call, candidate);
  } catch (error) {
    return error instanceof NotAsStaged ? error : { refused: 'modification_unjudged' };
  }
  const effect = forOne && ((await predict(call, candidate))?.severity ?? null);
  // Whoever decides again asks the sandbox again.
  if (effect === null) return { refused: 'modification_unjudged' };
  const { tier, reasons, review_reasons, approval_tier } = judged.verdict;
  const changed: ChangedCall = {
    params_sha256: paramsSha256(candidate),
    tier,
    reasons,
    review_reasons,
    approval_tier,
    policy_bundle: judged.policy_bundle,
    ...(judged.costMicros > 0 && { cost_micros: judged.costMicros }),
    ...(effect && { effect }),
    ...(judged.forensic_event && { forensic_event: judged.forensic_event }),
  };
  // It becomes the reason of the decision, which the ledger, the row and whoever looks on have as it is.
  const told = (said: readonly string[]) => keptReasons(said, secretsOf(candidate)).join(' | ');
  if (tier === 'red') return { changed, denies: `the changed call is denied: ${told(reasons)}` };
  if (tier === 'yellow' && needsMoreEyes(approval_tier, record.approval_tier))
    return { changed, denies: `the changed call needs the tier ${approval_tier}: ${told(review_reasons)}` };
  if (effect && !forOne?.includes(effect))
    return { changed, denies: `the changed call is predicted to be ${effect}, which several people must approve here` };
  return { changed, denies: null };
}

/** Why no attempt can open the row of this call any more; `null` where one may. Of a row that Gate did not write the alarm is raised by then. */
async function neverOpens(
  error: unknown,
  { correlation_id, tenant }: Pick<CallInput, 'correlation_id' | 'tenant'>,
  alarm: ReviewActivityOptions['alarm'],
): Promise<string | null> {
  if (!(error instanceof GateError)) return null;
  if (error.code === 'review_held') return error.message;
  if (error.code !== 'review_tampered') return null;
  const found = tamperedReview(reviewIdOf(correlation_id), correlation_id, tenant);
  // Where that cannot be said now, the call is not over: its next attempt says it.
  return alarm(found).then(
    () => found.reasoning,
    () => null,
  );
}

/** Closes a call whose stored bytes are not its own. */
async function condemned(calls: CallStore, decision: SignedDecision, why: NotAsStaged): Promise<DecisionVerdict> {
  const closed = await calls.condemn(decision.correlation_id, why.message);
  if (closed) return closedAsTampered(closed, decision);
  return { applied: false, code: 'not_pending', settled: null, summary: null };
}

/** A decision that is not HIL's own, or not about this call, changes nothing and leaves an alarm row. */
async function refused(
  decision: CarriedDecision,
  tenant: string | null,
  why: string,
  alarm: ReviewActivityOptions['alarm'],
): Promise<DecisionVerdict> {
  await alarm({
    correlation_id: decision.correlation_id,
    kind: 'alarm.forged_decision',
    reasoning: foreignText(`a decision was refused: ${why}`, 500),
    detail: {
      pending_id: decision.pending_id,
      claimed_subject: decision.principal.subject,
      request_id: foreignText(decision.request_id, 128),
    },
    tenant,
  }).catch(() => undefined);
  return { applied: false, code: 'decision_refused', settled: null, summary: null };
}
