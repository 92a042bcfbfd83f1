import { LRUCache } from 'lru-cache';
import { type Ask, statement } from '../store/statement.js';
import { backlogFull, LARGEST_REQUEST_BYTES } from '../../domain/review/backlog.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { ReviewLimits } from '../../domain/review/ports.js';

type Place = Pick<StoredReview, 'tenant' | 'agent_id'>;
type Newcomer = Place & Pick<StoredReview, 'payload_bytes'>;

/** What an agent had waiting at that time, and at most has now: the clock and decisions only reduce it. */
interface Waiting {
  readonly rows: number;
  readonly bytes: number;
  readonly atMs: number;
}

export interface WaitingRoomOptions {
  readonly ask: Ask;
  readonly clock: () => number;
  readonly limits: ReviewLimits;
  /** For a store that only this process writes: `forget` must be called when it rolled back committed state. */
  readonly alone?: ((forget: () => void) => void) | undefined;
}

/**
 * The index `reviews_waiting` answers this alone. Its condition is repeated here word for word, or SQLite would not use it. No row is verified for it:
 * a size that no request has is somebody's who edited the store, and would let the sum overflow, fill it or make room in it.
 */
const selectWaiting = statement<{ rows: number | string; bytes: number | string | null }>(
  `select count(*) as "rows",
       sum(case when payload_bytes between 0 and ${LARGEST_REQUEST_BYTES} then payload_bytes end) as bytes from reviews
     where tenant = ? and agent_id = ? and deadline_ms > ? and status = 'pending' and withdrawn_at is null`,
);

/** The number of agents whose count is remembered. */
const KEPT = 1_000;

/**
 * Limits how much each agent may have waiting for people. When only this process writes, the count is read once and then kept up to date,
 * because counting takes longer the more rows the agent has. If the kept count would refuse a row, it is counted anew.
 */
export function waitingRoom({ ask, clock, limits, alone }: WaitingRoomOptions) {
  const kept = alone && new LRUCache<string, Waiting>({ max: KEPT });
  alone?.(() => kept?.clear());
  const keyOf = ({ tenant, agent_id }: Place) => JSON.stringify([tenant, agent_id]);
  const fits = ({ rows, bytes }: Waiting, newcomer: Newcomer) =>
    rows + 1 <= limits.rows && bytes + newcomer.payload_bytes <= limits.bytes;

  return {
    /** Throws `review_backlog_full` unless the agent may have this row waiting too. */
    async assertFor(newcomer: Newcomer): Promise<void> {
      const { tenant, agent_id } = newcomer;
      const atMs = clock();
      const known = kept?.get(keyOf(newcomer));
      // After the clock was set back, rows wait again that did not count.
      if (known && known.atMs <= atMs && fits(known, newcomer)) return;
      const {
        rows: [counted],
      } = await ask(selectWaiting, tenant, agent_id, atMs);
      const waiting = { rows: Number(counted?.rows ?? 0), bytes: Number(counted?.bytes ?? 0), atMs };
      kept?.set(keyOf(newcomer), waiting);
      if (fits(waiting, newcomer)) return;
      throw backlogFull(
        tenant,
        agent_id,
        waiting.rows >= limits.rows
          ? `${limits.rows} calls of this agent wait for a decision already`
          : `the calls of this agent that wait for a decision would hold more than ${limits.bytes} bytes`,
      );
    },

    added(row: Newcomer): void {
      const known = kept?.get(keyOf(row));
      if (known) kept?.set(keyOf(row), { ...known, rows: known.rows + 1, bytes: known.bytes + row.payload_bytes });
    },

    /** A row no longer waits, or waits again: the next create counts anew. */
    changed: (row: Place): void => void kept?.delete(keyOf(row)),
  };
}
