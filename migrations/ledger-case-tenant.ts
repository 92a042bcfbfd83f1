import { sql, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * Why: a case belongs to a tenant, and nobody of another one may see it (docs/architecture/ledger-reads.md#cases). Cases from before name
 * agents and calls of any tenant: they keep null, which no tenant's question finds. Locks: `cases`, for a new column without a default.
 */
export const caseTenant: Migration = {
  async up(db) {
    const { text } = dialectOf(db);
    if (!(await hasColumn(db, 'cases', 'tenant'))) await sql`alter table cases add column tenant ${text}`.execute(db);
    await sql`create index if not exists cases_of_tenant on cases (tenant, created_at, id)`.execute(db);
  },
};
