import { performance } from 'node:perf_hooks';

/** Work of one turn of the event loop; what comes after it waits for the next, and whoever else has something to do is heard between. */
const TURN_MS = 25;

export interface Turns {
  /** Does the work now, or in a later turn, in the order of asking. Rejects with what `late` makes where its turn comes too late. */
  run<Result>(work: () => Result, late: () => Error): Promise<Result>;
}

/**
 * Short pieces of synchronous work, each bounded by its caller: a batch of a hundred is a hundred of them, and together they would hold
 * up everybody.
 */
export function createTurns({ turnMs = TURN_MS, limitMs = 4_000 } = {}): Turns {
  const waiting: (() => void)[] = [];
  let spentMs = 0;
  let counting = false;
  const goOn = (): void => {
    if (spentMs < turnMs) waiting.shift()?.();
    if (counting) return;
    counting = true;
    setImmediate(() => {
      counting = false;
      spentMs = 0;
      if (waiting.length > 0) goOn();
    });
  };
  return {
    async run(work, late) {
      const asked = performance.now();
      if (spentMs >= turnMs || waiting.length > 0) await new Promise<void>((resolve) => waiting.push(resolve));
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
