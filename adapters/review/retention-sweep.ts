import type { Logger } from 'pino';
import { errorText } from '../../domain/errors.js';
import type { ReviewSweeping } from '../../domain/review/ports.js';
import { type RunningSweep, startSweep } from '../../domain/sweep.js';

export interface RetentionSweep extends RunningSweep {
  /** What the last sweep left undone; `null` where it left nothing, and before the first one has ended. */
  readonly undone: () => string | null;
}

/**
 * Deletes now, and then again and again, what reviews hold beyond their dates, while the clock is believed. What is due is in the store, so a stop
 * loses nothing. `observe` hears of each sweep: `failed` where something may be left that should be gone.
 */
export function startRetention(
  reviews: ReviewSweeping,
  everyMs: number,
  logger: Pick<Logger, 'info' | 'error'>,
  observe: (outcome: 'done' | 'failed') => void = () => undefined,
): RetentionSweep {
  let undone: string | null = null;
  let isInDoubt = false;
  const ended = (left: string | null): void => {
    undone = left;
    observe(left === null ? 'done' : 'failed');
  };
  const { stop } = startSweep(
    everyMs,
    async () => {
      const time = await reviews.timeToSweep();
      if (time.doubt !== null) {
        const { doubt } = time;
        // At each sweep it would be told a thousand times a day; readiness says it for as long as it is so.
        if (!isInDoubt)
          logger.error({ doubt }, 'what reviews hold beyond its date is not deleted while the clock is in doubt');
        isInDoubt = true;
        return ended(doubt);
      }
      isInDoubt = false;
      const { purged, deleted, failed } = await reviews.sweep(time.atMs);
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
