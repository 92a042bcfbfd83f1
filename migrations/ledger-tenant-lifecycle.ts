import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: the ledger's part in providing and leaving tenants (docs/architecture/ledger-reads.md#erasure). A step that was done leaves its
 * receipt, which is given out again word for word; the final export of a tenant is kept here under its own digest, in parts, because the
 * ledger has no folder of its own where it runs over Postgres. Locks: new tables only.
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
