import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { CONTROL_METHODS, sentBy } from './control-methods.js';
import { skeletonWords } from '../skeleton.js';
import { plainName } from '../own-names.js';
import { IDEMPOTENCY_KEY } from './idempotency-key.js';
import { READ_METHODS, argumentsOfRead } from './read-methods.js';
import { TASK_METHODS } from './tasks.js';

/** A call as it is sent to the upstream: only what was judged, shown and bound by the digest. What its client answers the tool is none of it. */
export interface OutgoingCall {
  readonly method: string;
  readonly params: JsonObject;
}

/** A control method as it is sent to the upstream. */
export interface OutgoingControl {
  readonly method: string;
  readonly params: JsonObject;
}

const BODY: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const CALL: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);
/** What only an ordinary MCP client may add: whoever selects a contract has a header for one, and no task. */
const CLIENTS_CALL: ReadonlySet<string> = new Set([...CALL, 'task']);
const READS = new Map([...READ_METHODS].map(([method, members]) => [method, new Set([...members, '_meta'])]));
/**
 * `_meta` is addressed to the receiver of the request, and that is Gate. What Gate knows of it is covered by the digest and stored with the
 * request of a call that waits (`request_payload`), unless the request is one of a session or has a key: those may be sent again with another.
 * None of it is forwarded; what is shown to the operator are the tool and its arguments, which are all that runs.
 */
const META: ReadonlySet<string> = new Set([
  'progressToken',
  // Who asks, in which revision (MCP 2026-07-28), and the trace it belongs to (W3C Trace Context).
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'traceparent',
  'tracestate',
  'baggage',
]);
const CLIENTS_META: ReadonlySet<string> = new Set([...META, IDEMPOTENCY_KEY]);

/** More of a member's name is not looked at to see for whom it is meant. */
const NAMES_RECEIVER = 64;
/** Whether a member of `_meta` is meant for Gate, in whatever letters and with whatever behind the name: `gate/x`, `Gate.x`, `gate:x`, `ɡate/x`. */
const isForGate = (name: string): boolean =>
  skeletonWords(plainName(name).slice(0, NAMES_RECEIVER)).startsWith(' gate ');

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const outside = (allowed: ReadonlySet<string>, value: Json | undefined): string | undefined =>
  isObject(value) ? Object.keys(value).find((name) => !allowed.has(name)) : undefined;

/**
 * The path of the first member of a request that nothing judges and nothing forwards; `null` when there is none. Such a request is refused
 * rather than sent without that member: a caller that asked for a task where there is none, for example, must not get an answer to something
 * else. `ofClient` for a request of an ordinary MCP client, which may say more.
 */
export function unjudgedField({ method, params, ...body }: JsonObject, ofClient = false): string | null {
  const beside = outside(BODY, body);
  if (beside !== undefined) return beside;
  // A batch has its own strict schema.
  if (!isObject(params) || method === BATCH_METHOD) return null;
  const name = method as string;
  const known =
    CONTROL_METHODS.get(name)?.params ??
    READS.get(name) ??
    (ofClient ? (TASK_METHODS.get(name) ?? CLIENTS_CALL) : CALL);
  const within = outside(known, params);
  if (within !== undefined) return `params.${within}`;
  const about = outside(ofClient ? CLIENTS_META : META, params['_meta']);
  return about === undefined ? null : `params._meta.${about}`;
}

/**
 * A request without the members of `_meta` that Gate does not know. Clients add ids of their own to each call (`claudecode/toolUseId`,
 * `vscode.requestId`), which whoever does not know them is to ignore (MCP, `basic`, `_meta`): so they are no part of what is judged, stored or
 * sent. One that is meant for Gate stays, and is refused if there is none of that name: who misspells a key must not believe that it holds.
 */
export function withoutForeignMeta(body: JsonObject): JsonObject {
  const { params } = body;
  const meta = isObject(params) ? params['_meta'] : undefined;
  if (!isObject(params) || !isObject(meta)) return body;
  const known = Object.entries(meta).filter(([name]) => CLIENTS_META.has(name) || isForGate(name));
  return { ...body, params: { ...params, _meta: Object.fromEntries(known) } };
}

/** The only part of a judged request that may be sent. The spelling of the method and the caller's id stay here. */
export function outgoingCall({ method, params }: JsonObject): OutgoingCall {
  const read = argumentsOfRead(method, params);
  if (read) return { method: method as string, params: read };
  const { name, arguments: given } = isObject(params) ? params : {};
  if (typeof name !== 'string') throw new TypeError('a tool call without a name is never sent');
  return { method: 'tools/call', params: { name, arguments: isObject(given) ? given : {} } };
}

export function outgoingControl({ method, params }: JsonObject): OutgoingControl {
  return { method: method as string, params: sentBy(method as string, params) };
}

/** The bytes of a call, derived only from Gate's own id and what was judged. The token of its progress is Gate's id too. */
export const callText = (id: string, { method, params }: OutgoingCall, progress = false): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method,
    params: { ...params, ...(progress && { _meta: { progressToken: id } }) },
  });

export const controlText = (id: string, { method, params }: OutgoingControl): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(Object.keys(params).length > 0 && { params }) });
