import type { NewReview } from '../../contracts/review.js';
import { canonicalDigest, digestOf } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { minimizePayload } from '../../domain/review/minimize.js';
import { type QuorumRule, requiredApprovers } from '../../domain/decision/quorum.js';
import { retentionDates } from '../../domain/review/retention.js';
import type { Annotations } from '../../domain/review/review-view.js';
import { reviewIdOf, type reviewSealing } from '../../domain/review/sealed-review.js';
import { storable } from '../../domain/review/storable.js';
import { deadlineOf, escalationsOf } from '../../domain/decision/transitions.js';
import { canonicalOr400 } from './faults.js';
import type { Row } from './stored-row.js';

export interface NewRowOptions {
  readonly sealing: ReturnType<typeof reviewSealing>;
  readonly keys: KeyRing;
  readonly clock: () => number;
  readonly quorum: QuorumRule;
  readonly escalateShares: readonly number[];
}
export type NewRow = Row & { readonly data_key: Uint8Array };

/** The stored form of a new review. Its `created_at` is the workflow's, so that row and timer share one deadline. */
export function newRow(review: NewReview, { sealing, keys, clock, quorum, escalateShares }: NewRowOptions): NewRow {
  const digest = digestOf(canonicalOr400('request_payload', review.request_payload));
  // Sealed as received, not in canonical form, so that the approver sees the arguments in the agent's order.
  const payload = JSON.stringify(review.request_payload);
  const id = reviewIdOf(review.correlation_id);
  const { wrapped, ...seals } = sealing.newKey(id);
  const now = new Date(clock()).toISOString();
  const created_at = review.created_at ?? now;
  const deadlineMs = deadlineOf({ created_at, ttl_seconds: review.ttl_seconds });
  const report = review.sandbox_report ?? null;
  const escalations = escalationsOf({ created_at, ttl_seconds: review.ttl_seconds }, escalateShares);
  const [escalatesAt = null, ...escalatesAgainAt] = escalations.map((atMs) => new Date(atMs).toISOString());
  const annotations: Annotations = {
    review_reasons: review.review_reasons,
    brain_scores: review.brain_scores ?? null,
    projected_cost_micros: review.projected_cost_micros ?? null,
    callback_url: review.callback_url ?? null,
    sandbox_report: report && { operation_class: report.operation_class, severity: report.severity },
    sandbox_report_digest: report && canonicalDigest(report),
    policy_bundle_sha256: review.policy_bundle_sha256 ?? null,
    ...(review.executed_by && { executed_by: review.executed_by }),
    ...(review.delegation && { delegation: review.delegation }),
    required_approvers: requiredApprovers(review, quorum),
    approvals: [],
    escalates_at: escalatesAt,
    ...(escalatesAgainAt.length > 0 && { escalates_again_at: escalatesAgainAt }),
  };
  return sealing.withMac({
    id,
    correlation_id: review.correlation_id.toLowerCase(),
    tenant: storable('tenant', review.tenant),
    agent_id: storable('agent_id', review.agent_id),
    agent_spiffe: storable('agent_spiffe', review.agent_spiffe ?? null),
    method: storable('method', review.method),
    risk_summary: storable('risk_summary', review.risk_summary),
    state_namespace: review.state_namespace,
    approval_tier: review.approval_tier ?? null,
    original_payload_digest: digest,
    annotations: JSON.stringify(annotations),
    data_key: wrapped,
    payload: seals.sealPayload(payload),
    sandbox_report: report && seals.sealReport(report),
    payload_bytes: Buffer.byteLength(payload),
    payload_key_id: keys.activeKeyId,
    minimized_payload: JSON.stringify(minimizePayload(review.request_payload, digest)),
    protected_at: now,
    created_ms: Date.parse(created_at),
    deadline_ms: deadlineMs,
    ttl_seconds: review.ttl_seconds,
    status: 'pending',
    settled: null,
    withdrawn_at: null,
    ...retentionDates({ approval_tier: review.approval_tier ?? null }, deadlineMs),
    purged: null,
    hold: null,
    attempt_ms: review.attempt_ms ?? null,
    decided_ms: null,
    decided_by: null,
    modified: null,
    change_seq: null,
    version: 1,
    mac: null,
  });
}
