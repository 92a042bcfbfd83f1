import { LRUCache } from 'lru-cache';
import { setTimeout as after } from 'node:timers/promises';
import type { ClientCapability } from '../contracts/call.js';
import type { Json, JsonObject } from '../contracts/json.js';
import { exactly } from '../domain/mcp/exact-numbers.js';
import type { OutgoingCall } from '../domain/mcp/outgoing.js';
import { coded, type MirroredParam, mirroredParams, paramHeaders } from '../domain/mcp/param-headers.js';
import { itemsOf, membersOf, objectText } from '../domain/mcp/reply.js';
import { CAPABILITIES_KEY, LOG_LEVEL_KEY, NAMED, STATELESS_VERSION, VERSION_KEY } from '../domain/mcp/stateless.js';
import { errorText } from '../domain/errors.js';
import { ASKED_OF_CLIENTS, type Listener } from '../domain/upstream/call-talks.js';
import type { UpstreamCaller } from '../domain/upstream/upstream.js';
import { CLIENT, type Introduction } from './mcp-handshake.js';

// How a server is spoken to in the revision without sessions (MCP 2026-07-28).

/** What a request takes up of the answer before it: the client's answers, and the server's own text of where it stands. */
export interface NextRound {
  /** A JSON object. */
  readonly inputResponses?: string;
  readonly requestState?: string;
}

const CLIENT_KEY = 'io.modelcontextprotocol/clientInfo';
const SERVER_KEY = 'io.modelcontextprotocol/serverInfo';

const metaOf = (can: readonly ClientCapability[], more: JsonObject = {}): JsonObject => ({
  [VERSION_KEY]: STATELESS_VERSION,
  [CLIENT_KEY]: CLIENT,
  [CAPABILITIES_KEY]: Object.fromEntries(can.map((name) => [name, {}])),
  ...more,
});

