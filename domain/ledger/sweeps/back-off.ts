const MAX_WAIT_MS = 300_000;

/**
 * How long to wait after `failures` in a row: the interval, doubled with each but the first, five minutes at most unless the interval is
 * longer. Pure: workflows wait by it too.
 */
export const backOffMs = (intervalMs: number, failures: number): number =>
  Math.max(intervalMs, Math.min(intervalMs * 2 ** Math.max(failures - 1, 0), MAX_WAIT_MS));
