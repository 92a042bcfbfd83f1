import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

/**
 * How a thread with a SQLite connection is ended: it is asked, and ends between two statements. Ended from outside in the middle of one, the
 * native library would take the whole process with it.
 */

/** Shared with the thread: set once, seen before its next statement, also where the thread never comes to read a message. */
export type EndFlag = Int32Array<SharedArrayBuffer>;

export const endFlag = (): EndFlag => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export const askToEnd = (flag: EndFlag): void => void Atomics.store(flag, 0, 1);

/** Throws once the thread was asked to end. */
export function assertGoesOn(flag: EndFlag): void {
  if (Atomics.load(flag, 0) !== 0) throw new Error('the thread is being ended');
}

/** Resolves when the threads have ended, or after the limit. Whoever waits for it is kept alive, also a process that has nothing else to do. */
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
