import type { Sweep } from './deliver.js';

/** Where a stream stands; all there is to it, however long its sink is down. */
export interface StreamProgress {
  /** The last entry that was confirmed or passed over. */
  readonly cursor: number;
  /** Attempts in a row that failed. */
  readonly failures: number;
  /** Rows of the next attempt. */
  readonly limit: number;
  readonly last_error: string | null;
}

/**
 * What comes after an attempt, and whether it comes at once. A batch that was rejected is halved until the row that is at fault stands
 * alone: what is in front of it is delivered, and it holds the stream.
 */
export function afterSweep(
  progress: StreamProgress,
  sweep: Sweep,
  batchSize: number,
): { readonly progress: StreamProgress; readonly atOnce: boolean } {
  if (sweep.delivered) {
    const limit = Math.min(progress.limit * 2, batchSize);
    return { progress: { cursor: sweep.cursor, failures: 0, limit, last_error: null }, atOnce: sweep.lag > 0 };
  }
  const { rejected, rows, first_seq: seq, error } = sweep;
  if (rejected && rows > 1) {
    const limit = Math.max(1, Math.floor(Math.min(rows, progress.limit) / 2));
    return { progress: { ...progress, limit, last_error: error }, atOnce: true };
  }
  const lastError = rejected && seq !== null ? `${error} to entry ${seq}` : error;
  return {
    progress: {
      ...progress,
      limit: rejected ? 1 : progress.limit,
      failures: progress.failures + 1,
      last_error: lastError,
    },
    atOnce: false,
  };
}
