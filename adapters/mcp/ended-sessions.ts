import type { EndedSessions } from '../../domain/mcp/session.js';
import type { Store } from '../store/database.js';

export interface EndedSessionTables {
  ended_mcp_sessions: { id: string; until_ms: number };
}

/** The ended sessions of all proxies over one store. Those that are refused by their age are deleted when another one ends. */
export const endedSessionsOver = (
  { db }: Pick<Store<EndedSessionTables>, 'db'>,
  { now = Date.now }: { readonly now?: () => number } = {},
): EndedSessions => ({
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
});
