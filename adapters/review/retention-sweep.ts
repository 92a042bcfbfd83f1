import type { Logger } from 'pino';
import { errorText } from '../../domain/errors.js';
import type { ReviewRetention } from '../../domain/review/ports.js';
import { type RunningSweep, startSweep } from '../../domain/sweep.js';

export interface RetentionSweep extends RunningSweep {
  /** What the last sweep left undone; `null` where it left nothing, and before the first one has ended. */
  readonly undone: () => string | null;
}

/**
 * Deletes now, and then again and again, what reviews hold beyond their dates. What is due is in the store, so a stop loses nothing. `observe`
 * hears of each sweep: `failed` where something may be left that should be gone.
 */
export function startRetention(
  retention: Pick<ReviewRetention, 'sweep'>,
  everyMs: number,
  logger: Pick<Logger, 'info' | 'error'>,
  observe: (outcome: 'done' | 'failed') => void = () => undefined,
): RetentionSweep {
  let undone: string | null = null;
  const ended = (left: string | null): void => {
    undone = left;
    observe(left === null ? 'done' : 'failed');
  };
  const { stop } = startSweep(
    everyMs,
    async () => {
      const { purged, deleted, failed } = await retention.sweep();
      if (purged + deleted > 0)
        logger.info({ purged, deleted }, 'requests and rows of reviews were past their dates and are gone');
      if (failed > 0)
        logger.error(
          { failed },
          'reviews that may be past their dates could not be read; they stay, and are tried again',
        );
      ended(failed > 0 ? `${failed} reviews that may be past their dates could not be read` : null);
    },
    (error) => {
      logger.error(
        { err: error },
        'what reviews hold beyond its date was not deleted, or is still in the log of the store; it is tried again',
      );
      ended(`the last sweep failed: ${errorText(error)}`);
    },
  );
  return { stop, undone: () => undone };
}
