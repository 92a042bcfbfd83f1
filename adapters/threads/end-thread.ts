import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

/**
 * Ends a thread with a SQLite connection by asking it, so that it ends between two statements. Terminating it inside a statement would
 * crash the whole process in the native library.
 */

/** Memory shared with the thread. Set once; the thread sees it before its next statement, even if it never gets to read a message. */
export type EndFlag = Int32Array<SharedArrayBuffer>;

export const endFlag = (): EndFlag => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export const askToEnd = (flag: EndFlag): void => void Atomics.store(flag, 0, 1);

/** Throws once the thread was asked to end. */
export function assertGoesOn(flag: EndFlag): void {
  if (Atomics.load(flag, 0) !== 0) throw new Error('the thread is being ended');
}

/** Resolves when the threads have ended, or after the limit. Keeps the process alive while it waits. */
export async function endedWithin(limitMs: number, workers: readonly Worker[]): Promise<void> {
  const late = new AbortController();
  const all = Promise.all(
    workers.map((worker) => {
      worker.ref();
      return new Promise((end) => worker.once('exit', end));
    }),
  );
  await Promise.race([all, sleep(limitMs, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
  for (const worker of workers) worker.unref();
}
