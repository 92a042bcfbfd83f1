import { resolve } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import { Worker } from '@temporalio/worker';
import { ThreadedVMWorkflowCreator, WorkerThreadClient } from '@temporalio/worker/lib/workflow/threaded-vm.js';
import { compiledScript } from '../adapters/threads/threads.js';
import { within } from '../domain/within.js';

type Request = Parameters<WorkerThreadClient['send']>[0];
type ReadBundle = Extract<Request, { readonly type: 'init' }>['workflowBundle'];

/** A thread that has something to do and has finished none of it for so long hangs. */
const HANGS_MS = 10_000;
const LOOKS = 10;
/** A thread loads the workflows in a second; on a machine that is busy with other work in many. */
const BEGINS_MS = 60_000;

/** The value that `vm` takes as "no limit"; the SDK's type allows only numbers. */
const NO_LIMIT = undefined as unknown as number;

/**
 * A thread of workflows, watched from outside. With a time limit of its own, each step into a workflow, some twenty a call, has a watchdog
 * for which `vm` starts a thread of the operating system (docs/architecture/full-speed.md).
 */
class WatchedThread extends WorkerThreadClient {
  #open = 0;

  /** Ends the thread, whatever it is at. */
  readonly kill: () => Promise<unknown>;

  constructor(
    script: URL,
    logger: ConstructorParameters<typeof WorkerThreadClient>[1],
    hangsMs: number,
    onHang: () => void,
  ) {
    // Counted where it works: answers to many requests arrive together, when the last of them is done.
    const worked = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const thread = new Thread(script, { workerData: { worked } });
    super(thread, logger);
    this.kill = () => thread.terminate();
    let seen = 0;
    let looks = 0;
    // Looks are counted, not time: a process that was stopped for a while has not looked.
    const watch = setInterval(() => {
      const now = Atomics.load(worked, 0);
      looks = this.#open > 0 && now === seen ? looks + 1 : 0;
      seen = now;
      if (looks < LOOKS) return;
      clearInterval(watch);
      logger.error(`a workflow has held its thread for ${hangsMs} ms; its worker is begun anew`);
      onHang();
      void thread.terminate();
    }, hangsMs / LOOKS).unref();
    thread.once('exit', () => clearInterval(watch));
  }

  override async send(input: Request): ReturnType<WorkerThreadClient['send']> {
    if (input.type === 'init') return super.send({ ...input, isolateExecutionTimeoutMs: NO_LIMIT });
    this.#open += 1;
    try {
      return await super.send(input);
    } finally {
      this.#open -= 1;
    }
  }
}

/**
 * The SDK's worker with cheaper threads. A workflow that hangs ends its worker, and whoever keeps the worker up starts another. That one,
 * and all after it in this process, are as the SDK makes them: they end the step that hangs, and other calls keep their worker.
 */
export class LeanWorker extends Worker {
  static #hung = false;
  protected static readonly hangsMs: number = HANGS_MS;
  protected static readonly beginsMs: number = BEGINS_MS;
  protected static readonly script: () => URL = () => compiledScript(new URL('./workflow-thread.js', import.meta.url));

  /** Read once for all workers. The SDK runs it in the main thread too, and writes its source map anew, for debuggers and for each worker. */
  protected static override getOrCreateBundle(
    ...[options, logger]: Parameters<(typeof Worker)['getOrCreateBundle']>
  ): ReturnType<(typeof Worker)['getOrCreateBundle']> {
    const { workflowBundle } = options;
    if (!workflowBundle || !('code' in workflowBundle)) return super.getOrCreateBundle(options, logger);
    const read = LeanWorker.#read.get(workflowBundle) ?? readBundle(workflowBundle.code);
    LeanWorker.#read.set(workflowBundle, read);
    return Promise.resolve(read);
  }
  static readonly #read = new WeakMap<object, ReadBundle>();

  protected static override async createWorkflowCreator(
    ...[workflowBundle, options, logger]: Parameters<(typeof Worker)['createWorkflowCreator']>
  ): ReturnType<(typeof Worker)['createWorkflowCreator']> {
    if (LeanWorker.#hung) return super.createWorkflowCreator(workflowBundle, options, logger);
    const thread = new WatchedThread(this.script(), logger, this.hangsMs, () => (LeanWorker.#hung = true));
    const begun = thread.send({
      type: 'init',
      workflowBundle,
      isolateExecutionTimeoutMs: options.isolateExecutionTimeoutMs,
      reuseV8Context: true,
      registeredActivityNames: new Set(options.activities.keys()),
      hasPatchActivationCallback: false,
    });
    const late = () => new Error(`a thread of workflows has not begun within ${this.beginsMs / 1_000} s`);
    try {
      await within(this.beginsMs, begun, late);
    } catch (error) {
      begun.catch(() => undefined);
      await thread.kill();
      throw error;
    }
    return new ThreadedVMWorkflowCreator([thread]);
  }
}

/** The code, and the source map that stands at its end. */
function readBundle(bundle: string): ReadBundle {
  const end = bundle.lastIndexOf(SOURCE_MAP);
  const map = bundle.slice(bundle.indexOf('base64,', end) + 'base64,'.length);
  if (end === -1) throw new Error('the bundle of workflows has no source map');
  const sourceMap = JSON.parse(Buffer.from(map, 'base64').toString()) as ReadBundle['sourceMap'];
  return { code: bundle.slice(0, end), sourceMap, filename: resolve(sourceMap.file) };
}
const SOURCE_MAP = '//# sourceMappingURL=data:';

/** The same worker; `onBegun` hears of every run that it begins, or takes up again. */
export const workerThatTells = (onBegun: (workflowId: string) => void): typeof LeanWorker =>
  class extends LeanWorker {
    protected static override async createWorkflowCreator(
      ...given: Parameters<(typeof Worker)['createWorkflowCreator']>
    ): ReturnType<(typeof Worker)['createWorkflowCreator']> {
      const creator = await super.createWorkflowCreator(...given);
      return {
        createWorkflow(options) {
          onBegun(options.info.workflowId);
          return creator.createWorkflow(options);
        },
        destroy: () => creator.destroy(),
      };
    }
  };
