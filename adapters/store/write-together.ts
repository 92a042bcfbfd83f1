import type { Compilable } from 'kysely';
import type { Store } from './database.js';

/**
 * Runs the statements in one transaction, in order. The first is the condition: when it changes no row, nothing is stored and the result is
 * false. On SQLite nothing else may run in between, because the ledger's commits share the connection. So the statements are given as a
 * list and not as a function that could wait.
 */
export async function writeTogether<Tables>(
  store: Store<Tables>,
  statements: readonly [Compilable, ...Compilable[]],
): Promise<boolean> {
  const queries = statements.map((statement) => statement.compile());
  const { sqlite } = store;
  if (sqlite) {
    sqlite.exec('BEGIN IMMEDIATE');
    try {
      for (const [index, { sql, parameters }] of queries.entries()) {
        const { changes } = sqlite.prepare(sql).run(...(parameters as (string | number | null)[]));
        if (index === 0 && Number(changes) === 0) {
          sqlite.exec('ROLLBACK');
          return false;
        }
      }
      sqlite.exec('COMMIT');
      return true;
    } catch (error) {
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
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
