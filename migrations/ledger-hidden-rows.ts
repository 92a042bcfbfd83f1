import { type Migration, sql } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * Every column of the first migration; none of them may ever change. Written out, because a migration must stay what it was when it first
 * ran.
 */
const FIXED = `
  seq chain_version id timestamp prev_hash
  agent_id method intent_category authorized reasoning policy_decision correlation_id source signal approver_assertion agent_spiffe
  signature key_id event_kind tenant agent_name actor_sub actor_idp payload_sha256 agent_kind cost_micros brain_evidence_sha256
  brain_scores tool_params_sha256 credential_fingerprint upstream_id tool_name state_namespace
  entry_hash`
  .trim()
  .split(/\s+/);
const TIME = '____-__-__T__:__:__.___Z';

/** The only change an entry accepts: it is hidden once, at a time, for one of two reasons, and everything that was hashed stays. */
const isHiding = (same: string): string => `(
    ${FIXED.map((column) => `new.${column} ${same} old.${column}`).join(' and ')}
    and (
      (old.deleted_at is null and new.deleted_at like '${TIME}' and old.tenant is not null
        and new.demo_deleted_at ${same} old.demo_deleted_at)
      or (old.demo_deleted_at is null and new.demo_deleted_at like '${TIME}' and old.state_namespace = 'demo'
        and new.deleted_at ${same} old.deleted_at)
    )
  )`;

/**
 * Why: erasure hides rows from readers and leaves the chain intact (docs/architecture/ledger-reads.md#erasure). The two times are not
 * hashed. The triggers that refused every UPDATE now allow exactly these two changes. The index finds a tenant's rows. Locks: two columns
 * without a default are added in place; the index reads the table once.
 */
export const hiddenRows: Migration = {
  async up(db) {
    const { postgres, text } = dialectOf(db);
    for (const column of ['deleted_at', 'demo_deleted_at'])
      if (!(await hasColumn(db, 'ledger_entries', column)))
        await sql`alter table ledger_entries add column ${sql.ref(column)} ${text}`.execute(db);
    await sql`create index if not exists ledger_entries_tenant on ledger_entries (tenant, seq)`.execute(db);
    if (postgres) {
      await sql`drop trigger if exists ledger_entries_append_only on ledger_entries`.execute(db);
      await sql`
        create or replace trigger ledger_entries_no_delete before delete on ledger_entries
        for each row execute function ledger_refuse_change()`.execute(db);
      await sql`
        create or replace trigger ledger_entries_hide_only before update on ledger_entries
        for each row when (not coalesce(${sql.raw(isHiding('is not distinct from'))}, false))
        execute function ledger_refuse_change()`.execute(db);
    } else {
      await sql`drop trigger if exists ledger_entries_no_update`.execute(db);
      await sql`
        create trigger if not exists ledger_entries_hide_only before update on ledger_entries
        when not coalesce(${sql.raw(isHiding('is'))}, 0)
        begin select raise(abort, 'ledger_entries is append-only: UPDATE refused'); end`.execute(db);
    }
  },
};
