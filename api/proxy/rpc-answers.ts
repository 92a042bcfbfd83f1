import { type ErrorCodeName, ERROR_CODES } from '../../contracts/error-codes.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { withoutMembers } from '../../domain/mcp/reply.js';
import { statusFor } from '../../domain/mcp/stateless.js';
import { adviceOf } from './advice.js';
import type { Answer } from './answers.js';
import type { ControlReply } from './clients/control-replies.js';

/** An answer whose body is written while it goes on. */
export interface Streamed {
  readonly events: AsyncIterable<string>;
  /** When it has to end, and why. */
  readonly signal: AbortSignal;
  /** Called when nobody reads on. */
  readonly end: () => void;
}

/** What an MCP client asked, as far as it is known: what its answer must look like. */
export interface RpcForm {
  readonly id: Json;
  /** A tool call: a refusal is a result that a model reads. For other methods it is an error. */
  readonly tool: boolean;
  /** Whether the agent and its session are known. Before, the HTTP status says what is wrong; afterwards the message does. */
  readonly admitted: boolean;
  /** The revision without sessions says by HTTP too that a method is unknown, a capability missing, or a header another than the body. */
  readonly stateless?: boolean;
  /** What the revision wants in each result. */
  readonly finish?: (text: string) => string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for a request of an MCP client: the form of its answer, refusals included. */
    rpc: RpcForm | null;
    /** Its answer is a stream, so how long it took says nothing. */
    streamed: boolean;
  }
}

/** An upstream's answer to a control method. */
export const answerTo = (reply: ControlReply, headers: Readonly<Record<string, string>> = {}): Answer =>
  reply
    ? {
        status: reply.status,
        headers: { 'Content-Type': 'application/json', ...headers },
        body: Buffer.from(reply.text),
      }
    : { status: 204, headers: {}, body: null };

/** Gate's own result of a request. */
export const resultTo = (id: Json, result: JsonObject): Answer =>
  answerTo({ status: 200, text: JSON.stringify({ jsonrpc: '2.0', id, result }), failed: false });

/** JSON-RPC's and MCP's own codes; everything else is a server's error of the range that JSON-RPC leaves to it. */
const RPC_CODES: Partial<Record<ErrorCodeName, number>> = {
  invalid_mcp: -32_600,
  unsupported_method: -32_601,
  unjudged_field: -32_602,
  session_not_found: -32_001,
  task_not_found: -32_602,
  task_not_cancellable: -32_602,
  request_state_invalid: -32_602,
  request_state_mismatch: -32_602,
  mcp_envelope_invalid: -32_602,
  mcp_header_mismatch: -32_020,
  client_capability_missing: -32_021,
  protocol_version_unsupported: -32_022,
  pipeline_unavailable: -32_603,
  store_unavailable: -32_603,
};
const SERVER_ERROR = -32_000;
const INVALID_PARAMS = -32_602;
/** Where a refused tool call has Gate's whole envelope (`_meta` of the Model Context Protocol). */
export const VERDICT_META = 'gate/verdict';

const SAID_BY_HTTP: ReadonlyMap<unknown, number> = new Map([
  ['unsupported_method', 404],
  ['client_capability_missing', 400],
  ['mcp_header_mismatch', 400],
]);

/** These are faults of the request itself, so no model could do anything about them. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set([
  'invalid_mcp',
  'unsupported_method',
  'unjudged_field',
  'mcp_header_mismatch',
  'request_state_invalid',
  'request_state_mismatch',
]);

/**
 * An answer of Gate as one message of JSON-RPC (docs/architecture/mcp-sessions.md#answers): what the upstream said as it said it, a refused
 * tool call as a result with `isError`, every other refusal as an error. Gate's whole envelope stands in `_meta` or `data`. HTTP says 200
 * to whatever was admitted, because a client that gets another status does not read on.
 */
export function rpcAnswer(form: RpcForm, answer: Answer): Answer & { readonly body: Buffer | null } {
  const { headers, body, whole } = answer;
  if (whole && Buffer.isBuffer(body)) return { status: answer.status, headers, body };
  if (body === null) return { status: 202, headers, body };
  if (Buffer.isBuffer(body)) {
    // Only Gate says what Gate's verdict was.
    const text = withoutMembers(body.toString('utf8'), VERDICT_META);
    const status = form.stateless ? statusFor(text) : 200;
    return { status, headers, body: Buffer.from(form.finish?.(text) ?? text) };
  }
  const said = messageOf(form, body);
  const text = JSON.stringify(said);
  return {
    status: form.admitted ? ((form.stateless ? SAID_BY_HTTP.get(body['error']) : undefined) ?? 200) : answer.status,
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: Buffer.from('result' in said && form.finish ? form.finish(text) : text),
  };
}

function messageOf({ id, tool, admitted }: RpcForm, given: JsonObject): JsonObject {
  const code = typeof given['error'] === 'string' ? given['error'] : null;
  const advice = adviceOf(code, Array.isArray(given['reasons']) ? given['reasons'] : []);
  const body = advice ? { ...given, advice } : given;
  if (tool && admitted && !OF_THE_REQUEST.has(code ?? ''))
    return {
      jsonrpc: '2.0',
      id,
      result: {
        content: [{ type: 'text', text: wordsOf(code, body) }],
        isError: true,
        _meta: { [VERDICT_META]: body },
      },
    };
  // JSON-RPC has one code for an invalid request and another for invalid parameters.
  const isParameter = code === 'invalid_mcp' && given['field'] !== undefined;
  const named = isParameter
    ? INVALID_PARAMS
    : code !== null && Object.hasOwn(RPC_CODES, code)
      ? RPC_CODES[code as ErrorCodeName]
      : undefined;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: named ?? SERVER_ERROR, message: wordsOf(code, body), data: body },
  };
}

/** What a model is told: the stable code, why, and what may be done about it. */
export function wordsOf(code: string | null, body: JsonObject): string {
  const { reasoning, review_reasons: reviews } = body;
  const call = `Correlation id ${wordOf(body['correlation_id'])}.`;
  if (code === null) {
    const why = Array.isArray(reviews) ? reviews.map(wordOf).join(' | ') : '';
    return `Gate: this call waits for a person (${why}), for up to ${wordOf(body['ttl_seconds'])} s, and has not run. ${call}`;
  }
  const known = Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCodeName] : undefined;
  const hint = known && known.meaning !== reasoning ? ` ${known.meaning}` : '';
  const allowed = wordOf((body['advice'] as JsonObject | undefined)?.['allowed']);
  return `Gate: ${code}: ${sentence(wordOf(reasoning))}${hint}${allowed && ` Allowed: ${allowed}`} ${call}`;
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const wordOf = (value: Json | undefined): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
