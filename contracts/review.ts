import { z } from 'zod';
import { assertionJson, passkeyApproval } from './approval.js';
import { delegation } from './call-grant.js';
import { jsonObject, jsonValue } from './json.js';
import { stateNamespace } from './ledger.js';
import { approvalTier } from './policy.js';
import { operationClass, sandboxReport, sandboxSeverity } from './sandbox.js';

/**
 * `expired`: nobody decided in time. `aborted`: Gate closed the call while it waited, and nothing ran. `tampered`: the stored row is not what
 * Gate wrote. Nobody can decide it, and its content is not shown.
 */
export const reviewStatus = z.enum(['pending', 'approved', 'denied', 'expired', 'aborted', 'withdrawn', 'tampered']);
export type ReviewStatus = z.infer<typeof reviewStatus>;
/** Those by which rows are asked for. One that is not what Gate wrote is shown among those that wait. */
export const listedStatus = reviewStatus.exclude(['tampered']);
export type ListedStatus = z.infer<typeof listedStatus>;

/** How often one review may be escalated. */
export const MAX_ESCALATIONS = 8;

export const reviewOrder = z.enum(['newest', 'oldest']);
export type ReviewOrder = z.infer<typeof reviewOrder>;

/**
 * Who runs the call where Gate does not: its agent, which only asked for a decision and runs its own request. Nobody changes such a call.
 * Absent where Gate runs it, and in rows of an earlier Gate.
 */
const executedBy = z.literal('agent');

/** The body of `POST /pending`. Row and workflow compute the deadline from the same fields, so that row and timer agree. */
export const newReview = z.strictObject({
  agent_id: z.string().min(1).max(256),
  correlation_id: z.uuid(),
  method: z.string().min(1).max(256),
  request_payload: jsonObject,
  risk_summary: z.string().min(1).max(500),
  state_namespace: stateNamespace,
  ttl_seconds: z.number().int().min(1).max(86_400),
  created_at: z.iso.datetime().optional(),
  /** When the requesting attempt began, epoch milliseconds. An attempt may withdraw the row only if no newer attempt opened it. */
  attempt_ms: z.number().int().optional(),
  review_reasons: z.array(z.string()).default([]),
  brain_scores: jsonObject.nullish(),
  /** What the sandbox predicts of the call; null where it gave no report. */
  sandbox_report: sandboxReport.nullish(),
  projected_cost_micros: z.number().int().nullish(),
  approval_tier: approvalTier.nullish(),
  /** The digest of the rules that judged the call. */
  policy_bundle_sha256: z.string().max(128).nullish(),
  agent_spiffe: z.string().max(512).nullish(),
  executed_by: executedBy.nullish(),
  /** On whose behalf its agent asks, by a grant that was verified. */
  delegation: delegation.nullish(),
  tenant: z.string().min(1).max(128),
  callback_url: z.string().nullish(),
});
export type NewReview = z.infer<typeof newReview>;

/** Who decided, derived from the verified session or workload, never from a body (docs/architecture/identity-and-routes.md#surfaces). */
export const decisionPrincipal = z.object({
  subject: z.string(),
  tenant: z.string(),
  method: z.string(),
  credential: z.string(),
  /** `null` where Gate itself decided by a rule. */
  credential_kind: z.enum(['console-bearer', 'session-cookie']).nullable(),
});
export type DecisionPrincipal = z.infer<typeof decisionPrincipal>;

/** One person's approval of a review that needs several. `by` is the decider, `provenance` how it was proved, `at` RFC 3339. */
export const approval = z.strictObject({
  by: z.string(),
  provenance: z.string(),
  at: z.iso.datetime(),
  /** Absent where the person gave none, and in rows of an earlier Gate. */
  reason: z.string().optional(),
});
export type Approval = z.infer<typeof approval>;

/** An approval as a row shows it. */
export const shownApproval = approval.extend({
  /** Of a row that waits: who gave it may not approve it now, so it does not count. Looked up when the row is read. */
  lapsed: z.literal(true).optional(),
  /** Of a row that waits: it could not be looked up whether who gave it may approve it now. It is counted as it is stored. */
  unchecked: z.literal(true).optional(),
});
export type ShownApproval = z.infer<typeof shownApproval>;

export const MODIFICATION_CONTRACT = 'gate.hil.modification-diff/v1';

/**
 * What an approver changes in a call: scalars below `params.arguments`, each named by the keys that lead to it
 * (docs/architecture/reviews.md#modify).
 */
