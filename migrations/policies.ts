import { type Migration, sql } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * 0001: the policies of operators (docs/architecture/policies.md). A policy points to its newest version; versions are only added. `policy_state`
 * has the one number that every change moves on, which is how two changes at once are told apart and how other processes see that something
 * changed. `policy_sets` says what is in force per tenant, `policy_modules` holds what was compiled, by the digest of its sources. Rows for the
 * ledger wait in `policy_outbox`, written in the transaction of their change. New tables; locks nothing that exists.
 */
const tables: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`create table if not exists policy_state (
      id ${integer} not null primary key, generation ${integer} not null
    ) ${strict}`.execute(db);
    await sql`insert into policy_state (id, generation) values (1, 0) on conflict do nothing`.execute(db);
    await sql`create table if not exists policies (
      tenant ${text} not null, name ${text} not null, content_type ${text} not null, active ${integer} not null,
      current_version ${integer} not null, body_sha256 ${text} not null, header ${text} not null, deleted_at ${text},
      created_at ${text} not null, updated_at ${text} not null, primary key (tenant, name)
    ) ${strict}`.execute(db);
    await sql`create table if not exists policy_versions (
      tenant ${text} not null, name ${text} not null, version ${integer} not null, body ${text} not null,
      body_sha256 ${text} not null, active ${integer} not null, reason ${text} not null, actor_sub ${text} not null,
      actor_idp ${text} not null, event_kind ${text} not null, chain_seq ${integer}, created_at ${text} not null,
      primary key (tenant, name, version)
    ) ${strict}`.execute(db);
    await sql`create table if not exists policy_modules (
      sources_sha256 ${text} not null primary key, wasm_sha256 ${text} not null, wasm ${bytes} not null, opa_version ${text} not null
    ) ${strict}`.execute(db);
    await sql`create table if not exists policy_sets (
      tenant ${text} not null primary key, version ${text} not null, files ${text} not null, data ${text} not null,
      sources_sha256 ${text}
    ) ${strict}`.execute(db);
    await sql`create table if not exists policy_outbox (
      generation ${integer} not null, ordinal ${integer} not null, tenant ${text} not null, name ${text} not null,
      version ${integer} not null, content ${text} not null, primary key (generation, ordinal)
    ) ${strict}`.execute(db);
  },
};

/**
 * 0002: which rules were in force under each version of a set, so that a past verdict can be derived again by the rules that it was judged by.
 * Modules and texts of policies are kept as it is; documents are read from their versions. What was replaced before this migration is not
 * known. A new table, filled from `policy_sets`; locks nothing that exists.
 */
const pastSets: Migration = {
  async up(db) {
    const { text, strict } = dialectOf(db);
    await sql`create table if not exists policy_past_sets (
      tenant ${text} not null, version ${text} not null, files ${text} not null, sources_sha256 ${text},
      primary key (tenant, version)
    ) ${strict}`.execute(db);
    await sql`insert into policy_past_sets (tenant, version, files, sources_sha256)
      select tenant, version, files, sources_sha256 from policy_sets where true on conflict do nothing`.execute(db);
  },
};

/**
 * 0003: steps in a tenant's life, each with the receipt that a repeat is answered with. New table; locks nothing that exists.
 */
const tenantOperations: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists policy_tenant_operations (
      operation_id ${text} not null primary key, tenant ${text} not null, kind ${text} not null, generation ${integer} not null,
      begun_at ${text} not null, receipt ${text}, unique (tenant, generation)
    ) ${strict}`.execute(db);
  },
};

/**
 * 0004: rules that were mined from what people decided, until somebody puts one in force or a denial withdraws it. New table; locks nothing that
 * exists.
 */
const suggestions: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists policy_suggestions (
      id ${text} not null primary key, tenant ${text} not null, tool ${text} not null, rule_name ${text} not null, body ${text} not null,
      body_sha256 ${text} not null, facts ${text} not null, withdrawn_why ${text}, checked_seq ${integer} not null, created_at ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists policy_suggestions_tenant on policy_suggestions (tenant, created_at)`.execute(
      db,
    );
  },
};

/**
 * 0005: tells rows that Gate wrote from others: a MAC over each row by which calls are judged, in `policy_state` one over what the store has in
 * force, and a mark that every row of this store has one. Adds columns without a default and a small table; locks each table for a moment on
 * Postgres.
 */
const macs: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    for (const [table, column] of [
      ['policy_state', 'set_macs'],
      ['policy_state', 'policies_sha256'],
      ['policy_state', 'mac'],
      ['policies', 'mac'],
      ['policy_versions', 'mac'],
      ['policy_modules', 'mac'],
      ['policy_sets', 'mac'],
      ['policy_past_sets', 'mac'],
    ] as const)
      if (!(await hasColumn(db, table, column))) await db.schema.alterTable(table).addColumn(column, 'text').execute();
    // A module's MAC is read without its bytes.
    await sql`create index if not exists policy_modules_mac on policy_modules (mac, sources_sha256)`.execute(db);
    await sql`create table if not exists policy_seal (
      id ${integer} not null primary key, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0006: rows that wait for the ledger, and suggestions, are told from what somebody else wrote as the others are. Adds columns without a default; locks
 * each table for a moment on Postgres.
 */
const moreMacs: Migration = {
  async up(db) {
    for (const table of ['policy_outbox', 'policy_suggestions'])
      if (!(await hasColumn(db, table, 'mac'))) await db.schema.alterTable(table).addColumn('mac', 'text').execute();
  },
};

export const policyMigrations: Record<string, Migration> = {
  '0001-policies': tables,
  '0002-past-sets': pastSets,
  '0003-tenant-operations': tenantOperations,
  '0004-suggestions': suggestions,
  '0005-macs': macs,
  '0006-more-macs': moreMacs,
};
