import { parentPort, workerData } from 'node:worker_threads';
import { openWriterStore } from './lite-writer-store.js';
import type { AskedOfWriter } from './lite-writer.js';

/** The same store in a thread: requests come in groups, and those that are done are told in groups. */
const store = await openWriterStore((workerData as { readonly path: string }).path);
let done: number[] = [];
const tell = (id: number): void => {
  if (done.push(id) > 1) return;
  setImmediate(() => {
    parentPort?.postMessage(done);
    done = [];
  });
};
parentPort?.on('message', (group: readonly AskedOfWriter[]) => {
  // A write that fails ends the thread, and with it the measurement.
  for (const { id, what, first, request } of group)
    void (
      what === 'begin' ? store.begin(first, request) : what === 'commit' ? store.commit(first, request) : store.close()
    ).then(() => tell(id));
});
parentPort?.postMessage('open');
