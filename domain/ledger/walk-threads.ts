import { Worker } from 'node:worker_threads';
import { type KeyRing, keysOf } from '../crypto/key-ring.js';
import { askToEnd, type EndFlag, endedWithin, endFlag } from '../end-thread.js';
import type { StoreTarget } from '../store/database.js';
import { joinWalks, type Range, type RangeWalk, type WalkRange } from './verify.js';

export interface WalkThreads {
  readonly walk: WalkRange;
  /** Ends walks that are under way; they reject. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  readonly threads: number;
  /** A stretch shorter than this per thread is not worth starting one. */
  readonly rowsPerThread?: number;
  /** The compiled walk-thread.js, where it is not beside this file. */
  readonly script?: URL;
}

/** What a thread is started with. */
export interface ThreadInput {
  readonly target: StoreTarget;
  readonly keys: readonly (readonly [string, Uint8Array])[];
  readonly range: Range;
  readonly ending: EndFlag;
}

/** Reading a page takes milliseconds. */
const END_LIMIT_MS = 2_000;

/**
 * Walks long stretches of the chain in threads, each over a part and a connection of its own; what comes out is what one walk would have
 * found. Short ones are left to the thread that asks. A thread that cannot read the store rejects.
 */
export function walkInThreads({
  target,
  keys,
  threads,
  rowsPerThread = 20_000,
  script = new URL('./walk-thread.js', import.meta.url),
}: ThreadOptions & { readonly target: StoreTarget; readonly keys: KeyRing }): WalkThreads {
  const material = [...keysOf(keys)];
  const running = new Set<Worker>();
  const ending = endFlag();
  let closed = false;
  const inThread = (range: Range): Promise<RangeWalk> =>
    new Promise((resolve, reject) => {
      // A walk that was still asking the store when all threads were ended must not start others.
      if (closed) return reject(new Error('the threads of the walk were ended'));
      const worker = new Worker(script, {
        workerData: { target, keys: material, range, ending } satisfies ThreadInput,
      });
      worker.once('message', resolve);
      worker.once('error', reject);
      running.add(worker);
      worker.once('exit', (code) => {
        running.delete(worker);
        reject(new Error(`a thread of the walk ended with code ${code}`));
      });
    });
  const walk = async (whole: Range, count: number): Promise<RangeWalk> => {
    const rows = whole.to - whole.from + 1;
    const width = Math.ceil(rows / count);
    const ranges = Array.from({ length: count }, (_, index) => {
      const from = whole.from + index * width;
      return { from, to: Math.min(from + width - 1, whole.to), prev: index === 0 ? whole.prev : null };
    });
    const walks = await Promise.all(ranges.map(inThread));
    return joinWalks(
      whole,
      ranges.map((range, index) => ({ range, walk: walks[index] as RangeWalk })),
    );
  };
  return {
    walk(whole) {
      const count = Math.min(threads, Math.floor((whole.to - whole.from + 1) / rowsPerThread));
      return count < 1 ? null : walk(whole, count);
    },
    async close() {
      closed = true;
      askToEnd(ending);
      await endedWithin(END_LIMIT_MS, [...running]);
      // Whoever does not read pages any more is in no statement.
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}
