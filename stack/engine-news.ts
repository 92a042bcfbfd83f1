import type { EngineAway } from '../workers/circuit.js';
import type { Supervised } from '../workers/supervisor.js';

/** The end of a child is known a moment after its connections broke; by then its supervisor has reported it. */
const SAID_AFTER_MS = 2_000;
/** An engine that runs but has not answered for this long hangs. */
const HUNG_AFTER_MS = 30_000;
/** It does not hear that it should end, and one that answers again while it is being ended would be reported as both. */
const HUNG_STOP_LIMIT_MS = 1_000;

export interface EngineNews {
  /** What the circuit found. */
  onChange(away: EngineAway | null, awayMs: number): void;
  /** A line from the supervisor of this stack's own engine. */
  supervisor(line: string): void;
}

/**
 * Prints one line when the engine stops answering, and another when it answers again. Two parts watch it: the circuit, and, for an engine
 * that this stack started, its supervisor, which reports that the process ended. An engine that runs but does not answer is killed here, so
 * that its supervisor restarts it. Only the part that reported an outage reports its end; lines of the other go to the log meanwhile.
 */
export function engineNews({
  say,
  log = () => undefined,
  engine,
}: {
  readonly say: (line: string) => void;
  readonly log?: (line: string) => void;
  /** The engine that this stack started; absent when it is run by somebody else. */
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
      // Earlier reports were about an earlier outage: the supervisor reports after the circuit did.
      toldBy = null;
      if (!engine) return gone(away.reason);
      timers = [
        setTimeout(() => gone(away.reason), SAID_AFTER_MS).unref(),
        setTimeout(() => {
          const own = engine();
          if (!own?.current()) return;
          void own.renew(`it did not answer for ${HUNG_AFTER_MS / 1_000} s`, HUNG_STOP_LIMIT_MS).catch(() => undefined);
        }, HUNG_AFTER_MS).unref(),
      ];
    },
  };
}
