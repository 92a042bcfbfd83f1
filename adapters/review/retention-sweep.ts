import type { Logger } from 'pino';
import type { ReviewRetention } from '../../domain/review/ports.js';
import { type RunningSweep, startSweep } from '../../domain/sweep.js';

/** Deletes now, and then again and again, what reviews hold beyond their dates. What is due is in the store, so a stop loses nothing. */
export const startRetention = (
  retention: Pick<ReviewRetention, 'sweep'>,
  everyMs: number,
  logger: Pick<Logger, 'info' | 'error'>,
): RunningSweep =>
  startSweep(
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
    },
    (error) =>
      logger.error(
        { err: error },
        'what reviews hold beyond its date was not deleted, or is still in the log of the store; it is tried again',
      ),
  );
