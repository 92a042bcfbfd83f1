import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { bareActivities } from './bare/activities.js';
import { answerUpdate, BARE } from './bare/messages.js';
import type { bare, Shape } from './bare/workflows.js';
import { LeanWorker } from '../workers/workflow-threads.js';
import { answerQuestions, ownCpuMs } from './child.js';
import { press, type Pressure, type Pressed } from './load.js';

/** The bare side: a client and a worker in one process, as in Gate's, with the same settings, and nothing around them. */
const answers = {
  async start({ address, namespace }: { address: string; namespace: string }): Promise<void> {
    Runtime.install({
      shutdownSignals: [],
      logger: new DefaultLogger('WARN'),
      telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' } } },
    });
    const native = await NativeConnection.connect({ address });
    const workflowsPath = fileURLToPath(new URL('./bare/workflows.js', import.meta.url));
    worker = await LeanWorker.create({
      connection: native,
      namespace,
      taskQueue: TASK_QUEUE,
      workflowBundle: await bundleWorkflowCode({
        workflowsPath,
        preloadModules: [workflowsPath],
        logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
      }),
      activities: bareActivities,
      maxConcurrentWorkflowTaskExecutions: 100,
      maxConcurrentActivityTaskExecutions: 200,
      maxConcurrentLocalActivityExecutions: 200,
    });
    running = worker.run();
    const connection = await Connection.connect({
      address,
      channelArgs: { 'grpc.default_compression_algorithm': 0 },
    });
    client = new Client({ connection, namespace });
  },

  async press({ shape, ...pressure }: Pressure & { shape: Shape }): Promise<Pressed> {
    if (!client) throw new Error('not started');
    const { workflow } = client;
    return press(pressure, async () => {
      const id = randomUUID();
      const startWorkflowOperation = new WithStartWorkflowOperation<typeof bare>(BARE, {
        workflowId: id,
        taskQueue: TASK_QUEUE,
        args: [id, shape],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowTaskTimeout: '3s',
      });
      return (await workflow.executeUpdateWithStart<typeof bare, string, []>(answerUpdate, {
        updateId: id,
        startWorkflowOperation,
      })) === id
        ? 'answered'
        : 'wrong answer';
    });
  },

  cpuMs: async (): Promise<number> => ownCpuMs(),
};
export type BareQuestions = typeof answers;

const TASK_QUEUE = 'bench-bare';
let worker: Worker | undefined;
let running: Promise<void> | undefined;
let client: Client | undefined;

answerQuestions(answers, async () => {
  if (worker?.getState() === 'RUNNING') worker.shutdown();
  await running;
});
