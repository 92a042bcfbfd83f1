import { ASK_AGAIN, GateError } from '../../domain/errors.js';

export interface AdmissionOptions {
  /** Calls in progress at once, whatever they wait for. */
  readonly maxInFlight: number;
  /** How many may wait to begin before anything was measured. */
  readonly firstBound: number;
  /** A call that has not begun by then never does. */
  readonly callDeadlineMs: number;
  /** Whether a call has its verdict. */
  readonly hasBegun: (correlationId: string) => Promise<boolean>;
  readonly now: () => number;
}

/** A call that was let in. */
export interface Admitted {
  /** It is known when the call began, or that it did not by now. Only the first word counts. */
  begun(atMs: number): void;
  /** To be called in any case. */
  ended(): void;
}

interface Waiting {
  readonly id: string;
  readonly sinceMs: number;
  /** Calls that waited before it. */
  readonly behind: number;
}

/** Fewer calls ahead say nothing of how fast calls begin. */
const MEASURABLE = 8;
const LEAST_BOUND = 16;
/** How much the newest measurement counts. */
const NEWEST = 0.2;
const LOOK_EVERY_MS = 200;
const LOOK_AT = 64;

/**
 * Lets in as many calls as can begin within half of their deadline; whoever comes beyond that is refused at once and may come again, instead of
 * waiting with everybody else until all are too late. How many that are is measured: a call that began after `d` ms with `n` calls ahead
 * of it says that `n` begin in `d`. Calls at their tools wait for nothing and count against `maxInFlight` alone.
 */
export function createAdmission({ maxInFlight, firstBound, callDeadlineMs, hasBegun, now }: AdmissionOptions) {
  const inTimeMs = callDeadlineMs / 2;
  const waiting = new Set<Waiting>();
  let bound = Math.min(firstBound, maxInFlight);
  let inFlight = 0;
  let looking: Promise<void> | null = null;
  let lookedMs = -Infinity;

  /** Finds out which of those that came first do not wait any more. */
  async function look(): Promise<void> {
    lookedMs = now();
    for (const one of [...waiting].slice(0, LOOK_AT))
      if (now() > one.sinceMs + callDeadlineMs || (await hasBegun(one.id).catch(() => false))) waiting.delete(one);
  }

  const full = (why: string) =>
    new GateError('pipeline_unavailable', `${why}; nothing was kept of this one; ${ASK_AGAIN}`, {
      fields: { layer: 'proxy' },
    });

  return {
    inFlight: () => inFlight,
    bound: () => bound,

    /** Throws `pipeline_unavailable` where the call could not begin in time. */
    async admit(id: string): Promise<Admitted> {
      if (waiting.size >= bound) {
        if (!looking && now() - lookedMs >= LOOK_EVERY_MS) looking = look().finally(() => (looking = null));
        await looking;
      }
      if (inFlight >= maxInFlight) throw full('too many calls are under way');
      if (waiting.size >= bound) throw full('more calls wait than can begin in time');
      const mine: Waiting = { id, sinceMs: now(), behind: waiting.size };
      waiting.add(mine);
      inFlight += 1;
      let measured = false;
      return {
        begun(atMs) {
          waiting.delete(mine);
          if (measured || mine.behind < MEASURABLE) return;
          measured = true;
          const shown = mine.behind * (inTimeMs / Math.max(1, atMs - mine.sinceMs));
          bound = Math.min(maxInFlight, Math.max(LEAST_BOUND, bound + NEWEST * (shown - bound)));
        },
        ended() {
          waiting.delete(mine);
          inFlight -= 1;
        },
      };
    },
  };
}
