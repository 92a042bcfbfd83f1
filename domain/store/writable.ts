import { utimesSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** A disk that takes nothing any more, and a file that is gone. Others, such as a file of another owner, say nothing of the disk. */
const LOST = new Set(['EROFS', 'EIO', 'ENOENT']);

/**
 * Throws where the file of this connection cannot be written any more, as on a disk that became read-only: reading, and even beginning a
 * transaction, succeeds there. Sets the file's times, the least that a file system may refuse; opening the file instead, and closing it,
 * would let go of the locks of SQLite.
 */
export function assertWritable(connection: DatabaseSyncInstance | null): void {
  const main = connection?.prepare('PRAGMA database_list').get() as { file?: string } | undefined;
  // A database in memory has no file.
  if (!main?.file) return;
  const now = new Date();
  try {
    utimesSync(main.file, now, now);
  } catch (error) {
    if (LOST.has(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
