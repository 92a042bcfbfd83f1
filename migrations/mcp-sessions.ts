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

/**
 * 0002: from which level on a client wants log messages, by session: Gate writes one of its own, and every replica is to know. Deleted with the
 * session's age, as above. A new table; locks nothing.
 */
const logLevels: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists mcp_log_levels (
      id ${text} not null primary key,
      level ${text} not null,
      until_ms ${integer} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0003: each write of the two tables deletes what is over by its age, and read every row for it. Two indexes; writes to the tables wait while
 * they are built.
 */
const untilIndexes: Migration = {
  async up(db) {
    await sql`create index if not exists ended_mcp_sessions_until on ended_mcp_sessions (until_ms)`.execute(db);
    await sql`create index if not exists mcp_log_levels_until on mcp_log_levels (until_ms)`.execute(db);
  },
};

/**
 * 0004: who is subscribed to which resource of an upstream, by session or stream, so that the end of one ends nothing of another, and a new
 * session with the upstream begins with all of them. The address is sealed. A row whose `until_ms` is over counts no more and is deleted once
 * the upstream was told. A new table and its indexes; locks nothing.
 */
const subscriptions: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`create table if not exists mcp_subscriptions (
      id ${text} not null primary key,
      holder ${text} not null,
      tenant ${text} not null,
      agent ${text} not null,
      client_can ${text} not null,
      sealed ${bytes} not null,
      since_ms ${integer} not null,
      until_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists mcp_subscriptions_of_agent on mcp_subscriptions (tenant, agent, client_can, since_ms, id)`.execute(
      db,
    );
    await sql`create index if not exists mcp_subscriptions_holder on mcp_subscriptions (holder)`.execute(db);
    await sql`create index if not exists mcp_subscriptions_until on mcp_subscriptions (until_ms)`.execute(db);
  },
};

export const mcpSessionMigrations: Record<string, Migration> = {
  '0001_ended_mcp_sessions': ended,
  '0002_mcp_log_levels': logLevels,
  '0003_mcp_sessions_until': untilIndexes,
  '0004_mcp_subscriptions': subscriptions,
};
