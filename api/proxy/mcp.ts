import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.js';
import { DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';
import { GateError } from '../../domain/errors.js';
import { type SelectedContract, selectContract, selectorOnControl } from '../../domain/mcp/contract-selection.js';
import { type McpRequest, parseMcpRequest, readObject } from '../../domain/mcp/envelope.js';
import { pendingHandleOf } from '../../domain/mcp/pending-handle.js';
import { hasUuidForm } from '../../domain/uuid.js';
import type { ServiceApp } from '../plugins/app.js';
import { whenLeft } from '../plugins/when-left.js';
import type { Answer } from './answers.js';
import type { Authorizer } from './authorizer.js';
import { type CallHandler, correlationIdOf } from './calls.js';
import { type ControlOptions, type ControlRequest, createControls } from './clients/controls.js';
import { saidToTheEnd } from './clients/event-streams.js';
import { createMcpClients, type McpClientsOptions } from './clients/mcp-clients.js';
import { type AgentCaller, agentOf, bodyText, callingAgentOf, demoPrefixOf, header } from './mcp-requests.js';
import { answerTo, type Streamed } from './rpc-answers.js';
import { MCP_DESCRIPTION, TOOL_DESCRIPTION } from './mcp-description.js';
import { manualUrl } from './routes/manual.js';

export interface McpRouteOptions
  extends ControlOptions,
    Omit<McpClientsOptions, 'handler' | 'controls' | 'callerOf' | 'callbackOf'> {
  readonly handler: CallHandler;
  readonly authorizer: Authorizer;
  /** `https://…` without a path, as agents reach this listener; without it links begin with the `Host` of the request. */
  readonly publicUrl?: string;
  /** Returns the address in the form in which it will be used. Throws `callback_not_allowed` naming the rule. */
  readonly checkCallback: (url: string) => string;
  /** `tenant/agent` of the agents whose calls are the demonstration's. */
  readonly demoAgents?: ReadonlySet<string>;
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
  const { handler, streams } = options;
  const controls = createControls(options);
  const clients = createMcpClients({ ...options, controls, callerOf, callbackOf });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
    done(null, body),
  );
  // An open stream, or a request that is held, would keep the proxy from closing. Its client comes back to the place that it knows.
  app.addHook('preClose', (done) => {
    clients.close();
    streams.close();
    done();
  });

  app.post('/mcp', { config: { described: MCP_DESCRIPTION } }, async (request, reply) =>
    deliver(reply, await answer(request)),
  );
  app.post(
    '/tool/:name',
    { config: { described: TOOL_DESCRIPTION }, schema: { params: ToolName } },
    async (request, reply) => {
      const selection = selectedBy(request);
      const mcp = toolRequest(request.params.name, bodyText(request), selection.selected);
      return deliver(reply, await judged(request, selection, mcp));
    },
  );
  app.get('/mcp', async (request, reply) =>
    deliver(reply, await clients.listen(request, sessionHeader(request, reply))),
  );
  app.delete('/mcp', async (request, reply) => {
    await clients.end(request, sessionHeader(request, reply));
    return reply.code(204).send();
  });

  // The order of these checks is part of the contract (docs/architecture/requests-and-answers.md#order-of-gates): 400, 413 and 426 before
  // 401, 401 before everything else.
  async function answer(request: FastifyRequest): Promise<Answer | Streamed> {
    const selection = selectedBy(request);
    const ordinary = selection.selected ? null : await clients.answer(request);
    const bound = selection.selected !== null;
    return ordinary ?? judged(request, selection, parseMcpRequest(bodyText(request), { bound }));
  }

  async function judged(request: FastifyRequest, { selected, resumes }: Selection, mcp: McpRequest): Promise<Answer> {
    const offered = demoPrefixOf(request);
    if (mcp.kind === 'tool' && !selected)
      throw new GateError('client_contract_required', undefined, {
        fields: { ...MIGRATION, migration_url: manualUrl(request, options.publicUrl) },
      });
    if (mcp.kind === 'control' && selected) throw selectorOnControl(selected);
    request.asksFor = mcp.kind === 'tool' ? mcp.tool : (mcp as ControlRequest).method;
    const caller = callerOf(request, mcp.kind === 'tool');
    if (mcp.kind === 'control' || !selected) {
      const control = mcp as ControlRequest;
      if (control.method === 'initialize') return clients.introduce(caller, control, request.correlationId);
      await controls.admit(caller, control.method, request.correlationId);
      if (control.notification) return answerTo(null);
      return answerTo(await controls.forward(caller, control, request.correlationId));
    }

    const call = { caller, mcp, contract: selected.contract, idempotencyId: selected.idempotencyId };
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    const answered = await handler.handle(
      { ...call, callbackUrl: callbackOf(request), resumes },
      request.correlationId,
    );
    // A host that comes back for its decision may then execute: it gets what says so, signed.
    return resumes && answered.status === 200 ? authorized(answered, caller, request.correlationId) : answered;
  }

  async function authorized(answer: Answer, caller: AgentCaller, correlationId: string): Promise<Answer> {
    const signed = await options.authorizer(correlationId, { caller, correlationId, name: 'resume' });
    return { ...answer, body: { ...(answer.body as JsonObject), ...signed } };
  }

  function callbackOf(request: FastifyRequest): string | null {
    const callback = header(request, 'x-gate-callback-url');
    return callback === undefined ? null : options.checkCallback(callback);
  }

  /** The operator names the demonstration's agents; no request can make its caller one of them. */
  function callerOf(request: FastifyRequest, isCall = false): AgentCaller {
    const caller = isCall ? callingAgentOf(request, true) : agentOf(request);
    return options.demoAgents?.has(`${caller.tenant}/${caller.agent}`) ? { ...caller, namespace: 'demo' } : caller;
  }
}

