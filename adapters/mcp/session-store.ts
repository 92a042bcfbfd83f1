import type { SessionStore } from '../../domain/mcp/session.js';
import { isLogLevel } from '../../domain/mcp/log-levels.js';
import type { Store } from '../store/database.js';

export interface McpSessionTables {
  ended_mcp_sessions: { id: string; until_ms: number };
  mcp_log_levels: { id: string; level: string; until_ms: number };
}

/** What all proxies over one store know of sessions. What is about sessions that are refused by their age is deleted when something is written. */
export const sessionStoreOver = (
  { db }: Pick<Store<McpSessionTables>, 'db'>,
  { now = Date.now }: { readonly now?: () => number } = {},
): SessionStore => ({
  async ended(id) {
    const row = await db.selectFrom('ended_mcp_sessions').select('id').where('id', '=', id).executeTakeFirst();
    return row !== undefined;
  },
  async end(id, until_ms) {
    await db
      .insertInto('ended_mcp_sessions')
      .values({ id, until_ms })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    await db.deleteFrom('ended_mcp_sessions').where('until_ms', '<', now()).execute();
  },
  async logLevel(id) {
    const row = await db.selectFrom('mcp_log_levels').select('level').where('id', '=', id).executeTakeFirst();
    return isLogLevel(row?.level) ? row.level : null;
  },
  async setLogLevel(id, level, until_ms) {
    await db
      .insertInto('mcp_log_levels')
      .values({ id, level, until_ms })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ level }))
      .execute();
    await db.deleteFrom('mcp_log_levels').where('until_ms', '<', now()).execute();
  },
});
