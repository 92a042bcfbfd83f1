import type { NewReview, PendingRequest, SettledReview, SignedDecision } from '../../contracts/review.js';
import type { DecisionRefusal } from './transitions.js';

/**
 * The review rows as the pipeline needs them: in the same process or over HTTP (`activities/clients/hil-client.ts`). All three are
 * safe to repeat. Throws GateError; `store_unavailable` and `pipeline_unavailable` are worth a retry, every other code is not.
 */
export interface Reviews {
  /** The row of this correlation id, created unless it is there. `pending_conflict`: bound to another payload, agent or tenant; `review_tampered`. */
  createOnce(review: NewReview): Promise<PendingRequest>;
  /**
   * Takes back a row whose call was answered 503. Nothing to take back is fine, and so is a row that an attempt which began after this
   * one has opened: it stays. `already_decided` when someone decided it.
   */
  withdraw(correlationId: string, attemptMs?: number): Promise<void>;
  /** First settlement wins and is returned again for the same one; another one is `already_decided`. */
  settle(settled: SettledReview): Promise<PendingRequest>;
  /** Where the store is in this process: told of each row that was just closed because Gate did not write it. */
  onTampered?(listener: (row: { readonly id: string; readonly correlation_id: string }, why: string) => void): void;
}

export type DecisionOutcome =
  | { readonly outcome: 'applied'; readonly settled: SettledReview }
  | {
      readonly outcome: 'refused';
      readonly code: DecisionRefusal;
      /** How the review stands, where the refusing side knows. */
      readonly settled?: SettledReview;
    };

/**
 * Hands a decision to the one place where the first decision wins. Throws `orchestrator_unavailable` when no answer came in time:
 * the decision may yet take effect until its `not_after`, and sending it again under the same request id is one decision.
 */
export interface DecisionSender {
  decide(decision: SignedDecision): Promise<DecisionOutcome>;
}
