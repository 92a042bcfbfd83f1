import type { ApprovalStatement } from '../../contracts/approval.js';
import type { CallInput, CallState, CallSummary, Tier, UnknownCause } from '../../contracts/call.js';
import type { JsonObject } from '../../contracts/json.js';
import type { CallTraits } from '../inspection/behaviour/traits.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { ApprovalTier, PolicyDecision, PolicyInput } from '../../contracts/policy.js';
import type { Approval, DecisionPrincipal, SignedDecision } from '../../contracts/review.js';
import type { SandboxSeverity } from '../../contracts/sandbox.js';
import type { GrantRefusal } from '../identity/grant-terms.js';
import type { Stopped } from '../identity/standing.js';
import type { Verdict } from './verdict.js';
import type { RecordedInspection } from '../inspection/response-judge.js';
import type { RecordedVote } from '../decision/quorum.js';

/** A called name that no list has, and the listed one that it is taken for. */
export interface RecordedLookalike {
  readonly called: string;
  readonly nearest: string;
  readonly distance: number | null;
  readonly confidence: number;
  readonly signals: readonly string[];
}

/** Why the verdict is what it is: everything that a ledger row or a replay needs. Stored sealed. */
export interface VerdictEvidence {
  readonly call: CallInput;
  /** `null` when the call was closed before it was judged. */
  readonly verdict: Verdict | null;
  readonly inspection: InspectionResponse | null;
  readonly inspection_failure: string | null;
  readonly decision: PolicyDecision | null;
  /** Why there is no decision; only observe mode continues without one. */
  readonly policy_failure: string | null;
  readonly facts: Omit<PolicyInput, 'arguments'> | null;
  /** What the rules want to be recorded of the evaluation, limited in size. Absent in older records and their rows. */
  readonly forensic_event?: JsonObject;
  /** SHA-256 of the canonical `params`, 64 hex digits. */
  readonly params_sha256: string;
  /** The tools of a batch, in order: once it counts, each is a separate step in the agent's history. */
  readonly sibling_tools?: readonly string[];
  /** What became of the calls of a batch that Gate runs, in their order, as far as they came. */
  readonly steps?: readonly RecordedStep[];
  /** What each call of the request does, in order: once it ran, its agent's profile learns it. Absent in older records. */
  readonly observed?: readonly CallTraits[];
  readonly callback_url: string | null;
  /** Called names that no list has and that are taken for one that a list has. Absent where there are none, and in older records. */
  readonly lookalikes?: readonly RecordedLookalike[];
  /** Set where the tool had a probe when the call was judged: a lost outcome may still be found out. */
  readonly probed?: true;
  /**
   * Set when the call is parked: the tool definition that the reviewer sees, with `sha256: null` when the upstream does not list the tool, or did not in time.
   * Or that the review is of a Gate whose reviews named no definition.
   */
  readonly reviewed?: ReviewedDefinition | UnboundReview;
  /** Set when the call is parked: what its review shows, by digest. Absent in older records and their rows. */
  readonly shown?: ShownDigests;
  /** Set when the call is parked and more than one person must approve it. */
  readonly required_approvers?: number;
  /** Set when the call is parked and its review is escalated where nobody decides; epoch milliseconds. */
  readonly escalates_ms?: number;
  /** When that was done. */
  readonly escalated_ms?: number;
  /** The same for each further time, in order; absent where there is no other. */
  readonly escalates_again_ms?: readonly number[];
  readonly escalated_again_ms?: readonly number[];
  /** Approvals before the deciding one, in their order. */
  readonly votes?: readonly RecordedVote[];
}
/** What the row of a review shows the approver, as an approval states it (`gate.approval/v1`): `sha256:` and 64 hex digits. */
export type ShownDigests = Pick<ApprovalStatement, 'payload_digest' | 'sandbox_report_digest' | 'row_digest'>;
export interface ReviewedDefinition {
  readonly sha256: string | null;
  /** Whose tools it was reviewed for. A record of an earlier Gate does not say. */
  readonly upstream?: string;
  /** The tools, of those without a definition here, whose upstream did not list its tools in time. Of the others it listed none. */
  readonly unanswered?: readonly string[];
  /** Of a batch, by tool; `sha256` is then `null`. */
  readonly tools?: Readonly<Record<string, string | null>>;
}

/**
 * Of a call that waited in a store of a Gate whose reviews were bound to no definition, and told their operators nothing of one. Only the first
 * opening of such a store writes it.
 */
export interface UnboundReview {
  readonly unbound: true;
}

