import type { KeyObject } from 'node:crypto';
import type { CarriedSettlement, PendingRequest } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import { isWhole } from './carried-change.js';
import { ownPrincipal, signedAbout } from './decision-signature.js';
import type { DecisionSender, OpenedReviews } from './ports.js';
import type { DEMO_CLEANUP, TENANT_OFFBOARD, WITHDRAWN_BY_AGENT } from '../decision/transitions.js';

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
    const principal = ownPrincipal(by, row.tenant, `operation:${request_id}`);
    const signed = await signedAbout(
      row,
      { decision: 'deny', reason, decided_via: by, principal, request_id },
      { key: decisionKey, now: clock(), lifeMs: decisionLifeMs },
    );
    const outcome = await sender.decide(signed);
    if (outcome.outcome === 'applied' && !outcome.row_settled) await settled(outcome.settled);
    // Somebody decided first, or the deadline came: what stands is written, as after any decision.
    if (outcome.outcome === 'refused' && outcome.settled) await settled(outcome.settled);
    // A clock that is wrong decided nothing: whoever asked for it asks again.
    else if (outcome.outcome === 'refused' && (outcome.code === 'clocks_apart' || outcome.code === 'decision_refused'))
      throw new GateError('orchestrator_unavailable', outcome.reason);
  };
};
