import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { JsonObject } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import { discoveredFrom } from '../../../domain/mcp/stateless.js';
import {
  acknowledged,
  hearsUpstream,
  isWanted,
  promisedOf,
  stamped,
  SUBSCRIBE,
  type SubscriptionFilter,
  subscriptionEnded,
  subscriptionFilterIn,
} from '../../../domain/mcp/subscriptions.js';
import type { Answer } from '../answers.js';
import type { Controls } from './controls.js';
import { type ClientAnswers, type Conversation, createConversation } from './conversation.js';
import { type EventStreams, eventText, HEARTBEAT_MS, KEEP_ALIVE, within } from './event-streams.js';
import type { Holder } from './held-subscriptions.js';
import type { AgentCaller } from '../mcp-requests.js';
import { answerTo, type RpcForm, rpcAnswer, type Streamed } from '../rpc-answers.js';
import { assertDeclared, type createStatelessTasks } from './stateless-tasks.js';
import type { createTaskNews } from './task-news.js';
import type { TaskAsker, Tasks } from './tasks.js';

export interface SubscriptionsOptions {
  readonly controls: Pick<Controls, 'admit' | 'forward' | 'watch' | 'held' | 'listen'>;
  readonly streams: EventStreams;
  readonly answers: ClientAnswers;
  readonly onDropped: () => void;
  readonly tasks: Pick<Tasks, 'known'>;
  readonly statelessTasks: Pick<ReturnType<typeof createStatelessTasks>, 'told'>;
  readonly news: Pick<ReturnType<typeof createTaskNews>, 'watch'>;
  readonly now: () => number;
}

/** A stream is its process's: where that dies, what it held is given up so much later. */
const LEASE_MS = 10 * 60_000;
/** How long an answer waits until the upstream is heard: one that is slow, or away, keeps nobody from the rest. */
const OPENED_MS = 2_000;
const RENEWED_EACH_MS = 60_000;

interface Asked {
  readonly asker: TaskAsker;
  readonly id: string | number;
  readonly body: JsonObject;
  readonly form: RpcForm;
}

/**
 * `subscriptions/listen` of revision 2026-07-28 (docs/architecture/mcp-sessions.md#notifications-without-sessions): one stream per request, which
 * says first what its client will hear of, and then tells it of that and of nothing else.
 */
export function createSubscriptions({
  controls,
  streams,
  answers,
  onDropped,
  tasks,
  statelessTasks,
  news,
  now,
}: SubscriptionsOptions) {
  /** What of it will be told: what the upstream promises, resources that it took a subscription for, and tasks of this agent. */
  async function honored(
    request: FastifyRequest,
    { asker, id, body }: Asked,
    holder: Holder,
  ): Promise<SubscriptionFilter | Answer> {
    const { caller } = asker;
    const asked = subscriptionFilterIn(body);
    if (asked.taskIds) assertDeclared(body);
    const taskIds: string[] = [];
    for (const taskId of asked.taskIds ?? []) if (await isKnown(caller, taskId)) taskIds.push(taskId);
    const own = taskIds.length > 0 ? { taskIds } : {};
    if (!hearsUpstream(asked)) return own;
    const asking = (method: string, params: JsonObject) => ({ method, body: { jsonrpc: '2.0', id, method, params } });
    const introduced = await controls.forward(caller, asking('initialize', {}), request.correlationId);
    if (!introduced || introduced.failed) return answerTo(introduced);
    const { result } = JSON.parse(discoveredFrom(introduced.text)) as { result: { capabilities: JsonObject } };
    const { resourceSubscriptions: uris = [], ...lists } = promisedOf(asked, result.capabilities);
    const taken: string[] = [];
    for (const uri of uris) {
      await controls.admit(caller, SUBSCRIBE, request.correlationId);
      const reply = await controls.watch(caller, holder, asking(SUBSCRIBE, { uri }), request.correlationId);
      if (reply && !reply.failed) taken.push(uri);
    }
    return { ...lists, ...(taken.length > 0 && { resourceSubscriptions: taken }), ...own };
  }

  async function isKnown(caller: AgentCaller, taskId: string): Promise<boolean> {
    try {
      await tasks.known(caller, taskId);
      return true;
    } catch (error) {
      if (error instanceof GateError && error.code === 'task_not_found') return false;
      throw error;
    }
  }

  /**
   * Where the store cannot be written to, what the stream holds is given up with its lease. One that was given up otherwise, because this process
   * stood still or the clock of another one is ahead, hears of no resource any more: it ends, and its client comes back.
   */
  function holdUntil(caller: AgentCaller, holder: string, { signal, end }: ReturnType<EventStreams['begin']>): void {
    const renew = async (): Promise<void> => {
      if (!(await controls.held.renew(holder, now() + LEASE_MS))) end();
    };
    const renewing = setInterval(() => void renew().catch(nothing), RENEWED_EACH_MS).unref();
    const giveUp = (): void => {
      clearInterval(renewing);
      void controls.held.giveUp(caller, holder).catch(nothing);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  }

  return async (request: FastifyRequest, asked: Asked): Promise<Answer | Streamed> => {
    const { asker, id, form } = asked;
    const { caller } = asker;
    await controls.admit(caller, 'subscriptions/listen', request.correlationId);
    const held = streams.begin(caller);
    const holder = { id: randomUUID(), untilMs: now() + LEASE_MS, isOver: () => held.signal.aborted };
    let filter: SubscriptionFilter | Answer;
    try {
      filter = await honored(request, asked, holder);
    } catch (error) {
      held.end();
      void controls.held.giveUp(caller, holder.id).catch(nothing);
      throw error;
    }
    if ('status' in filter) {
      held.end();
      return rpcAnswer(form, filter);
    }
    if (filter.resourceSubscriptions) holdUntil(caller, holder.id, held);
    const talk = createConversation({
      session: null,
      progressToken: undefined,
      answers,
      onAsked: () => undefined,
      // Log messages are of requests in this revision, and this one is none that anything is done for.
      leastLevel: async () => 'off',
      onDropped,
      signal: held.signal,
    });
    const told = (method: string, params: string): void => talk.told(method, stamped(params, id));
    if (hearsUpstream(filter)) {
      const opened = controls.listen(
        caller,
        {
          progress: false,
          told: (method, params) => isWanted(filter, method, params) && told(method, params),
          asked: (...question) => talk.asked(...question),
        },
        held.signal,
      );
      // Whoever is told that it hears of changes may make one at once.
      await within(opened, OPENED_MS, held.signal);
    }
    if (filter.taskIds)
      news.watch(
        caller,
        new Set(filter.taskIds),
        async (taskId) => {
          const task = await statelessTasks.told(asker, taskId, {}).catch(() => null);
          if (task !== null) told('notifications/tasks', task);
        },
        held.signal,
      );
    return { ...held, events: events(talk, filter, id, held.signal) };
  };
}

const nothing = (): void => undefined;

async function* events(
  talk: Conversation,
  filter: SubscriptionFilter,
  id: string | number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield eventText(acknowledged(filter, id));
  const hearsAnything = Object.keys(filter).length > 0;
  while (hearsAnything && !signal.aborted) {
    for (const said of await talk.take()) yield eventText(said);
    const heard = await within(talk.heard(), HEARTBEAT_MS, signal);
    if (!heard && !signal.aborted) yield KEEP_ALIVE;
  }
  // Its client knows by this that it was not the connection, and comes back.
  yield eventText(subscriptionEnded(id));
}
