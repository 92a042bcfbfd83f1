import { LRUCache } from 'lru-cache';
import { type Ask, statement } from '../store/statement.js';
import { isOfCall } from '../../domain/review/rehearsal.js';
import { backlogFull, LARGEST_REQUEST_BYTES, REHEARSAL_HOLDS_MS, rehearsalsFull } from '../../domain/review/backlog.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { ReviewLimits } from '../../domain/review/ports.js';

type Place = Pick<StoredReview, 'tenant' | 'agent_id' | 'agent_spiffe'>;
type Newcomer = Place & Pick<StoredReview, 'payload_bytes'>;

/** What an agent, or whoever rehearses, had waiting at that time, and at most has now: the clock and decisions only reduce it. */
interface Waiting {
  readonly rows: number;
  readonly bytes: number;
  readonly atMs: number;
}

export interface WaitingRoomOptions {
  readonly ask: Ask;
  readonly clock: () => number;
  readonly limits: ReviewLimits;
  /** How many reviews without a call a tenant may have; they hold no more bytes than one agent's calls. */
  readonly rehearsals: number;
  /** For a store that only this process writes: `forget` must be called when it rolled back committed state. */
  readonly alone?: ((forget: () => void) => void) | undefined;
}

/**
 * No row is verified for it: a size that no request has is somebody's who edited the store, and would let the sum overflow, fill it or make room in
 * it.
 */
const COUNTED = `count(*) as "rows",
       sum(case when payload_bytes between 0 and ${LARGEST_REQUEST_BYTES} then payload_bytes end) as bytes`;
/** As the indexes `reviews_waiting` and `reviews_rehearsed` have it, word for word, or SQLite would not use them. */
const WAITS = `status = 'pending' and withdrawn_at is null`;
/** As `isOfCall` has it, and the indexes `reviews_rehearsed` and `reviews_rehearsals`. */
const REHEARSED = `agent_spiffe like 'spiffe://%/service/%' and agent_spiffe not like 'spiffe://%/%/service/%'`;

interface Counted {
  readonly rows: number | string;
  readonly bytes: number | string | null;
}
/**
 * The agent's own: what waits in its name, but what a service asked for in it. `agent_id || ''` keeps the second part to the index of the few that
 * there are.
 */
const OF_AGENT = statement<Counted>(
  `select own."rows" - asked."rows" as "rows", coalesce(own.bytes, 0) - coalesce(asked.bytes, 0) as bytes from
     (select ${COUNTED} from reviews where tenant = ? and agent_id = ? and deadline_ms > ? and ${WAITS}) as own,
     (select ${COUNTED} from reviews where tenant = ? and deadline_ms > ? and agent_id || '' = ? and ${WAITS} and ${REHEARSED}) as asked`,
);
/** What waits, and how many came a short time ago that wait no more. */
const OF_REHEARSALS = statement<Counted>(
  `select waiting."rows" + recent."rows" as "rows", waiting.bytes from
     (select ${COUNTED} from reviews where tenant = ? and deadline_ms > ? and ${WAITS} and ${REHEARSED}) as waiting,
     (select count(*) as "rows" from reviews where tenant = ? and created_ms > ? and withdrawn_at is null and ${REHEARSED}
        and not (status = 'pending' and deadline_ms > ?)) as recent`,
);

/** The number of agents whose count is remembered. */
const KEPT = 1_000;

/**
 * Limits how much each agent may have waiting for people, and a tenant of what nobody called for. When only this process writes, the count is
 * read once and then kept up to date, because counting takes longer the more rows there are. If the kept count would refuse a row, it is counted
 * anew.
 */
export function waitingRoom({ ask, clock, limits, rehearsals, alone }: WaitingRoomOptions) {
  const kept = alone && new LRUCache<string, Waiting>({ max: KEPT });
  alone?.(() => kept?.clear());
  const keyOf = (place: Place): string =>
    JSON.stringify(isOfCall(place) ? [place.tenant, place.agent_id] : [place.tenant]);
  const mostOf = (place: Place): number => (isOfCall(place) ? limits.rows : rehearsals);
  const fits = ({ rows, bytes }: Waiting, newcomer: Newcomer): boolean =>
    rows + 1 <= mostOf(newcomer) && bytes + newcomer.payload_bytes <= limits.bytes;

  async function count(place: Place, atMs: number): Promise<Waiting> {
    const { tenant, agent_id } = place;
    const found = isOfCall(place)
      ? ask(OF_AGENT, tenant, agent_id, atMs, tenant, atMs, agent_id)
      : ask(OF_REHEARSALS, tenant, atMs, tenant, atMs - REHEARSAL_HOLDS_MS, atMs);
    const [counted] = (await found).rows;
    return { rows: Number(counted?.rows ?? 0), bytes: Number(counted?.bytes ?? 0), atMs };
  }

  return {
    /** Rows of one place take room from one another, and are let in one after the other. */
    keyOf,

    /** Throws `review_backlog_full` unless the agent, or whoever rehearses, may have this row waiting too. */
    async assertFor(newcomer: Newcomer): Promise<void> {
      const atMs = clock();
      const known = kept?.get(keyOf(newcomer));
      // After the clock was set back, rows wait again that did not count.
      if (known && known.atMs <= atMs && fits(known, newcomer)) return;
      const waiting = await count(newcomer, atMs);
      kept?.set(keyOf(newcomer), waiting);
      if (fits(waiting, newcomer)) return;
      const { tenant, agent_id } = newcomer;
      const isTooMany = waiting.rows >= mostOf(newcomer);
      if (!isOfCall(newcomer)) throw rehearsalsFull(tenant, isTooMany ? rehearsals : null);
      throw backlogFull(
        tenant,
        agent_id,
        isTooMany
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