export const modificationDiff = z.strictObject({
  contract: z.literal(MODIFICATION_CONTRACT),
  replacements: z
    .array(
      z.strictObject({
        path: z
          .array(
            z
              .string()
              .min(1)
              .max(64)
              .regex(/^[^~/]+$/, 'has a character that no path may have')
              .refine((part) => !/\p{Cc}/u.test(part), 'has a character that no path may have')
              .refine((segment) => segment !== '__proto__', 'is not a name that can be replaced'),
          )
          .min(1)
          .max(8),
        value: z.union([z.string().max(4_096), z.number(), z.boolean(), z.null()]),
      }),
    )
    .min(1)
    .max(16),
});
export type ModificationDiff = z.infer<typeof modificationDiff>;

/** A change that HIL signed: the diff, and the digest of the request that it makes. */
export const modification = z.strictObject({ diff: modificationDiff, reviewed_digest: z.string() });
export type Modification = z.infer<typeof modification>;
/**
 * The same change on its way through the workflow engine, whose histories outlive the row: the diff sealed with the row's own key, which only
 * the review service has (docs/architecture/reviews.md#payload-and-retention).
 */
export type CarriedModification = Omit<Modification, 'diff'> & { readonly sealed_diff: string };

/**
 * A value as JSON; of a long one the beginning, with its length and digest: of a text those of the text, its SHA-256 over UTF-8; of anything else
 * those of its JSON, the SHA-256 over canonical JSON.
 */
export const shownValue = z.strictObject({
  json: z.string(),
  characters: z.number().int().optional(),
  sha256: z.string().optional(),
});
export type ShownValue = z.infer<typeof shownValue>;

/** One difference between the arguments of two calls. `path` is a JSON Pointer (RFC 6901); a long one is cut and has its digest. */
export const argumentChange = z.strictObject({
  path: z.string(),
  kind: z.enum(['added', 'removed', 'changed']),
  before: shownValue.optional(),
  after: shownValue.optional(),
});
export type ArgumentChange = z.infer<typeof argumentChange>;

/**
 * The agent's last call of the same tool that waited, and what this call has other than that
 * (docs/architecture/reviews.md#since-the-last-call).
 */
export const sinceLastCall = z.strictObject({
  pending_id: z.uuid(),
  correlation_id: z.uuid(),
  created_at: z.string(),
  status: reviewStatus,
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  /** It was approved with other arguments than those that are compared here, which are the agent's. */
  modified: z.boolean(),
  /** `purged`: one of the two requests went at its date. `unavailable`: one cannot be opened. `too_large`: neither was opened. */
  arguments: z.enum(['same', 'changed', 'purged', 'unavailable', 'too_large']),
  changes: z.array(argumentChange),
  changes_omitted: z.number().int(),
});
export type SinceLastCall = z.infer<typeof sinceLastCall>;

