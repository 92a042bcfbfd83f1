import type { KeyObject } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { SignedDecision } from '../../contracts/review.js';
import { signDecision } from './decision-signature.js';
import type { OpenedReviews } from './ports.js';
import { isForRule } from './quorum.js';
import { POLICY_TIER, whyNotDecidable } from './transitions.js';

export interface RuleDecisionOptions {
  readonly reviews: Pick<OpenedReviews, 'reads'>;
  readonly decisionKey: KeyObject;
  readonly clock?: (() => number) | undefined;
  readonly decisionLifeMs?: number;
}

/** The approval that a rule gives, signed by HIL; `null` where a person must decide. */
export type RuleDecision = (pendingId: string) => Promise<SignedDecision | null>;

/**
 * Approves what policy put into the tier `auto` (docs/architecture/reviews.md#tiers). The row says which tier that is; nobody can ask for it.
 */
export const createRuleDecisions =
  ({ reviews, decisionKey, clock = Date.now, decisionLifeMs = 10_000 }: RuleDecisionOptions): RuleDecision =>
  async (pendingId) => {
    const row = await reviews.reads.get(pendingId);
    const now = clock();
    if (row?.approval_tier !== 'auto' || row.status !== 'pending' || whyNotDecidable(row, now)) return null;
    if (!isForRule(row.sandbox_report?.severity ?? null)) return null;
    return signDecision(
      {
        pending_id: row.id,
        correlation_id: row.correlation_id,
        action_digest: row.original_payload_digest,
        decision: 'approve',
        reason: 'policy lets calls of this kind run without a person',
        decided_via: POLICY_TIER,
        principal: {
          subject: POLICY_TIER,
          tenant: row.tenant,
          method: 'system',
          credential: 'policy-tier:auto',
          credential_kind: null,
        },
        decided_at: new Date(now).toISOString(),
        not_after: new Date(now + decisionLifeMs).toISOString(),
        request_id: randomUUID(),
      },
      decisionKey,
    );
  };
