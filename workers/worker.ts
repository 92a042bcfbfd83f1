import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { LRUCache } from 'lru-cache';
import type { EgressActivities } from '../activities/egress.js';
import type { ReconcilePlace } from '../activities/reconcile.js';
import { createParkedRoom, type ParkedRoom } from '../activities/parked-room.js';
import type { TenantActivities } from '../activities/tenants.js';
import { createStepActivities, type StepActivities } from '../activities/steps.js';
import type { CallInput } from '../contracts/call.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { errorText, GateError } from '../domain/errors.js';
import { owedPauseMs } from '../domain/call/owed-pause.js';
import { PipelineUnavailable } from '../domain/call/pipeline.js';
import { inspectionQueueOf, owedQueueOf, parkedQueueOf } from '../workflows/queues.js';
import { FAILURES } from '../workflows/tool-call/messages.js';
import type { GateActivities } from './activities.js';
import { isRefusedPayload, type OnForeignPayload } from './codec.js';
import { dataConverter } from './client.js';
import { type GateWorker, workerGroup } from './worker-group.js';
import { LeanWorker, workerThatTells } from './workflow-threads.js';
import { toldTo } from '../domain/review/carried-change.js';
import { roomFor } from '../domain/room-for.js';

export interface WorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly keys: KeyRing;
  readonly activities: GateActivities;
  /** Streams of ledger rows to sinks; without it this worker serves none. */
  readonly egress?: EgressActivities;
  /** Operations on tenants; without it this worker has none done. */
  readonly tenants?: TenantActivities;
  readonly bundle: WorkflowBundle;
  /** At least the upstream time-out, so that a stop does not interrupt an effect. */
  readonly shutdownGraceMs: number;
  /** Awaited before parked calls are served. Never rejects. */
  readonly parkedAfter?: Promise<unknown>;
}

/** Concurrent workflow tasks for the parked calls of one worker: enough for operators, too few to delay new calls. */
const PARKED_TASKS = 8;
/** Replaying a parked call takes five events, so keeping more of them in memory saves little. */
const PARKED_CACHE = 200;
/** Inspections by models that one worker has under way; most of their time is waiting. */
const INSPECTIONS = 100;
/** Appends of owed rows that one worker has under way: a backlog is gone soon all the same, and new calls are answered meanwhile. */
const OWED_APPENDS = 8;

/**
 * The worker of every Gate workflow and activity. It serves four queues. New calls, and parked calls, of which a thousand can be due in
 * one second, have workflow slots and a thread each; rows that the ledger did not take at once have few slots of activities, and inspections by
 * models have slots of their own.
 */
export async function createWorker({
  connection,
  namespace,
  taskQueue,
  keys,
  activities,
  egress,
  tenants,
  bundle,
  shutdownGraceMs,
  parkedAfter,
}: WorkerOptions): Promise<GateWorker> {
  const room = createParkedRoom();
  const each = {
    connection,
    namespace,
    dataConverter: dataConverter(keys, alarmOnce(activities)),
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + 5_000,
  };
  const registered = forEngine(activities, room);
  const shared: Parameters<typeof Worker.create>[0] = {
    ...each,
    taskQueue,
    workflowBundle: bundle,
    activities: {
      ...registered,
      ...(egress && streamsForEngine(egress)),
      ...(tenants && tenantsForEngine(tenants)),
    },
    stickyQueueScheduleToStartTimeout: '2s',
    maxConcurrentWorkflowTaskExecutions: 100,
    maxConcurrentActivityTaskExecutions: 200,
    maxConcurrentLocalActivityExecutions: 200,
  };
  const fresh = await LeanWorker.create(shared);
  const owed = await Worker.create({
    ...each,
    taskQueue: owedQueueOf(taskQueue),
    activities: { appendLedger: registered.appendLedger },
    maxConcurrentActivityTaskExecutions: OWED_APPENDS,
  });
  const inspecting = await Worker.create({
    ...each,
    taskQueue: inspectionQueueOf(taskQueue),
    activities: { inspect: (call: CallInput) => beating(() => registered.inspect(call)) },
    maxConcurrentActivityTaskExecutions: INSPECTIONS,
  });
  const parked = () =>
    workerThatTells((workflowId) => room.arrived(workflowId)).create({
      ...shared,
      taskQueue: parkedQueueOf(taskQueue),
      maxConcurrentWorkflowTaskExecutions: PARKED_TASKS,
      maxCachedWorkflows: PARKED_CACHE,
    });
  return workerGroup([fresh, owed, inspecting], parked, parkedAfter);
}

/** Runs the worker. `finished` rejects when it fails; `stop` lets it finish what it has begun, and never throws. */
export function runWorker(worker: GateWorker): { readonly finished: Promise<void>; stop(): Promise<void> } {
  const finished = worker.run();
  finished.catch(() => undefined);
  return {
    finished,
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await finished.catch(() => undefined);
    },
  };
}

