import type { NewReview, PendingRequest, SettledReview, SignedDecision } from '../../contracts/review.js';
import type { DecisionRefusal } from './transitions.js';

/**
 * The review rows as the pipeline needs them, in the same process or over HTTP (`activities/clients/hil-client.ts`). All three methods are
 * safe to repeat. They throw GateError; `store_unavailable` and `pipeline_unavailable` may be retried, no other code may.
 */
export interface Reviews {
  /**
   * Returns the row of this correlation id, created if it does not exist. `pending_conflict`: it exists with another payload, agent or
   * tenant; `review_tampered`.
   */
  createOnce(review: NewReview): Promise<PendingRequest>;
  /**
   * Withdraws the row of a call that was answered 503. A missing row is fine. A row that a later attempt opened stays. `already_decided`
   * when somebody decided it.
   */
  withdraw(correlationId: string, attemptMs?: number): Promise<void>;
  /** The first settlement wins, and repeating it returns the same row; a different one is `already_decided`. */
  settle(settled: SettledReview): Promise<PendingRequest>;
  /** Only when the store is in this process: called for each row that was just closed because Gate did not write it. */
  onTampered?(listener: (row: { readonly id: string; readonly correlation_id: string }, why: string) => void): void;
}

export type DecisionOutcome =
  | {
      readonly outcome: 'applied';
      readonly settled: SettledReview;
      /** The row was written with the decision. */
      readonly row_settled?: boolean | undefined;
    }
  | {
      readonly outcome: 'refused';
      readonly code: DecisionRefusal;
      /** The review's settlement, if the refusing side knows it. */
      readonly settled?: SettledReview;
    };

/**
 * Sends a decision to the one place that decides which decision is first. Throws `orchestrator_unavailable` when no answer came in time:
 * the decision may still take effect until its `not_after`; `store_unavailable` when that place could not write it down, or not say that it
 * had. Sending it again under the same request id counts as one decision.
 */
export interface DecisionSender {
  decide(decision: SignedDecision): Promise<DecisionOutcome>;
}
