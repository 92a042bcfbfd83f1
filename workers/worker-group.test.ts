import { describe, expect, it } from '@jest/globals';
import type { WorkerStatus } from '@temporalio/worker';
import { type QueueWorker, workerGroup } from './worker-group.js';

/** A worker that serves until it is shut down, or until the test ends it. */
function served() {
  let state: ReturnType<QueueWorker['getState']> = 'INITIALIZED';
  let end: (error?: Error) => void = () => undefined;
  const worker: Parameters<typeof workerGroup>[0][0] = {
    run: () =>
      new Promise<void>((resolve, reject) => {
        state = 'RUNNING';
        end = (error) => {
          state = error ? 'FAILED' : 'STOPPED';
          if (error) reject(error);
          else resolve();
        };
      }),
    shutdown: () => end(),
    getState: () => state,
    getStatus: () => ({ numCachedWorkflows: 3 }) as WorkerStatus,
  };
  return { worker, end: (error?: Error) => end(error) };
}
function later<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolved) => (resolve = resolved));
  return { promise, resolve };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the workers of new calls, of owed rows and of parked calls', () => {
  it('serve parked calls only after what they wait for, and new calls from the start', async () => {
    const [fresh, parked, warm] = [served(), served(), later<void>()];
    let created = 0;
    const both = workerGroup(
      [fresh.worker],
      async () => {
        created += 1;
        return parked.worker;
      },
      warm.promise,
    );
    const finished = both.run();
    await turn();
    expect([created, fresh.worker.getState(), both.getState()]).toEqual([0, 'RUNNING', 'RUNNING']);
    warm.resolve();
    await turn();
    expect([created, parked.worker.getState(), both.getState()]).toEqual([1, 'RUNNING', 'RUNNING']);
    expect(both.callsInHand()).toBe(3);
    both.shutdown();
    await finished;
    expect([fresh.worker.getState(), parked.worker.getState()]).toEqual(['STOPPED', 'STOPPED']);
  });

  it('never begin to serve parked calls where the stop came first', async () => {
    const fresh = served();
    const warm = later<void>();
    const both = workerGroup([fresh.worker], () => Promise.reject(new Error('not asked for')), warm.promise);
    const finished = both.run();
    both.shutdown();
    warm.resolve();
    await expect(finished).resolves.toBeUndefined();
  });

  it('stop the one of parked calls where the stop came while it was being made', async () => {
    const [fresh, parked, made] = [served(), served(), later<QueueWorker>()];
    const both = workerGroup([fresh.worker], () => made.promise, Promise.resolve());
    const finished = both.run();
    await turn();
    both.shutdown();
    await turn();
    made.resolve(parked.worker);
    await turn();
    expect(parked.worker.getState()).toBe('STOPPED');
    await finished;
  });

  it.each(['new', 'owed', 'parked'] as const)(
    'end all where the one of what is %s fails, with its reason',
    async (which) => {
      const workers = { new: served(), owed: served(), parked: served() };
      const both = workerGroup(
        [workers.new.worker, workers.owed.worker],
        async () => workers.parked.worker,
        Promise.resolve(),
      );
      const finished = both.run();
      await turn();
      workers[which].end(new Error('its thread is gone'));
      await expect(finished).rejects.toThrow('its thread is gone');
      expect(
        Object.values(workers)
          .map(({ worker }) => worker.getState())
          .toSorted(),
      ).toEqual(['FAILED', 'STOPPED', 'STOPPED']);
    },
  );

  it('end where the one of parked calls cannot be made', async () => {
    const fresh = served();
    const both = workerGroup([fresh.worker], () => Promise.reject(new Error('no thread')), undefined);
    await expect(both.run()).rejects.toThrow('no thread');
    expect(fresh.worker.getState()).toBe('STOPPED');
  });
});
