import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { sqliteFault } from '../../domain/store-faults.js';

/** How long each transaction waits for a lock that was waited for in vain, unless the file says otherwise. */
const STILL_LOCKED_MS = 50;
/** Files that another process keeps locked, and how long one waits for a lock otherwise. */
const lockedOut = new WeakMap<DatabaseSyncInstance, number>();

/**
 * Begins a transaction that writes, alone. SQLite waits for another process on this thread, with everything that it serves: where one wait was
 * in vain, the next ones are short until a transaction begins again.
 */
export function beginAlone(connection: DatabaseSyncInstance, stillLockedMs = STILL_LOCKED_MS): void {
  const ordinaryMs = lockedOut.get(connection);
  try {
    connection.exec('begin immediate');
  } catch (error) {
    if (ordinaryMs === undefined && sqliteFault(error) === 5) {
      const { timeout } = connection.prepare('pragma busy_timeout').get() as { timeout: number };
      lockedOut.set(connection, timeout);
      connection.exec(`pragma busy_timeout=${Math.min(timeout, stillLockedMs)}`);
    }
    throw error;
  }
  if (ordinaryMs === undefined) return;
  lockedOut.delete(connection);
  connection.exec(`pragma busy_timeout=${ordinaryMs}`);
}
