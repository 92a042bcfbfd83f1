import type { ReadCall } from '../../contracts/call-methods.js';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { foreignText } from '../text.js';
import { isLogLevel, type LeastLevel } from './log-levels.js';
import { decoded, type MirroredParam, paramHeaderFault } from './param-headers.js';
import { SESSION_VERSIONS } from './protocol-versions.js';
import { membersOf, objectText } from './reply.js';

/** The revision of MCP without sessions: each request says in itself who speaks which revision. */
export const STATELESS_VERSION = '2026-07-28';
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel';

/** The headers that repeat what the body says, so that what stands between can route by them. */
export interface StatelessHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** The member of `params` that `Mcp-Name` repeats: of every call that names one thing, and of what is asked about a task. */
export const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
} satisfies Readonly<Record<'tools/call' | ReadCall, string>> & Readonly<Record<string, string>>;
/** Methods of revisions with sessions that this one does not have. */
export const ENDED_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'call_tool',
]);

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const metaOf = ({ params }: JsonObject): JsonObject => {
  const meta = isObject(params) ? params['_meta'] : undefined;
  return isObject(meta) ? meta : {};
};

/** The extension by which this revision has tasks, and those of the methods about tasks that it has. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
export const STATELESS_TASK_METHODS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

/** Whether the client of this request knows tasks; what it said in another request does not count. */
export function declaresTasks(body: JsonObject): boolean {
  const { extensions } = capabilitiesOf(body);
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** What the client of this request says that it can be asked, by the names of its capabilities. */
export function capabilitiesOf(body: JsonObject): JsonObject {
  const can = metaOf(body)[CAPABILITIES_KEY];
  return isObject(can) ? can : {};
}

/** From which level on the client of this request hears log messages about it: none where it does not say. */
export function leastLevelOf(body: JsonObject): LeastLevel {
  const said = metaOf(body)[LOG_LEVEL_KEY];
  return isLogLevel(said) ? said : 'off';
}

/** Whether a request is to be read as one of the revision without sessions: its body claims a revision, or its header names this one. */
export const claimsRevision = (version: string | undefined, text: string): boolean =>
  version === STATELESS_VERSION || text.includes(VERSION_KEY);

/** The statuses of errors that say by HTTP too what is wrong. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['-32021', 400],
  ['-32601', 404],
]);
/** The status of an answer in this revision. */
export function statusFor(text: string): number {
  const error = text.includes('"error"') ? membersOf(text)?.get('error') : undefined;
  return STATUSES.get(membersOf(error ?? '')?.get('code') ?? '') ?? 200;
}

const mismatch = (what: string) => new GateError('mcp_header_mismatch', `the headers and the body disagree: ${what}`);
const invalid = (what: string) =>
  new GateError('mcp_envelope_invalid', `a request of MCP ${STATELESS_VERSION} says so in its body: ${what}`);

/**
 * Checks what a request of this revision says of itself, in the order of the specification: `false` where it claims a revision with
 * sessions, or none, and is read as one of those. Throws `mcp_envelope_invalid`, `mcp_header_mismatch` or `protocol_version_unsupported`.
 */
export function checkStateless(body: JsonObject, headers: StatelessHeaders): boolean {
  const meta = metaOf(body);
  const claimed = meta[VERSION_KEY];
  const isRequest = body['id'] !== undefined;
  if (claimed === undefined && headers.version !== STATELESS_VERSION) return false;
  if (claimed === undefined && body['method'] === 'initialize')
    throw mismatch('`initialize` is of revisions with sessions, and MCP-Protocol-Version names one without');
  if (claimed === undefined && isRequest) throw invalid(`params._meta["${VERSION_KEY}"] is missing`);
  if (claimed !== undefined && typeof claimed !== 'string')
    throw invalid(`params._meta["${VERSION_KEY}"] is no string`);
  if (isRequest && !isObject(meta[CAPABILITIES_KEY])) throw invalid(`params._meta["${CAPABILITIES_KEY}"] is no object`);
  if (claimed !== undefined && headers.version !== undefined && headers.version !== claimed)
    throw mismatch(`MCP-Protocol-Version is ${shown(headers.version)}, params._meta says ${shown(claimed)}`);
  if (claimed !== undefined && SESSION_VERSIONS.includes(claimed)) return false;
  if (claimed !== undefined && claimed !== STATELESS_VERSION)
    throw new GateError('protocol_version_unsupported', `Gate does not speak MCP ${shown(claimed)}`, {
      // As `server/discover` says it. Who speaks one with sessions begins with `initialize`.
      fields: { supported: [STATELESS_VERSION], requested: shown(claimed) },
    });
  const method = body['method'] as string;
  if (headers.method !== undefined && headers.method !== method)
    throw mismatch(`Mcp-Method is ${shown(headers.method)}, the method is ${shown(method)}`);
  if (!isRequest) return true;
  if (headers.version === undefined) throw mismatch('MCP-Protocol-Version is missing');
  if (headers.method === undefined) throw mismatch('Mcp-Method is missing');
  checkName(body, headers.name);
  if (meta[LOG_LEVEL_KEY] !== undefined && !isLogLevel(meta[LOG_LEVEL_KEY]))
    throw invalid(`params._meta["${LOG_LEVEL_KEY}"] is no level of log messages`);
  return true;
}

function checkName({ method, params }: JsonObject, header: string | undefined): void {
  const member = NAMED[method as string];
  const said = member !== undefined && isObject(params) ? params[member] : undefined;
  if (typeof said !== 'string') return;
  if (header === undefined) throw mismatch(`Mcp-Name is missing, params.${member} is ${shown(said)}`);
  if (decoded(header.trim()) !== said)
    throw mismatch(`Mcp-Name is ${shown(header)}, params.${member} is ${shown(said)}`);
}

/** Throws `mcp_header_mismatch` where the headers that repeat parameters of a tool do not say what its arguments do. */
export function checkParams(
  { params }: JsonObject,
  mirrored: readonly MirroredParam[],
  headerOf: (name: string) => string | undefined,
): void {
  const given = isObject(params) ? params['arguments'] : undefined;
  const fault = paramHeaderFault(mirrored, isObject(given) ? given : {}, headerOf);
  if (fault !== null) throw mismatch(fault);
}

const shown = (text: string): string => foreignText(text, 64);

/** Answers that a client may keep say for how long; Gate judges each read, so nobody may keep one. */
const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);

