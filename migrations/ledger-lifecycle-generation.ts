import { sql, type Migration } from 'kysely';

/**
 * Why: the steps of a tenant are numbered (ledger sheet 7.1), and two that are taken at once must not have the same number. The new index
 * does the old one's work as well.
 * Locks: `tenant_lifecycle`, a few rows per tenant.
 */
export const lifecycleGeneration: Migration = {
  async up(db) {
    await sql`create unique index if not exists tenant_lifecycle_generation on tenant_lifecycle (tenant, generation)`.execute(
      db,
    );
    await sql`drop index if exists tenant_lifecycle_tenant`.execute(db);
  },
};
