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

/** Marks of this process. A lock with its own pid that is not among them was left by an earlier life with the same pid. */
const held = new Set<string>();

/**
 * Runs `work` while this process alone holds `file`. A holder that died, or that has not touched its lock for half a minute, loses it.
 * `onWait` is told once a second who holds it. Throws when the lock is not had within `timeoutMs`.
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
      // A disk that takes nothing keeps the time of the last touch: the holder, which sees that for itself, does not end by its lock.
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

/** `null` when `mark` holds the file now; else who does. `lives` says whether a mark's owner is there; it is given the file that bears it. */
export function claimFile(file: string, mark: string, lives: (file: string, holder: string) => boolean): string | null {
  // Linked with its words in it, so that nobody reads a claim that is being written.
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
    // Of all that see this dead claim one may put its own in place of it: the one that holds a claim to do so, taken as any other.
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

/** A rename of a name onto another name of the same file does nothing: what is renamed is a copy. */
function replaceWith(own: string, file: string): void {
  const copy = `${own}.copy`;
  copyFileSync(own, copy);
  renameSync(copy, file);
}

/** Lets go of what `mark` holds, and of nothing else. */
export function releaseFile(file: string, mark: string): void {
  try {
    if (holderOf(file) === mark) rmSync(file, { force: true });
  } catch {
    // On a disk that takes nothing the claim stays, as that of a process which is gone: the next one takes it.
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
