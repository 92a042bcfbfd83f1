import { lookup } from 'node:dns/promises';
import { Agent, buildConnector, request } from 'undici';
import { errorText } from '../../domain/errors.js';
import { bareHost, isPublicAddress, literalAddress, lowestAddress } from '../../domain/outbound/addresses.js';
import { isAllowedPrivate } from '../../domain/outbound/callback-url.js';
import { bytesUpTo, TooLong } from './body.js';

export type OutboundFault =
  | 'forbidden_address'
  | 'dns_failed'
  | 'connection_failed'
  | 'timed_out'
  | 'redirected'
  | 'refused'
  | 'unavailable'
  | 'request_too_large'
  | 'response_too_large';

/**
 * An outbound request that failed. `final` means that another attempt cannot help (a forbidden address, a redirect, a 4xx). Otherwise the
 * same request may be sent again later.
 */
export class OutboundError extends Error {
  readonly fault: OutboundFault;
  readonly final: boolean;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;

  constructor(
    fault: OutboundFault,
    message: string,
    options: { final: boolean; status?: number; cause?: unknown } = { final: false },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OutboundError';
    this.fault = fault;
    this.final = options.final;
    this.status = options.status ?? null;
  }
}

/** All addresses of a name, as text. Rejects when the name does not exist or no server answers. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface GuardedFetchOptions {
  /** `host:port` pairs that may be reached although they are not public. */
  readonly allowPrivate?: readonly string[];
  readonly resolve?: Resolve;
  /** PEM of additional certificate authorities to trust for https. Without it, those of Node. */
  readonly ca?: string;
  readonly limits?: Partial<Limits>;
  /** Opens the connection to an address that was checked. Tests replace it to see what is opened. */
  readonly open?: buildConnector.connector;
}
export interface GuardedRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the request before its limit. */
  readonly signal?: AbortSignal;
}
export interface GuardedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}
export interface GuardedFetch {
  (url: string | URL, init: GuardedRequest): Promise<GuardedResponse>;
  close(): Promise<void>;
}

/** Limits of every request (docs/architecture/outbound.md#guarded-fetch). */
export const OUTBOUND_LIMITS = { bodyBytes: 65_536, totalMs: 5_000, dnsMs: 2_000, answers: 32 };
type Limits = Readonly<typeof OUTBOUND_LIMITS>;

const resolveBySystem: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address);