/** An answer with what this revision wants in each result. The upstream's own text stays as it is. */
export function finishedFor(method: string): (text: string) => string {
  return (text) => {
    const message = membersOf(text);
    const result = membersOf(message?.get('result') ?? '');
    if (!message || !result) return text;
    const added = new Map([
      ['resultType', '"complete"'],
      ...(CACHEABLE.has(method)
        ? ([
            ['ttlMs', '0'],
            ['cacheScope', '"private"'],
          ] as const)
        : []),
    ]);
    return objectText(new Map(message).set('result', objectText(new Map([...result, ...added]))));
  };
}

/** The answer to `server/discover`, from that to `initialize` of a revision with sessions. */
export function discoveredFrom(introduction: string): string {
  const { id, result = {} } = JSON.parse(introduction) as { id: string | number; result?: JsonObject };
  const { serverInfo, instructions } = result;
  const capabilities = (result['capabilities'] ?? {}) as JsonObject;
  const extensions = isObject(capabilities['extensions']) ? capabilities['extensions'] : {};
  const tasks = 'tools' in capabilities && { extensions: { ...extensions, [TASKS_EXTENSION]: {} } };
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: {
      supportedVersions: [STATELESS_VERSION],
      capabilities: { ...capabilities, ...tasks },
      ...(instructions !== undefined && { instructions }),
      ...(serverInfo !== undefined && { _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }),
    },
  });
}
