import { Worker } from 'node:worker_threads';
import { errorText, GateError } from '../../domain/errors.js';
import { compiledScript } from '../threads/threads.js';
import { readTree, type TreeRead } from './syntax-tree.js';

/** A tree of so many bytes is read in some 20 ms, of a text of some 20 kB; a larger one in a thread of its own. */
const IN_PLACE_BYTES = 1_048_576;
/** A thread that needs more memory ends. The largest tree takes some 600 MB. */
const MEMORY_MB = 2_048;
/** The largest tree takes two seconds. */
const LIMIT_MS = 30_000;

/** What a syntax tree says. A text of one MiB has a tree of about 60, which whoever judges calls beside it does not wait for. Takes over the bytes. */
export async function treeIn(json: Buffer): Promise<TreeRead> {
  if (json.length <= IN_PLACE_BYTES) return readTree(json.toString());
  return new Promise((resolve, reject) => {
    const failed = (why: string, cause?: unknown): void =>
      reject(new GateError('policy_compiler_unavailable', `the thread that reads a syntax tree ${why}`, { cause }));
    // Memory that other buffers share cannot be handed over.
    const bytes = (json.length === json.buffer.byteLength ? json : Uint8Array.from(json)).buffer as ArrayBuffer;
    const worker = new Worker(compiledScript(new URL('./syntax-tree-thread.js', import.meta.url)), {
      workerData: bytes,
      transferList: [bytes],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    const timer = setTimeout(() => {
      failed(`takes longer than ${LIMIT_MS} ms`);
      void worker.terminate();
    }, LIMIT_MS);
    worker.once('message', resolve);
    worker.once('error', (error) => failed(`failed: ${errorText(error)}`, error));
    worker.once('exit', () => {
      clearTimeout(timer);
      failed('ended');
    });
  });
}
