import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

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
  while (!take(file, mark)) {
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
    if (holderOf(file) === mark) utimesSync(file, now, now);
  }, TOUCH_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(touch);
    held.delete(mark);
    if (holderOf(file) === mark) rmSync(file, { force: true });
  }
}

function take(file: string, mark: string): boolean {
  try {
    writeFileSync(file, mark, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = holderOf(file);
  if (holder !== null && abandoned(file, holder)) removeAbandoned(file, holder);
  return false;
}

/** Moves the lock aside first: of two that saw the same dead holder, one moves it, and a lock taken in between is put back. */
function removeAbandoned(file: string, holder: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, 'utf8') !== holder) linkSync(aside, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function holderOf(file: string): string | null {
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
