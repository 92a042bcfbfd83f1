import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Mode } from '../../../contracts/call.js';
import { DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT } from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { canonicalDigest, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { BATCH_METHOD } from '../../../domain/mcp/batch.js';
import { selectContract, selectorOnControl } from '../../../domain/mcp/contract-selection.js';
import { type McpRequest, parseMcpRequest, requestIdIn } from '../../../domain/mcp/envelope.js';
import { RESUMABLE_FROM, SESSION_VERSIONS } from '../../../domain/mcp/protocol-versions.js';
import type { McpSessions } from '../../../domain/mcp/session.js';
import { foreignText } from '../../../domain/text.js';
import type { Upstream } from '../../../domain/pipeline/upstream.js';
import type { Caller, ServiceApp } from '../../plugins/app.js';
import { withoutClaim } from '../../../domain/review/told-change.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import type { Answer } from '../answers.js';
import { callEvents, placeIn, placeOf } from '../call-events.js';
import { type CallHandler, correlationIdOf, type ToolCallRequest } from '../calls.js';
import type { ControlLog } from '../control-log.js';
import { type EventStreams, HEARTBEAT_MS, KEEP_ALIVE, within } from '../event-streams.js';
import { agentKey } from '../refusals.js';
import { type RpcForm, rpcAnswer, type Streamed } from '../rpc-answers.js';
import { manualUrl } from './manual.js';

export interface McpRouteOptions {
  readonly handler: CallHandler;
  readonly limits: AgentLimitsCheck;
  readonly controlLog: ControlLog;
  readonly upstream: Upstream;
  readonly mode: Mode;
  /** `https://…` without a path, as agents reach this listener; without it links begin with the `Host` of the request. */
  readonly publicUrl?: string;
  readonly upstreamTimeoutMs: number;
  readonly callDeadlineMs: number;
  readonly sessions: McpSessions;
  readonly streams: EventStreams;
  readonly asGateError: (error: unknown) => GateError;
  /** Where what was read may still be undone: called before a look, it returns the wait until what was seen is on disk. */
  readonly durableFromHere?: () => (correlationId: string) => Promise<void>;
  /** Returns the address in the form in which it will be used. Throws `callback_not_allowed` naming the rule. */
  readonly checkCallback: (url: string) => string;
  /** `tenant/agent` of the agents whose calls are the demonstration's. */
  readonly demoAgents?: ReadonlySet<string>;
  /** Called before a control method is forwarded. Throws to refuse it. */
  readonly admitControl?: (caller: AgentCaller, method: string, correlationId: string) => Promise<void> | void;
}

/** The largest request body. */
export const MAX_BODY_BYTES = 1_048_576;

const MIGRATION = {
  contract: 'gate.client-migration/v1',
  executable: false,
  supported_selectors: {
    decision: { header: 'X-Gate-Decision-Contract', value: DECISION_CONTRACT },
    server_execution: { header: 'X-Gate-Server-Execution-Contract', value: SERVER_EXECUTION_CONTRACT },
  },
};

export function registerMcp(app: ServiceApp, options: McpRouteOptions): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const { sessions, streams, handler } = options;
  const onDisk = () => options.durableFromHere?.() ?? (() => Promise.resolve());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
    done(null, body),
  );
  // An open stream would keep the proxy from closing. Its client comes back to the place that it knows.
  app.addHook('preClose', (done) => {
    streams.close();
    done();
  });

  app.post('/mcp', async (request, reply) => deliver(reply, await answer(request)));
  app.get('/mcp', async (request, reply) => deliver(reply, await listen(request, sessionHeader(request, reply))));
  app.delete('/mcp', async (request, reply) => {
    const sealed = sessionHeader(request, reply);
    request.rpc = { id: null, tool: false, admitted: false };
    const caller = withNamespace(agentOf(request));
    await options.limits.control({ caller, correlationId: request.correlationId, name: 'DELETE /mcp' });
    await sessions.end(sealed, caller);
    return reply.code(204).send();
  });

  // The order of these checks is part of the contract (docs/architecture/requests-and-answers.md#order-of-gates): 400, 413 and 426 before
  // 401, 401 before everything else.
  async function answer(request: FastifyRequest): Promise<Answer | Streamed> {
    const selected = selectContract({
      decision: header(request, 'x-gate-decision-contract'),
      serverExecution: header(request, 'x-gate-server-execution-contract'),
      legacy: header(request, 'x-gate-execution-contract'),
      idempotencyId: header(request, 'x-gate-idempotency-id'),
    });
    const sealed = header(request, 'mcp-session-id');
    if (sealed !== undefined && !selected) return inSession(request, sealed);
    const mcp = parseMcpRequest(text(request));
    const offered = demoPrefixOf(request);
    if (mcp.kind === 'tool' && !selected)
      throw new GateError('client_contract_required', undefined, {
        fields: { ...MIGRATION, migration_url: manualUrl(request, options.publicUrl) },
      });
    if (mcp.method === BATCH_METHOD && selected?.contract === SERVER_EXECUTION_CONTRACT)
      throw new GateError('unsupported_method', 'a batch is judged and not executed: select gate.decision/v1');
    if (mcp.kind === 'control' && selected) throw selectorOnControl(selected);
    const caller = withNamespace(agentOf(request));
    if (mcp.kind === 'control' || !selected) {
      await admitControl(caller, mcp.method, request.correlationId);
      if (mcp.kind === 'control' && mcp.notification) return { status: 204, headers: {}, body: null };
      return control(caller, mcp as ControlRequest, request.correlationId);
    }

    const call = { caller, mcp, contract: selected.contract, idempotencyId: selected.idempotencyId };
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    return handler.handle({ ...call, callbackUrl: callbackOf(request) }, request.correlationId);
  }

  /**
   * A request of an MCP client (docs/architecture/mcp-sessions.md): its session selects server execution, and names its calls. What the
   * body says is looked at first, but nobody learns what Gate makes of a method before it is known who asks.
   */
  async function inSession(request: FastifyRequest, sealed: string): Promise<Answer | Streamed> {
    const body = text(request);
    const form: RpcForm = { id: requestIdIn(body), tool: false, admitted: false };
    request.rpc = form;
    const mcp = readRequest(body);
    const offered = demoPrefixOf(request);
    const caller = withNamespace(agentOf(request));
    const { correlationId } = request;
    // A client that begins anew may still name its last session.
    if (!(mcp instanceof GateError) && mcp.method === 'initialize') {
      await admitControl(caller, mcp.method, correlationId);
      return rpcAnswer({ ...form, admitted: true }, await control(caller, mcp as ControlRequest, correlationId));
    }
    checkVersion(request);
    const session = await sessions.find(sealed, caller);
    if (mcp instanceof GateError) {
      request.rpc = { ...form, admitted: true };
      throw mcp;
    }
    const admitted = { ...form, admitted: true, tool: mcp.method === 'tools/call' || mcp.method === 'call_tool' };
    request.rpc = admitted;
    if (mcp.method === BATCH_METHOD)
      throw new GateError('unsupported_method', 'a batch is judged and not executed: select gate.decision/v1');
    if (mcp.kind === 'control') {
      await admitControl(caller, mcp.method, correlationId);
      if (mcp.notification) return { status: 202, headers: {}, body: null };
      // The session is Gate's: whether it stands is not for the upstream to say.
      if (mcp.method === 'ping') return rpcAnswer(admitted, pong(admitted.id));
      return rpcAnswer(admitted, await control(caller, mcp, correlationId));
    }

    const idempotencyId = uuidFromDigest(
      'gate.mcp-call',
      session.id,
      JSON.stringify(form.id),
      canonicalDigest(mcp.body),
    );
    const call = { caller, mcp, contract: SERVER_EXECUTION_CONTRACT, idempotencyId } as const;
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    return called(request, { ...call, callbackUrl: callbackOf(request) }, admitted, session.protocolVersion);
  }

  /** The answer itself where it comes soon; otherwise a stream, so that no client times out without knowing its call. */
  async function called(
    request: FastifyRequest,
    call: ToolCallRequest,
    form: RpcForm,
    protocolVersion: string,
  ): Promise<Answer | Streamed> {
    const { correlationId } = request;
    const first = handler.handle(call, correlationId);
    // If the client is gone by then, the record has the answer.
    first.catch(() => undefined);
    if (!takesStream(request)) return rpcAnswer(form, await first);
    const soon = await within(first, SOON_MS);
    if (soon && soon.value.status !== 202) return rpcAnswer(form, soon.value);
    let place: ReturnType<EventStreams['begin']>;
    try {
      place = streams.begin(agentKey(call.caller));
    } catch {
      // Its streams are all taken: it is told what there is to tell, and may ask again under the same id of its request.
      return rpcAnswer(form, await first);
    }
    const resumable = protocolVersion >= RESUMABLE_FROM;
    const progressToken = progressTokenOf(call.mcp.body);
    return {
      ...place,
      events: callEvents({
        handler,
        caller: call.caller,
        correlationId,
        form,
        signal: place.signal,
        first,
        ...(resumable && { place: placeOf(correlationId, form.id) }),
        ...(progressToken !== undefined && { progressToken }),
        unknownAfterMs: unknownAfterMs(),
        onDisk,
        asGateError: options.asGateError,
      }),
    };
  }

  const unknownAfterMs = () => options.callDeadlineMs + UNKNOWN_SLACK_MS;

  /** The stream of a session, or the rest of a call's stream that broke. */
  async function listen(request: FastifyRequest, sealed: string): Promise<Streamed> {
    request.rpc = { id: null, tool: false, admitted: false };
    const caller = withNamespace(agentOf(request));
    checkVersion(request);
    await options.limits.control({ caller, correlationId: request.correlationId, name: 'GET /mcp' });
    await sessions.find(sealed, caller);
    const last = header(request, 'last-event-id');
    const known = last === undefined ? null : placeIn(last);
    const place = streams.begin(agentKey(caller));
    if (!known) return { ...place, events: quiet(place.signal) };
    request.correlationId = known.correlationId;
    return {
      ...place,
      events: callEvents({
        handler,
        caller,
        correlationId: known.correlationId,
        form: { id: known.id, tool: true, admitted: true },
        signal: place.signal,
        place: last as string,
        unknownAfterMs: unknownAfterMs(),
        onDisk,
        asGateError: options.asGateError,
      }),
    };
  }

  async function admitControl(caller: AgentCaller, method: string, correlationId: string): Promise<void> {
    await options.admitControl?.(caller, method, correlationId);
    await options.limits.control({ caller, correlationId, name: method });
  }

  function callbackOf(request: FastifyRequest): string | null {
    const callback = header(request, 'x-gate-callback-url');
    return callback === undefined ? null : options.checkCallback(callback);
  }

  /** The operator names the demonstration's agents; no request can make its caller one of them. */
  const withNamespace = (caller: AgentCaller): AgentCaller =>
    options.demoAgents?.has(`${caller.tenant}/${caller.agent}`) ? { ...caller, namespace: 'demo' } : caller;

  function text(request: FastifyRequest): string {
    if (!isJson(request.headers['content-type'] ?? ''))
      throw new GateError('invalid_mcp', 'Invalid MCP request: Content-Type must be application/json, in UTF-8');
    // The received bytes are the judged bytes; nothing here would decompress them.
    if (request.headers['content-encoding'] !== undefined)
      throw new GateError('invalid_mcp', 'Invalid MCP request: Content-Encoding is not accepted');
    try {
      return utf8.decode(request.body as Buffer);
    } catch {
      throw new GateError('invalid_mcp', 'Invalid MCP request: the body is not UTF-8');
    }
  }

  async function control(
    caller: AgentCaller,
    { method, body }: ControlRequest,
    correlationId: string,
  ): Promise<Answer> {
    const note = (answered: boolean) => options.controlLog.note({ caller, method, correlationId, answered });
    const asking = options.upstream.control(caller, body, { timeoutMs: options.upstreamTimeoutMs });
    const reply = await asking.catch((error: unknown) => {
      note(false);
      throw error;
    });
    if (reply.kind !== 'not_sent') note(reply.kind === 'accepted' || (reply.kind === 'reply' && !reply.failed));
    if (reply.kind === 'accepted') return { status: 204, headers: {}, body: null };
    if (reply.kind === 'reply') {
      const session = method === 'initialize' && !reply.failed ? sessionFor(caller, reply.text) : null;
      return {
        status: reply.statusCode,
        headers: { 'Content-Type': 'application/json', ...(session !== null && { 'Mcp-Session-Id': session }) },
        body: Buffer.from(withoutClaim(reply.text)),
      };
    }
    if (reply.kind === 'not_sent') throw new GateError('upstream_unreachable', reply.reason);
    throw new GateError(reply.cause === 'timeout' ? 'upstream_timeout' : 'upstream_invalid_response', reply.reason);
  }

  /** A session in the revision that the answer to `initialize` names. */
  function sessionFor(caller: AgentCaller, introduction: string): string | null {
    const { result } = JSON.parse(introduction) as { result?: { protocolVersion?: unknown } };
    return typeof result?.protocolVersion === 'string' ? sessions.open(caller, result.protocolVersion) : null;
  }
}

