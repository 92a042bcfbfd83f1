/** The state of a stream. Its size does not grow, however long the sink is down. */
export interface StreamProgress {
  /** Sequence of the last row that was confirmed or skipped. */
  readonly cursor: number;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** Most rows of the next attempt. */
  readonly limit: number;
  readonly last_error: string | null;
}

/**
 * The state after an attempt, and whether to try again at once. A rejected batch is halved until the rejected row is alone: rows before it
 * are delivered, and the stream stops at it.
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

/** The result of one delivery attempt. Only a 2xx answer moves the cursor. */
export type Sweep =
  | {
      readonly delivered: true;
      /** Sequence of the last row that was confirmed, or skipped because the sink does not want it. */
      readonly cursor: number;
      readonly rows: number;
      /** Number of entries after the cursor. */
      readonly lag: number;
    }
  | {
      readonly delivered: false;
      /** The receiver refused these rows for good. Smaller batches find out which row it was. */
      readonly rejected: boolean;
      readonly rows: number;
      readonly first_seq: number | null;
      readonly error: string;
      readonly lag: number | null;
    };
