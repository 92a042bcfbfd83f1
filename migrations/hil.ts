import { sql, type Kysely, type Migration } from 'kysely';
import { currentSchema, dialectOf, hasColumn } from './dialect.js';
import { decisionCounts } from './hil-decision-counts.js';
import { passkeyKeys } from './hil-passkey-keys.js';

/**
 * Review rows (docs/architecture/reviews.md), one per correlation id. `payload` is sealed with the payload keys and bound to the row id;
 * fields that operators search by are not encrypted. Times are also stored as milliseconds, because order and deadlines are compared as
 * numbers. Only creates tables; locks nothing that exists.
 */
const reviewRows: Migration = {
  async up(db: Kysely<unknown>) {
    const postgres = db.getExecutor().adapter.constructor.name === 'PostgresAdapter';
    const bytes = postgres ? sql`bytea` : sql`blob`;
    await db.schema
      .createTable('reviews')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('correlation_id', 'text', (column) => column.notNull().unique())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent_id', 'text', (column) => column.notNull())
      .addColumn('agent_spiffe', 'text')
      .addColumn('method', 'text', (column) => column.notNull())
      .addColumn('risk_summary', 'text', (column) => column.notNull())
      .addColumn('state_namespace', 'text', (column) => column.notNull())
      .addColumn('approval_tier', 'text')
      .addColumn('original_payload_digest', 'text', (column) => column.notNull())
      .addColumn('annotations', 'text', (column) => column.notNull())
      .addColumn('payload', bytes)
      .addColumn('payload_bytes', 'integer', (column) => column.notNull())
      .addColumn('payload_key_id', 'text', (column) => column.notNull())
      .addColumn('minimized_payload', 'text', (column) => column.notNull())
      .addColumn('protected_at', 'text', (column) => column.notNull())
      .addColumn('created_ms', 'bigint', (column) => column.notNull())
      .addColumn('deadline_ms', 'bigint', (column) => column.notNull())
      .addColumn('ttl_seconds', 'integer', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('settled', 'text')
      .addColumn('withdrawn_at', 'text')
      .execute();
    await db.schema.createIndex('reviews_newest').on('reviews').columns(['tenant', 'created_ms', 'id']).execute();
    await db.schema.createIndex('reviews_open').on('reviews').columns(['status', 'deadline_ms']).execute();
  },
};

/**
 * 0002: when the newest attempt that opened the row began, so that an older attempt that fails late cannot withdraw it. Only adds a column
 * without a default; locks the table for a moment on Postgres.
 */
const attempts: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'reviews', 'attempt_ms')))
      await db.schema.alterTable('reviews').addColumn('attempt_ms', 'bigint').execute();
  },
};

/**
 * 0003: distinguishes rows that Gate wrote from others: a counter that grows with every change, a MAC over the whole row, and a mark that
 * every row of this store has one. Adds columns without a default and a small table; locks the table for a moment on Postgres.
 */
const macs: Migration = {
  async up(db: Kysely<unknown>) {
    for (const [column, type] of [
      ['version', 'bigint'],
      ['mac', 'text'],
    ] as const)
      if (!(await hasColumn(db, 'reviews', column)))
        await db.schema.alterTable('reviews').addColumn(column, type).execute();
    await db.schema
      .createTable('review_seal')
      .ifNotExists()
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('mac', 'text', (column) => column.notNull())
      .execute();
  },
};

/**
 * 0004: what one agent has waiting is counted before each of its calls waits; the index alone answers that, and holds no row that was decided
 * or withdrawn. Reads the table once.
 */
const waiting: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists reviews_waiting on reviews (tenant, agent_id, deadline_ms, payload_bytes)
      where status = 'pending' and withdrawn_at is null`.execute(db);
  },
};

/**
 * 0005: a page of one tenant's rows of one status, from any place in the order; and what waits is counted in an index alone, whose rows are
 * those that may wait. Rows that were withdrawn are in no list. Reads the table twice.
 */
const listed: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists reviews_listed on reviews (tenant, status, created_ms, id, deadline_ms)
      where withdrawn_at is null`.execute(db);
    await sql`create index if not exists reviews_undecided on reviews (deadline_ms, tenant, created_ms)
      where status = 'pending' and withdrawn_at is null`.execute(db);
    await sql`drop index if exists reviews_open`.execute(db);
  },
};

