import { sql, type Migration } from 'kysely';

/**
 * Why: the steps of a tenant are numbered (docs/architecture/ledger-reads.md#erasure), and two concurrent steps must not get the same
 * number. The new index replaces the old one. Locks: `tenant_lifecycle`, a few rows per tenant.
 */
export const lifecycleGeneration: Migration = {
  async up(db) {
    // When two steps had one number, the first keeps it; the others get distinct negative ones. Their receipts stay unchanged.
    await sql`
      update tenant_lifecycle set generation = -(
        select count(*) from tenant_lifecycle other where other.tenant = tenant_lifecycle.tenant
          and (other.operation_id, other.kind) < (tenant_lifecycle.operation_id, tenant_lifecycle.kind))
      where exists (
        select 1 from tenant_lifecycle other
        where other.tenant = tenant_lifecycle.tenant and other.generation = tenant_lifecycle.generation
          and (other.operation_id, other.kind) < (tenant_lifecycle.operation_id, tenant_lifecycle.kind))`.execute(db);
    await sql`create unique index if not exists tenant_lifecycle_generation on tenant_lifecycle (tenant, generation)`.execute(
      db,
    );
    await sql`drop index if exists tenant_lifecycle_tenant`.execute(db);
  },
};
