import type proto from '@temporalio/proto';
import { errorText } from '../domain/errors.js';
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

/** Nobody takes calls. What else a check of the worker throws says that nobody knows: the engine is away. */
export class NoWorker extends Error {}

/** Readiness: a worker runs in this process; throws `NoWorker` otherwise. */
export function workerRuns(worker: Supervised<GateWorker>): void {
  try {
    worker.assertUp();
  } catch (error) {
    throw new NoWorker(errorText(error));
  }
  const state = worker.current()?.getState();
  if (state !== 'RUNNING') throw new NoWorker(`the worker is ${state}`);
}

const TASK_QUEUE_TYPE_WORKFLOW = 1;
/** A long poll lasts a minute, so a queue that nobody has polled for longer has no worker. */
const POLLED_WITHIN_MS = 90_000;
/** A worker takes what waits at its next poll, and a busy one polls many times a second. */
const TAKEN_WITHIN_MS = 5_000;

/** Readiness: a worker runs somewhere; throws `NoWorker` where none does. */
export async function someWorkerPolls(
  { client }: Pick<EngineClient, 'client'>,
  { namespace, taskQueue }: { readonly namespace: string; readonly taskQueue: string },
): Promise<void> {
  const described = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
    reportStats: true,
  });
  const fault = workerFault(described, Date.now());
  if (fault !== null) throw new NoWorker(`${fault} (task queue ${taskQueue})`);
}

type TaskQueue = Pick<proto.temporal.api.workflowservice.v1.IDescribeTaskQueueResponse, 'pollers' | 'stats'>;

/**
 * Why a task queue has no worker, or `null`. A worker that was killed is among the pollers for minutes. What tells it from an idle one is a
 * task that waits while nobody polls; from a busy one, that a busy one polls.
 */
export function workerFault({ pollers, stats }: TaskQueue, nowMs: number): string | null {
  const polledMs = nowMs - Math.max(0, ...(pollers ?? []).map(({ lastAccessTime }) => millisecondsOf(lastAccessTime)));
  if (polledMs > POLLED_WITHIN_MS) return 'no worker polls';
  const waitsMs = millisecondsOf(stats?.approximateBacklogAge);
  return waitsMs > TAKEN_WITHIN_MS && polledMs > TAKEN_WITHIN_MS
    ? `no worker takes what has waited for ${Math.round(waitsMs / 1_000)} s`
    : null;
}

type Time = proto.google.protobuf.ITimestamp | proto.google.protobuf.IDuration | null | undefined;
const millisecondsOf = (time: Time): number => Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