export interface StatelessMessage {
  readonly id: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request with what this revision wants in its body and repeats in headers. */
export function statelessMessage(
  id: string,
  { method, params }: OutgoingCall,
  {
    can = [],
    progress = false,
    logs = false,
    round = {},
    mirrored = [],
  }: {
    readonly can?: readonly ClientCapability[];
    readonly progress?: boolean;
    /** Asks for all log messages: who hears which is filtered by what its client wants. */
    readonly logs?: boolean;
    readonly round?: NextRound;
    readonly mirrored?: readonly MirroredParam[];
  } = {},
): StatelessMessage {
  const { inputResponses, requestState } = round;
  const members: [string, string][] = Object.entries(params).map(([name, value]) => [name, JSON.stringify(value)]);
  members.push([
    '_meta',
    JSON.stringify(metaOf(can, { ...(progress && { progressToken: id }), ...(logs && { [LOG_LEVEL_KEY]: 'debug' }) })),
  ]);
  if (inputResponses !== undefined) members.push(['inputResponses', inputResponses]);
  if (requestState !== undefined) members.push(['requestState', requestState]);
  const named = params[NAMED[method] ?? ''];
  return {
    id,
    text: objectText([
      ['jsonrpc', '"2.0"'],
      ['id', JSON.stringify(id)],
      ['method', JSON.stringify(method)],
      ['params', objectText(members)],
    ]),
    headers: {
      'mcp-protocol-version': STATELESS_VERSION,
      'mcp-method': method,
      ...(typeof named === 'string' && { 'mcp-name': coded(named) }),
      ...(method === 'tools/call' && paramHeaders(mirrored, (params['arguments'] ?? {}) as JsonObject)),
    },
  };
}

/** What a server says of itself in answer to `server/discover`; `null` where it does not speak this revision. */
export function discovered(reply: ReadonlyMap<string, string>): Introduction | null {
  const result = JSON.parse(reply.get('result') ?? 'null') as JsonObject | null;
  const versions = result?.['supportedVersions'];
  if (!Array.isArray(versions) || !versions.includes(STATELESS_VERSION)) return null;
  const { capabilities, instructions, _meta: meta } = result as JsonObject;
  const info = isObject(meta) ? meta[SERVER_KEY] : undefined;
  return {
    protocolVersion: STATELESS_VERSION,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(info) ? info : { name: 'unnamed', version: '0' },
    ...(typeof instructions === 'string' && { instructions }),
  };
}

/** What a server asks before it goes on with a call. */
export interface InputRequired {
  readonly requests: ReadonlyMap<string, { readonly method: string; readonly params: string }>;
  readonly requestState: string | undefined;
}

/** `null` for every other answer. */
export function inputRequiredIn(reply: string): InputRequired | null {
  const result = membersOf(membersOf(reply)?.get('result') ?? '');
  if (result?.get('resultType') !== '"input_required"') return null;
  const asked = membersOf(result.get('inputRequests') ?? '{}') ?? new Map<string, string>();
  const requests = [...asked].map(([key, text]) => {
    const request = membersOf(text);
    const method: unknown = JSON.parse(request?.get('method') ?? 'null');
    return [key, { method: typeof method === 'string' ? method : '', params: request?.get('params') ?? '{}' }] as const;
  });
  const state = result.get('requestState');
  return { requests: new Map(requests), requestState: state?.startsWith('"') ? state : undefined };
}

/** Questions of one call. */
const MAX_QUESTIONS = 16;
/** A server that only wants to be asked again is not asked at once. */
const PAUSE_MS = 250;

/** Asks the client, and comes back with its answers, or with why there are none. */
export async function nextRound(
  { requests, requestState }: InputRequired,
  { client_can: can = [] }: UpstreamCaller,
  listener: Listener | null | undefined,
  timeoutMs: number,
): Promise<NextRound | { readonly fault: string }> {
  const state = requestState === undefined ? {} : { requestState };
  if (requests.size === 0) {
    await after(Math.min(PAUSE_MS, Math.max(0, timeoutMs)));
    return state;
  }
  if (requests.size > MAX_QUESTIONS) return { fault: `more than ${MAX_QUESTIONS} questions at once` };
  if (!listener) return { fault: 'the client cannot be asked while its call is under way' };
  try {
    const answers = await Promise.all(
      [...requests].map(async ([key, { method, params }]): Promise<[string, string]> => {
        const capability = ASKED_OF_CLIENTS.get(method);
        if (capability === undefined || !can.includes(capability)) throw new Error('the client cannot be asked that');
        const [kind, text] = await listener.asked(method, params, timeoutMs, key);
        if (kind === 'error') throw new Error('the client refused to answer');
        return [key, text];
      }),
    );
    return { ...state, inputResponses: objectText(answers) };
  } catch (error) {
    return { fault: errorText(error) };
  }
}

const TOOLS_KEPT = 5_000;

/** Which parameters the tools of one server want repeated in headers, as it last listed them to each agent. */
export function listedParams() {
  const known = new LRUCache<string, readonly MirroredParam[]>({ max: TOOLS_KEPT });
  const keyOf = ({ tenant, agent }: UpstreamCaller, tool: string) => JSON.stringify([tenant, agent, tool]);
  return {
    of: (caller: UpstreamCaller, tool: Json | undefined): readonly MirroredParam[] =>
      (typeof tool === 'string' && known.get(keyOf(caller, tool))) || [],
    /** Takes in a page of the answer to `tools/list`. */
    heard(caller: UpstreamCaller, reply: string): void {
      const tools = itemsOf(membersOf(membersOf(reply)?.get('result') ?? '')?.get('tools') ?? '');
      for (const text of tools ?? []) {
        const tool: unknown = JSON.parse(exactly(text));
        // What is no tool is handed on as the server wrote it, and nothing is learned from it.
        if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
        const { name, inputSchema } = tool;
        const params = text.includes('x-mcp-header') ? mirroredParams(inputSchema) : null;
        if (params && params.length > 0) known.set(keyOf(caller, name), params);
        else known.delete(keyOf(caller, name));
      }
    },
  };
}

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
