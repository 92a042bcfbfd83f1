import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: the ledger's part in creating and removing tenants (docs/architecture/ledger-reads.md#erasure). A finished step leaves its receipt,
 * and a repeat returns the same one. The final export of a tenant is stored here under its digest, in parts, because over Postgres the
 * ledger has no folder of its own. Locks: new tables only.
 */
export const tenantLifecycle: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`
      create table if not exists tenant_lifecycle (
        operation_id ${text} not null,
        kind ${text} not null,
        tenant ${text} not null,
        generation ${integer} not null,
        receipt ${text} not null,
        primary key (operation_id, kind)
      ) ${strict}`.execute(db);
    await sql`create index if not exists tenant_lifecycle_tenant on tenant_lifecycle (tenant)`.execute(db);
    await sql`
      create table if not exists artifact_parts (
        sha256 ${text} not null,
        part ${integer} not null,
        bytes ${bytes} not null,
        primary key (sha256, part)
      ) ${strict}`.execute(db);
  },
};
