import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Mode } from '../../../contracts/call.js';
import { DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT } from '../../../contracts/call.js';
import { GateError } from '../../../domain/errors.js';
import { BATCH_METHOD } from '../../../domain/mcp/batch.js';
import { selectContract, selectorOnControl } from '../../../domain/mcp/contract-selection.js';
import { type McpRequest, parseMcpRequest } from '../../../domain/mcp/envelope.js';
import type { Upstream } from '../../../domain/pipeline/upstream.js';
import type { Caller, ServiceApp } from '../../plugins/app.js';
import { withoutClaim } from '../../../domain/review/told-change.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import type { Answer } from '../answers.js';
import { type CallHandler, correlationIdOf } from '../calls.js';
import type { ControlLog } from '../control-log.js';
import { assertJudgedCredentials } from '../unjudged-credentials.js';
import { manualUrl } from './manual.js';
import { MCP_DESCRIPTION } from './mcp-description.js';

export interface McpRouteOptions {
  readonly handler: CallHandler;
  readonly limits: AgentLimitsCheck;
  readonly controlLog: ControlLog;
  readonly upstream: Upstream;
  readonly mode: Mode;
  /** `https://…` without a path, as agents reach this listener; without it links begin with the `Host` of the request. */
  readonly publicUrl?: string;
  readonly upstreamTimeoutMs: number;
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
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
    done(null, body),
  );

  app.post('/mcp', { config: { described: MCP_DESCRIPTION } }, async (request, reply) =>
    send(reply, await answer(request)),
  );
  // For an MCP client this means "no stream, and no session to end"; 404 would say that there is no MCP server.
  app.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    handler: (_request, reply) => {
      void reply.header('Allow', 'POST');
      throw new GateError('method_not_allowed');
    },
  });

  // The order of these checks is part of the contract (docs/architecture/requests-and-answers.md#order-of-gates): 400, 413 and 426 before
  // 401, 401 before everything else.
  async function answer(request: FastifyRequest): Promise<Answer> {
    const selected = selectContract({
      decision: header(request, 'x-gate-decision-contract'),
      serverExecution: header(request, 'x-gate-server-execution-contract'),
      legacy: header(request, 'x-gate-execution-contract'),
      idempotencyId: header(request, 'x-gate-idempotency-id'),
    });
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
      const { correlationId } = request;
      await options.admitControl?.(caller, mcp.method, correlationId);
      await options.limits.control({ caller, correlationId, name: mcp.method });
      if (mcp.kind === 'control' && mcp.notification) return { status: 204, headers: {}, body: null };
      return control(caller, mcp as McpRequest & { kind: 'control' }, correlationId);
    }

    const call = { caller, mcp, contract: selected.contract, idempotencyId: selected.idempotencyId };
    request.correlationId = correlationIdOf({ ...call, ...(caller.namespace === 'demo' && { demoPrefix: offered }) });
    const callback = header(request, 'x-gate-callback-url');
    return options.handler.handle(
      { ...call, callbackUrl: callback === undefined ? null : options.checkCallback(callback) },
      request.correlationId,
    );
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
    { method, body }: McpRequest & { kind: 'control' },
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
    if (reply.kind === 'reply')
      return {
        status: reply.statusCode,
        headers: { 'Content-Type': 'application/json' },
        body: Buffer.from(withoutClaim(reply.text)),
      };
    if (reply.kind === 'not_sent') throw new GateError('upstream_unreachable', reply.reason);
    throw new GateError(reply.cause === 'timeout' ? 'upstream_timeout' : 'upstream_invalid_response', reply.reason);
  }
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

type AgentCaller = Caller & { readonly tenant: string; readonly agent: string };

/** Tenant and agent come from the verified certificate alone; a service or a short id is not an agent, and no agent has a credential that is not judged. */
export function agentOf(request: FastifyRequest): AgentCaller {
  const { caller } = request;
  if (caller?.kind !== 'agent' || caller.tenant === undefined || caller.agent === undefined)
    throw new GateError('unauthorized');
  assertJudgedCredentials(request.headers);
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
