import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { type Compilable, CompiledQuery } from 'kysely';
import type { Store } from './database.js';
import { type Statement, statement, type Value } from './statement.js';

const OWN = ['BEGIN IMMEDIATE', 'ROLLBACK', 'COMMIT'] as const;
const JOINED = ['SAVEPOINT together', 'ROLLBACK TO together; RELEASE together', 'RELEASE together'] as const;
const NO_CHANGE = statement('delete from lite_start where false');

/** A statement on the hot path with its values: building and preparing it costs more than running it, so both are done once. */
export interface Ready {
  readonly of: Statement;
  readonly values: readonly Value[];
}
export type Written = Compilable | Ready;

type Prepared = ReturnType<DatabaseSyncInstance['prepare']>;
const known = new WeakMap<DatabaseSyncInstance, Map<Statement, Prepared>>();
function preparedOnce(connection: DatabaseSyncInstance, of: Statement): Prepared {
  const here = known.get(connection) ?? new Map<Statement, Prepared>();
  known.set(connection, here);
  const prepared = here.get(of) ?? connection.prepare(of.text);
  here.set(of, prepared);
  return prepared;
}

function runOn(connection: DatabaseSyncInstance, written: Written): number {
  if ('of' in written) return Number(preparedOnce(connection, written.of).run(...written.values).changes);
  const { sql, parameters } = written.compile();
  return Number(connection.prepare(sql).run(...(parameters as Value[])).changes);
}
const queryOf = (written: Written): CompiledQuery =>
  'of' in written ? CompiledQuery.raw(written.of.numbered, [...written.values]) : written.compile();

/**
 * Runs the statements in one transaction, in order. The first is the condition: when it changes no row, nothing is stored and the result is
 * false. On SQLite nothing else may run in between, because the ledger's commits share the connection. So the statements are given as a
 * list and not as a function that could wait. In a file that this process owns they join the open transaction.
 */
export async function writeTogether<Tables>(
  store: Store<Tables>,
  statements: readonly [Written, ...Written[]],
): Promise<boolean> {
  const { sqlite, ask } = store;
  if (sqlite) {
    // Opens the file's transaction; nothing ends it before the next turn.
    if (ask) await ask(NO_CHANGE);
    if (ask && !sqlite.isTransaction) throw new Error('the transaction was undone');
    const [begin, undo, end] = ask ? JOINED : OWN;
    sqlite.exec(begin);
    try {
      for (const [index, written] of statements.entries()) {
        if (runOn(sqlite, written) === 0 && index === 0) {
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
    for (const [index, written] of statements.entries()) {
      const { numAffectedRows } = await transaction.executeQuery(queryOf(written));
      // Nothing was written yet, so there is nothing to undo.
      if (index === 0 && (numAffectedRows ?? 0n) === 0n) return false;
    }
    return true;
  });
}
