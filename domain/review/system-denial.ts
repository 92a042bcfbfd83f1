import type { KeyObject } from 'node:crypto';
import type { CarriedSettlement, PendingRequest } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import { isWhole } from './carried-change.js';
import { signDecision } from './decision-signature.js';
import type { DecisionSender, OpenedReviews } from './ports.js';
import type { DEMO_CLEANUP, TENANT_OFFBOARD, WITHDRAWN_BY_AGENT } from './transitions.js';

export interface SystemDenialOptions {
  readonly reviews: Pick<OpenedReviews, 'settling'>;
  readonly sender: DecisionSender;
  readonly decisionKey: KeyObject;
  readonly clock: () => number;
  readonly decisionLifeMs: number;
}

/** Why Gate itself denies what waits. */
export interface SystemDenial {
  readonly by: typeof TENANT_OFFBOARD | typeof DEMO_CLEANUP | typeof WITHDRAWN_BY_AGENT;
  readonly reason: string;
  /** A repeat under the same id is the same decision. */
  readonly request_id: string;
}

/**
 * Denies a row in Gate's own name, through its call's workflow like any other decision: the first one stands. Resolves once the call was
 * asked, whichever decision that was; the row then says what stands, or the workflow writes it.
 */
export const createSystemDenials = ({ reviews, sender, decisionKey, clock, decisionLifeMs }: SystemDenialOptions) => {
  /** The call's workflow writes the same row, should this fail. */
  async function settled(review: CarriedSettlement): Promise<void> {
    if (!isWhole(review)) return;
    await reviews.settling.settle(review).catch((error: unknown) => {
      if (!(error instanceof GateError) || error.status >= 500) throw error;
    });
  }

  return async (row: PendingRequest, { by, reason, request_id }: SystemDenial): Promise<void> => {
    const now = clock();
    const signed = await signDecision(
      {
        pending_id: row.id,
        correlation_id: row.correlation_id,
        action_digest: row.original_payload_digest,
        decision: 'deny',
        reason,
        decided_via: by,
        principal: {
          subject: by,
          tenant: row.tenant,
          method: 'system',
          credential: `operation:${request_id}`,
          credential_kind: null,
        },
        decided_at: new Date(now).toISOString(),
        not_after: new Date(now + decisionLifeMs).toISOString(),
        request_id,
      },
      decisionKey,
    );
    const outcome = await sender.decide(signed);
    if (outcome.outcome === 'applied' && !outcome.row_settled) await settled(outcome.settled);
    // Somebody decided first, or the deadline came: what stands is written, as after any decision.
    if (outcome.outcome === 'refused' && outcome.settled) await settled(outcome.settled);
  };
};
