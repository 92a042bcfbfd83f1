import type { KeyObject } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { SignedDecision } from '../../contracts/review.js';
import { CLOCKS_APART_MS } from '../clocks.js';
import { ownPrincipal, signedAbout } from './decision-signature.js';
import type { OpenedReviews } from './ports.js';
import { isForRule } from '../decision/quorum.js';
import { POLICY_TIER, whyNotDecidable } from '../decision/transitions.js';

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
    return signedAbout(
      row,
      {
        decision: 'approve',
        reason: 'policy lets calls of this kind run without a person',
        decided_via: POLICY_TIER,
        principal: ownPrincipal(POLICY_TIER, row.tenant, 'policy-tier:auto'),
        request_id: randomUUID(),
      },
      // The worker that asked applies it, by its own clock; nobody is told that it was in vain.
      { key: decisionKey, now, lifeMs: decisionLifeMs + CLOCKS_APART_MS },
    );
  };
