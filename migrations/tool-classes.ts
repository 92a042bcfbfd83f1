import { type Kysely, type Migration, sql } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: the operators' classes of an upstream's tools, one sealed set per tenant and upstream, and the definitions that agents saw last
 * (until 0002). New tables; locks nothing.
 */
const createTables: Migration = {
  async up(db: Kysely<unknown>) {
    const { bytes } = dialectOf(db);
    await db.schema
      .createTable('tool_class_sets')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('upstream', 'text', (column) => column.notNull())
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('sealed', bytes as never, (column) => column.notNull())
      .addPrimaryKeyConstraint('tool_class_sets_key', ['tenant', 'upstream'])
      .execute();
    await db.schema
      .createTable('tool_sightings')
      .ifNotExists()
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('upstream', 'text', (column) => column.notNull())
      .addColumn('agent', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('seen_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('tool_sightings_key', ['tenant', 'upstream', 'agent', 'tool'])
      .execute();
  },
};

/**
 * 0002: what agents saw is now only in `tool_seen_sets`, under a tag; these rows had none. A class whose agent has no list there waits for
 * the agent's next one.
 */
const dropSightings: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.dropTable('tool_sightings').ifExists().execute();
  },
};

/**
 * 0003: the sets under a tag, like every other set beside the calls. Opening the store converts the sealed ones, because that needs the
 * keys. A new table; locks nothing.
 */
const createTagged: Migration = {
  async up(db: Kysely<unknown>) {
    const { text, strict } = dialectOf(db);
    await sql`create table if not exists tool_classes (
      tenant ${text} not null, upstream ${text} not null, content ${text} not null, tag ${text}, primary key (tenant, upstream)
    ) ${strict}`.execute(db);
  },
};

export const toolClassMigrations: Record<string, Migration> = {
  '0001-tool-classes': createTables,
  '0002-no-sightings': dropSightings,
  '0003-tagged': createTagged,
};