/**
 * 0006: when a row was decided and by whom, beside the settlement that says so, for statistics over a window: an index alone answers them.
 * The values of rows that were decided before are read out of their settlements. Changes every decided row once, and locks the table for
 * as long.
 */
const decided: Migration = {
  async up(db: Kysely<unknown>) {
    for (const [column, type] of [
      ['decided_ms', 'bigint'],
      ['decided_by', 'text'],
    ] as const)
      if (!(await hasColumn(db, 'reviews', column)))
        await db.schema.alterTable('reviews').addColumn(column, type).execute();
    const [ms, by] = dialectOf(db).postgres
      ? [
          sql`(extract(epoch from substring(settled from '"decided_at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?Z)"')::timestamptz) * 1000)::bigint`,
          sql`left(substring(settled from '"decided_by":"([^"\\\\]+)'), 256)`,
        ]
      : [
          sql`cast(round((julianday(json_extract(settled, '$.decided_at')) - 2440587.5) * 86400000) as integer)`,
          sql`substr(json_extract(settled, '$.decided_by'), 1, 256)`,
        ];
    const readable = dialectOf(db).postgres ? sql`true` : sql`json_valid(settled)`;
    await sql`update reviews set decided_ms = ${ms}, decided_by = ${by}
      where settled is not null and decided_ms is null and ${readable}`.execute(db);
    await sql`create index if not exists reviews_decided on reviews (tenant, decided_ms, status, decided_by, created_ms)
      where withdrawn_at is null`.execute(db);
  },
};

/**
 * 0007: the sandbox's report on the call, sealed like the payload. Only adds a column without a default; locks the table for a moment on
 * Postgres.
 */
const sandboxReports: Migration = {
  async up(db: Kysely<unknown>) {
    const bytes = dialectOf(db).postgres ? sql`bytea` : sql`blob`;
    if (!(await hasColumn(db, 'reviews', 'sandbox_report')))
      await db.schema.alterTable('reviews').addColumn('sandbox_report', bytes).execute();
  },
};

/**
 * 0008: the number of a row's last change, which grows over all rows, so that whoever follows the table reads what is new and nothing else.
 * Rows that never change again have none. Adds a column without a default; locks the table for a moment on Postgres.
 */
const changes: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'reviews', 'change_seq')))
      await db.schema.alterTable('reviews').addColumn('change_seq', 'bigint').execute();
    if (dialectOf(db).postgres) await sql`create sequence if not exists review_changes`.execute(db);
    await sql`create index if not exists reviews_changed on reviews (change_seq)`.execute(db);
  },
};

/**
 * 0009: which approvals were of other arguments than the agent's, beside the settlement that says so, for the same statistics. Changes every
 * row that was approved in that way once, and reads the table once more.
 */
const modified: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'reviews', 'modified')))
      await db.schema.alterTable('reviews').addColumn('modified', 'integer').execute();
    await sql`update reviews set modified = 1
      where status = 'approved' and modified is null and settled like '%"modification":{"diff":%'`.execute(db);
    await sql`create index if not exists reviews_decisions on reviews
      (tenant, decided_ms, status, decided_by, created_ms, modified) where withdrawn_at is null`.execute(db);
    await sql`drop index if exists reviews_decided`.execute(db);
  },
};

/**
 * 0010: the key that each row's request is sealed with, itself sealed with the payload keys. It has a table of its own: whoever deletes it
 * makes every copy of the request unreadable, wherever that copy is. Only creates a table. Rows of an earlier Gate have no such key.
 */
const dataKeys: Migration = {
  async up(db: Kysely<unknown>) {
    const { postgres, text, bytes, strict } = dialectOf(db);
    const form = postgres ? sql`` : sql`${strict}, without rowid`;
    await sql`create table if not exists review_keys (review_id ${text} primary key, wrapped ${bytes} not null) ${form}`.execute(
      db,
    );
  },
};

