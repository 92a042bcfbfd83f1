import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { QuestionStore, Said } from '../../domain/upstream/talks-apart.js';
import type { Store } from '../store/database.js';

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
  { db }: Pick<Store<QuestionTables>, 'db'>,
  { keys, now = Date.now }: { readonly keys: KeyRing; readonly now?: () => number },
): QuestionStore => {
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
    async ask({ id, correlationId, method, params, key, untilMs }) {
      const question = keys.seal(JSON.stringify([method, params, key]), context('question', id, correlationId));
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
    async open(correlationId) {
      let rows = db
        .selectFrom('mcp_questions')
        .select(['id', 'correlation_id', 'until_ms'])
        .where('until_ms', '>', now())
        .where('answer', 'is', null);
      if (correlationId !== undefined) rows = rows.where('correlation_id', '=', correlationId);
      // Postgres gives a bigint as text.
      return (await rows.orderBy('asked_ms').orderBy('id').execute()).map((row) => ({
        id: row.id,
        correlationId: row.correlation_id,
        untilMs: Number(row.until_ms),
      }));
    },
    async read({ id, correlationId }) {
      const row = await db.selectFrom('mcp_questions').select('question').where('id', '=', id).executeTakeFirst();
      const said = row && opened<[string, string, string]>(row.question, context('question', id, correlationId));
      return said ? { method: said[0], params: said[1], key: said[2] } : null;
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
        .where('until_ms', '>', now())
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async remove(ids) {
      await db.deleteFrom('mcp_questions').where('id', 'in', ids).execute();
    },
    async removeOf(correlationId) {
      await db.deleteFrom('mcp_questions').where('correlation_id', '=', correlationId).execute();
    },
    async purge() {
      await db
        .deleteFrom('mcp_questions')
        .where('until_ms', '<', now() - OVER_FOR_MS)
        .execute();
    },
  };
};

/** Clocks of two processes may differ by so much. */
const OVER_FOR_MS = 60_000;
