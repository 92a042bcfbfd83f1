import type { CustomFetch } from 'openid-client';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  OutboundError,
} from '../../../adapters/outbound/guarded-fetch.js';

/** Whether a sign-in failed because the provider did not answer, or could not: no fault of whoever signs in. */
export function isProviderAway(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (cause instanceof OutboundError) return !cause.final;
  return false;
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
