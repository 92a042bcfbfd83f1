import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { CLOCKS_APART_MS, type QuestionStore, type Said } from '../../domain/upstream/talks-apart.js';
import type { Store } from '../store/database.js';
import { emptyLog, overwriteDeleted } from '../store/overwriting.js';

export interface QuestionTables {
  mcp_questions: {
    id: string;
    correlation_id: string;
    question: Uint8Array;
    answer: Uint8Array | null;
    asked_ms: number;
    until_ms: number;
    held_ms: number;
  };
}

/** Questions and answers are sealed for their row and its call: one that was moved, or that Gate did not write, is none. */
export const keptQuestionsOver = (
  { db, sqlite }: Pick<Store<QuestionTables>, 'db' | 'sqlite'>,
  { keys, now = Date.now }: { readonly keys: KeyRing; readonly now?: () => number },
): QuestionStore => {
  if (sqlite) overwriteDeleted(sqlite);
  /** The log beside the file may hold what was deleted. */
  let isInLog = false;
  const context = (of: 'question' | 'answer', id: string, correlationId: string) =>
    `gate.mcp-${of}/${JSON.stringify([id, correlationId])}`;
  const opened = <Value>(sealed: Uint8Array, of: string): Value | null => {
    try {
      return JSON.parse(keys.open(sealed, of).toString('utf8')) as Value;
    } catch {
      return null;
    }
  };
  return {
    async ask({ id, correlationId, method, params, key, from, untilMs }) {
      const question = keys.seal(
        JSON.stringify([method, params, key, ...(from === undefined ? [] : [from])]),
        context('question', id, correlationId),
      );
      await db
        .insertInto('mcp_questions')
        .values({
          id,
          correlation_id: correlationId,
          question,
          answer: null,
          asked_ms: now(),
          until_ms: untilMs,
          held_ms: 0,
        })
        .execute();
    },
    async open(correlationIds) {
      if (correlationIds.length === 0) return [];
      const asked = new Set(correlationIds);
      const rows = await db
        .selectFrom('mcp_questions')
        .select(['id', 'correlation_id', 'until_ms'])
        .where('answer', 'is', null)
        .where('until_ms', '>', now() - CLOCKS_APART_MS)
        // Of a running call there are a few; so more calls than this are looked for among all of them, by one statement.
        .$if(asked.size <= CALLS_NAMED, (query) => query.where('correlation_id', 'in', [...asked]))
        .orderBy('asked_ms')
        .orderBy('id')
        .execute();
      // Postgres gives a bigint as text.
      return rows.flatMap(({ id, correlation_id, until_ms }) =>
        asked.has(correlation_id) ? [{ id, correlationId: correlation_id, untilMs: Number(until_ms) }] : [],
      );
    },
    async read({ id, correlationId }) {
      const row = await db.selectFrom('mcp_questions').select('question').where('id', '=', id).executeTakeFirst();
      const said =
        row && opened<[string, string, string, string?]>(row.question, context('question', id, correlationId));
      return said ? { method: said[0], params: said[1], key: said[2], from: said[3] } : null;
    },
    async standing(ids) {
      if (ids.length === 0) return new Map();
      const rows = await db
        .selectFrom('mcp_questions')
        .select(['id', 'correlation_id', 'answer', 'held_ms'])
        .where('id', 'in', ids)
        .execute();
      return new Map(
        rows.map(({ id, correlation_id, answer, held_ms }) => [
          id,
          {
            correlationId: correlation_id,
            // What nobody of Gate said counts as no answer, and none that comes later takes its place.
            said: answer && opened<Said>(answer, context('answer', id, correlation_id)),
            heldMs: Number(held_ms),
          },
        ]),
      );
    },
    async hold(ids) {
      await db.updateTable('mcp_questions').set({ held_ms: now() }).where('id', 'in', ids).execute();
    },
    async say(id, said) {
      const open = await db
        .selectFrom('mcp_questions')
        .select('correlation_id')
        .where('id', '=', id)
        .where('answer', 'is', null)
        .executeTakeFirst();
      if (!open) return false;
      const answer = keys.seal(JSON.stringify(said), context('answer', id, open.correlation_id));
      const { numUpdatedRows } = await db
        .updateTable('mcp_questions')
        .set({ answer })
        .where('id', '=', id)
        .where('answer', 'is', null)
        .where('until_ms', '>', now() - CLOCKS_APART_MS)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async remove(ids) {
      await db.deleteFrom('mcp_questions').where('id', 'in', ids).execute();
      isInLog = true;
    },
    async removeOf(correlationId) {
      await db.deleteFrom('mcp_questions').where('correlation_id', '=', correlationId).execute();
      isInLog = true;
    },
    async purge() {
      const { numDeletedRows } = await db
        .deleteFrom('mcp_questions')
        .where('until_ms', '<', now() - CLOCKS_APART_MS)
        .executeTakeFirst();
      if (sqlite && (isInLog || numDeletedRows > 0n)) isInLog = !(await emptyLog(sqlite));
    },
  };
};

/** Calls that one statement names. */
const CALLS_NAMED = 20;
