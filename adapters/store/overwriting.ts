import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** How often the emptying of a log looks for a moment without a transaction of this process, a millisecond apart. */
const LOOKS = 1_000;
/** How long it stops this process for a reader in another one. */
const BUSY_MS = 100;

/** From here on SQLite overwrites in the file what is deleted. The log beside the file is not covered: see `emptyLog`. */
export const overwriteDeleted = (connection: DatabaseSyncInstance): void => connection.exec('PRAGMA secure_delete=ON');

/**
 * Empties the log beside the file, which may still hold pages as they were before something was deleted. False when somebody else reads the
 * file, or writers left no gap: then a later call may succeed. Safe to repeat.
 */
export async function emptyLog(connection: DatabaseSyncInstance): Promise<boolean> {
  for (let looks = 0; connection.isTransaction; looks += 1) {
    if (looks === LOOKS) return false;
    await sleep(1);
  }
  const { timeout } = connection.prepare('PRAGMA busy_timeout').get() as { timeout: number };
  connection.exec(`PRAGMA busy_timeout=${BUSY_MS}`);
  try {
    const { busy } = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
    return busy === 0;
  } finally {
    connection.exec(`PRAGMA busy_timeout=${timeout}`);
  }
}