/**
 * 0011: when a row's request and the row itself may go, so that a sweep finds what is due; what stays of a request that went; a legal hold;
 * and what is kept of each deletion and of each hold, to which rows are only ever added. Adds columns without a default; locks the table for
 * a moment on Postgres and reads it three times.
 */
const retention: Migration = {
  async up(db: Kysely<unknown>) {
    const { postgres, text, integer, strict } = dialectOf(db);
    for (const [column, type] of [
      ['payload_expires_ms', 'bigint'],
      ['metadata_expires_ms', 'bigint'],
      ['purged', 'text'],
      ['hold', 'text'],
    ] as const)
      if (!(await hasColumn(db, 'reviews', column)))
        await db.schema.alterTable('reviews').addColumn(column, type).execute();
    await sql`create index if not exists reviews_payload_due on reviews (payload_expires_ms, id)
      where payload is not null and hold is null`.execute(db);
    // A row is in one of the two at a time: its request goes no later than itself.
    await sql`create index if not exists reviews_metadata_due on reviews (metadata_expires_ms, id)
      where payload is null and hold is null`.execute(db);
    await sql`create index if not exists reviews_undated on reviews (id) where metadata_expires_ms is null`.execute(db);
    await sql`create table if not exists hil_deletion_audit (
      id ${text} primary key, at_ms ${integer} not null, pending_id ${text} not null, tenant ${text} not null,
      "trigger" ${text} not null, disposition ${text} not null, state ${text} not null,
      retention_policy ${text} not null, retention_tier ${text}, original_payload_sha256 ${text}
    ) ${strict}`.execute(db);
    await sql`create table if not exists review_holds (
      operation_id ${text} primary key, tenant ${text} not null, pending_id ${text} not null,
      request ${text} not null, receipt ${text} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    if (postgres)
      await sql`create or replace function hil_refuse_change() returns trigger language plpgsql as $$
        begin
          raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
        end $$`.execute(db);
    for (const table of ['hil_deletion_audit', 'review_holds'])
      if (postgres) {
        await sql`create or replace trigger ${sql.id(`${table}_append_only`)} before update or delete on ${sql.id(table)}
          for each row execute function hil_refuse_change()`.execute(db);
        await sql`create or replace trigger ${sql.id(`${table}_no_truncate`)} before truncate on ${sql.id(table)}
          for each statement execute function hil_refuse_change()`.execute(db);
      } else
        for (const event of ['update', 'delete'])
          await sql`create trigger if not exists ${sql.id(`${table}_no_${event}`)} before ${sql.raw(event)} on ${sql.id(table)}
            begin select raise(abort, ${sql.lit(`${table} is append-only`)}); end`.execute(db);
  },
};

/**
 * 0012: what people are told of a row, on each channel, with the attempts; it goes with its row. Only creates a table.
 */
const notices: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists review_notices (
      notification_id ${text} not null,
      channel ${text} not null,
      pending_id text not null references reviews (id) on delete cascade,
      ordinal ${integer} not null,
      notice ${text} not null,
      state ${text} not null,
      attempts ${integer} not null,
      due_ms ${integer} not null,
      delivered_ms ${integer},
      error ${text},
      handle ${text},
      mac ${text} not null,
      primary key (notification_id, channel)) ${strict}`.execute(db);
    await sql`create index if not exists review_notices_of on review_notices (pending_id, channel, ordinal)`.execute(
      db,
    );
    await sql`create index if not exists review_notices_due on review_notices (channel, due_ms)
      where state = 'queued'`.execute(db);
  },
};

/**
 * 0013: whose accounts in chats are whose, and which signed clicks were accepted, for as long as they could come again. Only creates tables.
 */
