import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { createPayloadCodec, isRefusedPayload } from './codec.js';

type History = proto.temporal.api.history.v1.IHistory;
type HistoryEvent = proto.temporal.api.history.v1.IHistoryEvent;
type Failure = proto.temporal.api.failure.v1.IFailure;
type Timestamp = proto.google.protobuf.ITimestamp;
const { EventType } = proto.temporal.api.enums.v1;

/** One line of a call's history. `null`: this step has no result; `SEALED`: there is one, and no key here opens it. */
export interface HistoryStep {
  readonly at: string;
  readonly step: string;
  readonly summary: string | null;
  readonly outcome: string | null;
}

export interface HistoryRun {
  readonly run_id: string;
  /** The workflow's type. */
  readonly workflow: string;
  readonly status: string;
  readonly task_queue: string;
  readonly steps: readonly HistoryStep[];
  /** Ids of the workflows it started. */
  readonly children: readonly string[];
}

/** Stands for a value that was encrypted under a key that is not on this machine. */
export const SEALED = '(sealed)';

/** The runs of a call, oldest first; none when the engine knows no such call. Without keys every payload stays sealed. */
export async function historyOf(client: Client, workflowId: string, keys: KeyRing | null): Promise<HistoryRun[]> {
  const runs: HistoryRun[] = [];
  for (let runId: string | undefined, first = true; first || runId !== undefined; first = false) {
    const history = await fetched(client, workflowId, runId);
    const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    // An earlier run may be past its retention; the remaining runs are shown.
    if (!history || !started) break;
    runs.unshift({
      run_id: started.originalExecutionRunId ?? '',
      workflow: started.workflowType?.name ?? '',
      status: STATUS.get(history.events?.at(-1)?.eventType ?? 0) ?? 'running',
      task_queue: started.taskQueue?.name ?? '',
      steps: await stepsOf(history, keys),
      children: (history.events ?? []).flatMap(
        ({ startChildWorkflowExecutionInitiatedEventAttributes: child }) => child?.workflowId ?? [],
      ),
    });
    runId = started.continuedExecutionRunId || undefined;
  }
  return runs;
}

const STATUS: ReadonlyMap<number, string> = new Map([
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, 'completed'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, 'went on as another run'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, 'failed'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, 'terminated'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, 'timed out'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, 'cancelled'],
]);

const GRPC_NOT_FOUND = 5;
const GRPC_INVALID_ARGUMENT = 3;

async function fetched(client: Client, workflowId: string, runId: string | undefined): Promise<History | null> {
  try {
    return await client.workflow.getHandle(workflowId, runId).fetchHistory();
  } catch (error) {
    if (isGrpcServiceError(error) && (error.code === GRPC_NOT_FOUND || error.code === GRPC_INVALID_ARGUMENT))
      return null;
    throw error;
  }
}

