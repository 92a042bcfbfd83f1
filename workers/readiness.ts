import type { GateWorker } from './worker-group.js';
import type { EngineClient } from './client.js';
import type { Supervised } from './supervisor.js';

/** Readiness: the engine answers. Uses what is already known, without another request. */
export const engineAnswers =
  ({ client, circuit }: Pick<EngineClient, 'client' | 'circuit'>) =>
  async (): Promise<void> => {
    circuit.assertUp();
    await client.workflowService.getSystemInfo({});
  };

/** Readiness: a worker runs in this process. */
export function workerRuns(worker: Supervised<GateWorker>): void {
  worker.assertUp();
  const state = worker.current()?.getState();
  if (state !== 'RUNNING') throw new Error(`the worker is ${state}`);
}

const TASK_QUEUE_TYPE_WORKFLOW = 1;
const POLLED_WITHIN_MS = 90_000;

/** Readiness: a worker runs somewhere. A long poll lasts a minute, so a queue that nobody has polled for longer has no worker. */
export async function someWorkerPolls(
  { client }: Pick<EngineClient, 'client'>,
  { namespace, taskQueue }: { readonly namespace: string; readonly taskQueue: string },
): Promise<void> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
  });
  const since = Date.now() - POLLED_WITHIN_MS;
  if (!(pollers ?? []).some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since))
    throw new Error(`no worker polls the task queue ${taskQueue}`);
}
