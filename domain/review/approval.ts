import type { JsonObject } from '../../contracts/json.js';
import type { SignedDecision } from '../../contracts/review.js';
import { paramsSha256 } from '../call/params-digest.js';
import type { CallRecord } from '../call/record.js';
import { canonicalDigest } from '../crypto/digest.js';
import { errorText } from '../errors.js';
import { changedBody } from '../decision/modification.js';
import { approvalMismatch } from './passkey-proof.js';
import { countedVotes, type RecordedVote } from '../decision/quorum.js';
import { isOver, POLICY_TIER } from '../decision/transitions.js';

/** Verifies HIL's signature over a decision. Throws the reason when it does not verify. */
export type VerifyDecision = (decision: SignedDecision) => Promise<void>;

/** Why a signed decision does not apply to this call: it was signed for another row, call, tenant or action. `null` when it applies. */
export function otherCallThan(
  signed: SignedDecision,
  { correlation_id, pending_id, evidence }: CallRecord,
  body: JsonObject,
): string | null {
  if (signed.correlation_id !== correlation_id || signed.pending_id !== pending_id)
    return 'the decision is about another call';
  if (signed.principal.tenant !== evidence.call.tenant) return 'the decision was made in another tenant';
  if (signed.action_digest !== canonicalDigest(body)) return 'the decision is about another action than this call';
  const rules = evidence.decision?.policy_bundle.hash_sha256 ?? null;
  if (signed.approval && signed.approval.statement.policy_bundle_sha256 !== rules)
    return "the approver's passkey signed a call that was judged by other rules";
  const { shown } = evidence;
  const statement = signed.approval?.statement;
  if (
    shown &&
    statement &&
    (statement.row_digest !== shown.row_digest || statement.sandbox_report_digest !== shown.sandbox_report_digest)
  )
    return "the approver's passkey signed a row that showed the call in another way";
  const { required_approvers: asked = 1 } = evidence;
  if (statement?.required_approvers !== undefined && statement.required_approvers !== asked)
    return "the approver's passkey signed a call that another number of people must approve";
  return approvalMismatch(signed);
}

/**
 * Why an approved record must not be executed; checked again right before the attempt. The record keeps what HIL signed, and only that is
 * an approval. `null` when HIL approved exactly this action in time. `body` is the request that would run.
 */
export async function approvalFault(
  record: CallRecord,
  body: JsonObject,
  verify: VerifyDecision,
): Promise<string | null> {
  const { decision } = record;
  const signed = decision?.signed;
  if (!signed) return 'the record holds no signed decision';
  try {
    await verify(signed);
  } catch (error) {
    return errorText(error);
  }
  if (signed.decision === 'deny' || decision.status !== 'approved') return 'the signed decision is not an approval';
  if ((signed.decision === 'modify') !== (decision.changed !== undefined))
    return 'the record tells another change than the signed one';
  if (signed.modification && signed.decision !== 'modify')
    return 'the signed decision changes the call and says that it does not';
  const effective = effectiveBody(record, body);
  if (effective === null) return 'the signed change does not fit this call';
  if (decision.changed && decision.changed.params_sha256 !== paramsSha256(effective))
    return 'the record tells another change than the one that was judged';
  const { approvable_effects: forOne } = signed;
  if (forOne && !forOne.some((effect) => effect === decision.changed?.effect))
    return 'the change has another effect than one person may approve';
  if (signed.decided_at !== decision.decided_at || signed.principal.subject !== decision.decided_by)
    return 'the record tells another decision than the signed one';
  // A rule approves only what policy said it may.
  if (signed.principal.subject === POLICY_TIER && record.approval_tier !== 'auto')
    return 'a rule approved a call that is for a person';
  // Older records do not say when. Their last transition approved them, and its timestamp is at least one millisecond after the previous
  // one.
  const appliedMs = decision.applied_ms ?? (record.state === 'approved' ? record.updated_ms - 1 : 0);
  if (appliedMs > Date.parse(signed.not_after)) return 'the decision was applied after the time it was signed for';
  if (isOver(record.deadline_ms, Date.parse(signed.decided_at))) return 'the decision was made after the deadline';
  return otherCallThan(signed, record, body) ?? quorumFault(record, body, { signed, applied_ms: appliedMs }, verify);
}

/** What runs: the request, or what the approver made of it; `null` when the signed change does not fit it. */
export function effectiveBody({ decision }: CallRecord, body: JsonObject): JsonObject | null {
  const modification = decision?.signed?.decision === 'modify' ? decision.signed.modification : undefined;
  return modification ? changedBody(body, modification) : body;
}

/** Why the votes of an approved record do not make its quorum; `null` when they do, and when one approval is enough. */
async function quorumFault(
  record: CallRecord,
  body: JsonObject,
  last: RecordedVote,
  verify: VerifyDecision,
): Promise<string | null> {
  const { required_approvers: required = 1, votes = [] } = record.evidence;
  if (required <= 1) return null;
  for (const { signed, applied_ms } of votes) {
    try {
      await verify(signed);
    } catch (error) {
      return errorText(error);
    }
    if (signed.decision !== 'approve') return 'a vote is not an approval';
    if (applied_ms > Date.parse(signed.not_after)) return 'a vote was applied after the time it was signed for';
    if (isOver(record.deadline_ms, Date.parse(signed.decided_at))) return 'a vote was made after the deadline';
    const other = otherCallThan(signed, record, body);
    if (other !== null) return other;
  }
  const counted = countedVotes(votes, last).length;
  return counted < required ? `${counted} of ${required} approvals count` : null;
}
