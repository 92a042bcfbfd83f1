import { sql, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * Why: a note whose answer was lost is sent again, and stands in the case once (docs/architecture/ledger-reads.md#cases). What was written
 * before names no request. Locks: `case_timeline`, for a new column without a default.
 */
export const caseRequests: Migration = {
  async up(db) {
    const { text } = dialectOf(db);
    if (!(await hasColumn(db, 'case_timeline', 'request_id')))
      await sql`alter table case_timeline add column request_id ${text}`.execute(db);
  },
};