/** A review row as HIL shows it (docs/architecture/reviews.md). */
export const pendingRequest = z.looseObject({
  id: z.uuid(),
  correlation_id: z.uuid(),
  agent_id: z.string(),
  agent_spiffe: z.string().nullable(),
  /** No agent's call asked for it, and nothing runs, whatever is decided (docs/architecture/reviews.md#a-review-without-a-call). */
  rehearsal: z.boolean().optional(),
  /** Its agent, which runs its own request once it is approved; absent where Gate runs it, and in rows of an earlier Gate. */
  executed_by: executedBy.optional(),
  /** On whose behalf its agent asks, by a grant that was verified; absent where it showed none. */
  delegation: delegation.optional(),
  method: z.string(),
  request_payload: jsonObject,
  risk_summary: z.string(),
  review_reasons: z.array(z.string()),
  created_at: z.string(),
  ttl_seconds: z.number().int(),
  status: reviewStatus,
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  decision_reason: z.string().nullable(),
  decided_via: z.string().nullable(),
  /** Who should look at the row, and who said so. Anybody who may decide still may. */
  assigned_to: z.string().nullable().optional(),
  assigned_by: z.string().nullable().optional(),
  /** Who is told of an escalation, and who said so. */
  escalation_pool: z.string().nullable().optional(),
  escalation_pool_by: z.string().nullable().optional(),
  /** When nobody had decided the row at a share of its time, and people were told again; and when that would be. */
  escalated_at: z.string().nullable().optional(),
  escalates_at: z.string().nullable().optional(),
  /** The same for each further share, in order. */
  escalated_again_at: z.array(z.string()).optional(),
  escalates_again_at: z.array(z.string()).optional(),
  /** What came of the call after its review, and who said so. */
  incident_summary: z.string().nullable().optional(),
  incident_by: z.string().nullable().optional(),
  /** The `X-Request-Id` of the settling decision. Repeating that decision returns the same answer. */
  decision_request_id: z.string().nullable().optional(),
  /** What the decider changed. */
  modification_diff: modificationDiff.nullable().optional(),
  /** SHA-256 of the request as the decider changed it, and so of what runs. */
  reviewed_payload_digest: z.string().nullable().optional(),
  candidate_execution_payload_digest: z.string().nullable().optional(),
  approver_provenance: z.string().nullable(),
  approver_assertion: jsonObject.nullable(),
  credential_kind: z.string().nullable(),
  original_payload_digest: z.string(),
  /**
   * What the sandbox predicts of the call; null where it gave no report. A list has its line of summary and no values; once the request is
   * gone, only class and severity stay.
   */
  sandbox_report: z.looseObject({ operation_class: operationClass, severity: sandboxSeverity }).nullable().optional(),
  /** SHA-256 over the canonical JSON of the whole report. */
  sandbox_report_digest: z.string().nullable().optional(),
  /** The digest of the rules that judged the call; null where none did. */
  policy_bundle_sha256: z.string().nullable().optional(),
  /** Size of the stored request. */
  payload_bytes: z.number().int().optional(),
  approval_tier: z.string().nullable(),
  /** How many distinct people must approve. */
  required_approvers: z.number().int().optional(),
  /** Who has approved so far, where more than one must. */
  approvals: z.array(shownApproval).optional(),
  tenant: z.string(),
  state_namespace: stateNamespace,
  retention: jsonObject,
  /** Where a single row is asked for. `null`: none of the agent's last 200 calls that waited was of this tool. */
  since_last_call: sinceLastCall.nullable().optional(),
});
export type PendingRequest = z.infer<typeof pendingRequest>;

/** A row of a list. `request_payload` names method, tool and arguments but contains no value; the row itself has all of it. */
export type ListedReview = PendingRequest & { readonly payload_summary: true };

/** A row of `GET /pending/summaries`: enough to choose what to look at next, of any row equally short. */
export const pendingSummary = z.strictObject({
  id: z.uuid(),
  correlation_id: z.uuid(),
  agent_id: z.string(),
  /** No agent's call asked for it, and nothing runs, whatever is decided. */
  rehearsal: z.boolean().default(false),
  method: z.string(),
  tool: z.string(),
  risk_summary: z.string(),
  status: reviewStatus,
  created_at: z.string(),
  ttl_seconds: z.number().int(),
  /** When the row's call stops waiting. */
  expires_at: z.string(),
  approval_tier: z.string().nullable(),
  required_approvers: z.number().int(),
  approvals_count: z.number().int(),
  assigned_to: z.string().nullable(),
  escalation_pool: z.string().nullable(),
  escalated_at: z.string().nullable(),
  /** As the sandbox predicts; null where it gave no report. */
  severity: sandboxSeverity.nullable(),
  operation_class: operationClass.nullable(),
  /** The sandbox's line about the call, as long as its payload is kept. */
  predicted: z.string().nullable(),
  projected_cost_micros: z.number().int().nullable(),
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  decided_via: z.string().nullable(),
  tenant: z.string(),
  state_namespace: stateNamespace,
});
export type PendingSummary = z.infer<typeof pendingSummary>;

/** The answer of `GET /pending/summaries`. */
export const summariesPage = z.object({
  items: z.array(pendingSummary),
  /** `null` at the end. A page may have fewer items than asked for, or none, and still not be the last. */
  next_cursor: z.string().nullable(),
  /** When the last row was asked for that was looked at, where a page ends before it is full and before the list ends. */
  searched_to: z.string().nullable().default(null),
  /** How many rows of these tenants wait, whatever the filter. */
  pending_count: z.number().int(),
});
export type SummariesPage = z.infer<typeof summariesPage>;

/** What a list is asked for: a severity that the sandbox predicts, or rows of which it gave no report. */
export const riskTier = z.enum([...sandboxSeverity.options, 'unscored']);
export type RiskTier = z.infer<typeof riskTier>;

export const statsWindow = z.enum(['1h', '6h', '24h', '7d']);
export type StatsWindow = z.infer<typeof statsWindow>;

