const MAX_WAIT_MS = 300_000;

/**
 * How long to wait after `failures` in a row: the interval, doubled for each failure after the first. At most five minutes, unless the
 * interval itself is longer. Pure, because workflows use it too.
 */
export const backOffMs = (intervalMs: number, failures: number): number =>
  Math.max(intervalMs, Math.min(intervalMs * 2 ** Math.max(failures - 1, 0), MAX_WAIT_MS));
