import { GateError } from '../errors.js';

/** How many decisions may be under way, how many may wait for their turn, and how long. */
export interface TurnLimits {
  readonly atOnce: number;
  readonly places: number;
  readonly waitMs: number;
}

/** Lets decisions through a few at a time, in the order in which they came (docs/architecture/reviews.md#many-decisions-at-once). */
export interface DecisionTurns {
  /**
   * Runs `work` when it is its turn, and says whether it had to wait for that. Throws `decision_not_sent`, without having run it, when every
   * place is taken, the turn does not come in time, `left` aborts first, or the turns are closed.
   */
  take<Result>(work: (waited: boolean) => Promise<Result>, left?: AbortSignal): Promise<Result>;
  /** Whoever waits is sent away; work under way goes on. */
  close(): void;
}

/**
 * The parked calls of one worker have eight slots for workflow tasks (workers/worker.ts). More decisions at once take no less time together, but each of
 * them longer, until none has its answer in the ten seconds that the engine is given. About fifteen are decided in a second on two cores, so
 * whoever has a place gets his turn in time, and a decision is answered within half a minute.
 */
export const DECISION_TURNS: TurnLimits = { atOnce: 8, places: 300, waitMs: 20_000 };

interface Waiting {
  go(): void;
  refuse(why: string): void;
}

export function createDecisionTurns({ atOnce, places, waitMs }: TurnLimits): DecisionTurns {
  const waiting = new Set<Waiting>();
  let underWay = 0;
  let closed = false;

  const turn = (left: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        left?.removeEventListener('abort', leave);
        waiting.delete(place);
      };
      const place: Waiting = {
        go() {
          over();
          resolve();
        },
        refuse(why) {
          over();
          reject(notSent(why));
        },
      };
      const leave = () => place.refuse('whoever asked has gone');
      const timer = setTimeout(() => place.refuse(`its turn did not come within ${waitMs / 1000} s`), waitMs);
      left?.addEventListener('abort', leave);
      waiting.add(place);
    });

  return {
    async take(work, left) {
      if (closed) throw notSent(STOPPING);
      if (left?.aborted) throw notSent('whoever asked has gone');
      const waits = underWay >= atOnce;
      if (waits && waiting.size >= places) throw notSent(`${places} others wait before it`);
      // Whoever ends hands on its own place, so that nobody who comes now overtakes those who wait.
      if (waits) await turn(left);
      else underWay += 1;
      try {
        return await work(waits);
      } finally {
        const [next] = waiting;
        if (next) next.go();
        else underWay -= 1;
      }
    },
    close() {
      closed = true;
      for (const place of waiting) place.refuse(STOPPING);
    },
  };
}

const STOPPING = 'the service is stopping';

const notSent = (why: string): GateError =>
  new GateError('decision_not_sent', `the decision was not sent, because ${why}; nothing was decided. Send it again`);
