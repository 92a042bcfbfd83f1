import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import { CLIENT_CAPABILITIES, type ClientCapability, SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalDigest, uuidFromDigest } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { type McpRequest, parseMcpRequest, readObject, requestIdIn } from '../../domain/mcp/envelope.js';
import { RESUMABLE_FROM, SESSION_VERSIONS } from '../../domain/mcp/protocol-versions.js';
import type { McpSessions } from '../../domain/mcp/session.js';
import {
  checkStateless,
  claimsRevision,
  discoveredFrom,
  ENDED_METHODS,
  finishedFor,
  STATELESS_VERSION,
} from '../../domain/mcp/stateless.js';
import type { CallTalks } from '../../domain/pipeline/call-talks.js';
import { foreignText } from '../../domain/text.js';
import type { Answer } from './answers.js';
import { callEvents, placeIn, placeOf } from './call-events.js';
import { type CallHandler, correlationIdOf, type ToolCallRequest } from './calls.js';
import type { ControlReply, ControlRequest, Controls } from './controls.js';
import { clientAnswerIn, type Conversation, createClientAnswers, createConversation } from './conversation.js';
import { eventText, type EventStreams, HEARTBEAT_MS, KEEP_ALIVE, within } from './event-streams.js';
import { type AgentCaller, bodyText, demoPrefixOf, header, takesStream } from './mcp-requests.js';
import { agentKey } from './refusals.js';
import { type RpcForm, rpcAnswer, type Streamed } from './rpc-answers.js';

export interface McpClientsOptions {
  readonly handler: Pick<CallHandler, 'handle' | 'settled'>;
  readonly controls: Controls;
  readonly sessions: McpSessions;
  readonly streams: EventStreams;
  /** Absent where calls are sent by another process: then nothing is handed on while one is under way. */
  readonly talks?: CallTalks | undefined;
  readonly callDeadlineMs: number;
  readonly callerOf: (request: FastifyRequest) => AgentCaller;
  readonly callbackOf: (request: FastifyRequest) => string | null;
  readonly asGateError: (error: unknown) => GateError;
  /** Where what was read may still be undone: called before a look, it returns the wait until what was seen is on disk. */
  readonly durableFromHere?: () => (correlationId: string) => Promise<void>;
}

/** A call of a client, and how its answer reads. */
interface ClientCall {
  readonly call: ToolCallRequest;
  readonly form: RpcForm;
  /** Names the place in a stream, for clients that come back to one. */
  readonly place?: string;
  /** Under which its client answers what it is asked; absent where it can be asked nothing. */
  readonly session?: string;
}

