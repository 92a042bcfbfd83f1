import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { BATCH_METHOD } from '../../../contracts/call-methods.js';
import {
  CLIENT_CAPABILITIES,
  type ClientCapability,
  type HeardOfTools,
  SERVER_EXECUTION_CONTRACT,
} from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { canonicalDigest, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { errorText, GateError } from '../../../domain/errors.js';
import { type McpRequest, readObject, requestIdIn } from '../../../domain/mcp/envelope.js';
import { RESUMABLE_FROM } from '../../../domain/mcp/protocol-versions.js';
import { keyedRequest, sentAgain } from '../../../domain/mcp/idempotency-key.js';
import type { LogLevel } from '../../../domain/mcp/log-levels.js';
import type { RequestStates } from '../../../domain/mcp/request-state.js';
import { broughtBack } from '../../../domain/mcp/rounds.js';
import { type McpSession, type McpSessions, untilMs } from '../../../domain/mcp/session.js';
import {
  capabilitiesOf,
  checkParams,
  checkStateless,
  claimsRevision,
  declaresTasks,
  discoveredFrom,
  ENDED_METHODS,
  finishedFor,
  leastLevelOf,
  STATELESS_TASK_METHODS,
} from '../../../domain/mcp/stateless.js';
import { LISTEN_METHOD, SUBSCRIBE, UNSUBSCRIBE } from '../../../domain/mcp/subscriptions.js';
import {
  asksForTask,
  servesTasks,
  TASK_METHODS,
  type TaskStore,
  underId,
  withLogging,
  withTasks,
  withTaskSupport,
} from '../../../domain/mcp/tasks.js';
import type { CallTalks } from '../../../domain/upstream/call-talks.js';
import type { WithdrawCall } from '../../../domain/review/ports.js';
import type { ToolParams } from '../../../domain/tool-definitions/tool-params.js';
import type { Answer } from '../answers.js';
import { placeIn, placeOf } from './call-events.js';
import { createCancellations } from './cancellations.js';
import { announcements, createCallStreams } from './call-streams.js';
import { type CallHandler, correlationIdOf, type ToolCallRequest } from '../calls.js';
import { capabilitiesIn, checkVersion, ended, isMarked, readRequest, withoutTasks } from './client-requests.js';
import { emptyReply } from './control-replies.js';
import type { ControlRequest, Controls } from './controls.js';
import { clientAnswerIn, createClientAnswers, createConversation } from './conversation.js';
import { type DecisionPage, decisionPage } from '../decision-page.js';
import type { EventStreams } from './event-streams.js';
import type { Holder } from './held-subscriptions.js';
import { type AgentCaller, bodyText, demoPrefixOf, header, progressTokenOf, takesStream } from '../mcp-requests.js';
import { answerTo, type RpcForm, resultTo, rpcAnswer, type Streamed } from '../rpc-answers.js';
import { createSubscriptions } from './subscriptions.js';
import { createTaskRequests } from './task-requests.js';
import { createStatelessCalls } from './stateless-calls.js';
import { createStatelessTasks } from './stateless-tasks.js';
import { createTaskNews } from './task-news.js';
import { createTasks } from './tasks.js';

export interface McpClientsOptions {
  readonly handler: Pick<CallHandler, 'handle' | 'settled' | 'standing' | 'recorded' | 'changed' | 'assertInUse'>;
  readonly controls: Controls;
  readonly sessions: McpSessions;
  /** Seals what a client without a session brings back with its next request. */
  readonly states: RequestStates;
  /** Which parameters of the tools are repeated in headers. */
  readonly toolParams: ToolParams;
  readonly streams: EventStreams;
  /** Absent where nothing is handed on while a call is under way. */
  readonly talks?: CallTalks | undefined;
  /** Called for each message of an upstream that its client does not hear of, because more was said than it took. */
  readonly onDropped: () => void;
  readonly callDeadlineMs: number;
  /** Which calls are tasks. */
  readonly tasks: TaskStore;
  readonly withdrawCall: WithdrawCall;
  /** Where people open the console, where they can. */
  readonly consoleOf?: (request: FastifyRequest) => string | undefined;
  readonly now?: () => number;
  /** What is wrong with the grant of a tool call is judged where that is answered. */
  readonly callerOf: (request: FastifyRequest, isCall?: boolean) => AgentCaller;
  readonly callbackOf: (request: FastifyRequest) => string | null;
  readonly asGateError: (error: unknown) => GateError;
  /** Where what was read may still be undone: called before a look, it returns the wait until what was seen is on disk. */
  readonly durableFromHere?: () => (correlationId: string) => Promise<void>;
}

/** The time that a call which began in time may take to leave its record. */
const UNKNOWN_SLACK_MS = 5_000;

/**
 * Requests of ordinary MCP clients (docs/architecture/mcp-sessions.md). They know nothing of contracts: their calls are executed by Gate,
 * and refusals come as MCP clients read them. What a body says is looked at first, but nobody learns what Gate makes of a method before it
 * is known who asks.
 */
export function createMcpClients(options: McpClientsOptions) {
  const { handler, controls, sessions, streams } = options;
  const answers = createClientAnswers();
  const onDisk = () => options.durableFromHere?.() ?? (() => Promise.resolve());
  const unknownAfterMs = options.callDeadlineMs + UNKNOWN_SLACK_MS;
  const { withdrawCall, now = Date.now } = options;
  const tasks = createTasks({ handler, store: options.tasks, withdrawCall, unknownAfterMs, now });
  const cancellations = createCancellations({ handler, withdrawCall, unknownAfterMs, now });
  const consoleOf = options.consoleOf ?? (() => undefined);
  const { answered, events, talkOf } = createCallStreams({
    handler,
    controls,
    streams,
    answers,
    talks: options.talks,
    onDropped: options.onDropped,
    unknownAfterMs,
    onDisk,
    asGateError: options.asGateError,
  });
  const news = createTaskNews({ tasks, handler, now });
  const calls = createStatelessCalls({
    handler,
    controls,
    states: options.states,
    talks: options.talks,
    answered,
    unknownAfterMs,
    now,
  });
  const statelessTasks = createStatelessTasks({ tasks, handler, controls, calls, unknownAfterMs, now });
  const subscribed = createSubscriptions({
    controls,
    streams,
    answers,
    onDropped: options.onDropped,
    tasks,
    statelessTasks,
    news,
    now,
  });
  const askOfTask = createTaskRequests({
    tasks,
    handler,
    controls,
    streams,
    events,
    talkOf,
    logLevel: sessions.logLevel,
    consoleOf,
    opensOf,
    now,
  });

  return {
    /** The answer to a request of a client; `null` where it is none, and a contract has to be selected. */
    async answer(request: FastifyRequest): Promise<Answer | Streamed | null> {
      const sealed = header(request, 'mcp-session-id');
      const version = header(request, 'mcp-protocol-version');
      if (sealed === undefined && version === undefined && !isMarked(request)) return null;
      const text = bodyText(request);
      if (claimsRevision(version, text)) {
        const answer = await stateless(request, text);
        if (answer) return answer;
      }
      return sealed === undefined ? null : inSession(request, sealed, text);
    },

    introduce,

    close: calls.close,

    async end(request: FastifyRequest, sealed: string): Promise<void> {
      request.rpc = { id: null, tool: false, admitted: false };
      const caller = options.callerOf(request);
      await controls.admit(caller, 'DELETE /mcp', request.correlationId);
      const session = await sessions.find(sealed, caller);
      // Before, because where Gate dies in between the rest of its age would hold; and after, because it may have subscribed meanwhile.
      const giveUp = () => controls.held.giveUp(asking(caller, session.can), session.id);
      await giveUp();
      await sessions.end(session);
      await giveUp();
    },

    /** The stream of a session, or the rest of a call's stream that broke. */
    async listen(request: FastifyRequest, sealed: string): Promise<Streamed> {
      request.rpc = { id: null, tool: false, admitted: false };
      const caller = options.callerOf(request);
      checkVersion(request);
      await controls.admit(caller, 'GET /mcp', request.correlationId);
      const session = await sessions.find(sealed, caller);
      const last = header(request, 'last-event-id');
      const known = last === undefined ? null : placeIn(last);
      // Who listens is asked for a token again when the last one is over, and goes on at its place.
      const held = streams.begin(caller);
      if (!known) {
        const { correlationId } = request;
        const talk = createConversation({
          session,
          progressToken: undefined,
          answers,
          onAsked: (method, given) => controls.handedOn(caller, method, correlationId, given),
          leastLevel: () => sessions.logLevel(session),
          onDropped: options.onDropped,
          signal: held.signal,
        });
        const agent = asking(caller, session.can);
        void controls.listen(agent, controls.held.hearing(agent, session.id, talk), held.signal);
        if (servesTasks(session.protocolVersion))
          void news.listen(
            { caller, consoleUrl: consoleOf(request) },
            (task) => talk.told('notifications/tasks/status', JSON.stringify(task)),
            held.signal,
          );
        return { ...held, events: announcements(talk, held.signal) };
      }
      const { correlationId, id, progressToken } = known;
      request.correlationId = correlationId;
      const form = { id, tool: true, admitted: true, finish: underId(id) };
      const looksUp = { again: { caller, correlationId, name: 'GET /mcp' } };
      // Another agent's call is nothing to be heard of; the stream says so.
      const isOwn = await handler.standing(correlationId, caller).catch((error: unknown) => {
        if (error instanceof GateError && error.code === 'not_found') return null;
        // Nothing is known of it now; who is told so comes back.
        held.end();
        throw error;
      });
      const heard =
        isOwn &&
        talkOf({
          caller: asking(caller, session.can),
          correlationId,
          session,
          progressToken,
          leastLevel: () => sessions.logLevel(session),
          signal: held.signal,
        });
      return {
        ...held,
        events: events({
          caller,
          correlationId,
          form,
          looksUp,
          place: last as string,
          signal: held.signal,
          ...(heard && { talk: heard.talk, ended: heard.stop }),
        }),
      };
    },
  };

  /** The upstream introduced to a client, with the session that this opens. */
  async function introduce(
    caller: AgentCaller,
    { method, body }: ControlRequest,
    correlationId: string,
  ): Promise<Answer> {
    await controls.admit(caller, method, correlationId);
    const { can, opensUrls } = capabilitiesIn((body['params'] as JsonObject | undefined)?.['capabilities']);
    const reply = await controls.forward(asking(caller, can), { method, body }, correlationId);
    if (!reply || reply.failed) return answerTo(reply);
    const { result } = JSON.parse(reply.text) as { result?: { protocolVersion?: unknown } };
    const version = result?.protocolVersion;
    const session = typeof version === 'string' ? sessions.open(caller, version, { can, opensUrls }) : null;
    const told = withLogging(reply.text);
    const text = typeof version === 'string' && servesTasks(version) ? withTasks(told) : told;
    return answerTo({ ...reply, text }, session === null ? {} : { 'Mcp-Session-Id': session });
  }

  /** Clients that can be asked different things have sessions of their own with the upstream. */
  function asking(caller: AgentCaller, can: readonly ClientCapability[]): AgentCaller {
    return options.talks && can.length > 0 ? { ...caller, client_can: can } : caller;
  }

  async function inSession(request: FastifyRequest, sealed: string, text: string): Promise<Answer | Streamed> {
    const form: RpcForm = { id: requestIdIn(text), tool: false, admitted: false };
    request.rpc = form;
    const said = clientAnswerIn(text);
    const read = said ? null : readRequest(text);
    const offered = demoPrefixOf(request);
    const caller = options.callerOf(request, isCall(read));
    const { correlationId } = request;
    // A client that begins anew may still name its last session.
    if (read && !(read instanceof GateError) && read.method === 'initialize') {
      return rpcAnswer({ ...form, admitted: true }, await introduce(caller, read as ControlRequest, correlationId));
    }
    checkVersion(request);
    const session = await sessions.find(sealed, caller);
    if (said) {
      await controls.admit(caller, 'an answer of the client', correlationId);
      // Accepted also where it comes too late or nobody asked: some clients end with any other status.
      if (answers.give(session.id, said.id, said.answer)) return ACCEPTED;
      const counts = await options.talks?.kept?.giveIn(session.id, said.id, said.answer);
      if (counts) controls.handedOn(caller, counts.method, counts.correlationId, said.answer[0] === 'result');
      return ACCEPTED;
    }
    request.rpc = { ...form, admitted: true };
    const agent = asking(caller, session.can);
    const tasksServed = servesTasks(session.protocolVersion);
    const asked = read as McpRequest | GateError;
    const isOfAnother = !(asked instanceof GateError) && asked.method === 'tasks/update';
    const mcp = tasksServed && !isOfAnother ? asked : withoutTasks(asked);
    if (!(mcp instanceof GateError) && TASK_METHODS.has(mcp.method))
      return askOfTask(request, { caller: agent, session, mcp: mcp as ControlRequest, form: request.rpc });
    const called = await calledBy(request, agent, mcp, { form: request.rpc, tasksServed, session });
    if (!('call' in called)) return called;
    const { mcp: known, form: admitted } = called.call;
    const keyed = keyedRequest(known.body);
    const body = keyed?.body ?? sentAgain(known.body);
    const idempotencyId = keyed
      ? uuidFromDigest('gate.mcp-key', keyed.key)
      : uuidFromDigest('gate.mcp-call', session.id, JSON.stringify(form.id), canonicalDigest(body));
    const call = callOf(
      request,
      agent,
      { ...known, body },
      {
        idempotencyId,
        offered,
        // What its level is may change while the tool runs.
        hears: heardBy(request, known.body, true),
      },
    );
    // A task is cancelled by its own method.
    if (!asksForTask(known.body)) cancellations.asked(session.id, form.id, request.correlationId);
    if (asksForTask(known.body)) {
      // Who asks for a handle could not read a result of the tool.
      request.rpc = { ...admitted, tool: false };
      const asker = { caller: agent, consoleUrl: consoleOf(request) };
      const made = await tasks.begin(asker, request.correlationId, (onAdmitted) =>
        handler.handle({ ...call, onAdmitted }, request.correlationId),
      );
      news.begun(agent, request.correlationId);
      return rpcAnswer(request.rpc, resultTo(form.id, made));
    }
    const resumable = session.protocolVersion >= RESUMABLE_FROM;
    return answered(request, {
      call,
      form: keyed ? { ...admitted, finish: underId(form.id) } : admitted,
      session,
      progressToken: progressTokenOf(known.body),
      ...(resumable && { place: placeOf(request.correlationId, form.id, progressTokenOf(known.body)) }),
      leastLevel: () => sessions.logLevel(session),
      ...(session.opensUrls && { opens: opensOf(request, agent) }),
    });
  }

  /** Where it is decided about a call of this agent. */
  function opensOf(request: FastifyRequest, caller: AgentCaller, about?: JsonObject): DecisionPage {
    const consoleUrl = consoleOf(request);
    const urlOf = async (correlationId: string) => {
      const record = consoleUrl === undefined ? null : await handler.standing(correlationId, caller);
      return (record && decisionPage(consoleUrl, record)) ?? null;
    };
    return { urlOf, ...(about && { about }) };
  }

  /** A request of the revision without sessions; `null` where it claims one with sessions. Each is a call of its own. */
  async function stateless(request: FastifyRequest, text: string): Promise<Answer | Streamed | null> {
    const id = requestIdIn(text);
    request.rpc = { id, tool: false, admitted: false, stateless: true };
    const body = readObject(text);
    const of = (name: string) => header(request, name);
    const headers = { version: of('mcp-protocol-version'), method: of('mcp-method'), name: of('mcp-name') };
    if (!checkStateless(body, headers)) {
      request.rpc = null;
      return null;
    }
    const method = typeof body['method'] === 'string' ? body['method'] : '';
    const mcp =
      method === 'server/discover' ? null : ENDED_METHODS.has(method) ? ended(method) : readRequest(text, true);
    const offered = demoPrefixOf(request);
    const caller = options.callerOf(request, isCall(mcp));
    const form = { id, tool: false, admitted: true, stateless: true, finish: finishedFor(method) };
    request.rpc = form;
    if (mcp === null) {
      await controls.admit(caller, method, request.correlationId);
      const asked = { method: 'initialize', body: { jsonrpc: '2.0', id, method: 'initialize', params: {} } };
      const reply = await controls.forward(caller, asked, request.correlationId);
      return rpcAnswer(form, answerTo(reply && !reply.failed ? { ...reply, text: discoveredFrom(reply.text) } : reply));
    }
    const { opensUrls } = capabilitiesIn(capabilitiesOf(body), CLIENT_CAPABILITIES);
    const asker = { caller, consoleUrl: consoleOf(request), opensUrls };
    if (method === LISTEN_METHOD && (typeof id === 'string' || typeof id === 'number'))
      return subscribed(request, { asker, id, body, form });
    if (!(mcp instanceof GateError) && STATELESS_TASK_METHODS.has(mcp.method))
      return statelessTasks.asked(request, asker, mcp as ControlRequest, form, broughtBack(text)?.answers ?? new Map());
    const called = await calledBy(request, caller, withoutTasks(mcp), { form, tasksServed: false });
    if (!('call' in called)) return called;
    const { mcp: known, form: admitted } = called.call;
    if (known.method === 'tools/call') checkParams(known.body, await options.toolParams.of(caller, known.tool), of);
    // Ids of requests begin anew with each client, so only a key of the client's own says that two requests are one.
    const keyed = keyedRequest(known.body);
    const idempotencyId = keyed ? uuidFromDigest('gate.mcp-key', keyed.key) : randomUUID();
    const askable = capabilitiesIn(capabilitiesOf(known.body), CLIENT_CAPABILITIES);
    const agent = asking(caller, askable.can);
    const mayBeTask = admitted.tool && declaresTasks(known.body);
    const leastLevel = leastLevelOf(known.body);
    const call = callOf(request, agent, keyed ? { ...known, body: keyed.body } : known, {
      idempotencyId,
      offered,
      // Of a call that may become a task nothing is told but its answer.
      hears: mayBeTask ? [] : heardBy(request, known.body, leastLevel !== 'off'),
    });
    // The answer may have been given under another id.
    const asked = {
      call,
      askedFor: known.body,
      form: { ...admitted, finish: (answer: string) => form.finish(underId(id)(answer)) },
      askable,
      consoleUrl: asker.consoleUrl,
      progressToken: progressTokenOf(known.body),
      leastLevel,
    };
    const brought = broughtBack(text);
    if (brought !== null && brought.state !== null) return calls.resumed(request, asked, brought);
    if (mayBeTask) return statelessTasks.answered(asker, asked, request.correlationId, brought?.answers);
    return calls.begun(request, asked, brought?.answers);
  }

  /** What is no call is answered here. */
  async function calledBy(
    request: FastifyRequest,
    caller: AgentCaller,
    mcp: McpRequest | GateError,
    {
      form,
      tasksServed,
      session,
    }: { readonly form: RpcForm; readonly tasksServed: boolean; readonly session?: McpSession },
  ): Promise<Answer | { readonly call: { readonly mcp: McpRequest & { kind: 'tool' }; readonly form: RpcForm } }> {
    if (mcp instanceof GateError) throw mcp;
    if (mcp.method === BATCH_METHOD)
      throw new GateError('unsupported_method', 'a batch has no form in a session: send it with a contract');
    if (mcp.kind === 'tool') {
      const admitted = { ...form, tool: mcp.method === 'tools/call' || mcp.method === 'call_tool' };
      request.rpc = admitted;
      return { call: { mcp, form: admitted } };
    }
    await controls.admit(caller, mcp.method, request.correlationId);
    if (mcp.method === 'notifications/cancelled' && session) cancel(request, caller, session, mcp.body['params']);
    if (mcp.notification) return ACCEPTED;
    // The session is Gate's: whether it stands is not for the upstream to say.
    if (mcp.method === 'ping') return rpcAnswer(form, answerTo(emptyReply(form.id)));
    if (mcp.method === 'logging/setLevel' && session)
      await sessions.setLogLevel(session, (mcp.body['params'] as { level: LogLevel }).level);
    const reply =
      session && (mcp.method === SUBSCRIBE || mcp.method === UNSUBSCRIBE)
        ? await controls.watch(caller, holderOf(session), mcp, request.correlationId)
        : await controls.forward(caller, mcp, request.correlationId);
    if (mcp.method === 'tools/list') options.toolParams.listed(caller);
    const told =
      reply && tasksServed && mcp.method === 'tools/list' ? { ...reply, text: withTaskSupport(reply.text) } : reply;
    return rpcAnswer(form, answerTo(told));
  }

  /** Nobody waits for it: a notification has no answer. */
  function cancel(request: FastifyRequest, caller: AgentCaller, session: McpSession, params: unknown): void {
    const { requestId } = (params ?? {}) as { requestId?: Json };
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
    cancellations
      .cancelled(caller, session.id, requestId)
      .catch((error: unknown) => request.log.warn({ reason: errorText(error) }, 'a cancelled call was not withdrawn'));
  }

  function holderOf(session: McpSession): Holder {
    return { id: session.id, untilMs: untilMs(session), isOver: () => sessions.ended(session) };
  }

  function callOf(
    request: FastifyRequest,
    caller: AgentCaller,
    mcp: ToolCallRequest['mcp'],
    {
      idempotencyId,
      offered,
      hears,
    }: {
      readonly idempotencyId: string;
      readonly offered: string | undefined;
      readonly hears: readonly HeardOfTools[];
    },
  ): ToolCallRequest {
    const call = { caller, mcp, contract: SERVER_EXECUTION_CONTRACT, idempotencyId } as const;
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    return { ...call, callbackUrl: options.callbackOf(request), ...(hears.length > 0 && { hears }) };
  }

  /** What a client hears of what its tool says: nothing is kept for another one. */
  function heardBy(request: FastifyRequest, body: JsonObject, logs: boolean): readonly HeardOfTools[] {
    if (!options.talks?.kept || !takesStream(request)) return [];
    return [
      ...(logs ? (['logs'] as const) : []),
      ...(progressTokenOf(body) === undefined ? [] : (['progress'] as const)),
    ];
  }
}

const ACCEPTED: Answer = { status: 202, headers: {}, body: null };

const isCall = (asked: McpRequest | GateError | null): boolean =>
  asked !== null && !(asked instanceof GateError) && asked.kind === 'tool';
