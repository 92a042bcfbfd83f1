import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: which calls are MCP tasks, by agent, beside the proxy's calls. What a task is its call's record says; this only lists them. A new
 * table and its index; locks nothing.
 */
const tasks: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists mcp_tasks (
      correlation_id ${text} not null primary key,
      tenant ${text} not null,
      agent ${text} not null,
      created_ms ${integer} not null,
      asked_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists mcp_tasks_of_agent on mcp_tasks (tenant, agent, created_ms, correlation_id)`.execute(
      db,
    );
    await sql`create index if not exists mcp_tasks_created on mcp_tasks (created_ms)`.execute(db);
  },
};

export const mcpTaskMigrations: Record<string, Migration> = { '0001_mcp_tasks': tasks };
