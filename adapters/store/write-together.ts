import type { Compilable } from 'kysely';
import type { Store } from './database.js';
import { statement } from './statement.js';

const OWN = ['BEGIN IMMEDIATE', 'ROLLBACK', 'COMMIT'] as const;
const JOINED = ['SAVEPOINT together', 'ROLLBACK TO together; RELEASE together', 'RELEASE together'] as const;
const NO_CHANGE = statement('delete from lite_start where false');

/**
 * Runs the statements in one transaction, in order. The first is the condition: when it changes no row, nothing is stored and the result is
 * false. On SQLite nothing else may run in between, because the ledger's commits share the connection. So the statements are given as a
 * list and not as a function that could wait. In a file that this process owns they join the open transaction.
 */
export async function writeTogether<Tables>(
  store: Store<Tables>,
  statements: readonly [Compilable, ...Compilable[]],
): Promise<boolean> {
  const queries = statements.map((statement) => statement.compile());
  const { sqlite, ask } = store;
  if (sqlite) {
    // Opens the file's transaction; nothing ends it before the next turn.
    if (ask) await ask(NO_CHANGE);
    if (ask && !sqlite.isTransaction) throw new Error('the transaction was undone');
    const [begin, undo, end] = ask ? JOINED : OWN;
    sqlite.exec(begin);
    try {
      for (const [index, { sql, parameters }] of queries.entries()) {
        const { changes } = sqlite.prepare(sql).run(...(parameters as (string | number | null)[]));
        if (index === 0 && Number(changes) === 0) {
          sqlite.exec(undo);
          return false;
        }
      }
      sqlite.exec(end);
      return true;
    } catch (error) {
      // SQLite ends a transaction itself when the disk is full.
      if (sqlite.isTransaction) sqlite.exec(undo);
      throw error;
    }
  }
  return store.db.transaction().execute(async (transaction) => {
    for (const [index, query] of queries.entries()) {
      const { numAffectedRows } = await transaction.executeQuery(query);
      // Nothing was written yet, so there is nothing to undo.
      if (index === 0 && (numAffectedRows ?? 0n) === 0n) return false;
    }
    return true;
  });
}
