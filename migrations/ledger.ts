import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';
import { anchors } from './ledger-anchors.js';
import { caseRequests } from './ledger-case-requests.js';
import { caseTenant } from './ledger-case-tenant.js';
import { cases } from './ledger-cases.js';
import { exports } from './ledger-exports.js';
import { lifecycleGeneration } from './ledger-lifecycle-generation.js';
import { hiddenRows } from './ledger-hidden-rows.js';
import { rareRows } from './ledger-rare-rows.js';
import { signedRows } from './ledger-signed-rows.js';
import { tenantLifecycle } from './ledger-tenant-lifecycle.js';
import { tombstones } from './ledger-tombstones.js';
import { tree } from './ledger-tree.js';
import { vacuum } from './ledger-vacuum.js';

type Database = Parameters<Migration['up']>[0];

/**
 * Why: the ledger's chain (docs/architecture/ledger-rows.md#fields), with one row per entry. JSON columns hold the canonical text that was
 * hashed. Every hashed column is text or an integer, and both stores keep it byte for byte (STRICT in SQLite, collation "C" in Postgres),
 * so that the same rows have the same hashes in both. Entries refuse UPDATE and DELETE; sidecars refuse everything except their one purge.
 * Locks: new tables only.
 */
const entries: Migration = {
  async up(db) {
    const { postgres, text, integer, bytes, strict } = dialectOf(db);
    await sql`
      create table if not exists ledger_entries (
        seq ${integer} not null primary key,
        chain_version ${integer} not null,
        id ${text} not null unique,
        timestamp ${text} not null,
        prev_hash ${text} not null,
        agent_id ${text} not null,
        method ${text} not null,
        intent_category ${text} not null,
        authorized ${integer} not null check (authorized in (0, 1)),
        reasoning ${text} not null,
        policy_decision ${text},
        correlation_id ${text},
        source ${text},
        signal ${text},
        approver_assertion ${text},
        agent_spiffe ${text},
        signature ${text},
        key_id ${text},
        event_kind ${text},
        tenant ${text},
        agent_name ${text},
        actor_sub ${text},
        actor_idp ${text},
        payload_sha256 ${text},
        agent_kind ${text},
        cost_micros ${integer},
        brain_evidence_sha256 ${text},
        brain_scores ${text},
        tool_params_sha256 ${text},
        credential_fingerprint ${text},
        upstream_id ${text},
        tool_name ${text},
        state_namespace ${text} not null,
        entry_hash ${text} not null
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists entry_payloads (
        entry_seq ${integer} not null references ledger_entries (seq),
        kind ${text} not null check (kind in ('payload', 'brain_evidence')),
        entry_id ${text} not null,
        sealed ${bytes},
        purged_at ${text},
        purge_seal ${bytes},
        primary key (entry_seq, kind)
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists ledger_head (
        id ${integer} not null primary key check (id = 1),
        length ${integer} not null,
        head_hash ${text} not null,
        head_seal ${bytes}
      ) ${strict}`.execute(db);
    await sql`insert into ledger_head (id, length, head_hash) values (1, 0, ${'0'.repeat(64)}) on conflict do nothing`.execute(
      db,
    );
    await sql`
      create index if not exists ledger_entries_correlation on ledger_entries (correlation_id, seq)
      where correlation_id is not null`.execute(db);
    await sql`create index if not exists ledger_entries_agent on ledger_entries (agent_id, seq)`.execute(db);
    await (postgres ? guardPostgres(db) : guardSqlite(db));
  },
};

async function guardPostgres(db: Database): Promise<void> {
  await sql`
    create or replace function ledger_refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
    end $$`.execute(db);
  await sql`
    create or replace trigger ledger_entries_append_only before update or delete on ledger_entries
    for each row execute function ledger_refuse_change()`.execute(db);
  await sql`
    create or replace trigger ledger_entries_no_truncate before truncate on ledger_entries
    for each statement execute function ledger_refuse_change()`.execute(db);
  await sql`
    create or replace trigger entry_payloads_no_delete before delete on entry_payloads
    for each row execute function ledger_refuse_change()`.execute(db);
  await sql`
    create or replace trigger entry_payloads_no_truncate before truncate on entry_payloads
    for each statement execute function ledger_refuse_change()`.execute(db);
  await sql`
    create or replace trigger entry_payloads_purge_only before update on entry_payloads
    for each row when (not (
      old.sealed is not null and new.sealed is null and new.purged_at is not null and new.purge_seal is not null
      and new.entry_seq = old.entry_seq and new.kind = old.kind and new.entry_id = old.entry_id
    )) execute function ledger_refuse_change()`.execute(db);
}

async function guardSqlite(db: Database): Promise<void> {
  await sql`
    create trigger if not exists ledger_entries_no_update before update on ledger_entries
    begin select raise(abort, 'ledger_entries is append-only: UPDATE refused'); end`.execute(db);
  await sql`
    create trigger if not exists ledger_entries_no_delete before delete on ledger_entries
    begin select raise(abort, 'ledger_entries is append-only: DELETE refused'); end`.execute(db);
  // INSERT OR REPLACE deletes without firing delete triggers; it can only hit a row whose seq or id exists already.
  await sql`
    create trigger if not exists ledger_entries_no_replace before insert on ledger_entries
    when exists (select 1 from ledger_entries where seq = new.seq or id = new.id)
    begin select raise(abort, 'ledger_entries is append-only: REPLACE refused'); end`.execute(db);
  await sql`
    create trigger if not exists entry_payloads_no_delete before delete on entry_payloads
    begin select raise(abort, 'entry_payloads is append-only: DELETE refused'); end`.execute(db);
  await sql`
    create trigger if not exists entry_payloads_no_replace before insert on entry_payloads
    when exists (select 1 from entry_payloads where entry_seq = new.entry_seq and kind = new.kind)
    begin select raise(abort, 'entry_payloads is append-only: REPLACE refused'); end`.execute(db);
  await sql`
    create trigger if not exists entry_payloads_purge_only before update on entry_payloads
    when not (
      old.sealed is not null and new.sealed is null and new.purged_at is not null and new.purge_seal is not null
      and new.entry_seq = old.entry_seq and new.kind = old.kind and new.entry_id = old.entry_id
    )
    begin select raise(abort, 'entry_payloads is append-only: UPDATE refused'); end`.execute(db);
}

export const ledgerMigrations: Record<string, Migration> = {
  '0001_entries': entries,
  '0002_hidden_rows': hiddenRows,
  '0003_tree': tree,
  '0004_cases': cases,
  '0005_signed_rows': signedRows,
  '0007_tenant_lifecycle': tenantLifecycle,
  '0008_anchors': anchors,
  '0009_exports': exports,
  '0011_lifecycle_generation': lifecycleGeneration,
  '0012_vacuum': vacuum,
  '0013_case_tenant': caseTenant,
  '0014_rare_rows': rareRows,
  '0015_case_requests': caseRequests,
  '0016_tombstones': tombstones,
};
