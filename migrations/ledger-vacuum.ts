import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

type Database = Parameters<Migration['up']>[0];

/**
 * Why: the oldest entries may be removed once they are kept elsewhere (docs/architecture/ledger-reads.md#vacuum). `ledger_vacuum_cursors`
 * says up to where, with one sealed row per batch; `ledger_vacuumed_rows` keeps what proofs and repeated appends need of each entry. Both
 * only grow. The triggers that refused every DELETE now allow those at or below the newest cursor. `egress_cursors` holds what each stream
 * to a sink has confirmed. Locks: new tables; the triggers are replaced, which locks each of the two tables for a moment.
 */
export const vacuum: Migration = {
  async up(db) {
    const { postgres, text, integer, bytes, strict } = dialectOf(db);
    await sql`
      create table if not exists ledger_vacuum_cursors (
        seq ${integer} not null primary key,
        entry_hash ${text} not null,
        rows_sha256 ${text} not null,
        time_lo ${text} not null,
        time_hi ${text} not null,
        vacuumed_at ${text} not null,
        seal ${bytes} not null
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists ledger_vacuumed_rows (
        seq ${integer} not null primary key,
        id ${text} not null unique,
        timestamp ${text} not null,
        tenant ${text},
        entry_hash ${text} not null
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists egress_cursors (
        sink_id ${text} not null primary key,
        last_seq ${integer} not null,
        updated_at ${text} not null
      ) ${strict}`.execute(db);
    await (postgres ? guardPostgres(db) : guardSqlite(db));
  },
};

/** The newest cursor is read in the table's own schema, so that a session's search path cannot decide what may be deleted. */
async function guardPostgres(db: Database): Promise<void> {
  await sql`
    create or replace function ledger_refuse_kept() returns trigger language plpgsql as $$
    declare newest bigint; place bigint;
    begin
      execute format('select coalesce(max(seq), 0) from %I.ledger_vacuum_cursors', tg_table_schema) into newest;
      if tg_table_name = 'ledger_entries' then place := old.seq; else place := old.entry_seq; end if;
      if place <= newest then return old; end if;
      raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
    end $$`.execute(db);
  for (const table of ['ledger_entries', 'entry_payloads'])
    await sql`
      create or replace trigger ${sql.id(`${table}_no_delete`)} before delete on ${sql.id(table)}
      for each row execute function ledger_refuse_kept()`.execute(db);
  await sql`
    create or replace function ledger_refuse_step_back() returns trigger language plpgsql as $$
    declare newest bigint;
    begin
      execute format('select coalesce(max(seq), 0) from %I.%I', tg_table_schema, tg_table_name) into newest;
      if new.seq > newest then return new; end if;
      raise exception '% only grows: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
    end $$`.execute(db);
  await sql`
    create or replace trigger ledger_vacuum_cursors_grow before insert on ledger_vacuum_cursors
    for each row execute function ledger_refuse_step_back()`.execute(db);
  for (const table of ['ledger_vacuum_cursors', 'ledger_vacuumed_rows']) {
    await sql`
      create or replace trigger ${sql.id(`${table}_append_only`)} before update or delete on ${sql.id(table)}
      for each row execute function ledger_refuse_change()`.execute(db);
    await sql`
      create or replace trigger ${sql.id(`${table}_no_truncate`)} before truncate on ${sql.id(table)}
      for each statement execute function ledger_refuse_change()`.execute(db);
  }
}

async function guardSqlite(db: Database): Promise<void> {
  for (const [table, place] of [
    ['ledger_entries', 'seq'],
    ['entry_payloads', 'entry_seq'],
  ] as const) {
    await sql`drop trigger if exists ${sql.id(`${table}_no_delete`)}`.execute(db);
    await sql`
      create trigger if not exists ${sql.id(`${table}_no_delete`)} before delete on ${sql.id(table)}
      when ${sql.raw(`old.${place}`)} > (select coalesce(max(seq), 0) from ledger_vacuum_cursors)
      begin select raise(abort, ${sql.lit(`${table} is append-only: DELETE refused`)}); end`.execute(db);
  }
  await sql`
    create trigger if not exists ledger_vacuum_cursors_grow before insert on ledger_vacuum_cursors
    when new.seq <= (select coalesce(max(seq), 0) from ledger_vacuum_cursors)
    begin select raise(abort, 'ledger_vacuum_cursors only grows: INSERT refused'); end`.execute(db);
  // INSERT OR REPLACE deletes without firing delete triggers.
  await sql`
    create trigger if not exists ledger_vacuumed_rows_no_replace before insert on ledger_vacuumed_rows
    when exists (select 1 from ledger_vacuumed_rows where seq = new.seq or id = new.id)
    begin select raise(abort, 'ledger_vacuumed_rows is append-only: REPLACE refused'); end`.execute(db);
  for (const table of ['ledger_vacuum_cursors', 'ledger_vacuumed_rows'])
    for (const change of ['update', 'delete'])
      await sql`
        create trigger if not exists ${sql.id(`${table}_no_${change}`)} before ${sql.raw(change)} on ${sql.id(table)}
        begin select raise(abort, ${sql.lit(`${table} is append-only: ${change.toUpperCase()} refused`)}); end`.execute(
        db,
      );
}
