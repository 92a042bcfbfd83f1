import type { JsonObject } from '../../contracts/json.js';
import { canonicalDigest } from '../crypto/digest.js';
import { READ_METHODS } from './read-methods.js';
import { membersOf } from './reply.js';

// Calls in several rounds (MCP 2026-07-28, `basic/patterns/mrtr`): a request may be answered with what is to be asked, and is sent again with the
// answers.

/** What a request brings of an earlier round. */
export interface BroughtBack {
  readonly state: string | null;
  /** The client's answers by key, each in its own text. */
  readonly answers: ReadonlyMap<string, string>;
}

/** As many as there may be questions, and as many again that nobody asked for. */
const MAX_RESPONSES = 64;

/** What is wrong with what a request brings of an earlier round; `null` when nothing is, or it brings nothing. */
export function roundFault({ params }: JsonObject): { readonly fault: string; readonly field: string } | null {
  const { inputResponses: answers, requestState: state } = (isObject(params) ? params : {}) as JsonObject;
  if (state !== undefined && typeof state !== 'string')
    return { fault: '`params.requestState` must be a string', field: 'params.requestState' };
  if (answers === undefined) return null;
  const field = 'params.inputResponses';
  if (!isObject(answers)) return { fault: `\`${field}\` must be an object`, field };
  if (Object.keys(answers).length > MAX_RESPONSES)
    return { fault: `\`${field}\` has more than ${MAX_RESPONSES} members`, field };
  return Object.values(answers).every(isObject)
    ? null
    : { fault: `each member of \`${field}\` must be an object`, field };
}

/** What a request brings, in its own text; the request must be free of faults. `null` where it brings nothing. */
export function broughtBack(text: string): BroughtBack | null {
  const params = membersOf(membersOf(text)?.get('params') ?? '');
  const [state, answers] = [params?.get('requestState'), params?.get('inputResponses')];
  if (state === undefined && answers === undefined) return null;
  return {
    state: state === undefined ? null : (JSON.parse(state) as string),
    answers: membersOf(answers ?? '{}') ?? new Map(),
  };
}

const CALLS: ReadonlySet<unknown> = new Set(['tools/call', ...READ_METHODS.keys()]);

/** A call as it was asked for, without what it brings of an earlier round. */
export function withoutRound(body: JsonObject): JsonObject {
  const { params } = body;
  if (!isObject(params) || !CALLS.has(body['method'])) return body;
  const { inputResponses, requestState, ...asked } = params;
  return inputResponses === undefined && requestState === undefined ? body : { ...body, params: asked };
}

/** What a call asks for, whatever its id and `_meta`. */
export function askedBy({ method, params }: JsonObject): string {
  const { _meta, ...asked } = (params ?? {}) as JsonObject;
  return canonicalDigest({ method: method ?? null, params: asked });
}

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
