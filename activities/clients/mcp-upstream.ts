import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Client,
  type FetchLike,
  LATEST_PROTOCOL_VERSION,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import { Agent, fetch as undiciFetch } from 'undici';
import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Upstream, UpstreamCaller, UpstreamOutcome } from '../../domain/pipeline/upstream.js';
import { causeText, connectorThatTells, surelyNotSent } from './unsent.js';

export interface McpUpstreamOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`; the agent's own credentials never go upstream. */
  readonly apiKey?: string;
  /** Larger answers are not retained: the effect may have happened, so the outcome is unknown. */
  readonly maxResponseBytes?: number;
  readonly maxSessions?: number;
}

interface Session {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  inFlight: number;
  /** Takes no new request; closed when the last one under way has ended, for closing it would lose their replies. */
  retired: boolean;
}

/** What one attempt learns from below the SDK: that its stream ended, so that nobody waits for a reply that cannot come. */
interface Attempt {
  streamEnded(reason: Error): void;
}

/** The SDK hands over what a stream carried in the same turns; after this time nothing can come any more. */
const LAST_REPLY_MS = 200;
const GOODBYE_LIMIT_MS = 1_000;

const anyResult = z.looseObject({});

/**
 * The tools of one MCP server over streamable HTTP, through the MCP SDK's client. One upstream session per agent; upstream request ids
 * are the SDK's own and the caller's id is put back; JSON and SSE replies both end as one JSON-RPC object (DESIGN section 7).
 */
export function createMcpUpstream({
  url,
  apiKey,
  maxResponseBytes = 10_000_000,
  maxSessions = 1_000,
}: McpUpstreamOptions): Upstream {
  const target = new URL(url);
  const dispatcher = new Agent({
    connect: connectorThatTells({ timeout: 5_000 }),
    // Below what servers keep idle connections for (Node and uvicorn: 5 s): a request on one that the other side has just closed is lost, and
    // nobody knows whether it ran.
    keepAliveTimeout: 4_000,
    // The limit of the call governs, and the stream of a session may be silent for hours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const attempts = new AsyncLocalStorage<Attempt>();

  const trackedFetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const attempt = attempts.getStore();
    const response = await undiciFetch(input, { ...(init as object), dispatcher });
    if (!response.body) return response as unknown as Response;
    const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    let bytes = 0;
    const counted = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            attempt?.streamEnded(new Error('the upstream ended its answer without a reply'));
            return;
          }
          bytes += value.byteLength;
          if (bytes > maxResponseBytes) throw new Error(`the answer is larger than ${maxResponseBytes} bytes`);
          controller.enqueue(value);
        } catch (error) {
          controller.error(error);
          attempt?.streamEnded(error as Error);
          await reader.cancel().catch(() => undefined);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(counted, {
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers],
    });
  };

  const open = async (): Promise<Session> => {
    const client = new Client({ name: 'gate', version: '1' }, { capabilities: {} });
    const transport = new StreamableHTTPClientTransport(target, {
      fetch: trackedFetch as FetchLike,
      // One attempt at one address: the SDK would send the request again to where a redirect points.
      requestInit: { redirect: 'manual', ...(apiKey && { headers: { Authorization: `Bearer ${apiKey}` } }) },
      // A dropped stream is an unknown outcome; going on with it quietly would hide that.
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 1,
      },
    });
    await client.connect(transport, { timeout: 10_000 });
    return { client, transport, inFlight: 0, retired: false };
  };

  const retire = (session: Session): void => {
    session.retired = true;
    if (session.inFlight === 0) void session.client.close().catch(() => undefined);
  };
  const sessions = new LRUCache<string, Promise<Session>>({
    max: maxSessions,
    dispose: (session) => void session.then(retire).catch(() => undefined),
  });
  const key = ({ tenant, agent }: UpstreamCaller) => `${tenant}/${agent}`;
  const sessionOf = (caller: UpstreamCaller): Promise<Session> => {
    const known = sessions.get(key(caller));
    if (known) return known;
    const opened = open();
    sessions.set(key(caller), opened);
    opened.catch(() => {
      if (sessions.peek(key(caller)) === opened) sessions.delete(key(caller));
    });
    return opened;
  };
  /** The agent's next request opens a session anew, unless another one has done so already. */
  const forget = async (caller: UpstreamCaller, session: Session): Promise<void> => {
    const kept = sessions.peek(key(caller));
    if (kept && (await kept.catch(() => null)) === session && sessions.peek(key(caller)) === kept)
      sessions.delete(key(caller));
  };

  /** One request over one session. Rejects when no JSON-RPC answer came. */
  const ask = async (
    session: Session,
    method: string,
    params: JsonObject | undefined,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<JsonObject> => {
    const given = new AbortController();
    let ended: NodeJS.Timeout | undefined;
    const attempt: Attempt = { streamEnded: () => undefined };
    const lost = new Promise<never>((_, reject) => {
      attempt.streamEnded = (reason) => {
        ended ??= setTimeout(() => reject(reason), LAST_REPLY_MS);
      };
    });
    lost.catch(() => undefined);
    session.inFlight += 1;
    try {
      const asked = attempts.run(attempt, () =>
        session.client.request({ method, ...(params && { params }) }, anyResult, {
          timeout: timeoutMs,
          maxTotalTimeout: timeoutMs,
          signal: signal ? AbortSignal.any([signal, given.signal]) : given.signal,
        }),
      );
      return (await Promise.race([asked, lost])) as JsonObject;
    } finally {
      clearTimeout(ended);
      given.abort();
      session.inFlight -= 1;
      if (session.retired) retire(session);
    }
  };

  /** Sends over the agent's session; a session that is gone (404) is opened anew and the request sent once: the first was not taken. */
  const send = async (
    caller: UpstreamCaller,
    id: Json | undefined,
    method: string,
    params: JsonObject | undefined,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<UpstreamOutcome> => {
    for (let tried = 1; ; tried += 1) {
      let session: Session;
      try {
        session = await sessionOf(caller);
      } catch (error) {
        return { kind: 'not_sent', reason: `no session with the upstream: ${causeText(error)}` };
      }
      try {
        const result = await ask(session, method, params, timeoutMs, signal);
        return {
          kind: 'reply',
          statusCode: 200,
          body: { jsonrpc: '2.0', id: id ?? null, result },
          failed: result.isError === true,
        };
      } catch (error) {
        if (error instanceof ProtocolError) {
          const data = error.data === undefined ? {} : { data: error.data as JsonObject };
          return {
            kind: 'reply',
            statusCode: 200,
            body: { jsonrpc: '2.0', id: id ?? null, error: { code: error.code, message: error.message, ...data } },
            failed: true,
          };
        }
        if (surelyNotSent(error)) {
          await forget(caller, session);
          return { kind: 'not_sent', reason: causeText(error) };
        }
        if (error instanceof SdkHttpError && error.status >= 300) {
          // Many servers say 400 where the protocol says 404; such a call is not sent again, but the next one gets a new session.
          if (error.status === 404 || error.status === 400) await forget(caller, session);
          if (error.status === 404 && tried === 1) continue;
          return httpRefusal(id, error);
        }
        return { kind: 'unknown', reason: `the upstream gave no answer: ${causeText(error)}` };
      }
    }
  };

  return {
    callTool(caller, request, { timeoutMs, signal }) {
      return send(caller, request.id, 'tools/call', request.params as JsonObject | undefined, timeoutMs, signal);
    },

    async control(caller, request, { timeoutMs }) {
      const method = request.method as string;
      if (method !== 'initialize')
        return send(caller, request.id, method, request.params as JsonObject | undefined, timeoutMs);
      try {
        // Gate keeps the session with the upstream; the agent learns what that session agreed on.
        const { client } = await sessionOf(caller);
        const instructions = client.getInstructions();
        const result = {
          protocolVersion: requestedVersion(request),
          capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
          serverInfo: (client.getServerVersion() ?? { name: 'upstream', version: '0' }) as unknown as JsonObject,
          ...(instructions !== undefined && { instructions }),
        };
        return {
          kind: 'reply',
          statusCode: 200,
          body: { jsonrpc: '2.0', id: request.id ?? null, result },
          failed: false,
        };
      } catch (error) {
        return { kind: 'not_sent', reason: causeText(error) };
      }
    },

    async close() {
      const open = [...sessions.values()];
      const goodbyes = Promise.allSettled(open.map(async (session) => (await session).transport.terminateSession()));
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        goodbyes,
        new Promise((resolve) => {
          timer = setTimeout(resolve, GOODBYE_LIMIT_MS);
        }),
      ]);
      clearTimeout(timer);
      sessions.clear();
      await dispatcher.destroy().catch(() => undefined);
    },
  };
}

/** An HTTP answer is a result, also a refusal: the upstream took the request and spoke (proxy sheet 9). A redirect has no place to go. */
function httpRefusal(id: Json | undefined, error: SdkHttpError): UpstreamOutcome {
  const said = (error.data as { text?: string } | undefined)?.text?.slice(0, 300) ?? '';
  const message = `upstream answered HTTP ${error.status}${error.status < 400 ? '; redirects are not followed' : ''}`;
  return {
    kind: 'reply',
    statusCode: error.status < 400 ? 502 : error.status,
    body: { jsonrpc: '2.0', id: id ?? null, error: { code: -32_000, message, ...(said && { data: said }) } },
    failed: true,
  };
}

/** The version the agent asked for where there is such a version, else the newest. */
export const requestedVersion = (request: JsonObject): string => {
  const asked = (request.params as JsonObject | undefined)?.protocolVersion;
  return SUPPORTED_PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
};
