import { reviewTold } from '../domain/call/review-told.js';
import { TAMPERED } from '../domain/call/transitions.js';
import type { DeliverCallback } from '../domain/outbound/ports.js';
import { GateError } from '../domain/errors.js';
import { foreignText } from '../domain/text.js';
import type { CallStore } from '../domain/call/ports.js';

export interface CallbackActivityOptions {
  readonly calls: CallStore;
  readonly deliver: DeliverCallback;
  readonly durableFromHere?: (() => () => Promise<void>) | undefined;
  /** Counts and logs the delivery and writes its row; false when the ledger does not accept the row now. */
  readonly reportStuck: (correlationId: string, duty: 'callback', reason: string) => Promise<boolean>;
  /** Writes the row of a delivery, where the ledger takes it now. */
  readonly reportDelivered: (correlationId: string, status: string) => Promise<void>;
}

export const createCallbackActivities = ({
  calls,
  deliver: send,
  durableFromHere,
  reportStuck,
  reportDelivered,
}: CallbackActivityOptions) => ({
  /**
   * Reports how a parked call was settled to its caller's address (docs/architecture/reviews.md#callbacks). Delivery is at least once; the
   * receiver recognises repeats by `X-Gate-Correlation-Id`. Body and address come from the record; nothing in it makes anything run.
   */
  async deliver(correlationId: string): Promise<void> {
    const onDisk = durableFromHere?.();
    const record = await calls.find(correlationId);
    const url = record?.evidence.callback_url;
    if (!record || !url) return;
    // A deadline that has passed decides nothing: there is something to report only once the review has ended.
    if (!record.decision && record.state !== 'aborted' && record.state !== TAMPERED)
      return calls.followedUp(correlationId, 'callback');
    const { status, decision } = reviewTold(record);
    const body = JSON.stringify({
      correlation_id: correlationId,
      pending_id: record.pending_id,
      status,
      decision,
      decision_kind: decision === 'allow' ? (record.decision?.changed ? 'modify' : 'approve') : decision,
      decider_note: record.decision?.reason ?? null,
      decided_at: record.decision?.decided_at ?? null,
    });
    // A callback that was sent cannot be taken back.
    await onDisk?.();
    try {
      await send({ url, body, correlationId });
    } catch (error) {
      if (!(error as { final?: boolean }).final) throw error;
      throw new GateError('callback_not_allowed', (error as Error).message, { cause: error });
    }
    // Before it is owed no longer: a repeat adds no second row, and a failure here sends nothing again.
    await reportDelivered(correlationId, status);
    // An approval may have become void while it was told: then the caller is still owed that.
    const now = await calls.find(correlationId);
    if (now === null || reviewTold(now).status === status) await calls.followedUp(correlationId, 'callback');
  },

  /**
   * Closes a callback that will not be tried again, with a row that gives the reason: its caller waits for a message that will not come,
   * and can ask instead. Throws until the ledger has the row; a repeat adds no second row.
   */
  async giveUpCallback(correlationId: string, reason: string): Promise<void> {
    if (!(await reportStuck(correlationId, 'callback', foreignText(reason, 300))))
      throw new Error('the ledger did not take the row of a callback that was given up');
    await calls.followedUp(correlationId, 'callback');
  },
});
export type CallbackActivities = ReturnType<typeof createCallbackActivities>;