const chats: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists chat_links (
      tenant ${text} not null, oidc_sub ${text} not null, slack_user_id ${text}, teams_user_id ${text},
      linked_ms ${integer} not null, verified_ms ${integer}, mac ${text} not null,
      primary key (tenant, oidc_sub), unique (tenant, slack_user_id), unique (tenant, teams_user_id)
    ) ${strict}`.execute(db);
    await sql`create table if not exists chat_clicks (digest ${text} primary key, at_ms ${integer} not null) ${strict}`.execute(
      db,
    );
  },
};

/**
 * 0014: whether a tenant may have reviews, and the operations that said so, each with its receipt. Only creates tables. A tenant without a row
 * may have reviews.
 */
const tenants: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists review_tenants (tenant ${text} primary key, state ${text} not null,
      generation ${integer} not null, operation_id ${text} not null, mac ${text} not null) ${strict}`.execute(db);
    await sql`create table if not exists review_tenant_operations (operation_id ${text} primary key, tenant ${text} not null,
      kind ${text} not null, generation ${integer} not null, asked_by ${text} not null, begun_ms ${integer} not null,
      pending_denied ${integer}, receipt ${text}, mac ${text} not null, unique (tenant, generation)) ${strict}`.execute(
      db,
    );
  },
};

/**
 * 0015: the approvers' passkeys, and the ceremonies that register them, of which only digests are kept. Only creates tables.
 */
