import type { Json, JsonObject } from '../../contracts/json.js';
import { BATCH_METHOD } from './batch.js';
import { CONTROL_METHODS } from './control-methods.js';

/** A tool call as it leaves for the tools: what was judged, shown and bound by the digest, and nothing else. */
export interface OutgoingCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A control method as it leaves for the upstream. */
export interface OutgoingControl {
  readonly method: string;
  readonly params: JsonObject;
}

const BODY: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const CALL: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);
/**
 * `_meta` speaks to whoever takes the request, and that is Gate. A client that wants progress sends a token with every call; Gate has none
 * to give and takes the token. It is bound by the digest and shown, and goes no further.
 */
const META: ReadonlySet<string> = new Set(['progressToken']);

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const outside = (allowed: ReadonlySet<string>, value: Json | undefined): string | undefined =>
  isObject(value) ? Object.keys(value).find((name) => !allowed.has(name)) : undefined;

/**
 * The first member of a request that nothing judges and nothing sends on, by its path, or `null`. Such a request is refused rather than
 * sent without it: a caller that asked for a task, say, must not be told of a call that was none.
 */
export function unjudgedField({ method, params, ...body }: JsonObject): string | null {
  const beside = outside(BODY, body);
  if (beside !== undefined) return beside;
  // A batch has a strict form of its own.
  if (!isObject(params) || method === BATCH_METHOD) return null;
  const control = CONTROL_METHODS.get(method as string);
  const within = outside(control ? control.params : CALL, params);
  if (within !== undefined) return `params.${within}`;
  const about = outside(META, params['_meta']);
  return about === undefined ? null : `params._meta.${about}`;
}

/** Reads the one thing that may leave out of a request that was judged. The spelling of the method and the caller's id stay here. */
export function outgoingCall({ params }: JsonObject): OutgoingCall {
  const { name, arguments: given } = isObject(params) ? params : {};
  if (typeof name !== 'string') throw new TypeError('a tool call without a name is never sent');
  return { name, arguments: isObject(given) ? given : {} };
}

export function outgoingControl({ method, params }: JsonObject): OutgoingControl {
  const sent = CONTROL_METHODS.get(method as string)?.sent ?? [];
  const given = isObject(params) ? params : {};
  return {
    method: method as string,
    params: Object.fromEntries(
      sent.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name] as Json]])),
    ),
  };
}

/** The bytes of a tool call: a function of Gate's own id and what was judged. */
export const callText = (id: string, call: OutgoingCall): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: call.name, arguments: call.arguments },
  });

export const controlText = (id: string, { method, params }: OutgoingControl): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(Object.keys(params).length > 0 && { params }) });