/** A validator that refuses a foreign update leaves no trace in the history, so a ledger row is written: one per call is enough. */
function alarmOnce(activities: GateActivities): OnForeignPayload {
  const told = new LRUCache<string, true>(roomFor(10_000));
  return (workflowId) => {
    if (told.has(workflowId)) return;
    told.set(workflowId, true);
    activities.reportForeignPayload(workflowId).catch(() => told.delete(workflowId));
  };
}

const HEARTBEAT_EVERY_MS = 3_000;

/**
 * The activities that workflows call, in the engine's form: failures typed for the workflow, heartbeats and abort signals for long
 * attempts. No other activity is registered, because whoever can reach the engine could run it with any arguments.
 */
export function forEngine(activities: GateActivities, room?: ParkedRoom) {
  const steps = createStepActivities(activities, room && { room });
  const { abortCall, settleExecution, giveUpCallback, probeCall } = activities;
  const { inspect, evaluate, analyze, park, askRule, roomForParked, applyDecision, escalate, expire } = steps;
  const { settleReview, callback, takeIn } = steps;
  return {
    ...typed({ inspect, evaluate, analyze, park, askRule, roomForParked, escalate, expire }),
    ...typed<Pick<StepActivities, 'applyDecision'>>({
      async applyDecision(sent) {
        const verdict = await applyDecision(sent);
        return verdict.settled === null ? verdict : { ...verdict, settled: toldTo(sent, verdict.settled) };
      },
    }),
    ...typed({ settleReview, callback, takeIn }),
    ...typed<Pick<StepActivities, 'appendLedger'>>({
      appendLedger: (correlationId, insistence, reached) =>
        steps.appendLedger(correlationId, insistence, reached).catch((error: unknown) => {
          throw insistence === 'at_once' ? error : againLater(error, Context.current().info.attempt);
        }),
    }),
    ...typed({ abortCall, settleExecution, giveUpCallback }),
    ...typed({ probeCall: (correlationId: string) => beating(() => probeCall(correlationId)) }),
    ...typed(ofEarlierCalls(activities, steps)),
    ...typed({
      execute: (call: CallInput, claimNotAfterMs: number, version?: number) =>
        beating(() => steps.execute(call, claimNotAfterMs, Context.current().cancellationSignal, version)),
    }),
    ...typed({
      // A heartbeat only when there is progress, so that a pass that hangs does not look alive.
      reconcileCalls: (from: ReconcilePlace | null) => {
        const context = Context.current();
        return activities.reconcileCalls(from, () => context.heartbeat());
      },
    }),
  };
}

/** The names that open calls of an earlier Gate use (workflows/tool-call/earlier.ts). */
const ofEarlierCalls = (
  { tryAppendRows, appendRows, settleReviewRow, deliver }: GateActivities,
  { judge }: Pick<StepActivities, 'judge'>,
) => ({ judge, tryAppendRows, appendRows, settleReviewRow, deliver });

/** The same activities, accepting only what Gate sealed, and with failures typed for the workflow. */
const typed = <Activities extends Readonly<Record<string, (...args: never[]) => Promise<unknown>>>>(
  activities: Activities,
): Activities =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      async (...args: never[]) => {
        if (args.some(isRefusedPayload))
          throw ApplicationFailure.nonRetryable('an argument that no key of Gate has sealed', FAILURES.unsealed);
        try {
          return await activity(...args);
        } catch (error) {
          throw toFailure(error);
        }
      },
    ]),
  ) as Activities;

/** The activities of streams, with heartbeats, so that one whose worker is lost is started again within seconds. */
export const streamsForEngine = (egress: EgressActivities): EgressActivities =>
  typed<EgressActivities>({ sweepSink: (kind, range) => beating(() => egress.sweepSink(kind, range)) });

/** The activities of operations on tenants. A step beats, so that one whose worker is lost is looked at again within seconds. */
export const tenantsForEngine = ({ lookAtTenant, takeTenantStep }: TenantActivities): TenantActivities =>
  typed<TenantActivities>({ lookAtTenant, takeTenantStep: (id) => beating(() => takeTenantStep(id)) });

async function beating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** The failure of an attempt at rows that are owed, with the pause before the next one. */
const againLater = (error: unknown, attempt: number): ApplicationFailure =>
  ApplicationFailure.create({
    message: errorText(error),
    ...(error instanceof GateError && { type: error.code }),
    ...(error instanceof Error && { cause: error }),
    nextRetryDelay: owedPauseMs(attempt),
  });

function toFailure(error: unknown): unknown {
  if (error instanceof PipelineUnavailable)
    return ApplicationFailure.nonRetryable(error.message, FAILURES.unavailable, error.layer);
  if (error instanceof GateError) {
    return ApplicationFailure.create({
      message: error.message,
      type: error.code,
      nonRetryable: error.status >= 400 && error.status < 500,
      cause: error,
    });
  }
  return error;
}
