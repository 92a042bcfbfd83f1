import type { Json, JsonObject } from '../../../contracts/json.js';
import type { CallRecord } from '../../../domain/call/record.js';
import { GateError } from '../../../domain/errors.js';
import { isOverFor, type KeptTask, TASK_LIFE_MS, type TaskStatus, type TaskStore } from '../../../domain/mcp/tasks.js';
import { isOver, isProbed } from '../../../domain/probes/due.js';
import type { WithdrawCall } from '../../../domain/review/ports.js';
import { answerOf, isWithdrawn } from '../answers.js';
import type { CallHandler } from '../calls.js';
import { decisionPage } from '../decision-page.js';
import type { AgentCaller } from '../mcp-requests.js';
import { wordsOf } from '../rpc-answers.js';
import { onceJudged } from './cancellations.js';

export interface TasksOptions {
  readonly handler: Pick<CallHandler, 'standing' | 'recorded' | 'changed'>;
  readonly store: TaskStore;
  readonly withdrawCall: WithdrawCall;
  /** A call of which nothing is recorded by then, counted from when it was asked for, never began. */
  readonly unknownAfterMs: number;
  readonly now: () => number;
}

/** Who asks about tasks, and where its people open the console. */
export interface TaskAsker {
  readonly caller: AgentCaller;
  readonly consoleUrl: string | undefined;
  /** What it says in a request without a session: whether it opens an address for its user. */
  readonly opensUrls?: boolean;
}

const POLL_MS = 1_000;
/** A cancellation waits for no more than that until its call is judged; clients give up after a minute. */
const JUDGED_WITHIN_MS = 20_000;
const PAGE = 50;

const noTask = () => new GateError('task_not_found');

/**
 * The tasks of agents (docs/architecture/mcp-sessions.md#tasks): calls whose client asked for a handle. All that is told of one comes from the
 * record of its call, so it is the same in every replica and after a restart.
 */
export function createTasks({ handler, store, withdrawCall, unknownAfterMs, now }: TasksOptions) {
  async function recordOf(caller: AgentCaller, correlationId: string): Promise<CallRecord | null> {
    try {
      return await handler.standing(correlationId, caller);
    } catch (error) {
      if (error instanceof GateError && error.code === 'not_found') throw noTask();
      throw error;
    }
  }

  /** The task as it stands. Throws `task_not_found` for one that is not this agent's, and for a call that never began. */
  async function known(caller: AgentCaller, taskId: string): Promise<Known> {
    const kept = await store.of(caller, taskId);
    if (!kept) throw noTask();
    const record = await recordOf(caller, taskId);
    if (record === null && now() > kept.askedMs + unknownAfterMs) throw noTask();
    return { kept, record };
  }

  const told = ({ kept, record }: Known, consoleUrl: string | undefined): JsonObject => {
    const status = statusOf(record);
    const statusMessage = messageOf(record, consoleUrl);
    return {
      taskId: kept.correlationId,
      status,
      ...(statusMessage !== null && { statusMessage }),
      createdAt: new Date(kept.createdMs).toISOString(),
      lastUpdatedAt: new Date(Math.max(kept.createdMs, record?.updated_ms ?? 0)).toISOString(),
      ttl: TASK_LIFE_MS,
      ...(!isOverFor(status) && { pollInterval: POLL_MS }),
    };
  };

  return {
    /**
     * The handle of a call that has just been asked for, once it is certain that the handle will be answered: the call is recorded, or
     * refused, and then this rejects. `call` begins it, or joins it, and says when it was let in.
     */
    async begin(
      { caller, consoleUrl }: TaskAsker,
      correlationId: string,
      call: (onAdmitted: () => Promise<void>) => Promise<unknown>,
    ): Promise<JsonObject> {
      const atMs = now();
      let isKept = (): void => undefined;
      const kept = new Promise<void>((resolve) => (isKept = resolve));
      // Before the call begins, so that its agent finds it whatever happens from here on; but not before it is let in, or refused calls would
      // fill the store.
      const first = call(async () => {
        await store.keep(caller, { correlationId, createdMs: atMs, askedMs: atMs });
        isKept();
      });
      // If the call is recorded by then, the record has the answer.
      first.catch(() => undefined);
      await Promise.race([first, kept.then(() => handler.recorded(correlationId, atMs + unknownAfterMs))]);
      const task = await known(caller, correlationId);
      // By the protocol a task begins as `working`, also where its end is known.
      return { task: { ...told(task, consoleUrl), status: 'working', pollInterval: POLL_MS } };
    },

    known,
    told,

    /** Makes a task of a call that was asked for at that time. Kept again, it is the same task. */
    async keep(caller: AgentCaller, correlationId: string, askedMs: number): Promise<Known> {
      await store.keep(caller, { correlationId, createdMs: askedMs, askedMs });
      const kept = (await store.of(caller, correlationId)) ?? { correlationId, createdMs: askedMs, askedMs };
      return { kept, record: await recordOf(caller, correlationId) };
    },

    get: async ({ caller, consoleUrl }: TaskAsker, taskId: string): Promise<JsonObject> =>
      told(await known(caller, taskId), consoleUrl),

    /** The newest of the agent's tasks that are not over, and how they stand. It may have very many that are: reads no further once the signal aborts. */
    async open(
      caller: AgentCaller,
      most: number,
      signal: AbortSignal,
    ): Promise<{ readonly taskId: string; readonly standing: string }[]> {
      const open: { taskId: string; standing: string }[] = [];
      let page: KeptTask[] = [];
      do {
        page = await store.list(caller, page.at(-1) ?? null, PAGE);
        for (const { correlationId } of page) {
          if (signal.aborted) return [];
          const record = await recordOf(caller, correlationId).catch(unlessUnknown);
          const standing = record && standingOf(record);
          if (standing && !standing.isOver) open.push({ taskId: correlationId, standing: standing.name });
        }
      } while (page.length === PAGE);
      return open.slice(-most);
    },

    /** Throws `task_not_found`; what the task came to is the answer of its call. */
    assertKnown: async (caller: AgentCaller, taskId: string): Promise<void> => void (await known(caller, taskId)),

    /** A page of the agent's tasks, the oldest first. */
    async list({ caller, consoleUrl }: TaskAsker, cursor: Json | undefined): Promise<JsonObject> {
      const page = await store.list(caller, cursor === undefined ? null : placeIn(cursor), PAGE);
      const tasks: JsonObject[] = [];
      for (const kept of page) {
        const record = await recordOf(caller, kept.correlationId).catch(unlessUnknown);
        if (record === undefined || (record === null && now() > kept.askedMs + unknownAfterMs)) continue;
        tasks.push(told({ kept, record }, consoleUrl));
      }
      const last = page.length === PAGE ? page.at(-1) : undefined;
      return { tasks, ...(last && { nextCursor: cursorOf(last) }) };
    },

    /**
     * Withdraws a call that waits. Throws `task_not_cancellable` for any other: nobody can be told that a call did not happen which may be at
     * its tool.
     */
    async cancel({ caller, consoleUrl }: TaskAsker, taskId: string): Promise<JsonObject> {
      const { kept, record } = await known(caller, taskId);
      // Who cancels as soon as he has the task finds it being judged: it may come to wait, and would run once it is approved.
      const isJudged = record !== null && record.state !== 'decided';
      const untilMs = Math.min(kept.askedMs + unknownAfterMs, now() + JUDGED_WITHIN_MS);
      const before = isJudged ? record : await onceJudged(handler, { caller, correlationId: taskId, untilMs, now });
      if (before?.state === 'parked')
        await withdrawCall({ correlation_id: taskId, tenant: caller.tenant, agent_id: caller.agent });
      const after = await known(caller, taskId);
      // Somebody may have decided first. Who repeats a cancel that got no answer is told that it is cancelled.
      if (before?.state !== 'parked' || statusOf(after.record) !== 'cancelled')
        throw new GateError('task_not_cancellable', undefined, { fields: { status: statusOf(after.record) } });
      return told(after, consoleUrl);
    },
  };
}
export type Tasks = ReturnType<typeof createTasks>;

