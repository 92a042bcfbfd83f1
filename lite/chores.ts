import type { Logger } from 'pino';
import type { CallStore } from '../domain/call/ports.js';
import { startRetention } from '../adapters/review/retention-sweep.js';
import type { ReviewSweeping } from '../domain/review/ports.js';
import type { RunningSweep } from '../domain/sweep.js';
import { loadConsole } from './console.js';
import { loadLedgerReads } from './ledger-routes.js';

export interface ChoresOptions {
  readonly reviews: ReviewSweeping;
  readonly calls: Pick<CallStore, 'purge'>;
  /** Records older than this may be deleted. */
  readonly until: () => Parameters<CallStore['purge']>[0];
  readonly warm: () => void;
  readonly logger: Logger;
}

/** How long after lite is ready the threads for large requests are started. */
const WARM_AFTER_MS = 2_000;
const CLEANING_EVERY_MS = 10 * 60_000;

/** Starts the background work. Returns the function that ends it. */
export function startChores({ reviews, calls, until, warm, logger }: ChoresOptions): () => Promise<void> {
  const clean = () =>
    calls.purge(until()).catch((error: unknown) => logger.warn({ err: error }, 'old rows stay for now'));
  const cleaning = setInterval(() => void clean(), CLEANING_EVERY_MS);
  cleaning.unref();
  // For the first large request, the first reader of the ledger, the first page and the first callback. Later, because a start that is over soon needs none
  // of them.
  let loading: Promise<unknown> = Promise.resolve();
  let retention: RunningSweep | null = null;
  const warming = setTimeout(() => {
    warm();
    retention = startRetention(reviews, CLEANING_EVERY_MS, logger);
    loading = Promise.all([loadLedgerReads(), loadConsole(), import('../activities/clients/callback-sender.js')]).then(
      () => logger.debug('what later requests need is loaded'),
      (error: unknown) => logger.warn({ err: error }, 'what later requests need could not be loaded'),
    );
  }, WARM_AFTER_MS);
  warming.unref();
  return async () => {
    clearInterval(cleaning);
    clearTimeout(warming);
    await retention?.stop();
    await loading;
  };
}