const passkeys: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists passkeys (
      credential_id ${text} primary key, tenant ${text} not null, subject ${text} not null, public_key ${text} not null,
      counter ${integer} not null, created_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists passkeys_of on passkeys (tenant, subject)`.execute(db);
    await sql`create table if not exists passkey_ceremonies (
      id_sha256 ${text} primary key, challenge_sha256 ${text} not null, tenant ${text} not null, subject ${text} not null,
      created_ms ${integer} not null, expires_ms ${integer} not null, attempts ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists passkey_ceremonies_of on passkey_ceremonies (tenant, subject)`.execute(db);
  },
};

/**
 * 0016: what a ceremony is for, under a MAC; tokens of people who lost their passkeys. Ceremonies last five minutes, so the table of them is
 * made anew: one that is under way is begun again.
 */
const passkeySessions: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`drop table if exists passkey_ceremonies`.execute(db);
    await sql`create table passkey_ceremonies (
      id_sha256 ${text} primary key, challenge_sha256 ${text} not null, tenant ${text} not null, subject ${text} not null,
      purpose ${text} not null, created_ms ${integer} not null, expires_ms ${integer} not null, attempts ${integer} not null,
      mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index passkey_ceremonies_of on passkey_ceremonies (tenant, subject)`.execute(db);
    await sql`create table if not exists passkey_recoveries (
      tenant ${text} not null, subject ${text} not null, token_sha256 ${text} not null, expires_ms ${integer} not null,
      attempts ${integer} not null, mac ${text} not null, primary key (tenant, subject)
    ) ${strict}`.execute(db);
  },
};

/**
 * 0017: the rows of one agent, newest first, so that a call is compared with the agent's last one of the same tool. Reads the table once.
 */
const ofAgent: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists reviews_of_agent on reviews (tenant, agent_id, created_ms, id)
      where withdrawn_at is null`.execute(db);
  },
};

/**
 * 0018: which of a person's passkeys count, so that a row that is put back after it was replaced counts for nothing. A migration has no key
 * to say so of what is there, and nothing else knows it: passkeys of before are registered again. Creates a table and empties two.
 */
const passkeyStandings: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists passkey_standings (
      tenant ${text} not null, subject ${text} not null, generation ${integer} not null, counts ${text} not null,
      mac ${text} not null, primary key (tenant, subject)
    ) ${strict}`.execute(db);
    await sql`delete from passkeys where not exists (select 1 from passkey_standings)`.execute(db);
    await sql`delete from passkey_recoveries where not exists (select 1 from passkey_standings)`.execute(db);
  },
};

/**
 * 0019: how many rows wait, by tenant and hour of the deadline, so that nobody has to count them. Triggers of the database keep it, in the
 * transaction that changes a row, so no writer can forget it, whatever Gate that is. A count of nothing is deleted. On Postgres each count is
 * spread over rows by the end of the review's id, so that calls that are parked at once seldom wait for each other. A count that is missing
 * refuses no write. Reads the table once; on Postgres nobody writes to it meanwhile.
 */
const counts: Migration = {
  async up(db: Kysely<unknown>) {
    const { postgres, text, integer, strict } = dialectOf(db);
    const form = postgres ? sql`with (fillfactor = 50)` : sql`${strict}, without rowid`;
    if (postgres) await sql`lock table reviews in share row exclusive mode`.execute(db);
    await sql`create table if not exists review_counts (
      tenant ${text} not null, hour ${integer} not null, shard ${integer} not null, waiting ${integer} not null,
      primary key (tenant, hour, shard)) ${form}`.execute(db);
    const key = (row: string) => {
      const shard = postgres ? `strpos('0123456789abcdef', right(${row}.id, 1))` : '0';
      return [`${row}.tenant`, `${row}.deadline_ms / 3600000`, shard] as const;
    };
    const waits = (row: string) => `${row}.status = 'pending' and ${row}.withdrawn_at is null`;
    // Once more over what an interrupted migration left.
    await sql`delete from review_counts`.execute(db);
    await sql`insert into review_counts (tenant, hour, shard, waiting)
      select ${sql.raw(key('reviews').join(', '))}, count(*) from reviews where ${sql.raw(waits('reviews'))}
      group by 1, 2, 3`.execute(db);

    // Functions of Postgres run with the search path of whoever writes, which may be another one.
    const table = postgres ? sql.id(await currentSchema(db), 'review_counts') : sql.id('review_counts');
    // SQLite looks for a column with a prefix in vain when any table is renamed later; Postgres wants the prefix.
    const counted = postgres ? sql.raw('counted.waiting') : sql.id('waiting');
    const joins = sql`insert into ${table} as counted (tenant, hour, shard, waiting)
      values (${sql.raw(key('new').join(', '))}, 1)
      on conflict (tenant, hour, shard) do update set waiting = ${counted} + 1;`;
    const [tenant, hour, shard] = key('old');
    const here = sql.raw(`tenant = ${tenant} and hour = ${hour} and shard = ${shard}`);
    const leaves = sql`update ${table} set waiting = waiting - 1 where ${here};
      delete from ${table} where ${here} and waiting <= 0;`;
    const moved = 'old.tenant <> new.tenant or old.deadline_ms <> new.deadline_ms or old.id <> new.id';
    const changes = 'update of status, withdrawn_at, tenant, deadline_ms, id';
    const triggers = [
      ['reviews_counted_insert', 'insert', waits('new'), joins],
      ['reviews_counted_delete', 'delete', waits('old'), leaves],
      ['reviews_counted_join', changes, `${waits('new')} and (not (${waits('old')}) or ${moved})`, joins],
      ['reviews_counted_leave', changes, `${waits('old')} and (not (${waits('new')}) or ${moved})`, leaves],
    ] as const;
    if (postgres)
      for (const [name, body] of [
        ['review_counts_join', joins],
        ['review_counts_leave', leaves],
        ['review_counts_empty', sql`delete from ${table};`],
      ] as const)
        await sql`create or replace function ${sql.id(name)}() returns trigger language plpgsql as $$
          begin
            ${body}
            return null;
          end $$`.execute(db);
    for (const [name, event, when, body] of triggers)
      if (postgres)
        await sql`create or replace trigger ${sql.id(name)} after ${sql.raw(event)} on reviews
          for each row when (${sql.raw(when)})
          execute function ${sql.id(body === joins ? 'review_counts_join' : 'review_counts_leave')}()`.execute(db);
      else
        await sql`create trigger if not exists ${sql.id(name)} after ${sql.raw(event)} on reviews
          when ${sql.raw(when)} begin ${body} end`.execute(db);
    if (postgres)
      await sql`create or replace trigger reviews_counted_truncate after truncate on reviews
        for each statement execute function review_counts_empty()`.execute(db);
  },
};

/** 0020: what the console said last of each person whom it vouches for. A new table; locks nothing that exists. */
const vouchedPeople: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists vouched_people (
      tenant ${text} not null, subject ${text} not null, role ${text} not null, vouched_ms ${integer} not null,
      mac ${text} not null, primary key (tenant, subject)
    ) ${strict}`.execute(db);
    await sql`create index if not exists vouched_people_at on vouched_people (vouched_ms)`.execute(db);
  },
};

/**
 * 0021: the triggers of 0019 that count a row in, without an alias for their table. SQLite before 3.41 reads none there, and then opens
 * nothing of the file; Postgres is as it was.
 */
