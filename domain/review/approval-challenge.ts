import { hash } from 'node:crypto';
import { toolOf } from '../../contracts/call-methods.js';
import { APPROVAL_CONTRACT, type ApprovalStatement } from '../../contracts/approval.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PendingRequest, SignedDecision } from '../../contracts/review.js';
import { paramsSha256 } from '../call/params-digest.js';
import type { ShownDigests } from '../call/record.js';
import { canonicalDigest, canonicalJson } from '../crypto/digest.js';
import { modified } from '../decision/modification.js';

/** What of a row says which call it is about, and never changes while it waits. */
const digestOfRow = (row: PendingRequest): string =>
  canonicalDigest({
    id: row.id,
    correlation_id: row.correlation_id,
    tenant: row.tenant,
    agent_id: row.agent_id,
    agent_spiffe: row.agent_spiffe,
    method: row.method,
    risk_summary: row.risk_summary,
    review_reasons: row.review_reasons,
    created_at: row.created_at,
    ttl_seconds: row.ttl_seconds,
    approval_tier: row.approval_tier,
    required_approvers: row.required_approvers ?? 1,
    state_namespace: row.state_namespace,
    original_payload_digest: row.original_payload_digest,
    // Only where there is one: rows of an earlier Gate keep the digest under which they were approved.
    ...(row.delegation && { delegation: row.delegation }),
  });

/** What of a row goes into every statement about it. */
export const shownDigestsOf = (row: PendingRequest): ShownDigests => ({
  payload_digest: row.original_payload_digest,
  sandbox_report_digest: row.sandbox_report_digest ?? null,
  row_digest: digestOfRow(row),
});

/** What a decision of this person about this row states. The same decision is always the same statement. */
export const approvalStatementOf = (
  row: PendingRequest,
  approver: string,
  { decision, modification }: Pick<SignedDecision, 'decision' | 'modification'>,
): ApprovalStatement => ({
  contract: APPROVAL_CONTRACT,
  decision,
  pending_id: row.id,
  correlation_id: row.correlation_id,
  tenant: row.tenant,
  approver,
  ...shownDigestsOf(row),
  required_approvers: row.required_approvers ?? 1,
  policy_bundle_sha256: row.policy_bundle_sha256 ?? null,
  agent_id: row.agent_id,
  tool: toolOf(row),
  tool_params_sha256: paramsSha256(
    modification ? modified(row.request_payload, modification.diff) : row.request_payload,
  ),
  ...(modification && {
    payload_digest: modification.reviewed_digest,
    original_payload_digest: row.original_payload_digest,
    modification_diff_digest: canonicalDigest(modification.diff),
  }),
});

/** The challenge that a passkey signs: SHA-256 over the statement's canonical JSON (RFC 8785), base64url. */
export const challengeOf = (statement: ApprovalStatement): string =>
  hash('sha256', canonicalJson(statement as unknown as JsonObject), 'base64url');
