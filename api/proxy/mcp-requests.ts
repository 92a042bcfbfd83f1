import type { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { CallGrant } from '../../contracts/call-grant.js';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../../domain/errors.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import type { UpstreamCaller } from '../../domain/upstream/upstream.js';
import type { Caller } from '../plugins/app.js';
import { ACTOR_HEADER } from './actor-tokens.js';
import { assertJudgedCredentials } from './unjudged-credentials.js';

export type AgentCaller = Caller &
  UpstreamCaller & {
    readonly grant?: CallGrant;
    readonly grantFault?: GateError;
    /** Of an agent of another Gate, as whose the call is asked for; not looked at yet. */
    readonly actorToken?: string;
  };

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether tool calls may show a token of another Gate here. */
    judgesActors: boolean;
    /** Why nothing of this agent is done, whatever it came with. */
    agentFault: GateError | null;
    /** The tool or method that it asks for, once that is read. */
    asksFor: string | null;
  }
}

/** Tenant and agent come from the verified certificate or access token alone; a service or a short id is not an agent, and no agent has a credential that is not judged. One that was stopped is refused, and so is one whose grant does not count. */
export function agentOf(request: FastifyRequest): AgentCaller {
  const { grantFault, ...caller } = callingAgentOf(request);
  if (grantFault) throw grantFault;
  return caller;
}

/** The same for a tool call, with what is wrong with its grant: what came of a call is told also once its grant ended, so that is judged behind its record. */
export function callingAgentOf(request: FastifyRequest, isCall = false): AgentCaller {
  const caller = standingAgentOf(request, isCall);
  const { grant, grantFault } = request;
  // It is used up for a call that no record answers, and for nothing else.
  const actorToken = isCall ? header(request, ACTOR_HEADER) : undefined;
  return {
    ...caller,
    ...(grant && { grant }),
    ...(grantFault && { grantFault }),
    ...(actorToken !== undefined && { actorToken }),
  };
}

/** The same whatever it shows beside its certificate: a grant that ended keeps nobody from asking for the next one. */
export function standingAgentOf(request: FastifyRequest, isCall = false): AgentCaller {
  const caller = anyAgentOf(request, isCall);
  if (request.agentFault) throw request.agentFault;
  return caller;
}

/** The same, also of an agent that was stopped: what it says of before is heard. */
export function anyAgentOf(request: FastifyRequest, isCall = false): AgentCaller {
  const { caller, certificateFault, tokenFault } = request;
  // Who shows a certificate that was taken back is not let in by a token beside it. One that names nobody is as none.
  if (certificateFault && certificateFault.code !== 'caller_spiffe_missing') throw certificateFault;
  if (tokenFault) throw tokenFault;
  if (caller?.kind !== 'agent' || caller.tenant === undefined || caller.agent === undefined)
    throw new GateError('unauthorized');
  assertJudgedCredentials(request.headers, {
    grants: request.grant !== undefined,
    actors: isCall && request.judgesActors,
  });
  return caller as AgentCaller;
}

export function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body of a request: JSON, in UTF-8. */
export function bodyText(request: FastifyRequest): string {
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

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"\s]*)"?$/.exec(parameter.trim())?.[1])
    .find(Boolean);
  return type.trim() === 'application/json' && (charset === undefined || charset === 'utf-8' || charset === 'utf8');
}

/** The demonstration session a call belongs to. Ignored from agents that are not the demonstration's. */
export function demoPrefixOf(request: FastifyRequest): string | undefined {
  const offered = header(request, 'x-gate-demo-prefix');
  if (offered !== undefined && !/^[0-9a-f]{8}$/.test(offered))
    throw new GateError('invalid_mcp', 'Invalid MCP request: X-Gate-Demo-Prefix must be 8 hex digits in lower case');
  return offered;
}

export const takesStream = (request: FastifyRequest): boolean =>
  (header(request, 'accept') ?? '').split(',').some((one) => one.split(';')[0]?.trim() === 'text/event-stream');

/** Under which the client of a request wants to hear of its progress. */
export function progressTokenOf({ params }: JsonObject): string | number | undefined {
  const meta = (params as JsonObject | undefined)?.['_meta'] as JsonObject | undefined;
  const token = meta?.['progressToken'];
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}

/** The certificate by which the caller is known: a token has no key that could have signed, whatever certificate is shown beside it. */
export function certificateOf({ raw: { socket } }: FastifyRequest, fingerprint: string) {
  const certificate = 'getPeerX509Certificate' in socket ? (socket as TLSSocket).getPeerX509Certificate() : undefined;
  if (!certificate || fingerprintOf(certificate) !== fingerprint) throw new GateError('certificate_required');
  return certificate;
}
