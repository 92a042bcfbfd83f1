import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: the sessions that agents ended, beside the proxy's calls. A session's state is sealed in its id, so only its end needs a place that
 * every replica reads; `until_ms` is when its age alone refuses it. A new table; locks nothing.
 */
const ended: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists ended_mcp_sessions (
      id ${text} not null primary key,
      until_ms ${integer} not null
    ) ${strict}`.execute(db);
  },
};

export const mcpSessionMigrations: Record<string, Migration> = { '0001_ended_mcp_sessions': ended };
