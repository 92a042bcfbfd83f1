import { type Kysely, type Migration, sql } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: what operators said of an upstream's tools, one sealed set per tenant and upstream, and the definitions that agents were shown
 * last (until 0002). New tables; locks nothing.
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
 * 0002: what agents were shown stands in `tool_seen_sets` alone, where a tag is over it; nothing was over these rows. A class whose agent
 * has no list there waits for its next one.
 */
const dropSightings: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.dropTable('tool_sightings').ifExists().execute();
  },
};

/**
 * 0003: the sets under a tag, as every other set beside the calls. Those that are sealed are taken over when the store is opened, which has
 * the keys for it. A new table; locks nothing.
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