/** The lines of a history in order of time: steps, messages, waits and the end. Workflow tasks are left out unless something went wrong. */
export async function stepsOf({ events }: History, keys: KeyRing | null): Promise<HistoryStep[]> {
  const read = readerOf(keys);
  const steps: (HistoryStep & { readonly atMs: number })[] = [];
  const underWay = new Map<string, (typeof steps)[number]>();
  const localClock = createLocalClock();
  const add = (
    at: Timestamp | number | null | undefined,
    step: string,
    outcome: string | null,
    summary: string | null = null,
  ) => {
    const added = { at: isoOf(at), step, summary, outcome, atMs: msOf(at) };
    steps.push(added);
    return added;
  };
  /** A step is placed where it started until it ends; then where it ended. */
  const begin = (id: unknown, at: Timestamp | null | undefined, name: string, summary: string | null) => {
    underWay.set(String(id), add(at, name, 'under way', summary));
  };
  const end = (id: unknown, at: Timestamp | null | undefined, outcome: string) => {
    const known = underWay.get(String(id));
    if (!known) return;
    underWay.delete(String(id));
    steps.splice(steps.indexOf(known), 1);
    add(at, known.step, outcome, known.summary);
  };

  for (const event of events ?? []) {
    const at = event.eventTime;
    const summary = await read.text(event.userMetadata?.summary);
    localClock.saw(event);
    switch (event.eventType) {
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: {
        const from = event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
        add(at, from ? 'goes on' : 'begins', from ? `after run ${from}` : null, summary);
        break;
      }
      case EventType.EVENT_TYPE_MARKER_RECORDED: {
        const local = localActivityOf(event);
        if (local)
          add(
            localClock.endOf(local),
            local.name,
            (await failureText(event.markerRecordedEventAttributes?.failure, read)) ??
              (await read.result(local.result)),
            summary,
          );
        break;
      }
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: {
        const update = event.workflowExecutionUpdateAcceptedEventAttributes;
        begin(event.eventId, at, update?.acceptedRequest?.input?.name ?? 'update', 'a message that is answered');
        break;
      }
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED: {
        const done = event.workflowExecutionUpdateCompletedEventAttributes;
        end(
          done?.acceptedEventId,
          at,
          (await failureText(done?.outcome?.failure, read)) ??
            (await read.result(done?.outcome?.success?.payloads?.[0])),
        );
        break;
      }
      case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        begin(event.eventId, at, event.activityTaskScheduledEventAttributes?.activityType?.name ?? 'activity', summary);
        break;
      case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: {
        const done = event.activityTaskCompletedEventAttributes;
        end(done?.scheduledEventId, at, await read.result(done?.result?.payloads?.[0]));
        break;
      }
      case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: {
        const done = event.activityTaskFailedEventAttributes;
        end(done?.scheduledEventId, at, (await failureText(done?.failure, read)) ?? 'failed');
        break;
      }
      case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: {
        const done = event.activityTaskTimedOutEventAttributes;
        end(done?.scheduledEventId, at, `no answer: ${(await failureText(done?.failure, read)) ?? 'timed out'}`);
        break;
      }
      case EventType.EVENT_TYPE_TIMER_STARTED: {
        const timer = event.timerStartedEventAttributes;
        const forMs = Number(timer?.startToFireTimeout?.seconds ?? 0) * 1000;
        begin(
          `timer ${timer?.timerId}`,
          at,
          'waits',
          `until ${isoOf(at, forMs)}${summary === null ? '' : `, ${summary}`}`,
        );
        break;
      }
      case EventType.EVENT_TYPE_TIMER_FIRED:
        end(`timer ${event.timerFiredEventAttributes?.timerId}`, at, 'the time is over');
        break;
      case EventType.EVENT_TYPE_TIMER_CANCELED:
        end(`timer ${event.timerCanceledEventAttributes?.timerId}`, at, 'no longer needed');
        break;
      case EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: {
        const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
        add(at, child?.workflowType?.name ?? 'child', `a workflow of its own: ${child?.workflowId}`, summary);
        break;
      }
      case EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
        add(at, 'task', (await failureText(event.workflowTaskFailedEventAttributes?.failure, read)) ?? 'failed');
        break;
      case EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        add(at, 'task', 'no worker answered in time; the engine hands it out again');
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        add(at, 'cancel', 'asked for; a call goes on to its end all the same');
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        add(at, 'goes on', `in run ${event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId}`);
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        add(at, 'ends', await read.result(event.workflowExecutionCompletedEventAttributes?.result?.payloads?.[0]));
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        add(at, 'ends', (await failureText(event.workflowExecutionFailedEventAttributes?.failure, read)) ?? 'failed');
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
        add(at, 'ends', `terminated: ${event.workflowExecutionTerminatedEventAttributes?.reason}`);
        break;
      case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
        add(at, 'ends', 'timed out');
        break;
      default:
    }
  }
  return steps
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ at, step, summary, outcome }) => ({ at, step, summary, outcome }));
}

interface LocalActivity {
  readonly name: string;
  readonly result: Payload | undefined;
  readonly scheduled: Timestamp | undefined;
  /** On the workflow's own clock. */
  readonly completed: Timestamp | undefined;
}

/** A local activity leaves one marker: its name and end time in clear text, its result as a payload. */
function localActivityOf({ markerRecordedEventAttributes: marker }: HistoryEvent): LocalActivity | null {
  if (marker?.markerName !== 'core_local_activity') return null;
  const data = marker.details?.['data']?.payloads?.[0]?.data;
  if (!data) return null;
  const { activity_type, complete_time, original_schedule_time } = JSON.parse(Buffer.from(data).toString('utf8')) as {
    activity_type: string;
    complete_time?: Timestamp;
    original_schedule_time?: Timestamp;
  };
  return {
    name: activity_type,
    result: marker.details?.['result']?.payloads?.[0],
    scheduled: original_schedule_time,
    completed: complete_time,
  };
}

