import { performance } from 'node:perf_hooks';
import { createFairQueue } from './fair-queue.js';

/** Work of one turn of the event loop; what comes after it waits for the next, and whoever else has something to do is heard between. */
const TURN_MS = 25;

export interface Turns {
  /**
   * Does the work now, or in a later turn: an agent's in the order of asking, and one of each agent after the other. Rejects with what
   * `late` makes where its turn comes too late.
   */
  run<Result>(work: () => Result, asked: { readonly agent: string; readonly late: () => Error }): Promise<Result>;
}

/**
 * Short pieces of synchronous work, each bounded by its caller: a batch of a hundred is a hundred of them, and together they would hold
 * up everybody.
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
