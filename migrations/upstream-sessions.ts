import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: the session of each agent with an upstream, beside the proxy's calls, so that all processes that talk to the upstream for an agent
 * are one client to it. `sealed` is empty while the process `opened_by` opens the session, which it may do until `until_ms`. A new table;
 * locks nothing.
 */
const sessions: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`create table if not exists upstream_sessions (
      upstream ${text} not null,
      tenant ${text} not null,
      agent ${text} not null,
      opened_by ${text} not null,
      until_ms ${integer} not null,
      sealed ${bytes},
      primary key (upstream, tenant, agent)
    ) ${strict}`.execute(db);
  },
};

export const upstreamSessionMigrations: Record<string, Migration> = { '0001_upstream_sessions': sessions };
