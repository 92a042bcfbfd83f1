import type { Approval, ShownApproval, SignedDecision } from '../../contracts/review.js';
import { isPerson } from './deciders.js';
import type { ApprovalTier } from '../../contracts/policy.js';
import { sandboxSeverity, type SandboxSeverity } from '../../contracts/sandbox.js';

/** A vote that reached the call: what HIL signed, and the clock's time when it was applied. */
export interface RecordedVote {
  readonly signed: SignedDecision;
  readonly applied_ms: number;
}

/** How many distinct people a review needs, by tier (docs/architecture/reviews.md#quorum). */
export interface QuorumRule {
  readonly strict: number;
  /** Floors by the effect that the sandbox predicts. */
  readonly risky: number;
  readonly destructive: number;
}

/** For an edition in which one person decides everything. */
export const ONE_APPROVER: QuorumRule = { strict: 1, risky: 1, destructive: 1 };

/**
 * The highest of what the tier and the predicted effect ask for: a floor only raises. Without a report the effect counts as the worst, or an
 * agent could hide it by a call that takes long to read. A demonstration needs one, and so does what a rule may decide.
 */
export function requiredApprovers(
  review: {
    readonly approval_tier?: ApprovalTier | null | undefined;
    readonly state_namespace: 'operator' | 'demo';
    readonly sandbox_report?: { readonly severity: SandboxSeverity } | null | undefined;
  },
  rule: QuorumRule,
): number {
  if (review.state_namespace === 'demo') return 1;
  const severity = review.sandbox_report?.severity ?? null;
  const unscored = Math.max(rule.risky, rule.destructive);
  const predicted = { safe: 1, risky: rule.risky, destructive: rule.destructive, none: unscored }[severity ?? 'none'];
  if (review.approval_tier === 'auto' && isForRule(severity)) return 1;
  return Math.max(1, predicted, review.approval_tier === 'strict' ? rule.strict : 1);
}

/**
 * The predicted effects of a call, changed by one person, that one person may approve; `null` for any effect, also one that nobody predicts.
 * Nobody makes alone of a harmless call one that needs two.
 */
export function effectsForOne(
  review: Omit<Parameters<typeof requiredApprovers>[0], 'sandbox_report'>,
  rule: QuorumRule,
): readonly SandboxSeverity[] | null {
  const isForOne = (sandbox_report: { readonly severity: SandboxSeverity } | null) =>
    requiredApprovers({ ...review, sandbox_report }, rule) === 1;
  return isForOne(null) ? null : sandboxSeverity.options.filter((severity) => isForOne({ severity }));
}

/** Whether a rule may decide a call of tier `auto`: it did not see what this one would do. What destroys is for people, and what nobody knows. */
export const isForRule = (severity: SandboxSeverity | null): boolean => severity === 'safe' || severity === 'risky';

/** The first vote of each person, in their order. */
export function distinctVotes(votes: readonly RecordedVote[]): readonly RecordedVote[] {
  const by = new Map<string, RecordedVote>();
  for (const vote of votes) if (!by.has(vote.signed.principal.subject)) by.set(vote.signed.principal.subject, vote);
  return [...by.values()];
}

/**
 * The votes that count towards a decision: its own, and those of the people whom HIL names in it because they may still approve. A vote of
 * anybody else does not count, so that a revoked approver's does not.
 */
export function countedVotes(votes: readonly RecordedVote[], last: RecordedVote): readonly RecordedVote[] {
  const { principal, standing_approvers: standing = [] } = last.signed;
  const counts = new Set([...standing, principal.subject]);
  return distinctVotes([...votes, last]).filter(
    ({ signed: { principal: by } }) => counts.has(by.subject) && isPerson(by.subject),
  );
}

/** Those that count, of the approvals that a row shows. */
export const standingOf = (approvals: readonly ShownApproval[] = []): readonly ShownApproval[] =>
  approvals.filter(({ lapsed }) => lapsed !== true);

/** What is said beside one that does not. */
const LAPSED = 'does not count any more';
/** And beside one of which nobody could look up whether it does. */
const UNCHECKED = 'counts as far as is known: who may approve now could not be looked up';
/** What is said beside an approval; `null` beside one that counts. */
export const besideApproval = ({ lapsed, unchecked }: ShownApproval): string | null =>
  lapsed ? LAPSED : unchecked ? UNCHECKED : null;

/** A vote as it is shown. */
export const approvalOf = ({ signed: { principal, decided_at, reason } }: Pick<RecordedVote, 'signed'>): Approval => ({
  by: principal.subject,
  provenance: principal.method,
  at: decided_at,
  ...(reason !== null && { reason }),
});

/** From few eyes to many. */
const TIERS = ['auto', 'standard', 'strict'] as const satisfies readonly ApprovalTier[];

/** Whether a call of one tier asks for more attention than the other tier gave it. */
export const needsMoreEyes = (asked: ApprovalTier, given: ApprovalTier): boolean =>
  TIERS.indexOf(asked) > TIERS.indexOf(given);