/** How long an answer is waited for before it becomes a stream. */
const SOON_MS = 1_000;
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

    async end(request: FastifyRequest, sealed: string): Promise<void> {
      request.rpc = { id: null, tool: false, admitted: false };
      const caller = options.callerOf(request);
      await controls.admit(caller, 'DELETE /mcp', request.correlationId);
      await sessions.end(sealed, caller);
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
      const held = streams.begin(agentKey(caller));
      if (!known) {
        const { correlationId } = request;
        const talk = createConversation({
          session: session.id,
          progressToken: undefined,
          answers,
          onAsked: (method, given) => controls.handedOn(caller, method, correlationId, given),
          signal: held.signal,
        });
        void controls.listen(asking(caller, session.can), talk, held.signal);
        return { ...held, events: announcements(talk, held.signal) };
      }
      const { correlationId, id } = known;
      request.correlationId = correlationId;
      const form = { id, tool: true, admitted: true };
      return { ...held, events: events({ caller, correlationId, form, place: last as string, signal: held.signal }) };
    },
  };

  /** The upstream introduced to a client, with the session that this opens. */
  async function introduce(
    caller: AgentCaller,
    { method, body }: ControlRequest,
    correlationId: string,
  ): Promise<Answer> {
    await controls.admit(caller, method, correlationId);
    const can = capabilitiesIn(body['params']);
    const reply = await controls.forward(asking(caller, can), { method, body }, correlationId);
    if (!reply || reply.failed) return answerTo(reply);
    const { result } = JSON.parse(reply.text) as { result?: { protocolVersion?: unknown } };
    const version = result?.protocolVersion;
    const session = typeof version === 'string' ? sessions.open(caller, version, can) : null;
    return answerTo(reply, session === null ? {} : { 'Mcp-Session-Id': session });
  }

  /** Clients that can be asked different things have sessions of their own with the upstream. */
  function asking(caller: AgentCaller, can: readonly ClientCapability[]): AgentCaller {
    return options.talks && can.length > 0 ? { ...caller, client_can: can } : caller;
  }

  async function inSession(request: FastifyRequest, sealed: string, text: string): Promise<Answer | Streamed> {
    const form: RpcForm = { id: requestIdIn(text), tool: false, admitted: false };
    request.rpc = form;
    const said = clientAnswerIn(text);
    const mcp = said ? null : readRequest(text);
    const offered = demoPrefixOf(request);
    const caller = options.callerOf(request);
    const { correlationId } = request;
    // A client that begins anew may still name its last session.
    if (mcp && !(mcp instanceof GateError) && mcp.method === 'initialize') {
      return rpcAnswer({ ...form, admitted: true }, await introduce(caller, mcp as ControlRequest, correlationId));
    }
    checkVersion(request);
    const session = await sessions.find(sealed, caller);
    if (said) {
      await controls.admit(caller, 'an answer of the client', correlationId);
      answers.give(session.id, said.id, said.answer);
      return ACCEPTED;
    }
    request.rpc = { ...form, admitted: true };
    const agent = asking(caller, session.can);
    const called = await calledBy(request, agent, mcp as McpRequest | GateError, request.rpc);
    if (!('call' in called)) return called;
    const { mcp: known, form: admitted } = called.call;
    const idempotencyId = uuidFromDigest(
      'gate.mcp-call',
      session.id,
      JSON.stringify(form.id),
      canonicalDigest(known.body),
    );
    const call = callOf(request, agent, known, { idempotencyId, offered });
    const resumable = session.protocolVersion >= RESUMABLE_FROM;
    return answered(request, {
      call,
      form: admitted,
      session: session.id,
      ...(resumable && { place: placeOf(request.correlationId, form.id) }),
    });
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
    const mcp = method === 'server/discover' ? null : ENDED_METHODS.has(method) ? ended(method) : readRequest(text);
    const offered = demoPrefixOf(request);
    const caller = options.callerOf(request);
    const form = { id, tool: false, admitted: true, stateless: true, finish: finishedFor(method) };
    request.rpc = form;
    if (mcp === null) {
      await controls.admit(caller, method, request.correlationId);
      const asked = { method: 'initialize', body: { jsonrpc: '2.0', id, method: 'initialize', params: {} } };
      const reply = await controls.forward(caller, asked, request.correlationId);
      return rpcAnswer(form, answerTo(reply && !reply.failed ? { ...reply, text: discoveredFrom(reply.text) } : reply));
    }
    const called = await calledBy(request, caller, mcp, form);
    if (!('call' in called)) return called;
    // Nothing but a contract header could say that two requests are one: ids of requests begin anew with each client.
    const call = callOf(request, caller, called.call.mcp, { idempotencyId: randomUUID(), offered });
    return answered(request, { call, form: called.call.form });
  }

  /** What is no call is answered here. */
  async function calledBy(
    request: FastifyRequest,
    caller: AgentCaller,
    mcp: McpRequest | GateError,
    form: RpcForm,
  ): Promise<Answer | { readonly call: { readonly mcp: McpRequest & { kind: 'tool' }; readonly form: RpcForm } }> {
    if (mcp instanceof GateError) throw mcp;
    if (mcp.method === BATCH_METHOD)
      throw new GateError('unsupported_method', 'a batch is judged and not executed: select gate.decision/v1');
    if (mcp.kind === 'tool') {
      const admitted = { ...form, tool: mcp.method === 'tools/call' || mcp.method === 'call_tool' };
      request.rpc = admitted;
      return { call: { mcp, form: admitted } };
    }
    await controls.admit(caller, mcp.method, request.correlationId);
    if (mcp.notification) return ACCEPTED;
    // The session is Gate's: whether it stands is not for the upstream to say.
    if (mcp.method === 'ping') return rpcAnswer(form, answerTo(pong(form.id)));
    return rpcAnswer(form, answerTo(await controls.forward(caller, mcp, request.correlationId)));
  }

  function callOf(
    request: FastifyRequest,
    caller: AgentCaller,
    mcp: ToolCallRequest['mcp'],
    { idempotencyId, offered }: { readonly idempotencyId: string; readonly offered: string | undefined },
  ): ToolCallRequest {
    const call = { caller, mcp, contract: SERVER_EXECUTION_CONTRACT, idempotencyId } as const;
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    return { ...call, callbackUrl: options.callbackOf(request) };
  }

  /** The answer itself where it comes soon; otherwise a stream, so that no client times out without knowing its call. */
  async function answered(request: FastifyRequest, asked: ClientCall): Promise<Answer | Streamed> {
    const { call, form, place, session } = asked;
    const { caller } = call;
    const { correlationId } = request;
    if (!takesStream(request)) return rpcAnswer(form, await handler.handle(call, correlationId));
    const gone = new AbortController();
    const progressToken = progressTokenOf(call.mcp.body);
    const talk =
      options.talks &&
      createConversation({
        session: session ?? null,
        progressToken,
        answers,
        onAsked: (method, given) => controls.handedOn(caller, method, correlationId, given),
        signal: gone.signal,
      });
    const stop = talk ? (options.talks?.listen(correlationId, talk) ?? nothing) : nothing;
    const ended = () => {
      stop();
      gone.abort();
    };
    const first = handler.handle(call, correlationId);
    // If the client is gone by then, the record has the answer.
    first.catch(nothing);
    let held: ReturnType<EventStreams['begin']>;
    try {
      const soon = await within(talk ? Promise.race([first, talk.heard().then(() => null)]) : first, SOON_MS);
      if (soon?.value && soon.value.status !== 202 && !talk?.waiting()) {
        ended();
        return rpcAnswer(form, soon.value);
      }
      held = streams.begin(agentKey(caller));
    } catch (error) {
      ended();
      if (!(error instanceof GateError) || error.code !== 'rate_limited' || !('streams' in error.fields)) throw error;
      // Its streams are all taken: it is told what there is to tell, and may ask again under the same id of its request.
      return rpcAnswer(form, await first);
    }
    held.signal.addEventListener('abort', ended, { once: true });
    return {
      ...held,
      events: events({
        caller,
        correlationId,
        form,
        signal: held.signal,
        first,
        ended,
        ...(talk && { talk }),
        ...(place !== undefined && { place }),
        ...(progressToken !== undefined && { progressToken }),
      }),
    };
  }

  type Events = Omit<Parameters<typeof callEvents>[0], 'handler' | 'unknownAfterMs' | 'onDisk' | 'asGateError'>;
  function events(of: Events): AsyncGenerator<string> {
    return callEvents({ ...of, handler, unknownAfterMs, onDisk, asGateError: options.asGateError });
  }
}

