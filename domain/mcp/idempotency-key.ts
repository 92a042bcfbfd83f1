import type { JsonObject } from '../../contracts/json.js';

/**
 * In `_meta` of a call: the client's own name for it, by which a call that is sent again is the same one, whatever the session, the id of
 * the request and what else `_meta` says. The key of the agent, not of a session (docs/architecture/mcp-sessions.md#a-key-of-the-clients-own).
 */
export const IDEMPOTENCY_KEY = 'gate/idempotency-key';

/** Visible ASCII: a key is compared, never shown. */
const KEY = /^[\x21-\x7e]{1,128}$/;

const metaOf = (params: unknown): JsonObject => {
  const meta = (params as JsonObject | null | undefined)?.['_meta'];
  return meta !== null && typeof meta === 'object' && !Array.isArray(meta) ? meta : {};
};

/** What is wrong with the key; `null` when nothing is, or there is none. */
export function idempotencyKeyFault(params: unknown): string | null {
  const key = metaOf(params)[IDEMPOTENCY_KEY];
  return key === undefined || (typeof key === 'string' && KEY.test(key))
    ? null
    : `\`params._meta["${IDEMPOTENCY_KEY}"]\` must be 1 to 128 visible ASCII characters`;
}

/**
 * The request as a client that sends it again sends it: what `_meta` says of this one sending (a token of progress, a trace) is never sent on, and
 * clients renew it.
 */
export function sentAgain(body: JsonObject): JsonObject {
  const { params } = body;
  if (params === null || typeof params !== 'object' || Array.isArray(params)) return body;
  const { _meta: _sending, ...asked } = params;
  return { ...body, params: asked };
}

/**
 * The key, and the request as everybody who sends it again under the key sends it, for a task or for its answer; `null` where the client gave
 * none.
 */
export function keyedRequest(body: JsonObject): { readonly key: string; readonly body: JsonObject } | null {
  const params = body['params'] as JsonObject | undefined;
  const key = metaOf(params)[IDEMPOTENCY_KEY];
  if (typeof key !== 'string') return null;
  const { task: _task, ...asked } = params ?? {};
  return { key, body: { ...body, id: key, params: { ...asked, _meta: { [IDEMPOTENCY_KEY]: key } } } };
}
