/** Repeating work that may fail. What is due is in the store, so a sweep may be interrupted or run twice. */
export interface RunningSweep {
  /** Waits for the current run; no other follows. */
  stop(): Promise<void>;
}

/**
 * Runs `sweep` now, and again one interval after each end, never two at once. Errors go to `failed` and do not stop the repetition. With an
 * interval of 0 nothing runs.
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
