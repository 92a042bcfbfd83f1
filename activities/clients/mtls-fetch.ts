import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import { Agent } from 'undici';
import { errorText } from '../../domain/errors.js';
import { hasEnded, type LiveTls, type TlsCredential, type TlsMaterial } from '../../domain/identity/live-tls.js';
import { spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { unlessAborted } from '../../domain/unless-aborted.js';
import type { ServiceFetch } from './service-client.js';
import { connectorThatTells, neverSent } from './unsent.js';

export interface MtlsFetchOptions extends TlsMaterial {
  /** The SPIFFE ids the server may have, exactly. */
  readonly expectedServerSpiffe: string | readonly string[];
  /** For a whole call: connection, request, answer. A signal of the caller's may end it earlier. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs?: number;
  readonly maxResponseBytes?: number;
}

/** An answer as it comes: without a limit of time, until its reader gives the signal. A request without a method is a GET. */
export type MtlsStream = (
  url: string,
  request: {
    readonly method?: 'GET' | 'POST';
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<{ readonly status: number; readonly body: AsyncIterable<Uint8Array>; text(): Promise<string> }>;

const KEEP_ALIVE_MS = 30_000;
const CONNECTIONS = 64;
const STREAMS = 1_024;

/**
 * Calls to one service over mutual TLS 1.3 on kept-alive connections. The server is known by the one SPIFFE id in its certificate, not by
 * its host name: another id closes the connection before a byte of the request is sent
 * (docs/architecture/identity-and-routes.md#connections). Every handshake is a whole one, so no resumed session skips that check. Errors
 * are one sentence each, the reason as their cause. Of one whose connection was never made `surelyNotSent` says so.
 */
export function createMtlsFetch(
  options: MtlsFetchOptions,
): ServiceFetch & { stream: MtlsStream; close(): Promise<void> } {
  const expected = new Set([options.expectedServerSpiffe].flat());
  const { live } = options;

  function agentsOf({ ca, cert, key }: TlsCredential) {
    const connect = connectorThatTells({
      ca,
      cert,
      key,
      minVersion: 'TLSv1.3',
      timeout: options.connectTimeoutMs ?? 2_000,
      maxCachedSessions: 0,
      checkServerIdentity: (_host: string, peer: PeerCertificate) => identityFault(peer, expected),
    });
    const calls = new Agent({
      connect,
      connections: CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxResponseSize: options.maxResponseBytes ?? 64 * 1024 * 1024,
      // The limit of the whole call below governs.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // A stream holds its connection for as long as it is read: with those of the calls, a few readers would leave none for them.
    const streams = new Agent({ connect, connections: STREAMS, headersTimeout: 0, bodyTimeout: 0 });
    return { calls, streams };
  }

  let agents: ReturnType<typeof agentsOf> | null = live ? null : agentsOf(options);
  /** Those of certificates before, on which something is still under way. */
  const leaving = new Set<Agent>();
  const forget = live?.onRenewed(() => {
    // What is under way ends on the connections that it has; whatever comes now makes new ones.
    for (const agent of agents ? [agents.calls, agents.streams] : []) {
      leaving.add(agent);
      void agent.close().then(
        () => leaving.delete(agent),
        () => leaving.delete(agent),
      );
    }
    agents = null;
  });
  /** Throws where the certificate has ended: nothing is sent on the connections that were made with it either. */
  async function agentsNow(signal: AbortSignal): Promise<ReturnType<typeof agentsOf>> {
    try {
      if (live) await reachable(live, signal);
      const credential = live?.now();
      return (agents ??= agentsOf(credential ?? options));
    } catch (error) {
      throw neverSent(error);
    }
  }

  const call: ServiceFetch = async (url, { method, headers, body, signal }) => {
    const { origin, pathname, search, protocol } = new URL(url);
    if (protocol !== 'https:') throw new Error(`${origin} is not https: nobody would know who answers there`);
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), options.timeoutMs);
    try {
      const { calls } = await agentsNow(limit.signal);
      const reply = await calls.request({
        origin,
        path: pathname + search,
        method,
        headers: headers ?? {},
        body: body ?? null,
        signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      });
      const text = await reply.body.text();
      return {
        status: reply.statusCode,
        setCookies: [reply.headers['set-cookie'] ?? []].flat(),
        text: () => Promise.resolve(text),
      };
    } catch (error) {
      signal?.throwIfAborted();
      if (limit.signal.aborted)
        throw new Error(`no answer from ${origin} within ${options.timeoutMs} ms`, { cause: error });
      throw new Error(`${origin}: ${errorText(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
  const stream: MtlsStream = async (url, { method = 'GET', headers, body: sent, signal }) => {
    const { origin, pathname, search, protocol } = new URL(url);
    if (protocol !== 'https:') throw new Error(`${origin} is not https: nobody would know who answers there`);
    const { streams } = await agentsNow(signal);
    const { statusCode, body } = await streams.request({
      origin,
      path: pathname + search,
      method,
      headers,
      body: sent ?? null,
      signal,
    });
    // Whoever reads it hears of a fault; one that comes when nobody reads any more would end the process.
    body.on('error', () => undefined);
    return { status: statusCode, body: body as AsyncIterable<Uint8Array>, text: () => body.text() };
  };
  return Object.assign(call, {
    stream,
    async close() {
      forget?.();
      await Promise.all(
        [...(agents ? [agents.calls, agents.streams] : []), ...leaving].map((agent) => agent.destroy()),
      );
    },
  });
}

/** Waits for the first certificate, and a moment for the next one where it just ended. */
async function reachable(live: LiveTls, signal: AbortSignal): Promise<void> {
  if (!hasEnded(live)) return;
  await unlessAborted(
    signal,
    live.had().then(() => live.settled()),
    () => undefined,
  );
}

function identityFault(peer: PeerCertificate, expected: ReadonlySet<string>): Error | undefined {
  const spiffe = spiffeOfCertificate(new X509Certificate(peer.raw));
  if (spiffe !== null && expected.has(spiffe)) return undefined;
  return new Error(`the server is ${spiffe ?? 'without a SPIFFE id'}, not ${[...expected].join(' or ')}`);
}
