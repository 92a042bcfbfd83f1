/** Work that repeats and may fail. What is due is in the store, so a sweep that is interrupted or run twice does no harm. */
export interface RunningSweep {
  /** Waits for the run under way; no other follows. */
  stop(): Promise<void>;
}

/**
 * Runs `sweep` now, and again an interval after each end, never two at once. Errors go to `failed`, and the next run comes anyway. An
 * interval of 0 runs nothing.
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
