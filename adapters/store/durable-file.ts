import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Only the owner reads it. */
export const PRIVATE_FILE = 0o600;
export const PUBLIC_FILE = 0o644;

/**
 * Puts `text` in place of whatever `file` held. A crash leaves either the old content or the new one, never a part; what this returned
 * from survives a power loss. Missing folders are made for the owner alone.
 */
export const replaceFile = (file: string, text: string, mode: number): void => put(file, text, mode, renameSync);

/** The same for a file that must not be there yet: of two that make it at once one throws EEXIST. */
export const createFile = (file: string, text: string, mode: number): void => put(file, text, mode, asNew);

/** Some file systems have no links; a copy that is cut off there is found as a file that cannot be used. */
function asNew(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (!LINKLESS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    copyFileSync(temporary, file, constants.COPYFILE_EXCL);
  }
}
const LINKLESS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

function put(file: string, text: string, mode: number, into: (temporary: string, file: string) => void): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const descriptor = openSync(temporary, 'wx', mode);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    into(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * A database file, and the log and index that SQLite keeps beside it, for the owner alone: made so where it is new, tightened where it is
 * not. SQLite gives what it makes later the mode of the database. A missing folder is made for the owner alone; one that is there belongs to
 * whoever made it. A file of somebody else's is left to him.
 */
export function privateDatabase(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(file, 'a', PRIVATE_FILE));
  } catch {
    // What cannot be written is for the database to say, in its own words.
  }
  for (const one of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) tightenFile(one);
}

/** Takes the rights of others from a file that is there. */
export function tightenFile(file: string, mode = PRIVATE_FILE): void {
  try {
    // Taken from the others, never given to the owner: a file that he made read-only stays so.
    chmodSync(file, statSync(file).mode & mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'EPERM' && code !== 'EROFS') throw error;
  }
}

/** The text of `file`, or `null` when there is none. A private file that others could read is closed to them first. */
export function readIfPresent(file: string, mode: number): string | null {
  try {
    const text = readFileSync(file, 'utf8');
    if (mode === PRIVATE_FILE) chmodSync(file, PRIVATE_FILE);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
