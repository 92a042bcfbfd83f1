import { type Kysely, sql, type Migration } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * 0001: what an upstream's tools looked like when an agent first saw them (docs/architecture/requests-and-answers.md#tool-definitions), so
 * that a later change is noticed. One row per tool, and one per agent that has seen a whole list. Stored in lite's file, and beside the
 * proxy's calls. New tables only; locks nothing that exists.
 */
const pins: Migration = {
  async up(db) {
    await db.schema
      .createTable('tool_pins')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('pinned_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('tool_pins_key', ['tenant', 'agent', 'tool'])
      .execute();
    await db.schema
      .createTable('tool_pin_lists')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('completed_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('tool_pin_lists_key', ['tenant', 'agent'])
      .execute();
  },
};

interface OldTables {
  tool_pins: { tenant: string; agent: string; tool: string; sha256: string; pinned_at: string };
  tool_pin_lists: { tenant: string; agent: string };
}

/**
 * 0002: one row for each list of pins, with a tag by Gate's keys, so that writing to this store cannot accept a definition; what each list
 * said last; and the definition each review was opened under. Existing lists are converted without a tag, as pins of description and input
 * schema; the first start adds the tag. Locks the two old tables and drops them.
 */
const sealed: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    for (const table of ['tool_pin_sets', 'tool_seen_sets'])
      await sql`create table if not exists ${sql.table(table)} (
        tenant ${text} not null, agent ${text} not null, content ${text} not null, tag ${text}, primary key (tenant, agent)
      ) ${strict}`.execute(db);
    await sql`create table if not exists tool_reviews (
      correlation_id ${text} not null primary key, sha256 ${text} not null, at_ms ${integer} not null, tag ${text} not null
    ) ${strict}`.execute(db);
    const old = db as unknown as Kysely<OldTables & { tool_pin_sets: Record<string, string> }>;
    const rows = await old.selectFrom('tool_pins').selectAll().orderBy('tenant').orderBy('agent').execute();
    const whole = await old.selectFrom('tool_pin_lists').select(['tenant', 'agent']).execute();
    const sets = new Map<string, { tenant: string; agent: string; tools: Map<string, object> }>();
    for (const { tenant, agent, tool, sha256, pinned_at } of rows) {
      const key = JSON.stringify([tenant, agent]);
      const set = sets.get(key) ?? { tenant, agent, tools: new Map() };
      set.tools.set(tool, { sha256, at: pinned_at, narrow: true });
      sets.set(key, set);
    }
    for (const { tenant, agent, tools } of sets.values()) {
      const complete = whole.some((list) => list.tenant === tenant && list.agent === agent);
      await old
        .insertInto('tool_pin_sets')
        .values({ tenant, agent, content: JSON.stringify({ complete, tools: Object.fromEntries(tools) }) })
        .onConflict((conflict) => conflict.columns(['tenant', 'agent']).doNothing())
        .execute();
    }
    await old.deleteFrom('tool_pins').execute();
    await old.deleteFrom('tool_pin_lists').execute();
  },
};

/** 0003: what a review is bound to is now in its call's record, under its MAC. Locks the table that it drops. */
const bound: Migration = {
  async up(db) {
    await db.schema.dropTable('tool_reviews').ifExists().execute();
  },
};

/**
 * 0004: what each list said last is stored per upstream, because another server's definition under the same name says nothing about this
 * one's. Opening the store assigns earlier lists to its upstream. Rebuilds the table, which it locks.
 */
const byUpstream: Migration = {
  async up(db) {
    const { text, strict } = dialectOf(db);
    if (await hasColumn(db, 'tool_seen_sets', 'upstream')) return;
    await sql`create table if not exists tool_seen_sets_by_upstream (
      tenant ${text} not null, upstream ${text} not null, agent ${text} not null, content ${text} not null, tag ${text},
      primary key (tenant, upstream, agent)
    ) ${strict}`.execute(db);
    if (await hasColumn(db, 'tool_seen_sets', 'agent')) {
      await sql`insert into tool_seen_sets_by_upstream
        select tenant, '', agent, content, tag from tool_seen_sets where true on conflict do nothing`.execute(db);
      await db.schema.dropTable('tool_seen_sets').execute();
    }
    await sql`alter table tool_seen_sets_by_upstream rename to tool_seen_sets`.execute(db);
  },
};

/** 0005: the texts of definitions by their digest, so that an operator sees what changed. A new table only; locks nothing that exists. */
const texts: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists tool_definitions (
      tenant ${text} not null, sha256 ${text} not null, content ${text} not null, kept_ms ${integer} not null,
      primary key (tenant, sha256)
    ) ${strict}`.execute(db);
  },
};

export const toolPinMigrations: Record<string, Migration> = {
  '0001_tool_pins': pins,
  '0002_sealed': sealed,
  '0003_bound': bound,
  '0004_by_upstream': byUpstream,
  '0005_texts': texts,
};
