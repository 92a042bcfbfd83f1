import type { FastifyRequest } from 'fastify';
import { type ClientCapability, SESSION_CAPABILITIES } from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import { type McpRequest, parseMcpRequest } from '../../../domain/mcp/envelope.js';
import { SESSION_VERSIONS } from '../../../domain/mcp/protocol-versions.js';
import type { McpSession } from '../../../domain/mcp/session.js';
import { STATELESS_VERSION } from '../../../domain/mcp/stateless.js';
import { asksForTask, TASK_METHODS } from '../../../domain/mcp/tasks.js';
import { foreignText } from '../../../domain/text.js';
import { header } from '../mcp-requests.js';

// How requests of ordinary MCP clients are read, whatever revision they speak.

/** Only requests of the revision without sessions have this header, so a body need not be read to tell the others. */
export const isMarked = (request: FastifyRequest): boolean => header(request, 'mcp-method') !== undefined;

export const ended = (method: string): GateError =>
  new GateError('unsupported_method', `MCP ${STATELESS_VERSION} has no method ${JSON.stringify(method)}`);

/** The request, or what Gate does not take of it. Throws for a body that is no request. `inRounds` in the revision without sessions. */
export function readRequest(body: string, inRounds = false): McpRequest | GateError {
  try {
    return parseMcpRequest(body, { ofClient: true, inRounds });
  } catch (error) {
    if (error instanceof GateError && (error.code === 'unsupported_method' || error.code === 'unjudged_field'))
      return error;
    throw error;
  }
}

/** The request, where its revision has no tasks: nobody who asked for a handle gets something else. */
export function withoutTasks(mcp: McpRequest | GateError): McpRequest | GateError {
  if (mcp instanceof GateError) return mcp;
  if (TASK_METHODS.has(mcp.method))
    return new GateError('unsupported_method', `this revision of MCP has no method ${JSON.stringify(mcp.method)}`);
  if (mcp.kind === 'tool' && asksForTask(mcp.body))
    return new GateError(
      'unjudged_field',
      'this revision of MCP has no tasks; send the request without `params.task`',
      {
        fields: { field: 'params.task' },
      },
    );
  return mcp;
}

/** A client that names no revision speaks that of its session, or an older one that could not name it. */
export function checkVersion(request: FastifyRequest): void {
  const version = header(request, 'mcp-protocol-version');
  if (version === undefined || SESSION_VERSIONS.includes(version)) return;
  throw new GateError(
    'protocol_version_unsupported',
    `Gate does not speak MCP ${foreignText(version, 32)} in a session`,
    { fields: { supported: [...SESSION_VERSIONS], requested: foreignText(version, 32) } },
  );
}

/** What a client says that it can be asked, of these. */
export function capabilitiesIn(
  given: Json | undefined,
  of: readonly ClientCapability[] = SESSION_CAPABILITIES,
): Pick<McpSession, 'can' | 'opensUrls'> {
  const said = (given ?? {}) as JsonObject;
  const isObject = (value: unknown): value is JsonObject => value !== null && typeof value === 'object';
  const elicits = said['elicitation'];
  const opensUrls = isObject(elicits) && isObject(elicits['url']);
  // Without a mode a client means forms, and forms are what an upstream is told of.
  const onlyUrls = opensUrls && !isObject(elicits['form']);
  return {
    can: of.filter((name) => isObject(said[name]) && !(name === 'elicitation' && onlyUrls)),
    opensUrls,
  };
}
