import type { FastifyRequest } from 'fastify';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { ASK_AGAIN, GateError } from '../../../domain/errors.js';
import type { LeastLevel } from '../../../domain/mcp/log-levels.js';
import type { McpSession } from '../../../domain/mcp/session.js';
import { isOver } from '../../../domain/probes/due.js';
import { aboutTask, resultOfTask } from '../../../domain/mcp/tasks.js';
import type { Answer } from '../answers.js';
import type { callEvents } from './call-events.js';
import type { CallHandler } from '../calls.js';
import type { ControlRequest, Controls } from './controls.js';
import type { Conversation } from './conversation.js';
import type { DecisionPage } from '../decision-page.js';
import type { EventStreams } from './event-streams.js';
import { type AgentCaller, progressTokenOf, takesStream } from '../mcp-requests.js';
import { type RpcForm, resultTo, rpcAnswer, type Streamed } from '../rpc-answers.js';
import type { Tasks } from './tasks.js';

/** What a client asks of its tasks, and in which session. */
export interface TaskRequest {
  readonly caller: AgentCaller;
  readonly session: McpSession;
  readonly mcp: ControlRequest;
  readonly form: RpcForm;
}

/** The parts of a stream that the call decides, and not who reads it. */
export type Events = Omit<
  Parameters<typeof callEvents>[0],
  'handler' | 'unknownAfterMs' | 'onDisk' | 'asGateError' | 'caughtUp'
>;

export interface TaskRequestsOptions {
  readonly tasks: Tasks;
  readonly handler: Pick<CallHandler, 'settled'>;
  readonly controls: Pick<Controls, 'admit'>;
  readonly streams: EventStreams;
  readonly events: (of: Events) => AsyncGenerator<string>;
  /** What the upstream says of the call from here on, for this client; `null` where nothing is handed on. */
  readonly talkOf: (
    of: Pick<TaskRequest, 'caller'> & {
      readonly correlationId: string;
      readonly session: McpSession;
      readonly progressToken: string | number | undefined;
      readonly leastLevel: () => Promise<LeastLevel>;
      readonly signal: AbortSignal;
    },
  ) => { readonly talk: Conversation; readonly stop: () => void } | null;
  /** From which level on the clients of a session hear log messages. */
  readonly logLevel: (session: McpSession) => Promise<LeastLevel>;
  readonly consoleOf: (request: FastifyRequest) => string | undefined;
  readonly opensOf: (request: FastifyRequest, caller: AgentCaller, about: JsonObject) => DecisionPage;
  readonly now: () => number;
}

/** How long an answer is waited for before it becomes a stream. */
const SOON_MS = 1_000;

/** `tasks/get`, `tasks/list`, `tasks/cancel` and `tasks/result`: within the agent's control limit, answered by Gate itself. */
export function createTaskRequests({ tasks, handler, controls, streams, ...options }: TaskRequestsOptions) {
  return async (request: FastifyRequest, asked: TaskRequest): Promise<Answer | Streamed> => {
    const { caller, mcp, form } = asked;
    const asker = { caller, consoleUrl: options.consoleOf(request) };
    await controls.admit(caller, mcp.method, request.correlationId);
    const { taskId = '', cursor } = (mcp.body['params'] ?? {}) as { taskId?: string; cursor?: Json };
    if (mcp.method === 'tasks/list') return rpcAnswer(form, resultTo(form.id, await tasks.list(asker, cursor)));
    if (mcp.method === 'tasks/get') return rpcAnswer(form, resultTo(form.id, await tasks.get(asker, taskId)));
    if (mcp.method === 'tasks/cancel') return rpcAnswer(form, resultTo(form.id, await tasks.cancel(asker, taskId)));
    await tasks.assertKnown(caller, taskId);
    request.correlationId = taskId;
    return resultOf(request, taskId, asked);
  };

  /** The answer of the call that is this task: at once where there is one, otherwise as a stream that ends with it. */
  async function resultOf(
    request: FastifyRequest,
    taskId: string,
    { caller, session, mcp, form: asked }: TaskRequest,
  ): Promise<Answer | Streamed> {
    const form = { ...asked, tool: true, finish: resultOfTask(taskId, asked.id) };
    // It may be asked for as often as its client likes.
    const looksUp = { again: { caller, correlationId: taskId, name: mcp.method }, isOver };
    const settled = await handler.settled(taskId, caller, options.now() + SOON_MS, looksUp);
    if (settled) return rpcAnswer(form, settled.answer);
    if (!takesStream(request))
      throw new GateError('pipeline_unavailable', `the task is not over; ${ASK_AGAIN}`, { fields: { layer: 'proxy' } });
    // Who comes back for an answer is asked for a token again when the last one is over.
    const held = streams.begin(caller);
    const progressToken = progressTokenOf(mcp.body);
    const heard = options.talkOf({
      caller,
      correlationId: taskId,
      session,
      progressToken,
      leastLevel: () => options.logLevel(session),
      signal: held.signal,
    });
    return {
      ...held,
      events: options.events({
        caller,
        correlationId: taskId,
        form,
        looksUp,
        signal: held.signal,
        ...(heard && { talk: heard.talk, ended: heard.stop }),
        ...(progressToken !== undefined && { progressToken }),
        ...(session.opensUrls && { opens: options.opensOf(request, caller, aboutTask(taskId)) }),
      }),
    };
  }
}
