import type { Logger } from 'pino';
import type { ReadinessChecks } from '../plugins/health.js';

/** A row that waits longer is told of: the workflow that owes it had the time. */
const LATE_SECS = 30;
/**
 * Reconciliation gives that workflow two minutes, writes the row itself, and after a failure tries again within eight (docs/architecture/reconciliation.md).
 * What waits longer is written by nobody.
 */
const OVERDUE_SECS = 900;

/** How long the oldest row waits that the ledger does not have; 0 where none does. */
export const oldestRowSecs = (dueMs: number | null, nowMs: number): number =>
  dueMs === null ? 0 : Math.max(0, Math.round((nowMs - dueMs) / 1_000));

/**
 * Rows that the ledger does not have yet. A late one is told, and no reason to refuse calls: it is stored with its call, and reconciliation
 * writes it. One that nobody writes is: what runs then is not proved. A ledger that is away is a check of its own.
 */
export function rowsReadiness(
  oldestSecs: () => Promise<number>,
  logger: Pick<Logger, 'warn' | 'info'>,
): ReadinessChecks {
  let isLate = false;
  return {
    async ledger_rows() {
      const ageSecs = await oldestSecs();
      if (ageSecs > LATE_SECS !== isLate) {
        isLate = !isLate;
        if (isLate) logger.warn({ event: 'ledger_rows_late', ageSecs }, 'a row of a call waits for the ledger');
        else logger.info({ event: 'ledger_rows_appended' }, 'the ledger has every row that was late');
      }
      if (ageSecs > OVERDUE_SECS) throw new Error(`the oldest unappended row is ${ageSecs} s old`);
      return `oldest unappended row: ${ageSecs} s${isLate ? ', late: reconciliation appends it' : ''}`;
    },
  };
}
