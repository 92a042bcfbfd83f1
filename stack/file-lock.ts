import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Hex } from '../domain/crypto/digest.js';

const TOUCH_EVERY_MS = 2_000;
const STALE_AFTER_MS = 30_000;

/** Marks of this process. A lock with its own pid that is not among them was left by an earlier process with the same pid. */
const held = new Set<string>();

/**
 * Runs `work` while only this process holds `file`. A holder that died, or that has not touched its lock for half a minute, loses it.
 * `onWait` is called once a second with who holds it. Throws when the lock is not acquired within `timeoutMs`.
 */
export async function withFileLock<Result>(
  file: string,
  options: { readonly timeoutMs: number; readonly onWait?: (holder: string, waitedMs: number) => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const mark = `${process.pid} ${hostname()} ${randomUUID()}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  held.add(mark);
  const started = Date.now();
  let told = started;
  while (claimFile(file, mark, (where, holder) => !abandoned(where, holder)) !== null) {
    const waited = Date.now() - started;
    if (waited > options.timeoutMs) {
      held.delete(mark);
      throw new Error(`${file} is held by another process; if none runs, delete it`);
    }
    if (Date.now() - told >= 1_000) {
      told = Date.now();
      options.onWait?.(holderOf(file)?.split(' ')[0] ?? 'another process', waited);
    }
    await sleep(100);
  }
  const touch = setInterval(() => {
    const now = new Date();
    try {
      if (holderOf(file) === mark) utimesSync(file, now, now);
    } catch {
      // A disk that accepts no writes keeps the time of the last touch. The holder notices that itself, so its work does not end because of
      // its lock.
    }
  }, TOUCH_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    held.delete(mark);
    releaseFile(file, mark);
  }
}

/**
 * `null` when `mark` holds the file now; otherwise the holder. `lives` says whether a mark's owner is alive; it gets the file with the
 * mark.
 */
export function claimFile(file: string, mark: string, lives: (file: string, holder: string) => boolean): string | null {
  // Linked with its content already written, so that nobody reads a half-written claim.
  const own = `${file}.${randomUUID()}`;
  writeFileSync(own, mark, { flag: 'wx', mode: 0o600 });
  try {
    return claimWith(own, file, lives);
  } finally {
    rmSync(own, { force: true });
  }
}

function claimWith(own: string, file: string, lives: (file: string, holder: string) => boolean): string | null {
  for (;;) {
    try {
      linkSync(own, file);
      return null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = holderOf(file);
    if (holder === null) continue;
    if (lives(file, holder)) return holder;
    // Of all processes that see this dead claim, one may replace it: the one that holds a claim to do so, acquired like any other.
    const right = `${file}.after-${sha256Hex(holder).slice(0, 16)}`;
    const first = claimWith(own, right, lives);
    if (first !== null) return first;
    try {
      if (holderOf(file) === holder) {
        replaceWith(own, file);
        return null;
      }
    } finally {
      rmSync(right, { force: true });
    }
  }
}

/** Renaming one name of a file onto another name of the same file does nothing, so a copy is renamed. */
function replaceWith(own: string, file: string): void {
  const copy = `${own}.copy`;
  copyFileSync(own, copy);
  renameSync(copy, file);
}

/** Releases what `mark` holds, and nothing else. */
export function releaseFile(file: string, mark: string): void {
  try {
    if (holderOf(file) === mark) rmSync(file, { force: true });
  } catch {
    // On a disk that accepts no writes the claim stays as that of a dead process, and the next process takes it over.
  }
}

export function holderOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function abandoned(file: string, holder: string): boolean {
  const [pid, host] = holder.split(' ');
  if (host === hostname() && (Number(pid) === process.pid ? !held.has(holder) : !alive(Number(pid)))) return true;
  try {
    return Date.now() - statSync(file).mtimeMs > STALE_AFTER_MS;
  } catch {
    return false;
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
