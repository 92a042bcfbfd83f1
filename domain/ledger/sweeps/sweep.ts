/** Work that repeats and may fail: what is to be done stands in the store, so a sweep that is cut off or run twice does no harm. */
export interface RunningSweep {
  /** Waits for the run under way; no other follows. */
  stop(): Promise<void>;
}

const MAX_WAIT_MS = 300_000;

/** How long to wait before attempt number `attempts + 1`: the interval, doubled with each failure, five minutes at most. */
export const backOffMs = (intervalMs: number, attempts: number): number =>
  Math.max(intervalMs, Math.min(intervalMs * 2 ** Math.max(attempts - 1, 0), MAX_WAIT_MS));

/**
 * Runs `sweep` now and then again an interval after each end; two never overlap. What it throws is told, and the next run comes all the
 * same. An interval of 0 runs nothing.
 */
export function startSweep(
  intervalMs: number,
  sweep: () => Promise<unknown>,
  failed: (error: unknown) => void,
): RunningSweep {
  let timer: NodeJS.Timeout | undefined;
  let stopped = intervalMs <= 0;
  let running: Promise<void> = Promise.resolve();
  const run = async () => {
    try {
      await sweep();
    } catch (error) {
      failed(error);
    }
    if (!stopped) {
      timer = setTimeout(next, intervalMs);
      timer.unref();
    }
  };
  const next = () => {
    running = run();
  };
  if (!stopped) next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
