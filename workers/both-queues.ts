import type { Worker } from '@temporalio/worker';

/** What the owner of both workers needs of them. */
export type GateWorker = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** The worker of new calls and, once `parkedAfter` resolves, the one of parked calls, handled as one: if either ends, both do. */
export function bothQueues(
  fresh: GateWorker,
  createParked: () => Promise<GateWorker>,
  parkedAfter: Promise<unknown> | undefined,
): GateWorker {
  const both = [fresh];
  let stopping = false;
  const shutdown = () => {
    stopping = true;
    for (const worker of both) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  /** Its thread loads the workflows a second time; new calls do not wait for that. */
  async function serveParked(ended: Promise<unknown>): Promise<void> {
    await Promise.race([parkedAfter, ended.catch(() => undefined)]);
    if (stopping) return;
    const parked = await createParked();
    const running = parked.run();
    both.push(parked);
    if (stopping) parked.shutdown();
    await running;
  }
  return {
    shutdown,
    getState: () => both.map((worker) => worker.getState()).find((state) => state !== 'RUNNING') ?? 'RUNNING',
    async run() {
      const served = fresh.run();
      const running = [served, serveParked(served)];
      try {
        // If one ends early the other is stopped too, because half a worker would look healthy.
        await Promise.race(running);
      } finally {
        shutdown();
        await Promise.allSettled(running);
      }
      await Promise.all(running);
    },
  };
}
