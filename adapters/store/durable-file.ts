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
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Only the owner reads it. */
export const PRIVATE_FILE = 0o600;
export const PUBLIC_FILE = 0o644;

/**
 * Replaces the content of `file` by `text`. A crash, or a disk that is full, leaves the old content or the new one, never a part; once this
 * returned, the text survives a power loss. Missing folders are created for the owner only.
 */
export const replaceFile = (file: string, text: string, mode: number): void => put(file, text, mode, renameSync);

/** The same for a file that must not exist yet: when two processes create it at once, one throws EEXIST. */
export const createFile = (file: string, text: string, mode: number): void => put(file, text, mode, asNew);

/** Some file systems have no links; a copy that was cut off there is recognised as an unusable file. */
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
      // Until all of it is written: one write may take less, where the disk is almost full.
      writeFileSync(descriptor, text);
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
 * Restricts a database file, and the log and index that SQLite keeps beside it, to the owner: created so when new, tightened when not.
 * SQLite gives later files the mode of the database. A missing folder is created for the owner only; an existing one belongs to whoever
 * made it. Files of other users are left alone.
 */
export function privateDatabase(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(file, 'a', PRIVATE_FILE));
  } catch {
    // The database itself reports what cannot be written, in its own words.
  }
  for (const one of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) tightenFile(one);
}

/** Removes the rights of others from an existing file. */
export function tightenFile(file: string, mode = PRIVATE_FILE): void {
  try {
    // Only removes rights; never grants any to the owner: a file that he made read-only stays read-only.
    chmodSync(file, statSync(file).mode & mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'EPERM' && code !== 'EROFS') throw error;
  }
}

/** The text of `file`, or `null` when it does not exist. If others could read a private file, their rights are removed first. */
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