/**
 * When local activities ended. A marker has two times: when one was scheduled, by the worker's clock, and when it completed, by the
 * workflow's own clock. That clock starts each task at the task's start and advances only by what steps take, so it runs behind. Only the
 * difference is taken from it, and no step is shown to end outside its task.
 */
function createLocalClock() {
  let startedMs = 0;
  let endedMs = 0;
  let workflowMs = 0;
  return {
    saw({ eventType, eventTime }: HistoryEvent): void {
      if (eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED) startedMs = workflowMs = msOf(eventTime);
      if (eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED) endedMs = msOf(eventTime);
    },
    endOf({ scheduled, completed }: LocalActivity): number {
      const completedMs = msOf(completed);
      const tookMs = Math.max(0, completedMs - workflowMs);
      workflowMs = Math.max(workflowMs, completedMs);
      if (!scheduled) return endedMs;
      return Math.min(endedMs, Math.max(startedMs, msOf(scheduled) + tookMs));
    },
  };
}

interface Reader {
  text(payload: Payload | null | undefined): Promise<string | null>;
  result(payload: Payload | null | undefined): Promise<string>;
  opened(payload: Payload): Promise<unknown>;
}

function readerOf(keys: KeyRing | null): Reader {
  const codec = keys && createPayloadCodec(keys);
  const opened = async (payload: Payload): Promise<unknown> => {
    const [clear] = codec ? await codec.decode([payload]) : [];
    if (!clear?.data) return SEALED;
    if (clear.data.length === 0) return null;
    const value: unknown = JSON.parse(Buffer.from(clear.data).toString('utf8'));
    return isRefusedPayload(value) ? SEALED : value;
  };
  return {
    opened,
    text: async (payload) => {
      if (!payload) return null;
      const value = await opened(payload);
      return typeof value === 'string' ? value : SEALED;
    },
    result: async (payload) => (payload ? outcomeOf(await opened(payload)) : 'done'),
  };
}

/** The result of a step in a few words: only states, tiers and codes. */
function outcomeOf(value: unknown): string {
  if (value === SEALED) return SEALED;
  if (typeof value === 'boolean') return value ? 'taken' : 'not taken at once';
  if (value === null || typeof value !== 'object') return 'done';
  const { closed, inspected, report, summary, state, tier, applied, approvals, code } = value as Record<
    string,
    unknown
  >;
  if (closed !== undefined) return outcomeOf(closed);
  if (inspected !== undefined) return inspectedAs(inspected as Record<string, unknown>);
  if (report !== undefined) return reportedAs(report as Record<string, unknown> | null);
  if (applied === true && Array.isArray(approvals)) return `${approvals.length} approved, others must too`;
  if (applied === false) return `refused: ${String(code)}`;
  if (summary !== undefined && summary !== null) return outcomeOf(summary);
  if (typeof state === 'string') return typeof tier === 'string' ? `${state} (${tier})` : state;
  return 'done';
}

function inspectedAs({ available, inspection }: Record<string, unknown>): string {
  if (available !== true) return 'Brain did not answer';
  const { authorized, intent_category } = inspection as Record<string, unknown>;
  return `${authorized === true ? 'nothing found' : 'refused'} (${String(intent_category)})`;
}

const reportedAs = (report: Record<string, unknown> | null): string =>
  report === null ? 'no report in time' : `${String(report['operation_class'])}, ${String(report['severity'])}`;

/** The type of a failure; its text can quote a request, and is sealed for that reason. */
async function failureText(failure: Failure | null | undefined, read: Reader): Promise<string | null> {
  if (!failure) return null;
  const type = failure.applicationFailureInfo?.type ?? failure.cause?.applicationFailureInfo?.type;
  const sealed = failure.encodedAttributes ?? failure.cause?.encodedAttributes;
  const opened = sealed ? await read.opened(sealed) : null;
  const said = opened !== null && typeof opened === 'object' ? (opened as { message?: unknown }).message : null;
  const message = typeof said === 'string' ? said : sealed ? SEALED : (failure.message ?? '');
  return [type, message].filter(Boolean).join(': ') || 'failed';
}

const msOf = (at: Timestamp | number | null | undefined): number =>
  typeof at === 'number' ? at : Number(at?.seconds ?? 0) * 1000 + (at?.nanos ?? 0) / 1_000_000;

const isoOf = (at: Timestamp | number | null | undefined, plusMs = 0): string =>
  new Date(Math.floor(msOf(at)) + plusMs).toISOString();
