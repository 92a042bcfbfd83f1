import { setFlagsFromString, getHeapStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GateError } from '../../domain/errors.js';

/**
 * The heap of the thread of the reports. A thread that runs out of memory in its own code is ended, and the process goes on; one that runs
 * out within a statement takes the process with it, because the driver of SQLite cannot hand the failure on (`Napi::Error`, abort). So a
 * statement begins only where its answer surely fits.
 */
export const REPORT_HEAP_MB = 1_024;

/** Kept free for the answer of one statement and what is made of it: 200 of the widest rows, half a megabyte each, are 200 MB at most. */
const KEPT_FREE = 1 / 2;

const room = (): boolean => {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used < limit * (1 - KEPT_FREE);
};

/** Throws `report_too_large` where what a report holds leaves no room for another statement. What nobody holds any more is let go first. */
export function heapRoom(): () => void {
  let collect: (() => void) | null = null;
  return () => {
    if (room()) return;
    if (!collect) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
    }
    collect();
    if (!room()) throw new GateError('report_too_large');
  };
}
