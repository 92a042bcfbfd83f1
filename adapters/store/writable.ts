import { existsSync } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { PRIVATE_FILE } from './durable-file.js';

/**
 * Messages for a disk that accepts no more data, and for a missing file. Other faults, such as a folder of another owner, say nothing about
 * the disk.
 */
const LOST: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'the disk is read-only',
  EIO: 'the disk failed',
  ENOENT: 'it is gone',
};
/** The bytes that a small call writes to a store. A disk that accepts less counts as full. */
const PROBE = Buffer.alloc(64 * 1024, 'gate');
/** However often readiness is asked for, it costs at most one write per second. */
const REMEMBERED_MS = 1_000;

/** What each folder accepted last; the stores of one folder share it. */
const looked = new Map<string, { readonly atMs: number; readonly outcome: Promise<void> }>();

/**
 * Throws when the file of this connection can no longer be written, as on a full disk or one that became read-only: reading, and even
 * beginning a transaction, still succeeds there. Writes some bytes to a file beside it and syncs them. Opening and closing the database
 * file itself would release SQLite's locks.
 */
export async function assertWritable(connection: DatabaseSyncInstance | null): Promise<void> {
  const main = connection?.prepare('PRAGMA database_list').get() as { file?: string } | undefined;
  // A database in memory has no file.
  if (!main?.file) return;
  try {
    await stat(main.file);
    await folderTakesWrites(dirname(main.file));
  } catch (error) {
    const words = diskFault(error);
    if (words !== null) throw new Error(`${basename(main.file)}: ${words}`, { cause: error });
  }
}

/** What a failed write says about the disk; `null` when it says nothing. */
export function diskFault(error: unknown): string | null {
  const { code } = error as NodeJS.ErrnoException;
  const words = code === undefined ? undefined : LOST[code];
  return words === undefined ? null : `${words} (${code})`;
}

function folderTakesWrites(folder: string): Promise<void> {
  const atMs = performance.now();
  const last = looked.get(folder);
  if (last && atMs - last.atMs < REMEMBERED_MS) return last.outcome;
  const outcome = writeIn(folder);
  looked.set(folder, { atMs, outcome });
  outcome.catch(() => undefined);
  return outcome;
}

/** The folder itself, or its nearest existing parent. */
export const nearestThere = (path: string): string => (existsSync(path) ? path : nearestThere(dirname(path)));

const LOOK_MS = 1_000;

/** What room mends. */
export const isFull = (code: unknown): boolean => code === 'ENOSPC' || code === 'EDQUOT';

/** Resolves when the disk of this folder has room; at once where it has, or where something else is wrong. The signal ends the wait. */
export async function untilThereIsRoom(folder: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await writeIn(folder);
    } catch (error) {
      if (!isFull((error as NodeJS.ErrnoException).code)) return;
    }
    await sleep(LOOK_MS, undefined, { signal });
  }
}

/** Writes and removes a file, always the same one: what a killed process left is removed by the next check. */
export async function writeIn(folder: string): Promise<void> {
  const file = join(folder, '.gate-writes');
  try {
    const probe = await open(file, 'w', PRIVATE_FILE);
    try {
      await probe.writeFile(PROBE);
      await probe.sync();
    } finally {
      await probe.close();
    }
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}
