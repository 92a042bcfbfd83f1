import { LRUCache } from 'lru-cache';
import { type Ask, statement } from '../store/statement.js';
import { backlogFull } from '../../domain/review/backlog.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { ReviewLimits } from '../../domain/review/ports.js';

type Place = Pick<StoredReview, 'tenant' | 'agent_id'>;
type Newcomer = Place & Pick<StoredReview, 'payload_bytes'>;

/** What an agent had waiting at that moment, and at most now: the clock and decisions only take away. */
interface Waiting {
  readonly rows: number;
  readonly bytes: number;
  readonly atMs: number;
}

export interface WaitingRoomOptions {
  readonly ask: Ask;
  readonly clock: () => number;
  readonly limits: ReviewLimits;
  /** For a store that this process alone writes: `forget` is to be called when it undid what stood. */
  readonly alone?: ((forget: () => void) => void) | undefined;
}

/** The index `reviews_waiting` answers this alone; its condition stands here word for word, or SQLite would not use it. */
const selectWaiting = statement<{ rows: number | string; bytes: number | string | null }>(
  `select count(*) as "rows", sum(payload_bytes) as bytes from reviews
     where tenant = ? and agent_id = ? and deadline_ms > ? and status = 'pending' and withdrawn_at is null`,
);

/** Agents whose number is remembered. */
const KEPT = 1_000;

/**
 * How much each agent may have waiting for people. Where this process alone writes, the number is counted once and then kept up, because
 * counting takes as long as the agent has rows; what would not fit by it is counted anew.
 */
export function waitingRoom({ ask, clock, limits, alone }: WaitingRoomOptions) {
  const kept = alone && new LRUCache<string, Waiting>({ max: KEPT });
  alone?.(() => kept?.clear());
  const keyOf = ({ tenant, agent_id }: Place) => JSON.stringify([tenant, agent_id]);
  const fits = ({ rows, bytes }: Waiting, newcomer: Newcomer) =>
    rows + 1 <= limits.rows && bytes + newcomer.payload_bytes <= limits.bytes;

  return {
    /** Throws `review_backlog_full` unless the agent may have this row waiting, too. */
    async assertFor(newcomer: Newcomer): Promise<void> {
      const { tenant, agent_id } = newcomer;
      const atMs = clock();
      const known = kept?.get(keyOf(newcomer));
      // By a clock that was set back, rows wait again that did not count.
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

    /** A row waits no longer, or again: who asks next counts. */
    changed: (row: Place): void => void kept?.delete(keyOf(row)),
  };
}