/** What became of one call of a batch. `not_run`: certainly nothing of it was sent. */
export interface RecordedStep {
  readonly id: string;
  readonly tool: string;
  /** SHA-256 of the canonical `params`, 64 hex digits. */
  readonly params_sha256: string;
  readonly stage: 'completed' | 'failed' | 'not_run';
  readonly status_code: number | null;
  readonly duration_ms: number;
  /** SHA-256 of its answer as it was released, 64 hex digits. */
  readonly result_sha256: string | null;
  readonly inspected?: RecordedInspection;
  readonly error: string | null;
  readonly at: string;
}

/** How a parked call was settled. `principal` is `null` when nobody decided in time. */
export interface RecordedDecision {
  readonly status: 'approved' | 'denied' | 'expired';
  readonly decided_at: string;
  readonly decided_by: string;
  readonly decided_via: string | null;
  readonly reason: string | null;
  readonly principal: DecisionPrincipal | null;
  /** What HIL signed, verified again before anything runs because of it; absent when nobody decided. */
  readonly signed?: SignedDecision;
  /**
   * The clock's time when the decision was applied. The record's own times only grow, so after the clock was set back they are ahead of it.
   */
  readonly applied_ms?: number;
  /** Everybody whose approval counted, where more than one was needed. */
  readonly approvals?: readonly Approval[];
  /** The call as its approver changed it, and what it was judged to be. */
  readonly changed?: ChangedCall;
}

/** What runs instead of the call as it was asked for. The change itself is in what HIL signed. */
export interface ChangedCall {
  /** SHA-256 of the canonical `params`, 64 hex digits. */
  readonly params_sha256: string;
  readonly tier: Tier;
  readonly reasons: readonly string[];
  readonly review_reasons: readonly string[];
  readonly approval_tier: ApprovalTier;
  readonly policy_bundle: PolicyDecision['policy_bundle'];
  /** What its inspection cost, where that was something. Absent in older records. */
  readonly cost_micros?: number;
  /** What the sandbox predicts of it, where one person may approve some effects alone. */
  readonly effect?: SandboxSeverity;
  /** What the rules want to be recorded of its evaluation. Absent in older records and their rows. */
  readonly forensic_event?: JsonObject;
}

/**
 * One look of a probe at a call whose outcome is unknown. `nothing`, `both`: neither sign is in the answer, or both are. `unreachable`: no
 * answer came. `invalid`: what came is no answer. `refused`: the rules do not let the probe run.
 */
export interface ProbeStep {
  readonly at: string;
  /** The probe's tool, or its address without a query. */
  readonly probe: string;
  readonly said:
    | 'completed'
    | 'not_run'
    | 'not_run_too_early'
    | 'nothing'
    | 'both'
    | 'unreachable'
    | 'invalid'
    | 'refused';
  readonly detail: string | null;
  /** SHA-256 of the canonical question and of the answer's bytes, 64 hex digits; `null` where there was none. */
  readonly asked_sha256: string | null;
  readonly answer_sha256: string | null;
  /** No other look follows by itself: a person settles the call. */
  readonly last: boolean;
}

/** Who settled a call whose outcome was unknown, and by what. */
export interface Reconciled {
  readonly by: 'probe' | 'person';
  readonly at: string;
  /** The person, or the probe. */
  readonly decided_by: string;
  readonly reason: string;
}

/** What a client brought to its tool while the call was under way, by its digests: it is no part of the call, and nothing else is kept of it. */
export interface BroughtAnswer {
  /** Questions that were open together are one round; the first is 1. */
  readonly round: number;
  readonly method: string;
  /** SHA-256 of the question's params in the upstream's own text, 64 hex digits. */
  readonly asked_sha256: string;
  /** SHA-256 of the answer in the client's own text, as the tool was given it, 64 hex digits. */
  readonly answer_sha256: string;
  /** The client refused to answer. */
  readonly refused?: true;
}