const countsReadable: Migration = {
  async up(db: Kysely<unknown>) {
    if (dialectOf(db).postgres) return;
    const key = (row: string) => `${row}.tenant, ${row}.deadline_ms / 3600000, 0`;
    const waits = (row: string) => `${row}.status = 'pending' and ${row}.withdrawn_at is null`;
    const moved = 'old.tenant <> new.tenant or old.deadline_ms <> new.deadline_ms or old.id <> new.id';
    for (const [name, event, when] of [
      ['reviews_counted_insert', 'insert', waits('new')],
      [
        'reviews_counted_join',
        'update of status, withdrawn_at, tenant, deadline_ms, id',
        `${waits('new')} and (not (${waits('old')}) or ${moved})`,
      ],
    ] as const) {
      await sql`drop trigger if exists ${sql.id(name)}`.execute(db);
      await sql`create trigger ${sql.id(name)} after ${sql.raw(event)} on reviews when ${sql.raw(when)} begin
        insert into review_counts (tenant, hour, shard, waiting) values (${sql.raw(key('new'))}, 1)
        on conflict (tenant, hour, shard) do update set waiting = waiting + 1; end`.execute(db);
    }
  },
};

/**
 * 0022: since when what the console said of somebody stands, so that the word of an earlier session does not give a role back. A row from
 * before counts for nobody until the person's next request. Adds a column; reads no row.
 */
const vouchedSince: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'vouched_people', 'since_ms')))
      await sql`alter table vouched_people add column since_ms ${dialectOf(db).integer} not null default 0`.execute(db);
  },
};

/**
 * 0025: rows of calls that an earlier Gate closed itself and stored as expired; they are listed as what they are. Reads the table once. On
 * Postgres nobody writes to it meanwhile.
 */
const closedByGate: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists reviews_closed_by_gate on reviews (tenant, created_ms, id)
      where status = 'expired' and decided_by in ('system:reconciliation', 'system:tamper-check') and withdrawn_at is null`.execute(
      db,
    );
  },
};

/**
 * 0026: rows of calls that their agents took back, which are stored as denied; they are listed as what they are. Reads the table once. On
 * Postgres nobody writes to it meanwhile.
 */
const withdrawnByAgent: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists reviews_withdrawn_by_agent on reviews (tenant, created_ms, id)
      where status = 'denied' and decided_by = 'system:withdrawn-by-agent' and withdrawn_at is null`.execute(db);
  },
};

/**
 * 0027: that calls ended whose rows are gone, until people were told. Such a message has no text of its call, and is bounded in time. Only
 * creates a table.
 */