/** How long an answer is waited for before it becomes a stream. */
const SOON_MS = 1_000;
/** The time that a call which began in time may take to leave its record. */
const UNKNOWN_SLACK_MS = 5_000;

/** A stream on which nothing is said yet. */
async function* quiet(signal: AbortSignal): AsyncGenerator<string> {
  const never = new Promise<never>(() => undefined);
  yield KEEP_ALIVE;
  while (!signal.aborted) {
    await within(never, HEARTBEAT_MS, signal);
    if (!signal.aborted) yield KEEP_ALIVE;
  }
}

const pong = (id: Json): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json' },
  body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: {} })),
});

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

/** The session that a request without a body is about. For a client without one there is no stream, and no session to end. */
function sessionHeader(request: FastifyRequest, reply: FastifyReply): string {
  const sealed = header(request, 'mcp-session-id');
  if (sealed !== undefined) return sealed;
  void reply.header('Allow', 'POST');
  throw new GateError('method_not_allowed');
}

/** A client that names no revision speaks that of its session, or an older one that could not name it. */
function checkVersion(request: FastifyRequest): void {
  const version = header(request, 'mcp-protocol-version');
  if (version === undefined || SESSION_VERSIONS.includes(version)) return;
  throw new GateError(
    'protocol_version_unsupported',
    `Gate does not speak MCP ${foreignText(version, 32)} in a session; it speaks ${SESSION_VERSIONS.join(', ')}`,
  );
}

