import type { EngineAway } from '../workers/circuit.js';
import type { Supervised } from '../workers/supervisor.js';

/** The end of a child is known a moment after its connections broke; then its supervisor has said what there is to say. */
const SAID_AFTER_MS = 2_000;
/** One that runs and has not answered for so long hangs. */
const HUNG_AFTER_MS = 30_000;

export interface EngineNews {
  /** What the circuit found. */
  onChange(away: EngineAway | null, awayMs: number): void;
  /** A line of the supervisor of this stack's own engine. */
  supervisor(line: string): void;
}

/**
 * Prints one line when the engine stops answering, and another when it answers again. Two watch it: the circuit, and for an engine of this
 * stack's own its supervisor, which reports that the process ended. An engine that runs and does not answer is ended here, so that its
 * supervisor starts it again. Only the one that reported the outage prints its end; lines of the other go to the log meanwhile.
 */
export function engineNews({
  say,
  log = () => undefined,
  engine,
}: {
  readonly say: (line: string) => void;
  readonly log?: (line: string) => void;
  /** The engine that this stack started; absent when it is somebody else's. */
  readonly engine?: () => Supervised<unknown> | null;
}): EngineNews {
  let toldBy: 'circuit' | 'supervisor' | null = null;
  let timers: NodeJS.Timeout[] = [];
  const gone = (reason: string) => {
    if (toldBy || (engine && !engine()?.current())) return;
    toldBy = 'circuit';
    say(`the workflow engine is away (${reason}); calls are answered 503 until it answers`);
  };
  return {
    supervisor(line) {
      if (toldBy === 'circuit') return log(line);
      toldBy = 'supervisor';
      say(line);
    },
    onChange(away, awayMs) {
      for (const timer of timers.splice(0)) clearTimeout(timer);
      if (!away) {
        if (toldBy === 'circuit')
          say(`the workflow engine answers again after ${(awayMs / 1_000).toFixed(1)} s; calls go on`);
        toldBy = null;
        return;
      }
      // Whatever was told before was of an earlier outage: the supervisor tells after the circuit was told.
      toldBy = null;
      if (!engine) return gone(away.reason);
      timers = [
        setTimeout(() => gone(away.reason), SAID_AFTER_MS).unref(),
        setTimeout(() => {
          const own = engine();
          if (own?.current()) void own.renew(`it did not answer for ${HUNG_AFTER_MS / 1_000} s`).catch(() => undefined);
        }, HUNG_AFTER_MS).unref(),
      ];
    },
  };
}
