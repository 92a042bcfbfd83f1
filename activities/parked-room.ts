/**
 * Who may move to the queue of parked calls, and when (docs/decisions/continue-as-new-at-park.md). A decision about a run waits behind every
 * first task on that queue, so only few runs are on their way at once. The others stay where a decision finds them at once.
 */
export interface ParkedRoom {
  /** A call has been parked. 0: it may move now, and counts as on its way. Otherwise the milliseconds after which it should ask. */
  enter(workflowId: string): number;
  /** Asks at its time: 0, or the milliseconds after which it should ask again. */
  ask(workflowId: string): number;
  /** A run has begun on the parked queue. */
  arrived(workflowId: string): void;
}

/** More than the tasks that the worker of the parked queue does at once, so that it is never idle while others wait. */
const ON_THEIR_WAY = 16;
/** A run that has not arrived by then was decided on its way, or all that left after it arrived at another worker, too. */
const LOST_MS = 10_000;
const SOONEST_MS = 200;
const LATEST_MS = 15 * 60_000;
/** How long a run is on its way, before any has arrived. */
const FIRST_WAY_MS = 1_000;
const NEWEST_COUNTS = 0.1;

/** `clock`: milliseconds that only pass; a clock that is put right moves nobody's place. */
export function createParkedRoom(clock = (): number => performance.now()): ParkedRoom {
  /** In the order in which they left. */
  const onTheirWay = new Map<string, number>();
  let wayMs = FIRST_WAY_MS;
  /** When the last run in line asks. */
  let lineEndsMs = 0;

  function leaves(workflowId: string, now: number): boolean {
    for (const [id, leftMs] of onTheirWay) {
      if (now - leftMs < LOST_MS) break;
      onTheirWay.delete(id);
    }
    if (onTheirWay.size >= ON_THEIR_WAY) return false;
    onTheirWay.delete(workflowId);
    onTheirWay.set(workflowId, now);
    return true;
  }

  /** One behind the other, as fast as they have arrived. */
  function placeInLine(now: number): number {
    lineEndsMs = Math.min(Math.max(lineEndsMs, now + SOONEST_MS) + wayMs / ON_THEIR_WAY, now + LATEST_MS);
    return Math.ceil(lineEndsMs - now);
  }

  return {
    enter(workflowId) {
      const now = clock();
      return lineEndsMs <= now && leaves(workflowId, now) ? 0 : placeInLine(now);
    },
    ask(workflowId) {
      const now = clock();
      // After a stop, all that stood in line ask in one moment: they stand in line again.
      return leaves(workflowId, now) ? 0 : placeInLine(now);
    },
    arrived(workflowId) {
      const leftMs = onTheirWay.get(workflowId);
      if (leftMs === undefined) return;
      // The queue is served in order: those that left earlier have arrived as well, at another worker.
      for (const id of onTheirWay.keys()) {
        onTheirWay.delete(id);
        if (id === workflowId) break;
      }
      wayMs += (clock() - leftMs - wayMs) * NEWEST_COUNTS;
    },
  };
}