const takesStream = (request: FastifyRequest): boolean =>
  /(?:^|,)\s*text\/event-stream\s*(?:[,;]|$)/i.test(header(request, 'accept') ?? '');

function progressTokenOf({ params }: JsonObject): string | number | undefined {
  const meta = (params as JsonObject | undefined)?.['_meta'] as JsonObject | undefined;
  const token = meta?.['progressToken'];
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}

/** Sends an answer, or begins its stream. A client that goes away gives its place back. */
function deliver(reply: FastifyReply, answer: Answer | Streamed): FastifyReply {
  if (!('events' in answer)) return send(reply, answer);
  reply.request.streamed = true;
  reply.raw.on('close', answer.end);
  return reply
    .code(200)
    .headers({
      'X-Gate-Correlation-Id': reply.request.correlationId,
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    .send(Readable.from(answer.events, { objectMode: false }));
}

/** The demonstration session a call belongs to. Ignored from agents that are not the demonstration's. */
function demoPrefixOf(request: FastifyRequest): string | undefined {
  const offered = header(request, 'x-gate-demo-prefix');
  if (offered !== undefined && !/^[0-9a-f]{8}$/.test(offered))
    throw new GateError('invalid_mcp', 'Invalid MCP request: X-Gate-Demo-Prefix must be 8 hex digits in lower case');
  return offered;
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"\s]*)"?$/.exec(parameter.trim())?.[1])
    .find(Boolean);
  return type.trim() === 'application/json' && (charset === undefined || charset === 'utf-8' || charset === 'utf8');
}

type ControlRequest = McpRequest & { readonly kind: 'control' };
type AgentCaller = Caller & { readonly tenant: string; readonly agent: string };

/** Tenant and agent come from the verified certificate alone; a service or a short id is not an agent. */
export function agentOf(request: FastifyRequest): AgentCaller {
  const { caller } = request;
  if (caller?.kind !== 'agent' || caller.tenant === undefined || caller.agent === undefined)
    throw new GateError('unauthorized');
  return caller as AgentCaller;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A path segment as a call's id. Throws `not_found` for anything but a UUID. */
export function idOf(path: string, whatIsMissing: string): string {
  if (!UUID.test(path)) throw new GateError('not_found', whatIsMissing);
  return path;
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  void reply.code(status).header('X-Gate-Correlation-Id', reply.request.correlationId).headers(headers);
  if (body === null) return reply.send();
  return Buffer.isBuffer(body) ? reply.send(body) : reply.type('application/json').send(JSON.stringify(body));
}
