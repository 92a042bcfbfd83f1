import type { PendingRequest } from '../contracts/review.js';
import type { Decision } from '../domain/review/decisions.js';
import type { ReviewReads } from '../domain/review/ports.js';

type Decide = (decision: Decision) => Promise<PendingRequest>;

export interface DecidedOnDiskOptions {
  readonly reviews: Pick<ReviewReads, 'get'>;
  /** Returns a wait for the disk; it rejects if any transaction was undone since this call. */
  readonly durableFromHere: () => () => Promise<void>;
}

/** Transactions of others that may be undone in a row while one decision waits. A file that takes no more writes undoes every one. */
const ATTEMPTS = 5;

/**
 * The same decision, answered when the row it returns is on disk. What others lose meanwhile is nothing to it: where something was undone, its
 * row is read again, and the decision stands if the row still says so. Rejects with what was undone where it does not.
 */
export function decidedOnDisk(decide: Decide, { reviews, durableFromHere }: DecidedOnDiskOptions): Decide {
  return async (decision) => {
    let onDisk = durableFromHere();
    let row = await decide(decision);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await onDisk();
        return row;
      } catch (undone) {
        onDisk = durableFromHere();
        const now = await reviews.get(row.id, row.tenant);
        if (attempt === ATTEMPTS || now === null || !isSame(now, row)) throw undone;
        row = now;
      }
    }
  };
}

/** Whether this decision settled the row. After an undo, somebody else's decision may have taken its place. */
const isSame = (one: PendingRequest, other: PendingRequest): boolean =>
  one.status === other.status &&
  one.decided_at === other.decided_at &&
  one.decided_by === other.decided_by &&
  one.decision_request_id === other.decision_request_id;
