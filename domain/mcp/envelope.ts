import { JSONRPCNotificationSchema, JSONRPCRequestSchema } from '@modelcontextprotocol/core';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { plainName } from '../own-names.js';
import { foreignText } from '../text.js';
import { BATCH_OUT_OF_PLACE, batchFault, isBatchInDisguise } from './batch.js';
import { CONTROL_METHODS, controlFault } from './control-methods.js';
import { idempotencyKeyFault } from './idempotency-key.js';
import { logLevelFault } from './log-levels.js';
import { unjudgedField, withoutForeignMeta } from './outgoing.js';
import { isRead, READ_METHODS, readFault } from './read-methods.js';
import { roundFault, withoutRound } from './rounds.js';
import { parseStrictJson, StrictJsonError } from './strict-json.js';
import { TASK_METHODS, taskFault } from './tasks.js';

/** A request of `POST /mcp`, parsed and classified (docs/architecture/requests-and-answers.md#order-of-gates). */
export type McpRequest =
  | { readonly kind: 'tool'; readonly method: string; readonly tool: string; readonly body: JsonObject }
  | { readonly kind: 'control'; readonly method: string; readonly body: JsonObject; readonly notification: boolean };

const TOOL_METHODS: ReadonlySet<string> = new Set(['call_tool', 'tools/call']);
/**
 * Notifications a client may send. All of them end at Gate, which owns the session with the upstream: Gate has initialized it, declares no
 * roots, and asks the agent nothing that could have progress. Requests to the upstream have Gate's own ids, so a cancellation under an
 * agent's id would end another agent's call: Gate itself takes back the call that waits.
 */
const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
]);
/** The longest method name, in UTF-16 code units; no method of MCP reaches a third of it. */
const MAX_METHOD = 128;
/** Older names of control methods, with their present names. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['initialized', 'notifications/initialized'],
  ['list_tools', 'tools/list'],
  ['list_resources', 'resources/list'],
]);

// Loose, because an unjudged member gets a refusal of its own that names it.
const REQUEST = JSONRPCRequestSchema.loose();
const NOTIFICATION = JSONRPCNotificationSchema.loose();

/** `field` where the request is one, and this parameter of it is not. */
const invalid = (detail: string, field?: string) =>
  new GateError('invalid_mcp', `Invalid MCP request: ${detail}`, field === undefined ? {} : { fields: { field } });

const unsupported = (method: string) =>
  new GateError('unsupported_method', `Gate does not forward the method ${JSON.stringify(foreignText(method, 64))}`);

/**
 * Parses the body of `POST /mcp`. A control method comes back under its present name, in the body too, so that later code sees one
 * spelling. A tool call keeps its spelling, because the digest binds it. `ofClient` reads also what only ordinary MCP clients may ask: tasks,
 * a key under which the call may be sent again, and notifications that Gate does not know. `bound` is false where no contract covers the
 * request to its last member: then what a client adds in `_meta` for others is left out. `inRounds` leaves out what a call brings of an earlier
 * round, which says nothing of what is asked for. Throws GateError `invalid_mcp`, `unjudged_field` or `unsupported_method` with what is wrong.
 */
export function parseMcpRequest(
  text: string,
  {
    ofClient = false,
    bound = !ofClient,
    inRounds = false,
  }: { readonly ofClient?: boolean; readonly bound?: boolean; readonly inRounds?: boolean } = {},
): McpRequest {
  const read = readObject(text);
  const round = inRounds ? roundFault(read) : null;
  if (round) throw invalid(round.fault, round.field);
  const known = bound ? read : withoutForeignMeta(read);
  const body = inRounds ? withoutRound(known) : known;
  const { method: given } = body;
  if (typeof given !== 'string' || given === '') throw invalid('`method` must be a non-empty string');
  if (given.length > MAX_METHOD) throw invalid(`\`method\` has more than ${MAX_METHOD} characters`);
  const method = ALIASES.get(given) ?? given;
  // One that Gate does not know ends here too: by JSON-RPC it has no answer, not even a refusal.
  const unknown = ofClient && method.startsWith('notifications/') && body.id === undefined;
  const notification = unknown || NOTIFICATIONS.has(method);
  if (!notification && method.startsWith('notifications/')) throw unsupported(method);
  if (notification && body.id !== undefined) throw invalid('a notification has no `id`');
  const shape = notification ? NOTIFICATION : REQUEST;
  const checked = shape.safeParse(body);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw invalid(`${issue?.path.join('.') || 'the object'}: ${issue?.message ?? 'not JSON-RPC 2.0'}`);
  }
  const field = notification ? null : unjudgedField({ ...body, method }, ofClient);
  if (field !== null)
    throw new GateError(
      'unjudged_field',
      `\`${foreignText(field, 64)}\` is not judged and would not be sent on; send the request without it`,
      { fields: { field: foreignText(field, 64) } },
    );
  if (ofClient) {
    const fault = idempotencyKeyFault(body.params) ?? taskFault(method, body.params);
    if (fault !== null) throw invalid(fault);
    const level = logLevelFault(method, body.params);
    if (level !== null) throw invalid(level, 'params.level');
  }
  if (method === BATCH_METHOD) {
    const fault = batchFault(body.params);
    if (fault !== null) throw invalid(fault);
    return { kind: 'tool', method, tool: BATCH_METHOD, body };
  }
  if (isRead(method)) {
    const fault = readFault(method, body.params);
    if (fault !== null) throw invalid(fault);
    return { kind: 'tool', method, tool: method, body };
  }
  if (TOOL_METHODS.has(method)) return { kind: 'tool', method, tool: toolName(body), body };
  const outside = controlFault(method, body.params);
  if (outside) throw invalid(outside.detail, outside.field);
  if (notification || CONTROL_METHODS.has(method) || (ofClient && TASK_METHODS.has(method)))
    return { kind: 'control', method, body: { ...body, method }, notification };
  throw unsupported(method);
}

/** The id of a request that may be refused, so that its refusal can be matched; `null` when the text has none. */
export function requestIdIn(text: string): Json {
  try {
    const { id } = JSON.parse(text) as { id?: unknown };
    return typeof id === 'string' || Number.isSafeInteger(id) ? (id as Json) : null;
  } catch {
    return null;
  }
}

/** The body as one strict JSON object. Throws `invalid_mcp`. */
export function readObject(text: string): JsonObject {
  try {
    const value = parseStrictJson(text);
    if (Array.isArray(value)) throw invalid('a JSON-RPC batch is not accepted; send one request');
    if (value === null || typeof value !== 'object') throw invalid('the body must be one JSON object');
    return value;
  } catch (error) {
    if (error instanceof StrictJsonError) throw invalid(error.message);
    throw error;
  }
}

function toolName(body: JsonObject): string {
  const { params } = body;
  if (params === null || typeof params !== 'object' || Array.isArray(params))
    throw invalid('`params` must be an object with `name` and `arguments`');
  const { name } = params;
  if (typeof name !== 'string' || name.length < 1 || name.length > 256)
    throw invalid('`params.name` must be a string of 1 to 256 characters');
  const given = params.arguments;
  if (given !== undefined && (given === null || typeof given !== 'object' || Array.isArray(given)))
    throw invalid('`params.arguments` must be an object');
  if (isBatchInDisguise(name, given)) throw invalid(BATCH_OUT_OF_PLACE);
  if (READ_METHODS.has(plainName(name).toLowerCase()))
    throw invalid(
      `\`${name}\` is a method and names no tool: a call under it would be judged, shown and signed as that method`,
    );
  return name;
}
