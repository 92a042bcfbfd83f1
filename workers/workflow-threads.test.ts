import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import proto from '@temporalio/proto';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  type ReplayWorkerOptions,
  Runtime,
  Worker,
  type WorkflowBundle,
} from '@temporalio/worker';
import { PROJECT_ROOT } from '../config/project-root.js';
import { errorText } from '../domain/errors.js';
import { ENGINE_START_LIMIT_MS, startTestEngine } from '../test/support/engine.js';
import { TOOL_CALL } from '../workflows/tool-call/messages.js';
import { LeanWorker } from './workflow-threads.js';

/** Hangs sooner, so that the test need not wait for it. */
const HANGS_MS = 2_000;
class Impatient extends LeanWorker {
  protected static override readonly hangsMs = HANGS_MS;
}

/** Its thread never answers. */
class Silent extends LeanWorker {
  protected static override readonly beginsMs = 300;
  protected static override readonly script = () => new URL('data:text/javascript,setInterval(() => undefined, 1000)');
}

const { History } = proto.temporal.api.history.v1;
const { EventType } = proto.temporal.api.enums.v1;

let workflowBundle: WorkflowBundle;
beforeAll(async () => {
  const nowhere = new DefaultLogger('ERROR', () => undefined);
  Runtime.install({
    logger: nowhere,
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
  });
  const workflowsPath = join(PROJECT_ROOT, 'test', 'support', 'engine-hanging-workflows.ts');
  workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: nowhere });
}, 60_000);

/** What the first task of a call of this tool comes to. `stepMs`: how long the SDK lets one step into a workflow take. */
async function firstTask(worker: typeof Worker, tool: string, stepMs: number): Promise<string | null> {
  const options: ReplayWorkerOptions & { isolateExecutionTimeout: string } = {
    workflowBundle,
    isolateExecutionTimeout: `${stepMs}ms`,
  };
  const input = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify({ tool })) };
  const eventTime = { seconds: 1_790_000_000 };
  const history = History.fromObject({
    events: [
      {
        eventId: 1,
        eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        eventTime,
        workflowExecutionStartedEventAttributes: {
          workflowType: { name: 'toolCall' },
          taskQueue: { name: 'calls' },
          input: { payloads: [input] },
          originalExecutionRunId: 'run',
          firstExecutionRunId: 'run',
          attempt: 1,
          workflowTaskTimeout: { seconds: 3 },
        },
      },
      {
        eventId: 2,
        eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        eventTime,
        workflowTaskScheduledEventAttributes: {},
      },
      {
        eventId: 3,
        eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
        eventTime,
        workflowTaskStartedEventAttributes: { scheduledEventId: 2 },
      },
      {
        eventId: 4,
        eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        eventTime,
        workflowTaskCompletedEventAttributes: { scheduledEventId: 2, startedEventId: 3 },
      },
      {
        eventId: 5,
        eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        eventTime,
        workflowExecutionCompletedEventAttributes: { workflowTaskCompletedEventId: 4 },
      },
    ],
  });
  return worker.runReplayHistory(options, history).then(() => null, errorText);
}

describe('threads of workflows', () => {
  it('take a step as long as it takes, while the SDK makes a watch for each of them', async () => {
    // Which of the two comes first is chance: the watch ends the thread while the step is still in it.
    expect(await firstTask(Worker, 'slow', 20)).toMatch(/timed out|should have been disposed first/);
    expect(await firstTask(LeanWorker, 'slow', 20)).toBeNull();
  }, 60_000);

  it(
    'may have much to do: answers that arrive together, late, are no hanging',
    async () => {
      const engine = await startTestEngine();
      try {
        const connection = await NativeConnection.connect({ address: engine.address });
        const worker = await Impatient.create({
          connection,
          namespace: engine.namespace,
          taskQueue: 'calls',
          workflowBundle,
          dataConverter: { payloadCodecs: [...engine.codecs] },
        });
        const client = await engine.client();
        const calls = await Promise.all(
          Array.from({ length: 72 }, (_, at) =>
            client.workflow.start(TOOL_CALL, {
              workflowId: `call-${at}`,
              taskQueue: 'calls',
              workflowTaskTimeout: '2m',
              args: [{ tool: 'brief' }],
            }),
          ),
        );
        const began = performance.now();
        await worker.runUntil(Promise.all(calls.map((call) => call.result())));
        expect(performance.now() - began).toBeGreaterThan(HANGS_MS);
        await connection.close();
      } finally {
        await engine.end();
      }
    },
    ENGINE_START_LIMIT_MS,
  );

  it('that never begin are ended, and their worker says so', async () => {
    expect(await firstTask(Silent, 'slow', 20)).toMatch(/has not begun within 0\.3 s/);
  }, 60_000);

  it('end with their worker when a workflow hangs; the workers after it are watched as the SDK does, and last', async () => {
    expect(await firstTask(Impatient, 'for_ever', 20)).toMatch(/thread/i);
    expect(await firstTask(Impatient, 'for_ever', 20)).toMatch(/timed out/);
    expect(await firstTask(LeanWorker, 'slow', 20)).toMatch(/timed out/);
  }, 60_000);
});
