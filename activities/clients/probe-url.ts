import { createGuardedFetch, type GuardedFetch, OutboundError } from '../../adapters/outbound/guarded-fetch.js';
import { type CallbackAllowlist, checkCallbackUrl } from '../../domain/outbound/callback-url.js';
import type { AskUrl } from '../../domain/probes/ports.js';
import { within } from '../../domain/within.js';

export interface ProbeUrlOptions {
  readonly allowlist: CallbackAllowlist;
  readonly allowPrivate: readonly string[];
  readonly fetch?: GuardedFetch;
}

/**
 * One GET per question, to an address that the allowlist holds when it is asked. A 4xx is an answer: "not found" may be what the probe is
 * asked for. Redirects, 408, 429 and 5xx are none.
 */
export function createProbeUrl({
  allowlist,
  allowPrivate,
  fetch = createGuardedFetch({ allowPrivate, limits: { totalMs: 30_000 } }),
}: ProbeUrlOptions): AskUrl {
  return async (url, timeoutMs) => {
    const asking = fetch(checkCallbackUrl(url, allowlist, { allowPrivate }), {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
    try {
      const { status, body } = await within(
        timeoutMs,
        asking,
        () => new OutboundError('timed_out', `no complete answer within ${timeoutMs} ms`),
      );
      return { status, text: body.toString('utf8') };
    } catch (error) {
      if (error instanceof OutboundError && error.fault === 'refused' && error.status !== null)
        return { status: error.status, text: '' };
      throw error;
    }
  };
}
