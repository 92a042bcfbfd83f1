import type { KeyObject } from 'node:crypto';
import type { DecisionPrincipal, PendingRequest, SettledReview, SignedDecision } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import { signDecision } from './decision-signature.js';
import type { DecisionOutcome, DecisionSender } from './ports.js';
import type { ReviewStore } from './review-store.js';
import { storable } from './storable.js';
import { DECISION_REFUSALS, type DecisionRefusal, isDecidedBy, whyNotDecidable } from './transitions.js';

/**
 * One decision of somebody whose credential has been checked; `principal` comes from that, never from a body
 * (docs/architecture/identity-and-routes.md#surfaces).
 */
export interface Decision {
  readonly id: string;
  readonly tenant: string;
  readonly decision: 'approve' | 'deny';
  readonly reason: string | null;
  readonly decided_via: string | null;
  readonly principal: DecisionPrincipal;
  readonly request_id: string;
  /** The digest of the action as it was shown to whoever decides. */
  readonly action_digest?: string | undefined;
}

/** How a decision on an existing row ended, for the counter. */
export type DecisionResult = 'applied' | 'failed' | Extract<DecisionOutcome, { outcome: 'refused' }>['code'];

export interface DecisionsOptions {
  readonly reviews: Pick<ReviewStore, 'get' | 'settle' | 'ready'>;
  readonly sender: DecisionSender;
  readonly decisionKey: KeyObject;
  readonly clock: () => number;
  /** How long the signed decision may take to reach its workflow. */
  readonly decisionLifeMs: number;
  readonly observe: (decision: Decision['decision'], result: DecisionResult) => void;
}

/**
 * HIL's side of a decision (docs/architecture/reviews.md#signed-decisions): look at the row, sign, send it to the call's workflow, write
 * the row from what the workflow answered, and only then answer. The workflow alone says which decision was first; the look at the row
 * merely spares it the others. Refusals: `not_found` (unknown, withdrawn or foreign), `already_decided`, `pending_expired`,
 * `not_pending`, `decision_refused`, `call_tampered`, `payload_unavailable`. `orchestrator_unavailable` leaves the row as it is; the decision may still
 * take effect until `not_after`. The same decision again, by the same decider under the same request id, has the answer that it came to.
 */
export function createDecisions({
  reviews,
  sender,
  decisionKey,
  clock,
  decisionLifeMs,
  observe,
}: DecisionsOptions): (decision: Decision) => Promise<PendingRequest> {
  const sign = (row: PendingRequest, decision: Decision, now: number): Promise<SignedDecision> =>
    signDecision(
      {
        pending_id: row.id,
        correlation_id: row.correlation_id,
        action_digest: row.original_payload_digest,
        decision: decision.decision,
        reason: decision.reason,
        decided_via: decision.decided_via,
        principal: decision.principal,
        decided_at: new Date(now).toISOString(),
        not_after: new Date(now + decisionLifeMs).toISOString(),
        request_id: decision.request_id,
      },
      decisionKey,
    );

  async function decide(row: PendingRequest, decision: Decision): Promise<PendingRequest> {
    const now = clock();
    // Whether a row that waits is too late is for its call to say, by the clock that ends the call.
    const late = row.status === 'pending' ? null : whyNotDecidable(row, now);
    const same = decision.action_digest === undefined || decision.action_digest === row.original_payload_digest;
    // After a 503, or no answer, the operator asks again and must get the outcome of his own decision, not "already decided".
    if (late && same && isDecidedBy(standing(row), decision)) return row;
    if (late) throw refusal(late, row);
    if (!same)
      throw new GateError('action_digest_mismatch', undefined, {
        fields: { action_digest: row.original_payload_digest },
      });
    // A decision that cannot be written is sent nowhere: it would be waited for until the workflow, whose stores are there too, gives up.
    await reviews.ready();
    const signed = await sign(row, decision, now);
    const outcome = await sender.decide(signed);
    if (outcome.settled && outcome.settled.pending_id !== row.id)
      throw new GateError('internal_error', 'the workflow answered for another review');
    if (outcome.outcome === 'applied') return reviews.settle(outcome.settled);
    // The refusal stands whether or not its row can be written now: the workflow writes the same settlement itself.
    if (outcome.settled) await reviews.settle(outcome.settled).catch(() => undefined);
    const stands = (await reviews.get(row.id, row.tenant)) ?? row;
    // With many decisions at once, or a lost worker, the sender learns only that the call no longer waits. This very decision may have
    // ended it.
    if (isDecidedBy(standing(stands), signed)) return stands;
    // A call that is over can only say "not pending"; its row says whether somebody decided first, which is what the operator needs to know.
    const known = outcome.code === 'not_pending' ? whyNotDecidable(stands, clock()) : null;
    throw refusal(known ?? outcome.code, outcome.settled ?? stands);
  }

  return async (decision) => {
    storable('reason', decision.reason);
    storable('decided_via', decision.decided_via);
    const row = await reviews.get(decision.id, decision.tenant);
    if (!row) throw new GateError('not_found');
    try {
      const settled = await decide(row, decision);
      observe(decision.decision, 'applied');
      return settled;
    } catch (error) {
      observe(decision.decision, resultOf(error));
      throw error;
    }
  };
}

const standing = ({ status, decided_at, decided_by, decision_request_id: request_id }: PendingRequest) => ({
  status,
  decided_at,
  decided_by,
  request_id,
});

const refusal = (
  code: DecisionRefusal,
  { status, decided_by, decided_at }: PendingRequest | SettledReview,
): GateError => new GateError(code, undefined, { fields: { status, decided_by, decided_at } });

const resultOf = (error: unknown): DecisionResult =>
  DECISION_REFUSALS.find((code) => error instanceof GateError && error.code === code) ?? 'failed';
