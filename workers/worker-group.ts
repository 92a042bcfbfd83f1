import type { Worker } from '@temporalio/worker';

/** One worker of the group. */
export type QueueWorker = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** What the owner of the workers needs of them. */
export interface GateWorker extends QueueWorker {
  /** Runs of the first queue, that of new calls, which this worker has in memory now. */
  callsInHand(): number;
}

/** The workers that serve from the start and, once `parkedAfter` resolves, the one of parked calls, handled as one: if one ends, all do. */
export function workerGroup(
  first: readonly [QueueWorker & Pick<Worker, 'getStatus'>, ...QueueWorker[]],
  createParked: () => Promise<QueueWorker>,
  parkedAfter: Promise<unknown> | undefined,
): GateWorker {
  const all: QueueWorker[] = [...first];
  let stopping = false;
  const shutdown = () => {
    stopping = true;
    for (const worker of all) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  /** Its thread loads the workflows a second time; new calls do not wait for that. */
  async function serveParked(ended: Promise<unknown>): Promise<void> {
    await Promise.race([parkedAfter, ended.catch(() => undefined)]);
    if (stopping) return;
    const parked = await createParked();
    const running = parked.run();
    all.push(parked);
    if (stopping) parked.shutdown();
    await running;
  }
  return {
    shutdown,
    callsInHand: () => first[0].getStatus().numCachedWorkflows,
    getState: () => all.map((worker) => worker.getState()).find((state) => state !== 'RUNNING') ?? 'RUNNING',
    async run() {
      const served = first.map((worker) => worker.run());
      const running = [...served, serveParked(Promise.race(served))];
      try {
        // If one ends early the others are stopped too, because half a worker would look healthy.
        await Promise.race(running);
      } finally {
        shutdown();
        await Promise.allSettled(running);
      }
      await Promise.all(running);
    },
  };
}