const nothing = (): void => undefined;
const ACCEPTED: Answer = { status: 202, headers: {}, body: null };

/** Only requests of the revision without sessions have this header, so a body need not be read to tell the others. */
const isMarked = (request: FastifyRequest): boolean => header(request, 'mcp-method') !== undefined;

/** An upstream's answer to a control method. */
export const answerTo = (reply: ControlReply, headers: Readonly<Record<string, string>> = {}): Answer =>
  reply
    ? {
        status: reply.status,
        headers: { 'Content-Type': 'application/json', ...headers },
        body: Buffer.from(reply.text),
      }
    : { status: 204, headers: {}, body: null };

const pong = (id: Json): ControlReply => ({
  status: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id, result: {} }),
  failed: false,
});

/** What an upstream says outside of calls, and signs of life. */
async function* announcements(talk: Conversation, signal: AbortSignal): AsyncGenerator<string> {
  yield KEEP_ALIVE;
  while (!signal.aborted) {
    for (const said of talk.take()) yield eventText(said);
    const heard = await within(talk.heard(), HEARTBEAT_MS, signal);
    if (!heard && !signal.aborted) yield KEEP_ALIVE;
  }
}

const ended = (method: string): GateError =>
  new GateError('unsupported_method', `MCP ${STATELESS_VERSION} has no method ${JSON.stringify(method)}`);

/** The request, or what Gate does not take of it. Throws for a body that is no request. */
function readRequest(body: string): McpRequest | GateError {
  try {
    return parseMcpRequest(body);
  } catch (error) {
    if (error instanceof GateError && (error.code === 'unsupported_method' || error.code === 'unjudged_field'))
      return error;
    throw error;
  }
}

/** A client that names no revision speaks that of its session, or an older one that could not name it. */
function checkVersion(request: FastifyRequest): void {
  const version = header(request, 'mcp-protocol-version');
  if (version === undefined || SESSION_VERSIONS.includes(version)) return;
  throw new GateError(
    'protocol_version_unsupported',
    `Gate does not speak MCP ${foreignText(version, 32)} in a session`,
    { fields: { supported: [...SESSION_VERSIONS], requested: foreignText(version, 32) } },
  );
}

/** What a client says in `initialize` that it can be asked. */
function capabilitiesIn(params: Json | undefined): ClientCapability[] {
  const given = params as { capabilities?: JsonObject } | undefined;
  return CLIENT_CAPABILITIES.filter((name) => {
    const value = given?.capabilities?.[name];
    return value !== null && typeof value === 'object';
  });
}

function progressTokenOf({ params }: JsonObject): string | number | undefined {
  const meta = (params as JsonObject | undefined)?.['_meta'] as JsonObject | undefined;
  const token = meta?.['progressToken'];
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}