/**
 * The answer of `GET /approvals/stats`, from the first whole minute of the window on. A rate or time of no decision is `null`. Times are
 * nearest-rank percentiles in seconds, each within the share `times_within` of the exact one.
 */
export const approvalStats = z.strictObject({
  window: statsWindow,
  pending_count: z.number().int(),
  oldest_pending_secs: z.number().nullable(),
  /** Approved, modified and denied, by people or by Gate. */
  total_decided: z.number().int(),
  /** As the call was. */
  approved: z.number().int(),
  /** Approved with other arguments. */
  modified: z.number().int(),
  denied: z.number().int(),
  /** Of the denied: somebody changed the call, and policy denied what it had become. */
  modified_then_denied: z.number().int(),
  /** Nobody decided them in time; among neither the decided nor the denied. */
  expired: z.number().int(),
  /** Gate closed them while they waited; among neither of these. */
  aborted: z.number().int(),
  /** Their agents took them back while they waited; among none of these. */
  withdrawn: z.number().int(),
  deny_rate: z.number().nullable(),
  /** From the creation of a row to its decision by a person. */
  median_time_to_decide_secs: z.number().nullable(),
  p95_time_to_decide_secs: z.number().nullable(),
  times_within: z.number(),
  /** People, those with most decisions first. */
  by_approver: z.array(
    z.strictObject({
      decided_by: z.string(),
      /** Calls that this person ended: the sum of the next three. Votes that ended none are not among them. */
      count: z.number().int(),
      /** As the call was. */
      approved: z.number().int(),
      /** By this person's own denial. */
      denied: z.number().int(),
      /** Changed, whatever came of it. */
      modified: z.number().int(),
      /** Of the modified: denied by policy. */
      modified_then_denied: z.number().int(),
      deny_rate: z.number().nullable(),
      median_secs: z.number().nullable(),
    }),
  ),
});
export type ApprovalStats = z.infer<typeof approvalStats>;

/**
 * What an event of `GET /pending/stream` tells of a row. `withdrawn`: its agent took the call back, and the row says so; or the call was answered 503,
 * and the row, which says `pending`, is gone.
 */
export type ReviewChangeType = 'created' | 'updated' | 'decided' | 'expired' | 'aborted' | 'withdrawn';

/** Whom a row is assigned to, as a decision would name him. */
export const LONGEST_ASSIGNEE = 256;
/**
 * The body of `POST /pending/{id}/assign`: one of the two, or both. What is absent stays as it is. As `assigned_to` null gives the row back to
 * everybody, of who has it; as `escalation_pool` it stands for the default one.
 */
export const assignRequest = z
  .strictObject({
    assigned_to: z.string().min(1).max(LONGEST_ASSIGNEE).nullish(),
    escalation_pool: z.string().min(1).max(128).nullish(),
  })
  .refine(
    ({ assigned_to, escalation_pool }) => assigned_to !== undefined || escalation_pool !== undefined,
    'has neither assigned_to nor escalation_pool: give one of them, or both',
  );
export type AssignRequest = z.infer<typeof assignRequest>;

/** What came of a call, in one line. */
export const LONGEST_NOTE = 240;
/** The body of `PATCH /pending/{id}/incident`. With `expected_summary` it is refused where the row has another note by then; null for none. */
export const incidentRequest = z.strictObject({
  incident_summary: z.string().min(1).max(LONGEST_NOTE),
  expected_summary: z.string().max(LONGEST_NOTE).nullable().optional(),
});
export type IncidentRequest = z.infer<typeof incidentRequest>;

/**
 * The surfaces on which people decide, as `decided_via` names them: the page of a call, several calls at once, the page of a decision link, the
 * command line, the card of a chat, lite's API where it is told of no other, and the simulator. A caller of the console's may name another one; Gate itself is named as the decider is.
 */
export const decisionSurface = z.enum([
  'console',
  'bulk',
  'signed-link',
  'command-line',
  'slack-card',
  'teams-card',
  'api',
  'simulator',
]);
export type DecisionSurface = z.infer<typeof decisionSurface>;

