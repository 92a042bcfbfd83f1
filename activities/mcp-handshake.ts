import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client';
import { InitializeResultSchema } from '@modelcontextprotocol/core';
import type { JsonObject } from '../contracts/json.js';
import { type ClientCapability, SESSION_CAPABILITIES } from '../contracts/call.js';
import { servedCapabilities } from '../domain/mcp/control-methods.js';
import { membersOf } from '../domain/mcp/reply.js';

/** What an MCP server said about itself during `initialize`. */
export interface Introduction {
  readonly protocolVersion: string;
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions?: string;
}

export const CLIENT = { name: 'gate', version: '1' };

export const introductionText = (
  id: string,
  protocolVersion: string = LATEST_PROTOCOL_VERSION,
  can: readonly ClientCapability[] = [],
): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: {
      protocolVersion,
      capabilities: Object.fromEntries(
        can.filter((name) => SESSION_CAPABILITIES.includes(name)).map((name) => [name, {}]),
      ),
      clientInfo: CLIENT,
    },
  });
export const INITIALIZED_TEXT = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
/** Asks for all log messages: who of Gate's clients hears which is filtered behind the session, which they share. */
export const everyLogText = (id: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'logging/setLevel', params: { level: 'debug' } });
export const cancelledText = (requestId: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

/** Reads the answer to `initialize`; throws with the reason when there can be no session. */
export function introductionIn(reply: string): Introduction {
  const { result, error } = JSON.parse(reply) as { result?: unknown; error?: { message?: string } };
  if (error) throw new Error(`initialize was refused: ${error.message ?? 'without a reason'}`);
  const read = InitializeResultSchema.safeParse(result);
  if (!read.success) throw new Error('the answer to initialize is not that of an MCP server');
  const { protocolVersion, capabilities, serverInfo, instructions } = read.data;
  if (!SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion))
    throw new Error('the upstream speaks a version of MCP that Gate does not');
  return {
    protocolVersion,
    capabilities: capabilities as JsonObject,
    serverInfo: serverInfo as JsonObject,
    ...(instructions !== undefined && { instructions }),
  };
}

/** Whether a message is an MCP server's answer to `initialize`, whatever the protocol version. */
export function introducesItself(message: ReadonlyMap<string, string>): boolean {
  const result = message.get('result');
  return result !== undefined && InitializeResultSchema.safeParse(JSON.parse(result)).success;
}

/** Gate's answer to an agent's `initialize`: the tools behind Gate, and what of them Gate serves. */
export function introductionFor(request: JsonObject, upstream: Introduction, notifies = false): string {
  const { serverInfo, instructions } = upstream;
  const result = {
    protocolVersion: requestedVersion(request),
    capabilities: servedCapabilities(upstream.capabilities, notifies),
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  };
  return JSON.stringify({ jsonrpc: '2.0', id: request['id'] ?? null, result });
}

/** The version the agent asked for if it exists, otherwise the newest. */
export const requestedVersion = (request: JsonObject): string => {
  const asked = (request['params'] as JsonObject | undefined)?.['protocolVersion'];
  return SUPPORTED_PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
};

/** Gate's answer to a request of the server: it answers pings and refuses everything else. `null` where no answer is due. */
export function answerToServer(message: ReadonlyMap<string, string>): string | null {
  const id = message.get('id');
  const method = message.get('method');
  if (id === undefined || method === undefined) return null;
  const answer =
    method === '"ping"' ? '"result":{}' : '"error":{"code":-32601,"message":"Gate serves no requests of a server"}';
  return membersOf(`{"id":${id}}`) ? `{"jsonrpc":"2.0","id":${id},${answer}}` : null;
}
