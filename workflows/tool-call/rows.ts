import { type RowAppender, rowAppender } from '../../domain/pipeline/row-appender.js';
import { durable, local, orReconciled } from './steps.js';

/** The rows of this call: a local activity now, the retrying one where the ledger does not take them at once. */
export const rowsOf = (correlationId: string): RowAppender =>
  rowAppender({
    now: () => local.tryAppendRows(correlationId).catch(() => false),
    later: () => orReconciled(durable.appendRows(correlationId)),
  });
