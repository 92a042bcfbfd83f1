import { buildConnector } from 'undici';
import { ModelFailure, type Usage } from '../../domain/models/port.js';
import { createGuardedFetch, OutboundError, type GuardedFetch } from '../outbound/guarded-fetch.js';

/** Longer than any request that a model is shown, and than any answer that fits a schema. */
const BODY_BYTES = 524_288;

/** Where a provider is, as its entry in the file says. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** `host:port`, where the operator named an address that may be inside the network. */
  readonly allowPrivate?: string;
  /** PEM of an authority that Node does not know; for tests. */
  readonly ca?: string;
}

/** Errors of connections that were never made: not a byte of a request was sent. */
const neverMade = new WeakSet<object>();

/** The guarded fetch to one provider, over connections that tell whether they were made. */
export function fetchTo({ timeoutMs, allowPrivate, ca }: Endpoint): GuardedFetch {
  const connect = buildConnector({ timeout: timeoutMs, ...(ca !== undefined && { ca }) });
  return createGuardedFetch({
    limits: { totalMs: timeoutMs, bodyBytes: BODY_BYTES },
    ...(allowPrivate !== undefined && { allowPrivate: [allowPrivate] }),
    open: (target, callback) =>
      connect(target, (error, socket) => {
        if (error) neverMade.add(error);
        if (error) callback(error, null);
        else callback(null, socket as NonNullable<typeof socket>);
      }),
  });
}

/** The headers of a request to a provider; no other one leaves, whatever an SDK or its environment adds. */
const SENT_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization', 'anthropic-version']);

/**
 * One exchange of an SDK through the guarded fetch: `fetch` is for the SDK, `failure` says what became of it where it did not end with a 2xx.
 * An SDK rewrites errors; so they are kept here. The words of a refusal are not read: they repeat what was asked.
 */
export function oneExchange(guarded: GuardedFetch, { withoutKey = false } = {}) {
  let failed: unknown;
  const fetch = async (target: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = Object.fromEntries(
      [...new Headers(init.headers)].filter(
        ([name]) => SENT_HEADERS.has(name) && !(withoutKey && name === 'authorization'),
      ),
    );
    try {
      const {
        status,
        body,
        headers: got,
      } = await guarded(target instanceof Request ? target.url : target, {
        method: 'POST',
        headers,
        body: typeof init.body === 'string' ? init.body : '',
        ...(init.signal && { signal: init.signal }),
      });
      return new Response(new Uint8Array(body), {
        status,
        headers: { 'content-type': String(got['content-type'] ?? '') },
      });
    } catch (error) {
      failed = error;
      throw error;
    }
  };
  /** `null` where the exchange itself went well. */
  const failure = (): ModelFailure | null => (failed === undefined ? null : failureOf(failed));
  return { fetch, failure };
}

const BUSY: ReadonlySet<number> = new Set([408, 425, 429]);

function failureOf(error: unknown): ModelFailure {
  if (!(error instanceof OutboundError)) return new ModelFailure('ambiguous_transport', { unknownCost: true });
  const { fault, status, cause } = error;
  if (status !== null) return new ModelFailure(...ofStatus(status));
  if (fault === 'dns_failed' || fault === 'forbidden_address') return new ModelFailure('connect', { transient: true });
  if (fault === 'request_too_large') return new ModelFailure('invalid_input');
  if (fault === 'response_too_large') return new ModelFailure('parse', { unknownCost: true });
  return typeof cause === 'object' && cause !== null && neverMade.has(cause)
    ? new ModelFailure('connect', { transient: true })
    : new ModelFailure('ambiguous_transport', { unknownCost: true });
}

function ofStatus(status: number): ConstructorParameters<typeof ModelFailure> {
  if (BUSY.has(status)) return ['rate_limited', { transient: true }];
  if (status === 503) return ['unavailable', { transient: true }];
  if (status === 401 || status === 403) return ['authentication'];
  if (status === 404 || status === 405) return ['unsupported'];
  return [status >= 500 || status < 400 ? 'unavailable' : 'invalid_input'];
}

/** Of what an SDK throws: the exchange's own failure, or else that its answer could not be read. */
export const thrownBy = (error: unknown, exchange: { failure(): ModelFailure | null }): ModelFailure =>
  error instanceof ModelFailure ? error : (exchange.failure() ?? new ModelFailure('parse', { unknownCost: true }));

/** The key for one question. Where it cannot be had nothing is sent, and nothing is paid. */
export function keyNow(key: () => string): string {
  try {
    return key();
  } catch {
    throw new ModelFailure('no_key', { transient: true });
  }
}

/** What every SDK is told: one request through the exchange, and nothing in a log. */
export const optionsOf = (
  { baseUrl, timeoutMs }: Endpoint,
  { fetch }: Pick<ReturnType<typeof oneExchange>, 'fetch'>,
) => ({ baseURL: baseUrl, timeout: timeoutMs, maxRetries: 0, logLevel: 'off' as const, fetch });

/** An answer that came and is of no use. It was paid for. */
export const unusableWith = (usage: Usage | null) => (failure: 'refused' | 'truncated' | 'parse') =>
  new ModelFailure(failure, usage ? { usage } : { unknownCost: true });