const lastNotices: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists review_last_notices (
      notification_id ${text} not null, channel ${text} not null, notice ${text} not null, attempts ${integer} not null,
      due_ms ${integer} not null, until_ms ${integer} not null, handle ${text}, mac ${text} not null,
      primary key (notification_id, channel)) ${strict}`.execute(db);
  },
};

/**
 * 0028: what the console said of people is kept, and looked up by name in other tenants; by time nothing is deleted any more. Two indexes of a small
 * table.
 */
const vouchedOf: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`create index if not exists vouched_people_of on vouched_people (subject)`.execute(db);
    await sql`drop index if exists vouched_people_at`.execute(db);
  },
};

/**
 * 0029: reviews that no call asked for are counted by themselves (`adapters/review/waiting-room.ts`): those that wait, and those of the last minutes.
 * Two indexes of few rows; building them reads the table once. On Postgres nobody writes to it meanwhile.
 */
const rehearsals: Migration = {
  async up(db: Kysely<unknown>) {
    const rehearsed = sql.raw(
      `agent_spiffe like 'spiffe://%/service/%' and agent_spiffe not like 'spiffe://%/%/service/%'`,
    );
    await sql`create index if not exists reviews_rehearsed on reviews (tenant, deadline_ms, agent_id, payload_bytes)
      where status = 'pending' and withdrawn_at is null and ${rehearsed}`.execute(db);
    await sql`create index if not exists reviews_rehearsals on reviews (tenant, created_ms, status, deadline_ms)
      where withdrawn_at is null and ${rehearsed}`.execute(db);
  },
};

/**
 * 0030: whom a message reached that not everybody got, so that they do not get it again. Adds a column to two tables without reading them; locks
 * each for a moment on Postgres.
 */
const noticesReached: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['review_notices', 'review_last_notices'])
      if (!(await hasColumn(db, table, 'reached')))
        await sql`alter table ${sql.id(table)} add column reached ${dialectOf(db).text}`.execute(db);
  },
};

/**
 * 0031: how many attempts to send a message a receiver's limit refused, which do not count, and for how long limits held it up. Adds columns with
 * a constant default, and reads no row; locks each table for a moment on Postgres.
 */
const noticesLimited: Migration = {
  async up(db: Kysely<unknown>) {
    for (const [table, column] of [
      ['review_notices', 'limited'],
      ['review_notices', 'limited_ms'],
      ['review_last_notices', 'limited'],
    ] as const)
      if (!(await hasColumn(db, table, column)))
        await sql`alter table ${sql.id(table)} add column ${sql.id(column)} ${dialectOf(db).integer} not null default 0`.execute(
          db,
        );
  },
};

/**
 * 0032: when what is past its date was deleted last, and since when the clock is in doubt and when it was last looked at then, so that a clock that is
 * years ahead deletes nothing. Creates a table, and adds a column where the table was made without it.
 */
const sweeps: Migration = {
  async up(db: Kysely<unknown>) {
    const { integer, strict } = dialectOf(db);
    await sql`create table if not exists review_sweeps (
      id ${integer} primary key, swept_ms ${integer} not null, doubted_ms ${integer}, looked_ms ${integer}) ${strict}`.execute(
      db,
    );
    if (!(await hasColumn(db, 'review_sweeps', 'looked_ms')))
      await sql`alter table review_sweeps add column looked_ms ${integer}`.execute(db);
  },
};

/**
 * 0033: what each message tells, which was read from its id. Adds a column and fills it by the places that messages have: 0 is the first, 1000 the
 * last, and from 100 on those of escalations. Reads the table once.
 */
const noticeKinds: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(await hasColumn(db, 'review_notices', 'kind')))
      await sql`alter table review_notices add column kind ${dialectOf(db).text} not null default ''`.execute(db);
    await sql`update review_notices set kind = case when ordinal = 0 then 'trigger' when ordinal < 100 then 'approval'
      when ordinal < 1000 then 'escalation' else 'resolve' end where kind = ''`.execute(db);
  },
};

/**
 * 0034: until when each channel of notifications is left alone, for all processes over the store. Creates a table.
 */
const channelRests: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists review_channel_rests (
      channel ${text} primary key, place ${integer} not null, until_ms ${integer} not null,
      refusals ${integer} not null) ${strict}`.execute(db);
  },
};

export const hilMigrations: Record<string, Migration> = {
  '0001-review-rows': reviewRows,
  '0002-attempts': attempts,
  '0003-macs': macs,
  '0004-waiting': waiting,
  '0005-listed': listed,
  '0006-decided': decided,
  '0007-sandbox-reports': sandboxReports,
  '0008-changes': changes,
  '0009-modified': modified,
  '0010-data-keys': dataKeys,
  '0011-retention': retention,
  '0012-notices': notices,
  '0013-chats': chats,
  '0014-tenants': tenants,
  '0015-passkeys': passkeys,
  '0016-passkey-sessions': passkeySessions,
  '0017-of-agent': ofAgent,
  '0018-passkey-standings': passkeyStandings,
  '0019-counts': counts,
  '0020-vouched-people': vouchedPeople,
  '0021-counts-readable': countsReadable,
  '0022-vouched-since': vouchedSince,
  '0023-passkey-keys': passkeyKeys,
  '0024-decision-counts': decisionCounts,
  '0025-closed-by-gate': closedByGate,
  '0026-withdrawn-by-agent': withdrawnByAgent,
  '0027-last-notices': lastNotices,
  '0028-vouched-of': vouchedOf,
  '0029-rehearsals': rehearsals,
  '0030-notices-reached': noticesReached,
  '0031-notices-limited': noticesLimited,
  '0032-sweeps': sweeps,
  '0033-notice-kinds': noticeKinds,
  '0034-channel-rests': channelRests,
};
