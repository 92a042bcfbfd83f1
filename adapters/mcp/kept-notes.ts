import type { DeleteQueryBuilder } from 'kysely';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { KeptNotes, NoteStore } from '../../domain/upstream/notes-apart.js';
import type { Store } from '../store/database.js';
import { emptyLog, overwriteDeleted } from '../store/overwriting.js';

export interface NoteTables {
  mcp_notes: {
    correlation_id: string;
    at_ms: number;
    notes: Uint8Array;
  };
}

/** Calls that one statement names. */
const CALLS_NAMED = 20;
/** What nobody took by then nobody takes any more; clocks of two processes may be a minute apart. */
const STALE_MS = 120_000;

/** Notes are sealed for their call and their place in it: what was moved, or what Gate did not write, is none. */
export const keptNotesOver = (
  { db, sqlite }: Pick<Store<NoteTables>, 'db' | 'sqlite'>,
  { keys, now = Date.now }: { readonly keys: KeyRing; readonly now?: () => number },
): NoteStore => {
  if (sqlite) overwriteDeleted(sqlite);
  /** The log beside the file may hold what was deleted. */
  let isInLog = false;
  const context = (correlationId: string, at: number) => `gate.mcp-notes/${JSON.stringify([correlationId, at])}`;
  const opened = (correlationId: string, at: number, sealed: Uint8Array): KeptNotes['notes'] => {
    try {
      const said = JSON.parse(keys.open(sealed, context(correlationId, at)).toString('utf8')) as [string, string][];
      return said.map(([method, params]) => ({ method, params }));
    } catch {
      return [];
    }
  };
  /** How many notes were in the rows that went. One that nobody of Gate wrote has none. */
  async function gone(rows: DeleteQueryBuilder<NoteTables, 'mcp_notes', unknown>): Promise<number> {
    const deleted = await rows.returning(['correlation_id', 'at_ms', 'notes']).execute();
    isInLog ||= deleted.length > 0;
    return deleted.reduce(
      (sum, { correlation_id: of, at_ms, notes }) => sum + opened(of, Number(at_ms), notes).length,
      0,
    );
  }
  return {
    async keep({ correlationId, at, notes }) {
      const said = JSON.stringify(notes.map(({ method, params }) => [method, params]));
      await db
        .insertInto('mcp_notes')
        .values({ correlation_id: correlationId, at_ms: at, notes: keys.seal(said, context(correlationId, at)) })
        .execute();
    },
    async take(correlationIds) {
      if (correlationIds.length === 0) return [];
      const heard = new Set(correlationIds);
      const rows = await db
        .selectFrom('mcp_notes')
        .select('correlation_id')
        .distinct()
        // Few calls say something at a time; so of more calls than this all that are there are looked at, by one statement.
        .$if(heard.size <= CALLS_NAMED, (query) => query.where('correlation_id', 'in', [...heard]))
        .execute();
      const found = rows.flatMap(({ correlation_id: id }) => (heard.has(id) ? [id] : []));
      const taken: KeptNotes[] = [];
      for (let from = 0; from < found.length; from += CALLS_NAMED) {
        const deleted = await db
          .deleteFrom('mcp_notes')
          .where('correlation_id', 'in', found.slice(from, from + CALLS_NAMED))
          .returning(['correlation_id', 'at_ms', 'notes'])
          .execute();
        isInLog = true;
        for (const { correlation_id: correlationId, at_ms, notes } of deleted) {
          // Postgres gives a bigint as text.
          const at = Number(at_ms);
          taken.push({ correlationId, at, notes: opened(correlationId, at, notes) });
        }
      }
      return taken.toSorted((one, other) => one.at - other.at);
    },
    async waiting(correlationId) {
      const rows = await db
        .selectFrom('mcp_notes')
        .select('at_ms')
        .where('correlation_id', '=', correlationId)
        .orderBy('at_ms')
        .execute();
      return rows.map(({ at_ms: at }) => Number(at));
    },
    drop: ({ correlationId, at }) =>
      gone(db.deleteFrom('mcp_notes').where('correlation_id', '=', correlationId).where('at_ms', '=', at)),
    removeOf: (correlationId) => gone(db.deleteFrom('mcp_notes').where('correlation_id', '=', correlationId)),
    async purge() {
      const lost = await gone(db.deleteFrom('mcp_notes').where('at_ms', '<', now() - STALE_MS));
      if (sqlite && isInLog) isInLog = !(await emptyLog(sqlite));
      return lost;
    },
  };
};
