import type { Migration } from 'kysely';

/**
 * 0001: what an upstream's tools looked like when an agent saw them first (lite sheet 13, proxy sheet 15), so that a later change is
 * noticed. One row per tool, one per agent that has seen a whole list. In lite's file, and beside the proxy's calls, counted in a table of
 * its own. New tables only: locks nothing that exists.
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

export const toolPinMigrations: Record<string, Migration> = { '0001_tool_pins': pins };
