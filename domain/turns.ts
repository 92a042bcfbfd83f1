import { performance } from 'node:perf_hooks';
import { createFairQueue } from './fair-queue.js';

/** The time to work within one turn of the event loop. Later work waits for the next turn, so other tasks can run in between. */
const TURN_MS = 25;

export interface Turns {
  /**
   * Does the work now or in a later turn. Each agent's work keeps its order, and agents take turns. Rejects with the result of `late` when
   * the turn comes too late.
   */
  run<Result>(work: () => Result, asked: { readonly agent: string; readonly late: () => Error }): Promise<Result>;
}

/**
 * Runs short synchronous tasks, each limited by its caller. A batch of a hundred is a hundred tasks, which together would block everybody.
 */
export function createTurns({ turnMs = TURN_MS, limitMs = 4_000 } = {}): Turns {
  const waiting = createFairQueue<() => void>();
  let spentMs = 0;
  let counting = false;
  const goOn = (): void => {
    if (spentMs < turnMs) {
      const taken = waiting.take();
      taken?.item();
      if (taken !== undefined) waiting.done(taken.who);
    }
    if (counting) return;
    counting = true;
    setImmediate(() => {
      counting = false;
      spentMs = 0;
      if (waiting.size > 0) goOn();
    });
  };
  return {
    async run(work, { agent, late }) {
      const asked = performance.now();
      if (spentMs >= turnMs || waiting.size > 0) await new Promise<void>((resolve) => waiting.add(agent, resolve));
      const began = performance.now();
      try {
        if (began - asked > limitMs) throw late();
        return work();
      } finally {
        spentMs += performance.now() - began;
        goOn();
      }
    },
  };
}
