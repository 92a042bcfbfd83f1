import { GateError } from '../errors.js';
import { createFairQueue } from '../fair-queue.js';
import { within } from '../within.js';

/** How many decisions may be under way and how long, how many may wait for their turn, and how long. */
export interface TurnLimits {
  readonly atOnce: number;
  readonly places: number;
  /** How many of one person may wait. */
  readonly placesEach: number;
  readonly waitMs: number;
  /** How long a turn may take. Its place is free afterwards, whatever it still waits for. */
  readonly turnMs: number;
  /** How many that took longer may be left behind. With so many nobody is let in: what they wait for would only get more to do. */
  readonly leftBehind: number;
}

/** The turn of one decision. */
export interface Turn {
  /** It had to wait for the turn. */
  readonly waited: boolean;
  /** To be called right before the decision is sent. Throws `decision_not_sent` where the turn is over: whoever asked was told so. */
  sends(): void;
}

/** Lets decisions through a few at a time: people in turn, those of one person in the order in which they came (docs/architecture/reviews.md#many-decisions-at-once). */
export interface DecisionTurns {
  /**
   * Runs `work` when it is the turn of `by`. Throws `decision_not_sent` without running it if every place is taken, if too many earlier turns were
   * left behind, if the turn does not come in time, if `left` aborts first, or if the turns are closed. A turn that takes too long loses its place to
   * the next one. Then `take` throws `decision_not_sent` if the decision was not sent, and it can no longer be sent; it throws `store_unavailable`
   * if it was sent, since nobody knows what became of it.
   */
  take<Result>(work: (turn: Turn) => Promise<Result>, by: string, left?: AbortSignal): Promise<Result>;
  /** Whoever waits is sent away; work under way goes on. */
  close(): void;
}

/**
 * The parked calls of one worker have eight slots for workflow tasks (workers/worker.ts). More decisions at once take no less time together, but each of
 * them longer, until none has its answer in the ten seconds that the engine is given. About fifteen are decided in a second on two cores, so
 * a hundred of one person get their turn in time. A turn is those ten seconds, and five for the stores: a store that hangs keeps no place.
 */
export const DECISION_TURNS: TurnLimits = {
  atOnce: 8,
  places: 1_000,
  placesEach: 150,
  waitMs: 20_000,
  turnMs: 15_000,
  leftBehind: 64,
};

interface Waiting {
  go(): void;
  refuse(why: string): void;
}

export function createDecisionTurns({
  atOnce,
  places,
  placesEach,
  waitMs,
  turnMs,
  leftBehind,
}: TurnLimits): DecisionTurns {
  const waiting = createFairQueue<Waiting>();
  let underWay = 0;
  let late = 0;
  let closed = false;

  const turn = (by: string, left: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        left?.removeEventListener('abort', leave);
      };
      const place: Waiting = {
        go() {
          over();
          resolve();
        },
        refuse(why) {
          over();
          waiting.remove(by, place);
          reject(notSent(why));
        },
      };
      const leave = () => place.refuse('whoever asked has gone');
      const timer = setTimeout(() => place.refuse(`its turn did not come within ${waitMs / 1000} s`), waitMs);
      left?.addEventListener('abort', leave);
      waiting.add(by, place);
    });
  /** Lets in the next one, of the person whose last turn is longest ago. One person may have several under way. */
  function next(): boolean {
    const taken = waiting.take();
    if (taken === undefined) return false;
    waiting.done(taken.who);
    taken.item.go();
    return true;
  }

  /** Work that is late goes on, but sends nothing that it has not sent by then. */
  function inTime<Result>(work: (turn: Turn) => Promise<Result>, waited: boolean): Promise<Result> {
    let sent = false;
    let over = false;
    const tooLate = () => notSent(`its turn took longer than ${turnMs / 1000} s`);
    const turn: Turn = {
      waited,
      sends() {
        if (over) throw tooLate();
        sent = true;
      },
    };
    const working = work(turn);
    return within(turnMs, working, () => {
      over = true;
      late += 1;
      void working.catch(() => undefined).finally(() => (late -= 1));
      return sent ? untold() : tooLate();
    });
  }

  return {
    async take(work, by, left) {
      if (closed) throw notSent(STOPPING);
      if (left?.aborted) throw notSent('whoever asked has gone');
      if (late >= leftBehind) throw notSent(`${late} before it have not come back from the stores or the engine`);
      const waits = underWay >= atOnce;
      if (waits && waiting.size >= places) throw notSent(`${places} others wait before it`);
      if (waits && waiting.waitingOf(by) >= placesEach)
        throw notSent(`${placesEach} others of the same person wait before it`);
      // Whoever ends hands on its own place, so that nobody who comes now overtakes those who wait.
      if (waits) await turn(by, left);
      else underWay += 1;
      try {
        return await inTime(work, waits);
      } finally {
        if (!next()) underWay -= 1;
      }
    },
    close() {
      closed = true;
      for (const place of waiting.clear()) place.refuse(STOPPING);
    },
  };
}

const STOPPING = 'the service is stopping';

const UNTOLD =
  'the decision was sent and may have taken effect, but the review service could not read or write down in time what became of it; look at the call before you decide again, or send this decision again under the same X-Request-Id';

/** What is said where a store fails after the decision was sent. */
export const untold = (cause?: unknown): GateError =>
  new GateError('store_unavailable', UNTOLD, { fields: { in_doubt: true }, cause });

const notSent = (why: string): GateError =>
  new GateError('decision_not_sent', `the decision was not sent, because ${why}; nothing was decided. Send it again`);
