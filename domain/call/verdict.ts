import type { Mode, Tier } from '../../contracts/call.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import { approvalTier, type ApprovalTier, type PolicyDecision } from '../../contracts/policy.js';

/** The verdict that inspection and policy are folded into. */
export interface Verdict {
  readonly tier: Tier;
  /** What Gate does, with the mode applied. */
  readonly outcome: 'allow' | 'park' | 'deny';
  /** In observe mode: what enforce would have done. */
  readonly would: 'deny' | 'pend' | null;
  /** The first stage that refused; `definitions` where a tool is in quarantine. */
  readonly layer: 'brain' | 'policy' | 'definitions' | null;
  readonly intent_category: string;
  readonly reasons: readonly string[];
  readonly review_reasons: readonly string[];
  readonly approval_tier: ApprovalTier;
}

/** As much of an inspection as a verdict is folded from. */
export type Inspected = Pick<InspectionResponse, 'authorized' | 'reason' | 'intent_category' | 'intent_suspicions'>;

const UNHEARD = { allow: false, reasons: ['policy did not answer'], review_reasons: [], approval_tier: null } as const;

/**
 * Red if Brain refuses or any deny reason exists; else yellow if any review reason exists; else green only if policy says allow. Deny beats
 * review. An action that Brain only suspects is a review reason of its own unless the rules name it: a folder of rules may be older than
 * suspicions. Observe mode forces the outcome to allow and keeps the true tier. No decision at all (`null`, in observe mode only) is no
 * allow: red.
 */
export function foldVerdict(inspection: Inspected | null, heard: PolicyDecision | null, mode: Mode): Verdict {
  const decision = heard ?? UNHEARD;
  const brainRefuses = inspection !== null && !inspection.authorized;
  const policyRefuses = decision.reasons.length > 0;
  const suspected = inspection?.intent_suspicions ?? [];
  const deed = `destructive deed (${suspected.toSorted().join(', ')})`;
  const told = suspected.length === 0 || decision.review_reasons.some((reason) => reason.includes(deed));
  const reviewReasons =
    told || policyRefuses
      ? decision.review_reasons
      : [...decision.review_reasons, `Review: inspection suspects that the arguments order a ${deed}.`];
  const tier: Tier =
    brainRefuses || policyRefuses ? 'red' : reviewReasons.length > 0 ? 'yellow' : decision.allow ? 'green' : 'red';
  const reasons = [...(brainRefuses ? [inspection.reason] : []), ...decision.reasons];
  if (tier === 'red' && reasons.length === 0) reasons.push('Violation: no rule allows this call');
  const enforced = tier === 'red' ? 'deny' : tier === 'yellow' ? 'park' : 'allow';
  const parsedTier = approvalTier.safeParse(decision.approval_tier);
  return {
    tier,
    outcome: mode === 'observe' ? 'allow' : enforced,
    would: mode === 'observe' && enforced !== 'allow' ? (enforced === 'deny' ? 'deny' : 'pend') : null,
    layer: brainRefuses ? 'brain' : tier === 'red' ? 'policy' : null,
    intent_category: inspection?.intent_category ?? 'Direct Execution',
    reasons,
    review_reasons: reviewReasons,
    approval_tier: parsedTier.success ? parsedTier.data : 'standard',
  };
}

/** As of a tool that an operator denied (`tool_class.rego`): the agent is not told that there is a decoy. */
export const DECOY_DENIAL = 'Violation: the operator denied this tool.';
/** Of a call that was approved before its tool, or something in it, became a decoy. */
export const DECOY_SINCE = `the rules changed since this call was approved, and deny it now: ${DECOY_DENIAL}`;

/** The verdict on a call that touches a decoy, in every mode: also where a folder of rules is older than decoys, and knows none. */
export const denied = (verdict: Verdict): Verdict => ({
  ...verdict,
  tier: 'red',
  outcome: 'deny',
  would: null,
  layer: 'policy',
  reasons: verdict.reasons.includes(DECOY_DENIAL) ? verdict.reasons : [...verdict.reasons, DECOY_DENIAL],
  review_reasons: [],
});

/** The verdict on a call of a tool in quarantine, in every mode: what inspection and policy said of it stays in the record. */
export const quarantined = (verdict: Verdict, why: string): Verdict => ({
  ...verdict,
  tier: 'red',
  outcome: 'deny',
  would: null,
  layer: 'definitions',
  reasons: [why],
  review_reasons: [],
});