/** How the single attempt ended, or why there was none. */
export interface RecordedOutcome {
  readonly stage: 'completed' | 'failed' | 'uncertain' | 'not_run' | 'aborted' | 'abandoned' | 'tampered';
  /** Why it was not run, when the caller is told more than that nothing was sent. */
  readonly code?:
    | 'tool_definition_changed'
    | 'tool_quarantined'
    | 'policy_changed'
    | 'budget_changed'
    | 'agent_standing_changed'
    | Stopped
    | GrantRefusal
    | 'attempt_not_begun'
    | 'reconciled_not_run';
  /** For an uncertain call, why no answer was read. Absent when the attempt itself was lost, and in older records. */
  readonly cause?: UnknownCause;
  /** HTTP status of the answer that is retained. */
  readonly status_code: number | null;
  readonly duration_ms: number | null;
  /** SHA-256 of the retained bytes, 64 hex digits. */
  readonly result_sha256: string | null;
  /** SHA-256 of the receipt, 64 hex digits; absent when no answer is retained. */
  readonly receipt_sha256?: string;
  /** What was found in the answer and done with it. Absent where nothing was found, and in older records. */
  readonly inspected?: RecordedInspection;
  /** What the client answered its tool meanwhile. Absent where that was nothing, and in older records. */
  readonly answers?: readonly BroughtAnswer[];
  /** How many answers are not among them. */
  readonly answers_more?: number;
  readonly error: string | null;
  readonly at: string;
  /** The looks of a probe, in their order, at a call whose outcome is unknown or was. */
  readonly probes?: readonly ProbeStep[];
  /** Whose evidence ended the uncertainty. */
  readonly reconciled?: Reconciled;
  /** What the outcome was before that. */
  readonly lost?: RecordedOutcome;
}

/** A decrypted call record. */
export interface CallRecord {
  readonly correlation_id: string;
  /** Grows with every transition, so that an older record that was put back is noticed. */
  readonly version: number;
  readonly state: CallState;
  readonly digest: string;
  readonly tier: Tier | null;
  readonly approval_tier: ApprovalTier;
  readonly pending_id: string | null;
  readonly deadline_ms: number | null;
  readonly not_after_ms: number;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly evidence: VerdictEvidence;
  readonly decision: RecordedDecision | null;
  readonly outcome: RecordedOutcome | null;
}

/** What the proxy stores of a request before anything runs: the parsed JSON-RPC object, and where to report a decision. */
export interface StagedRequest {
  readonly body: JsonObject;
  readonly callback_url: string | null;
}

/** The result of an inspection, and the digest of the question. It answers only that question. */
export interface KeptInspection {
  readonly asked_sha256: string;
  /** When the request that it was made for was received, epoch milliseconds; absent where an earlier Gate kept it. */
  readonly received_ms?: number;
  readonly inspection: InspectionResponse;
}

/** The stored bytes are not the request that was staged under this id, or not the result of its inspection. */
export class NotAsStaged extends Error {
  override readonly name = 'NotAsStaged';
}

/** When the review of a call is escalated where nobody decides, and when it was, in order. */
const escalatesMs = ({ escalates_ms, escalates_again_ms = [] }: VerdictEvidence): readonly number[] =>
  escalates_ms === undefined ? [] : [escalates_ms, ...escalates_again_ms];
export const escalatedMs = ({ escalated_ms, escalated_again_ms = [] }: VerdictEvidence): readonly number[] =>
  escalated_ms === undefined ? [] : [escalated_ms, ...escalated_again_ms];

/** When the review of a parked call is to be escalated next; `null` where it is not, or was. */
export const escalationDue = ({ state, evidence }: CallRecord): number | null =>
  (state === 'parked' && escalatesMs(evidence)[escalatedMs(evidence).length]) || null;

/** What an escalation adds to the evidence. */
export const escalatedAt = (evidence: VerdictEvidence, atMs: number) =>
  evidence.escalated_ms === undefined
    ? { escalated_ms: atMs }
    : { escalated_again_ms: [...(evidence.escalated_again_ms ?? []), atMs] };

/**
 * When a decision was taken, epoch milliseconds, by the clock of the worker that took it. A record of an earlier Gate has only the time of HIL, which may be a
 * minute off.
 */
export const takenMs = ({ applied_ms, decided_at }: RecordedDecision): number => applied_ms ?? Date.parse(decided_at);

export const summarize = (record: CallRecord): CallSummary => ({
  correlation_id: record.correlation_id,
  state: record.state,
  tier: record.tier,
  approval_tier: record.approval_tier,
  pending_id: record.pending_id,
  deadline_ms: record.deadline_ms,
  decided_ms: record.decision && Date.parse(record.decision.decided_at),
  ...(record.decision?.applied_ms !== undefined && { applied_ms: record.decision.applied_ms }),
  version: record.version,
  updated_ms: record.updated_ms,
  ...escalatesOf(escalationDue(record)),
});

/**
 * The same for a run that begins with what stands in the record, or may: the first escalation is due for it, also where it has been. Saying it again
 * changes nothing but a review row that does not have it yet, because whoever recorded it died; and people are told what the row says.
 */
export const summarizeFound = (record: CallRecord): CallSummary => ({
  ...summarize(record),
  ...escalatesOf((record.state === 'parked' && escalatesMs(record.evidence)[0]) || null),
});

const escalatesOf = (due: number | null) => due !== null && { escalates_ms: due };
