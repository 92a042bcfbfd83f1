import { Worker } from 'node:worker_threads';
import { type KeyRing, keysOf } from '../../domain/crypto/key-ring.js';
import { askToEnd, endedWithin, endFlag } from '../threads/end-thread.js';
import { compiledScript } from '../threads/threads.js';
import type { StoreTarget } from '../store/database.js';
import { joinWalks, type Range, type RangeWalk, type WalkRange } from '../../domain/ledger/verify.js';
import type { WalkThreadInput } from './walk-thread-input.js';

export interface WalkThreads {
  readonly walk: WalkRange;
  /** Ends running walks; they reject. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  readonly threads: number;
  /** Fewest entries per thread that are worth starting one. */
  readonly rowsPerThread?: number;
  /** Another program than the walk's own. */
  readonly script?: URL;
}

/** A thread notices the end flag before its next page, within milliseconds. */
const END_LIMIT_MS = 2_000;

/**
 * Walks long ranges of the chain in threads, each with its own part and connection. The result is that of a single walk. Short ranges are
 * left to the calling thread. Rejects when a thread cannot read the store.
 */
export function walkInThreads({
  target,
  keys,
  threads,
  rowsPerThread = 20_000,
  script = compiledScript(new URL('./walk-thread.js', import.meta.url)),
}: ThreadOptions & { readonly target: StoreTarget; readonly keys: KeyRing }): WalkThreads {
  const material = [...keysOf(keys)];
  const running = new Set<Worker>();
  const ending = endFlag();
  let closed = false;
  const inThread = (range: Range): Promise<RangeWalk> =>
    new Promise((resolve, reject) => {
      // A walk that was still reading the store when all threads were ended must not start new ones.
      if (closed) return reject(new Error('the threads of the walk were ended'));
      const worker = new Worker(script, {
        workerData: { target, keys: material, range, ending } satisfies WalkThreadInput,
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
      // A thread that does not react is not inside a statement, so it can be terminated.
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}
