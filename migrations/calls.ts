import { sql, type Kysely, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * 0001: the proxy's store (docs/architecture/record-and-claim.md): staged requests, call records, and the hits that the velocity window
 * counts. Forward only; on the first start it locks nothing that exists.
 */
const createTables: Migration = {
  async up(db: Kysely<unknown>) {
    const blob = db.getExecutor().adapter.constructor.name === 'PostgresAdapter' ? sql`bytea` : sql`blob`;
    await db.schema
      .createTable('call_requests')
      .addColumn('correlation_id', 'text', (column) => column.primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('sealed', blob, (column) => column.notNull())
      .addColumn('created_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('call_records')
      .addColumn('correlation_id', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('contract', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('tier', 'text')
      .addColumn('approval_tier', 'text', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('pending_id', 'text')
      .addColumn('deadline_ms', 'bigint')
      .addColumn('not_after_ms', 'bigint', (column) => column.notNull())
      .addColumn('verdict_sealed', blob, (column) => column.notNull())
      .addColumn('decision_sealed', blob)
      .addColumn('outcome_sealed', blob)
      .addColumn('result_sealed', blob)
      .addColumn('created_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_ms', 'bigint', (column) => column.notNull())
      .addColumn('counted_ms', 'bigint')
      .addColumn('rows_due_ms', 'bigint')
      .execute();
    await db.schema
      .createIndex('call_records_history')
      .on('call_records')
      .columns(['tenant', 'agent', 'counted_ms'])
      .execute();
    await sql`create index call_records_rows_due on call_records (rows_due_ms) where rows_due_ms is not null`.execute(
      db,
    );
    await sql`create index call_records_open on call_records (state, updated_ms) where state in ('decided','parked','allowed','approved','intended')`.execute(
      db,
    );
    await db.schema.createIndex('call_requests_created').on('call_requests').column('created_ms').execute();
    await db.schema
      .createTable('rate_hits')
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addColumn('correlation_id', 'text', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('rate_hits_key').on('rate_hits').columns(['key', 'at_ms']).execute();
  },
};

/**
 * 0002: what a settled review still owes: its row and the callback. Stored with the record, because nothing else would remember them if the
 * process dies after the decision. Only adds columns; locks the table for a moment on Postgres.
 */
const addFollowUps: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['review_due_ms', 'callback_due_ms']) {
      if (!(await hasColumn(db, 'call_records', column)))
        await db.schema.alterTable('call_records').addColumn(column, 'bigint').execute();
      await sql`create index if not exists ${sql.ref(`call_records_${column.slice(0, -3)}`)} on call_records (${sql.ref(column)}) where ${sql.ref(column)} is not null`.execute(
        db,
      );
    }
  },
};

/**
 * 0003: the tools of a batch, so that each of its calls is a step of the agent's history. An earlier record stays one step. Only adds a
 * column without a default; locks the table for a moment on Postgres.
 */
const addSiblingTools: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'call_records', 'sibling_tools')))
      await db.schema.alterTable('call_records').addColumn('sibling_tools', 'text').execute();
  },
};

/**
 * 0004: distinguishes records that Gate wrote from others: a counter that grows with every transition, and a MAC over the whole record; a
 * mark that every record of this store has one; and what is kept of a purged record, so that its id never executes again. Only adds columns
 * without a default and new tables; locks the table for a moment on Postgres.
 */
const addMacs: Migration = {
  async up(db: Kysely<unknown>) {
    for (const [column, type] of [
      ['version', 'bigint'],
      ['mac', 'text'],
    ] as const)
      if (!(await hasColumn(db, 'call_records', column)))
        await db.schema.alterTable('call_records').addColumn(column, type).execute();
    await db.schema
      .createTable('call_seal')
      .ifNotExists()
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('mac', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('call_tombstones')
      .ifNotExists()
      .addColumn('correlation_id', 'text', (column) => column.primaryKey())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('purged_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('call_tombstones_purged')
      .ifNotExists()
      .on('call_tombstones')
      .column('purged_ms')
      .execute();
  },
};

/**
 * 0005: when an agent last took a step after which policy watches. Stored apart from the sixteen newest steps, so that harmless calls do
 * not push it out. A new table; locks nothing.
 */
const createSensitiveSteps: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('sensitive_steps')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('sensitive_steps_key', ['tenant', 'agent', 'tool'])
      .execute();
  },
};

/**
 * 0006: what reconciliation could not do for a call, so that its pause and its alarm survive a restart. Only creates a table; locks nothing
 * that exists.
 */
const createSetbacks: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('call_setbacks')
      .ifNotExists()
      .addColumn('correlation_id', 'text', (column) => column.notNull())
      .addColumn('duty', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('since_ms', 'bigint', (column) => column.notNull())
      .addColumn('next_ms', 'bigint', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('alarmed', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('call_setbacks_key', ['correlation_id', 'duty'])
      .execute();
  },
};

/**
 * 0007: the upstream of a call, so that a tool's recent calls are counted for its own upstream only. Earlier records have none and are not
 * counted. Only adds a column without a default; locks the table for a moment on Postgres.
 */
const addUpstream: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'call_records', 'upstream')))
      await db.schema.alterTable('call_records').addColumn('upstream', 'text').execute();
  },
};

/**
 * 0008: the state in which a call was closed, beside the reason, for the alarm that is still owed. Only adds a column without a default;
 * locks the table for a moment on Postgres.
 */
const addSetbackState: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'call_setbacks', 'state')))
      await db.schema.alterTable('call_setbacks').addColumn('state', 'text').execute();
  },
};

/**
 * 0009: what an inspection found that is not to be done twice, beside the request that it is about. Only adds a column without a default;
 * locks the table for a moment on Postgres.
 */
