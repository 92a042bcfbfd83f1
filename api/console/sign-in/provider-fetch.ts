import type { CustomFetch } from 'openid-client';
import { causeText } from '../../../activities/clients/unsent.js';
import { errorText } from '../../../domain/errors.js';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  OutboundError,
} from '../../../adapters/outbound/guarded-fetch.js';

/** Whether a sign-in failed because the provider did not answer, or could not: no fault of whoever signs in. */
export function isProviderAway(error: unknown): boolean {
  const outbound = [...causesOf(error)].find((cause) => cause instanceof OutboundError);
  return outbound !== undefined && !outbound.final;
}

/** The same, in words for whoever starts the console: which address, and what became of the request. */
export function notRead(address: string, error: unknown): Error {
  const all = [...causesOf(error)];
  const outbound = all.find((cause) => cause instanceof OutboundError);
  if (outbound === undefined)
    return new Error(`${address} cannot be read: ${errorText(all.at(-1) ?? error)}`, { cause: error });
  const words =
    outbound.status !== null || outbound.final ? `: ${outbound.message}` : ` does not answer: ${causeText(outbound)}`;
  return new Error(`${address}${words}`, { cause: error });
}

/** An error and what caused it, as deep as errors go. */
export function* causesOf(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; { cause } = cause) yield cause;
}

/**
 * HTTP to a provider. The issuer's own address was named by the operator and may be private; wherever else the provider's configuration
 * leads must be public. Whatever is not 2xx is a failure, and no redirect is followed.
 */
export function providerFetch(
  issuer: URL,
  limits: GuardedFetchOptions['limits'] = {},
): { readonly fetch: CustomFetch; readonly guarded: GuardedFetch } {
  const port = issuer.port || (issuer.protocol === 'https:' ? '443' : '80');
  const guarded = createGuardedFetch({ allowPrivate: [`${issuer.hostname}:${port}`], limits });
  const fetch: CustomFetch = async (url, { method, headers, body }) => {
    const text = body instanceof URLSearchParams || typeof body === 'string' ? String(body) : undefined;
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is not sent to a provider`);
    const answer = await guarded(url, { method, headers, ...(text !== undefined && { body: text }) });
    const type = answer.headers['content-type'];
    return new Response(new Uint8Array(answer.body), {
      status: answer.status,
      headers: { 'content-type': typeof type === 'string' ? type : '' },
    });
  };
  return { fetch, guarded };
}