export interface Known {
  readonly kept: KeptTask;
  readonly record: CallRecord | null;
}

const unlessUnknown = (error: unknown): undefined => {
  if (!(error instanceof GateError) || error.code !== 'task_not_found') throw error;
};

/** How a task stands, for whoever is told of its changes. A task that begins to wait for a person is news. */
export function standingOf(record: CallRecord): { readonly name: string; readonly isOver: boolean } {
  const status = statusOf(record);
  return { name: record.state === 'parked' ? 'waits' : status, isOver: isOverFor(status) };
}

function statusOf(record: CallRecord | null): TaskStatus {
  if (record === null || !isOver(record)) return 'working';
  if (isWithdrawn(record)) return 'cancelled';
  // It was told to have failed before a person knew better, and a task that is over stays as it is.
  if (record.outcome?.reconciled?.by === 'person' && !isProbed(record)) return 'failed';
  return record.state === 'completed' && record.outcome?.stage !== 'failed' ? 'completed' : 'failed';
}

function messageOf(record: CallRecord | null, consoleUrl: string | undefined): string | null {
  if (record === null || record.state === 'decided') return 'is being judged';
  if (record.state === 'parked') {
    const page = decisionPage(consoleUrl, record);
    const until = new Date(record.deadline_ms ?? 0).toISOString();
    return `waits for a person until ${until}${page === undefined ? '' : `; decided at ${page}`}`;
  }
  if (record.state === 'uncertain' && isProbed(record)) return 'its outcome is unknown: a probe looks whether it ran';
  if (record.outcome?.reconciled && record.state === 'completed')
    return `the tool ran, and its answer was lost: ${record.outcome.reconciled.by === 'probe' ? 'a probe' : 'a person'} found out`;
  if (record.state === 'completed') return record.outcome?.stage === 'failed' ? 'the tool reports a failure' : null;
  const body = answerOf(record, null, false)?.body;
  if (body === null || body === undefined || Buffer.isBuffer(body)) return 'is at its tool';
  return wordsOf(typeof body['error'] === 'string' ? body['error'] : null, body);
}

const cursorOf = ({ createdMs, correlationId }: KeptTask): string =>
  Buffer.from(JSON.stringify([createdMs, correlationId])).toString('base64url');

function placeIn(cursor: Json): Pick<KeptTask, 'createdMs' | 'correlationId'> {
  try {
    const [createdMs, correlationId] = JSON.parse(Buffer.from(cursor as string, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(createdMs) && typeof correlationId === 'string' && correlationId.length <= 64)
      return { createdMs: createdMs as number, correlationId };
  } catch {
    // Not one of Gate's.
  }
  throw new GateError('invalid_mcp', 'Invalid MCP request: `params.cursor` is none of this list');
}
