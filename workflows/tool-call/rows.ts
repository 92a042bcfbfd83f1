import { type RowAppender, rowAppender } from '../../domain/call/row-appender.js';
import { earlierAppending } from './earlier.js';
import { appending, underOwnNames } from './steps.js';

/** The rows of this call: a local activity now, and the retrying one if the ledger does not accept them at once. */
export function rowsOf(correlationId: string): RowAppender {
  const steps = () => (underOwnNames() ? appending : earlierAppending);
  return rowAppender({
    now: (reached) => steps().atOnce(correlationId, reached),
    later: () => steps().later(correlationId),
  });
}
