import { type CallContract, DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';
import { approvalTier } from '../../contracts/policy.js';
import type { PendingRequest } from '../../contracts/review.js';
import type { SandboxSeverity } from '../../contracts/sandbox.js';
import { effectsForOne, ONE_APPROVER, type QuorumRule } from '../decision/quorum.js';
import { isRehearsal } from './rehearsal.js';

/** Who runs a call that was approved: Gate, its agent, which only asked for a decision, or nobody, where no call asked for the review. */
export type RunBy = 'gate' | 'agent' | 'nobody';

export const runByContract = (contract: CallContract): RunBy =>
  contract === SERVER_EXECUTION_CONTRACT ? 'gate' : contract === DECISION_CONTRACT ? 'agent' : 'nobody';

/** The same of a row. One of an earlier Gate does not say that its agent runs the call, and counts as one that Gate runs. */
export const runByRow = (row: Pick<PendingRequest, 'agent_spiffe' | 'executed_by'>): RunBy =>
  isRehearsal(row) ? 'nobody' : (row.executed_by ?? 'gate');

/**
 * Why nobody changes a call (docs/architecture/reviews.md#modify); `null` where one person may. What runs has to be what was approved, so only a
 * call that Gate runs is changed; and of one that needs several people, nobody would have read what the changed one does.
 */
export function whyNotChangeable(call: {
  readonly runBy: RunBy;
  readonly required_approvers?: number | undefined;
  /** The predicted effects that one person may approve of the changed call; `null` for any. */
  readonly effects?: readonly SandboxSeverity[] | null;
}): 'unsupported_decision' | 'modify_under_quorum' | null {
  if (call.runBy !== 'gate') return 'unsupported_decision';
  return (call.required_approvers ?? 1) > 1 || call.effects?.length === 0 ? 'modify_under_quorum' : null;
}

/** With which predicted effects the changed call needs nobody else; `null` where that does not depend on them. */
export const effectsOfChange = (
  { state_namespace, approval_tier }: Pick<PendingRequest, 'state_namespace' | 'approval_tier'>,
  rule: QuorumRule,
): readonly SandboxSeverity[] | null =>
  effectsForOne(
    { state_namespace, approval_tier: approvalTier.catch('strict').parse(approval_tier ?? 'standard') },
    rule,
  );

/** `whyNotChangeable` of the call of a row, under the rule of now where that is known. */
export const whyRowNotChangeable = (
  row: Pick<
    PendingRequest,
    'agent_spiffe' | 'executed_by' | 'required_approvers' | 'state_namespace' | 'approval_tier'
  >,
  rule: QuorumRule = ONE_APPROVER,
): ReturnType<typeof whyNotChangeable> =>
  whyNotChangeable({
    runBy: runByRow(row),
    required_approvers: row.required_approvers,
    effects: effectsOfChange(row, rule),
  });