export const LONGEST_DECISION_REASON = 1_000;
/** `decided_by`, `tenant` and `approver_assertion` are taken and read by nobody: who decided is who asks. */
export const decideRequest = z.strictObject({
  decision: z.enum(['approve', 'deny', 'modify']),
  decided_by: z.string().optional(),
  reason: z.string().max(LONGEST_DECISION_REASON).nullish(),
  modification_diff: jsonObject.nullish(),
  modified_payload: jsonValue.optional(),
  approver_assertion: jsonValue.optional(),
  /** Printable ASCII, so that no name looks like another one. */
  decided_via: z
    .string()
    .regex(/^[\x20-\x7e]{1,64}$/, 'up to 64 characters of printable ASCII')
    .nullish(),
  tenant: z.string().nullish(),
  /** The `original_payload_digest` of the row as it was shown. The decision is refused if the row has another one. */
  action_digest: z.string().max(128).optional(),
  /** The signature of the approver's passkey over this decision (docs/architecture/reviews.md#what-the-approver-signs). */
  passkey: assertionJson.optional(),
});

/** The body of `POST /pending/{id}/approval-challenge`: the decision that is to be signed. */
export const challengeRequest = z.strictObject({
  decision: z.enum(['approve', 'deny', 'modify']),
  modification_diff: modificationDiff.optional(),
});
export type DecideRequest = z.infer<typeof decideRequest>;

/**
 * A decision on its way to the call's workflow. `signature`, a compact JWS (RFC 7515, EdDSA) by HIL's key, covers the canonical JSON of all
 * other fields. `not_after` and `decided_at` are RFC 3339.
 */
export const signedDecision = z.strictObject({
  pending_id: z.uuid(),
  correlation_id: z.uuid(),
  action_digest: z.string(),
  decision: z.enum(['approve', 'deny', 'modify']),
  /** Of `modify`. */
  modification: modification.optional(),
  /** Of `modify`: the predicted effects of the changed call that one person may approve. Absent: whatever its effect is. */
  approvable_effects: z.array(sandboxSeverity).optional(),
  reason: z.string().nullable(),
  decided_via: z.string().nullable(),
  principal: decisionPrincipal,
  decided_at: z.iso.datetime(),
  not_after: z.iso.datetime(),
  request_id: z.string(),
  /** Where several must approve: who did so before and may still approve. Nobody else's earlier approval counts. */
  standing_approvers: z.array(z.string()).optional(),
  /** What the approver signed with a passkey. */
  approval: passkeyApproval.optional(),
  signature: z.string(),
});
export type SignedDecision = z.infer<typeof signedDecision>;

/** The answer of `POST /pending/{id}/rule-decision`; `null` where a person must decide. */
export const ruledDecision = z.object({ decision: signedDecision.nullable() });
/** The answer of `POST /pending/{id}/opened-change`. */
export const openedChange = z.object({ diff: modificationDiff });
/** Rows on one page of the walk over those that nobody has decided. */
export const MAX_UNDECIDED = 1_000;
/** The answer of `GET /undecided`. */
export const undecidedReviews = z.object({
  rows: z.array(z.object({ id: z.uuid(), correlation_id: z.uuid(), ms: z.number().int() })).max(MAX_UNDECIDED),
});

/** The result of a decision. HIL writes its row from this, so that row and workflow agree. `principal` is null for `system:*`. */
export const settledReview = z.strictObject({
  pending_id: z.uuid(),
  status: z.enum(['approved', 'denied', 'expired', 'aborted']),
  decided_at: z.iso.datetime(),
  decided_by: z.string().min(1),
  decision_reason: z.string().nullable(),
  decided_via: z.string().nullable(),
  principal: decisionPrincipal.nullable(),
  /** The decision's request id, if somebody decided. Rows of an earlier Gate have none. */
  request_id: z.string().optional(),
  /** Everybody whose approval counted, where more than one was needed. */
  approvals: z.array(approval).optional(),
  /** What the decider changed. The row is `denied` when the changed call was judged and refused. */
  modification: modification.optional(),
});
export type SettledReview = z.infer<typeof settledReview>;

/** A decision as the engine carries it. An earlier Gate sent the diff in clear. */
export type CarriedDecision = Omit<SignedDecision, 'modification'> & {
  readonly modification?: Modification | CarriedModification | undefined;
};
/** A settlement as the engine carries it: of a change only its digest, unless the decision came with the diff. */
export type CarriedSettlement = Omit<SettledReview, 'modification'> & {
  readonly modification?: Modification | Omit<Modification, 'diff'> | undefined;
};

/** Whether the workflow engine, which decides which decision is first, answers HIL. */
export const orchestratorStanding = z.strictObject({ available: z.boolean(), reason: z.string().nullable() });