/**
 * HTTP to addresses chosen by others (docs/architecture/outbound.md). Every connection resolves the name again, requires that all answers are
 * public, and goes to the one address that was checked. Host, SNI and certificate keep the name. Ignores proxy variables, keeps no
 * connection alive beyond the check, follows no redirects, and limits bodies and time. Resolves for 2xx; everything else rejects with
 * OutboundError.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const limits: Limits = { ...OUTBOUND_LIMITS, ...options.limits };
  const dispatcher = new Agent({
    connect: guardedConnector({
      allowPrivate: options.allowPrivate ?? [],
      resolve: options.resolve ?? resolveBySystem,
      limits,
      open:
        options.open ??
        buildConnector({ timeout: limits.totalMs, ...(options.ca !== undefined && { ca: options.ca }) }),
    }),
    // Without pipelining, a connection serves one request, so the next request is resolved and checked again.
    pipelining: 0,
    maxHeaderSize: 16_384,
  });

  const guardedFetch = async (target: string | URL, init: GuardedRequest): Promise<GuardedResponse> => {
    const url = new URL(target);
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new OutboundError('forbidden_address', `${url.protocol} is not a scheme Gate sends to`, { final: true });
    if (init.body !== undefined && Buffer.byteLength(init.body) > limits.bodyBytes)
      throw new OutboundError('request_too_large', `the body is larger than ${limits.bodyBytes} bytes`, {
        final: true,
      });
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new OutboundError('timed_out', `no complete answer within ${limits.totalMs} ms`)),
      limits.totalMs,
    );
    try {
      const response = await request(url, {
        dispatcher,
        method: init.method,
        headers: { ...init.headers },
        signal: init.signal ? AbortSignal.any([deadline.signal, init.signal]) : deadline.signal,
        ...(init.body !== undefined && { body: init.body }),
      });
      const refusal = refusalOf(response.statusCode);
      if (refusal !== null) {
        // The body of a refusal is not read, but its stream must be ended, or the connection would stay open.
        response.body.on('error', () => undefined).destroy();
        throw refusal;
      }
      const body = await bytesUpTo(limits.bodyBytes, response.body);
      return { status: response.statusCode, headers: response.headers, body };
    } catch (error) {
      throw outboundErrorOf(error, deadline.signal);
    } finally {
      clearTimeout(timer);
    }
  };
  return Object.assign(guardedFetch, { close: () => dispatcher.destroy() });
}

interface Guard {
  readonly allowPrivate: readonly string[];
  readonly resolve: Resolve;
  readonly limits: Limits;
  readonly open: buildConnector.connector;
}

/** Checks literal addresses here as well as resolved ones, because a literal never reaches a `lookup`. */
function guardedConnector({ allowPrivate, resolve, limits, open }: Guard): buildConnector.connector {
  return (target, callback) => {
    const host = bareHost(target.hostname);
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    pinnedAddress(host, isAllowedPrivate(host, port, allowPrivate), resolve, limits).then(
      (address) => {
        // Connects to the address that was checked. `host` still contains the name, for SNI and the certificate.
        open({ ...target, hostname: address }, callback);
      },
      (error: Error) => callback(error, null),
    );
  };
}

/**
 * The one address that a connection to `host` may use. One address that is not public refuses the whole set, because the name cannot be
 * trusted.
 */
async function pinnedAddress(host: string, mayBePrivate: boolean, resolve: Resolve, limits: Limits): Promise<string> {
  const literal = literalAddress(host);
  const answers = literal === null ? await resolveBounded(host, resolve, limits) : [literal];
  const forbidden = mayBePrivate ? undefined : answers.find((address) => !isPublicAddress(address));
  if (forbidden !== undefined)
    throw new OutboundError('forbidden_address', `${host} leads to ${forbidden}, which is not public`, { final: true });
  return lowestAddress(answers);
}

async function resolveBounded(host: string, resolve: Resolve, limits: Limits): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new OutboundError('dns_failed', `${host} was not resolved within ${limits.dnsMs} ms`)),
      limits.dnsMs,
    );
  });
  try {
    const answers = await Promise.race([resolve(host), late]);
    const usable = answers.every((address) => literalAddress(address) !== null);
    if (answers.length === 0 || !usable) throw new OutboundError('dns_failed', `${host} has no usable address`);
    if (answers.length > limits.answers)
      throw new OutboundError('forbidden_address', `${host} has more than ${limits.answers} addresses`, {
        final: true,
      });
    return answers;
  } catch (error) {
    if (error instanceof OutboundError) throw error;
    throw new OutboundError('dns_failed', `${host} cannot be resolved: ${errorText(error)}`, {
      final: false,
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** 408, 429 and 5xx may be temporary; every other status outside 2xx is final. A redirect would bypass the check. */
function refusalOf(status: number): OutboundError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return new OutboundError('redirected', `answered ${status}; redirects are not followed`, { final: true, status });
  const passing = status >= 500 || status === 408 || status === 429;
  return new OutboundError(passing ? 'unavailable' : 'refused', `answered ${status}`, { final: !passing, status });
}

function outboundErrorOf(error: unknown, deadline: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error;
  if (error instanceof TooLong) return new OutboundError('response_too_large', error.message, { final: true });
  if (deadline.aborted && deadline.reason instanceof OutboundError) return deadline.reason;
  return new OutboundError('connection_failed', `the connection failed: ${errorText(error)}`, {
    final: false,
    cause: error,
  });
}
