import { EventEmitter, on } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type Payload, SearchAttributeType } from '@temporalio/common';
import type proto from '@temporalio/proto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, type Worker } from '@temporalio/worker';
import type { ParkedRoom } from '../../activities/parked-room.js';
import type { GateActivities } from '../../workers/activities.js';
import { createCallRunner, createDecisionSender, createRowSettler } from '../../workers/call-runner.js';
import { createEngineCircuit } from '../../workers/circuit.js';
import type { ChangeSeal } from '../../domain/review/carried-change.js';
import { createPayloadCodec } from '../../workers/codec.js';
import { createReviewStarter } from '../../workers/review-starter.js';
import { forEngine } from '../../workers/worker.js';
import { inspectionQueueOf, owedQueueOf, parkedQueueOf } from '../../workflows/queues.js';
import { LeanWorker } from '../../workers/workflow-threads.js';
import type { DecisionSender, ReviewStarter, RowSettler } from '../../domain/review/ports.js';
import { findTemporal } from '../../stack/programs/find-program.js';
import { SEARCH_ATTRIBUTES } from '../../stack/programs/search-attributes.js';
import { bundleToFile, TEST_NAMESPACE } from './engine.js';
import { TEST_PAYLOAD_KEYS } from './engine-keys.js';
import type { CallRunner } from '../../domain/call/call-runner.js';

type History = proto.temporal.api.history.v1.IHistory;

/** Gate's workflows on an engine of the test's own, in the test's own process: real workflows over whatever activities the test brings. */
export interface WorkflowEnvironment {
  readonly client: Client;
  readonly runner: CallRunner;
  readonly sender: DecisionSender;
  readonly starter: ReviewStarter;
  readonly settleRow: RowSettler;
  /** A worker on one more task queue, until the end. */
  serve(taskQueue: string): Promise<void>;
  /** Runs a history again over the same workflows; rejects where they would do something else. */
  replay(history: History): Promise<void>;
  close(): Promise<void>;
}

/** `activities` is asked at each of them, so that every test may bring its own. Without a room every parked call may move at once. */
export async function openWorkflowEnvironment(
  activities: () => GateActivities,
  {
    room,
    seal,
    also = {},
  }: {
    room?: ParkedRoom;
    seal?: () => Pick<ChangeSeal, 'sealed'>;
    /** Activities besides, as the engine calls them. */
    also?: Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;
  } = {},
): Promise<WorkflowEnvironment> {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  const dataConverter = { payloadCodecs: [createPayloadCodec(TEST_PAYLOAD_KEYS)] };
  const env = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: await findTemporal({ onProgress: () => undefined }) },
      namespace: TEST_NAMESPACE,
      ip: '127.0.0.1',
      searchAttributes: SEARCH_ATTRIBUTES.map((name) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD)),
      extraArgs: ['--dynamic-config-value', 'history.workflowIdReuseMinimalInterval=0'],
    },
    client: { dataConverter },
  });
  const { client, connection, nativeConnection } = env;
  const folder = mkdtempSync(join(tmpdir(), 'gate-workflows-'));
  const workflowBundle = { code: readFileSync(await bundleToFile(folder), 'utf8') };
  const workers: Worker[] = [];
  const running: Promise<void>[] = [];
  const serve = async (taskQueue: string): Promise<void> => {
    const worker = await LeanWorker.create({
      connection: nativeConnection,
      namespace: TEST_NAMESPACE,
      taskQueue,
      workflowBundle,
      dataConverter,
      activities: { ...forEngine(current(activities), room), ...also },
    });
    workers.push(worker);
    running.push(worker.run());
  };
  await Promise.all(
    [TASK_QUEUE, parkedQueueOf(TASK_QUEUE), owedQueueOf(TASK_QUEUE), inspectionQueueOf(TASK_QUEUE)].map(serve),
  );
  const replays = replaying({ workflowBundle, dataConverter });
  const circuit = createEngineCircuit({
    probe: (deadlineMs) => connection.withDeadline(deadlineMs, () => connection.workflowService.getSystemInfo({})),
  });
  return {
    client,
    runner: createCallRunner({ client, circuit }, TASK_QUEUE),
    sender: createDecisionSender(
      { client, circuit },
      { sealed: async (id, diff) => (seal ?? unchanged)().sealed(id, diff) },
    ),
    starter: createReviewStarter({ client, circuit }, { taskQueue: TASK_QUEUE }),
    settleRow: createRowSettler({ client, circuit }, TASK_QUEUE),
    serve,
    replay: replays.replay,
    async close() {
      circuit.close();
      await replays.close();
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
      await env.teardown();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One worker for all histories: to begin one takes longer than to run a history again. */
function replaying(options: Parameters<typeof LeanWorker.runReplayHistories>[0]) {
  const given = new EventEmitter();
  const each = on(given, 'history');
  async function* histories() {
    for await (const [history] of each) yield { workflowId: 'fake', history: history as History };
  }
  let results: ReturnType<typeof LeanWorker.runReplayHistories> | undefined;
  return {
    async replay(history: History): Promise<void> {
      results ??= LeanWorker.runReplayHistories(options, histories());
      given.emit('history', history);
      const { done, value } = await results.next();
      if (done) throw new Error('the worker that replays has ended');
      if (value.error) throw value.error;
    },
    close: async () => void (await results?.return?.()),
  };
}

const unchanged = () => ({ sealed: () => Promise.reject(new Error('this test changes no call')) });

/** Where the worker of the test takes its work. */
export const TASK_QUEUE = 'calls';

/** Activities that are those of the moment they are called at. */
function current(activities: () => GateActivities): GateActivities {
  type Each = Record<string, (...given: unknown[]) => unknown>;
  const now = () => activities() as unknown as Each;
  return Object.fromEntries(
    Object.keys(now()).map((name) => [name, (...given: unknown[]) => now()[name]?.(...given)]),
  ) as unknown as GateActivities;
}

/** All that stands in a history, every payload opened with the test's key: for tests of what must not stand in one. */
export async function everythingIn(history: unknown): Promise<string> {
  const codec = createPayloadCodec(TEST_PAYLOAD_KEYS);
  const found: string[] = [];
  const walk = async (value: unknown): Promise<void> => {
    if (typeof value === 'string') found.push(value);
    else if (value instanceof Uint8Array) found.push(Buffer.from(value).toString('utf8'));
    else if (value !== null && typeof value === 'object') {
      if ('data' in value && 'metadata' in value && value.data instanceof Uint8Array)
        for (const { data } of await codec.decode([value as Payload]))
          found.push(Buffer.from(data ?? []).toString('utf8'));
      for (const part of Object.values(value)) await walk(part);
    }
  };
  await walk(history);
  return found.join('\n');
}