const addInspection: Migration = {
  async up(db: Kysely<unknown>) {
    const { bytes } = dialectOf(db);
    if (!(await hasColumn(db, 'call_requests', 'inspection_sealed')))
      await db.schema.alterTable('call_requests').addColumn('inspection_sealed', bytes).execute();
  },
};

/**
 * 0010: which calls of unknown outcome are to be probed, and an index for the list of them. A call that was lost before has none and
 * waits for a person. Only adds a column without a default; locks the table for a moment on Postgres.
 */
const addProbes: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'call_records', 'probe_due_ms')))
      await db.schema.alterTable('call_records').addColumn('probe_due_ms', 'bigint').execute();
    await sql`create index if not exists call_records_probe_due on call_records (probe_due_ms) where probe_due_ms is not null`.execute(
      db,
    );
    await sql`create index if not exists call_records_uncertain on call_records (tenant, updated_ms) where state = 'uncertain'`.execute(
      db,
    );
  },
};

/**
 * 0011: what the answers that an agent read brought in, as digests. Answers of an earlier Gate have none. A new table; locks nothing.
 */
const createAgentFlows: Migration = {
  async up(db: Kysely<unknown>) {
    const { bytes } = dialectOf(db);
    await db.schema
      .createTable('agent_flows')
      .ifNotExists()
      .addColumn('correlation_id', 'text', (column) => column.primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addColumn('digests', 'integer', (column) => column.notNull())
      .addColumn('sealed', bytes, (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('agent_flows_newest')
      .ifNotExists()
      .on('agent_flows')
      .columns(['tenant', 'agent', 'at_ms'])
      .execute();
    await db.schema.createIndex('agent_flows_at').ifNotExists().on('agent_flows').column('at_ms').execute();
  },
};

/**
 * 0012: what is remembered of an agent's calls, by tool, and of all of them under an empty name. The content is sealed. A new table; locks
 * nothing.
 */
const createProfiles: Migration = {
  async up(db: Kysely<unknown>) {
    const { bytes } = dialectOf(db);
    await db.schema
      .createTable('agent_profiles')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('sealed', bytes, (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('updated_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('agent_profiles_key', ['tenant', 'agent', 'tool'])
      .execute();
  },
};

/**
 * 0013: the calls of a tenant by when they ended, so that those are found that a stop met (docs/architecture/identity.md#reports). An index, made once over
 * all records, which takes no writes meanwhile on Postgres.
 */
const endedByTime: Migration = {
  async up(db) {
    await sql`create index if not exists call_records_ended on call_records (tenant, updated_ms)
      where state not in ('decided', 'parked', 'allowed', 'approved', 'intended')`.execute(db);
  },
};

/**
 * 0014: how often grants were used, and by which calls (docs/architecture/identity.md#grants). New tables.
 */
const grantUses: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists grant_uses (
      jti ${text} not null primary key, expires_ms ${integer} not null, uses ${integer} not null, told ${integer} not null,
      mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists grant_uses_untold on grant_uses (jti) where uses > told`.execute(db);
    await sql`create index if not exists grant_uses_ended on grant_uses (expires_ms)`.execute(db);
    await sql`create table if not exists grant_used_calls (
      jti ${text} not null, correlation_id ${text} not null, expires_ms ${integer} not null, mac ${text} not null,
      primary key (jti, correlation_id)
    ) ${strict}`.execute(db);
    await sql`create index if not exists grant_used_calls_ended on grant_used_calls (expires_ms)`.execute(db);
  },
};

/**
 * 0015: what tenants and agents spent by the month, and what each call reserved and cost (docs/architecture/budgets.md). Earlier calls cost nothing
 * here. New tables; locks nothing.
 */
const spend: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists spend_totals (
      tenant ${text} not null, agent ${text} not null, month ${text} not null, spent ${integer} not null,
      reserved ${integer} not null, primary key (tenant, agent, month)
    ) ${strict}`.execute(db);
    await sql`create table if not exists spend_calls (
      correlation_id ${text} not null primary key, tenant ${text} not null, agent ${text} not null, month ${text} not null,
      reserved ${integer} not null, spent ${integer} not null, paid ${integer} not null, not_after_ms ${integer} not null,
      updated_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists spend_calls_open on spend_calls (not_after_ms, correlation_id) where reserved > 0`.execute(
      db,
    );
    await sql`create index if not exists spend_calls_ended on spend_calls (updated_ms) where reserved = 0`.execute(db);
  },
};

/**
 * 0016: how often calls touched decoys (docs/architecture/decoys.md). A new table.
 */
const decoyHits: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists decoy_hits (
      decoy_id ${text} not null, tenant ${text} not null, agent ${text} not null, hits ${integer} not null, told ${integer} not null,
      correlation_id ${text} not null, last_ms ${integer} not null, contain ${integer} not null,
      primary key (decoy_id, tenant, agent)
    ) ${strict}`.execute(db);
    await sql`create index if not exists decoy_hits_untold on decoy_hits (last_ms) where hits > told`.execute(db);
  },
};

export const callMigrations: Record<string, Migration> = {
  '0001-calls': createTables,
  '0002-follow-ups': addFollowUps,
  '0003-sibling-tools': addSiblingTools,
  '0004-macs': addMacs,
  '0005-sensitive-steps': createSensitiveSteps,
  '0006-setbacks': createSetbacks,
  '0007-upstream': addUpstream,
  '0008-setback-state': addSetbackState,
  '0009-inspection': addInspection,
  '0010-probes': addProbes,
  '0011-agent-flows': createAgentFlows,
  '0012-profiles': createProfiles,
  '0013-ended': endedByTime,
  '0014-grant-uses': grantUses,
  '0015-spend': spend,
  '0016-decoy-hits': decoyHits,
};
