import { type RowAppender, rowAppender } from '../../domain/pipeline/row-appender.js';
import { earlierAppending } from './earlier.js';
import { appending, underOwnNames } from './steps.js';

/** The rows of this call: a local activity now, the retrying one where the ledger does not take them at once. */
export function rowsOf(correlationId: string): RowAppender {
  const steps = () => (underOwnNames() ? appending : earlierAppending);
  return rowAppender({
    now: (reached) => steps().atOnce(correlationId, reached),
    later: () => steps().later(correlationId),
  });
}
