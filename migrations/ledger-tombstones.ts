import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: a row of a tenant that comes behind its tombstone is hidden when it comes (docs/architecture/ledger-reads.md#erasure), and each append looks
 * here whether there is one. Tenants whose tombstone there was before are taken over, with what came behind it. Locks: a new table; rows of those
 * tenants that are still visible.
 */
export const tombstones: Migration = {
  async up(db) {
    const { text, strict } = dialectOf(db);
    await sql`
      create table if not exists ledger_tombstones (tenant ${text} not null primary key, hidden_at ${text} not null) ${strict}`.execute(
      db,
    );
    const { rows } = await sql<{
      tenant: string;
      receipt: string;
    }>`select tenant, receipt from tenant_lifecycle where kind = 'tombstone'`.execute(db);
    for (const { tenant, receipt } of rows) {
      const { updated_at: at } = JSON.parse(receipt) as { updated_at: string };
      await sql`insert into ledger_tombstones (tenant, hidden_at) values (${tenant}, ${at}) on conflict do nothing`.execute(
        db,
      );
      await sql`update ledger_entries set deleted_at = ${at} where tenant = ${tenant} and deleted_at is null`.execute(
        db,
      );
    }
  },
};