/** The contract that a request selects, and the handle of the decision that it comes back for. */
interface Selection {
  readonly selected: SelectedContract | null;
  readonly resumes: ReturnType<typeof pendingHandleOf>;
}

function selectedBy(request: FastifyRequest): Selection {
  const selected = selectContract({
    decision: header(request, 'x-gate-decision-contract'),
    serverExecution: header(request, 'x-gate-server-execution-contract'),
    legacy: header(request, 'x-gate-execution-contract'),
    idempotencyId: header(request, 'x-gate-idempotency-id'),
  });
  const resumes = pendingHandleOf(
    {
      pendingId: header(request, 'x-gate-pending-id'),
      payloadSha256: header(request, 'x-gate-pending-payload-sha256'),
    },
    selected,
  );
  return { selected, resumes };
}

const ToolName = z.object({ name: z.string() });

/**
 * A tool call in its short form, as the JSON-RPC request that the SDKs send for it: its id is the idempotency id. So a call is the same call at
 * both addresses, and gets one answer.
 */
function toolRequest(name: string, args: string, selected: SelectedContract | null): McpRequest {
  // Alone it is one object, so that nothing in it reaches beyond `arguments`.
  readObject(args);
  const id = JSON.stringify(selected?.idempotencyId ?? '');
  const params = `{"name":${JSON.stringify(name)},"arguments":${args}}`;
  return parseMcpRequest(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`);
}

/** The session that a request without a body is about. For a client without one there is no stream, and no session to end. */
function sessionHeader(request: FastifyRequest, reply: FastifyReply): string {
  const sealed = header(request, 'mcp-session-id');
  if (sealed !== undefined) return sealed;
  void reply.header('Allow', 'POST');
  throw new GateError('method_not_allowed');
}

/** A path segment as a call's id. Throws `not_found` for anything but a UUID. */
export function idOf(path: string, whatIsMissing: string): string {
  if (!hasUuidForm(path)) throw new GateError('not_found', whatIsMissing);
  return path;
}

export function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  void reply.code(status).header('X-Gate-Correlation-Id', reply.request.correlationId).headers(headers);
  if (body === null) return reply.send();
  return Buffer.isBuffer(body) ? reply.send(body) : reply.type('application/json').send(JSON.stringify(body));
}

/** Sends an answer, or begins its stream. A client that goes away gives its place back. */
function deliver(reply: FastifyReply, answer: Answer | Streamed): FastifyReply {
  if (!('events' in answer)) return send(reply, answer);
  reply.request.streamed = true;
  whenLeft(reply, answer.end);
  return reply
    .code(200)
    .headers({
      'X-Gate-Correlation-Id': reply.request.correlationId,
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    .send(Readable.from(saidToTheEnd(answer.events, answer.signal), { objectMode: false }));
}
