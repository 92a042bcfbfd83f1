import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Blocks {
  /** The longest time in which nothing else ran on the event loop. */
  readonly longestBlockMs: number;
  /** The most that was worked on it between two ticks of a millisecond: other work on the machine adds nothing to it. 0 where it is not known. */
  readonly longestWorkMs: number;
}

/** Watches the event loop of this process until it is asked what was found. */
export function watchedBlocks(): { stop(): Blocks } {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let longestWorkMs = 0;
  let last = workedMs();
  const ticks = setInterval(() => {
    const now = workedMs();
    if (now !== null && last !== null) longestWorkMs = Math.max(longestWorkMs, now - last);
    last = now;
  }, 1);
  return {
    stop() {
      clearInterval(ticks);
      delay.disable();
      return { longestBlockMs: delay.max / 1e6, longestWorkMs };
    },
  };
}

/** What the first thread of this process has worked; null where the system does not say it. */
function workedMs(): number | null {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return null;
  }
}
