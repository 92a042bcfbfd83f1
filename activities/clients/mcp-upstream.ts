import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Client,
  type FetchLike,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import { Agent, fetch as undiciFetch } from 'undici';
import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Upstream, UpstreamCaller, UpstreamOutcome } from '../../domain/pipeline/upstream.js';
import { causeText, NotSent, notSent, surelyNotSent } from './unsent.js';

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
}

/** What one attempt learns from below the SDK: that its stream ended, so that nobody waits for a reply that cannot come. */
interface Attempt {
  streamEnded(): void;
}

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
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, keepAliveTimeout: 30_000 });
  const attempts = new AsyncLocalStorage<Attempt>();

  const trackedFetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const attempt = attempts.getStore();
    let response: Awaited<ReturnType<typeof undiciFetch>>;
    try {
      response = await undiciFetch(input, { ...(init as object), dispatcher, redirect: 'manual' });
    } catch (error) {
      throw surelyNotSent(error) ? new NotSent(causeText(error)) : error;
    }
    if (!response.body) return response as unknown as Response;
    let bytes = 0;
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          if (bytes > maxResponseBytes)
            controller.error(new Error(`the answer is larger than ${maxResponseBytes} bytes`));
          else controller.enqueue(chunk);
        },
        flush: () => attempt?.streamEnded(),
      }),
    );
    return new Response(counted as unknown as ReadableStream<Uint8Array>, {
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers],
    });
  };

  const open = async (): Promise<Session> => {
    const client = new Client({ name: 'gate', version: '1' }, { capabilities: {} });
    const transport = new StreamableHTTPClientTransport(target, {
      fetch: trackedFetch as FetchLike,
      ...(apiKey && { requestInit: { headers: { Authorization: `Bearer ${apiKey}` } } }),
      // A dropped stream is an unknown outcome; going on with it quietly would hide that.
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 1,
      },
    });
    await client.connect(transport, { timeout: 10_000 });
    return { client, transport };
  };

  const sessions = new LRUCache<string, Promise<Session>>({
    max: maxSessions,
    dispose: (session) => void session.then(({ client }) => client.close()).catch(() => undefined),
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
    const attempt = { streamEnded: () => undefined as void };
    const lost = new Promise<never>((_, reject) => {
      attempt.streamEnded = () => {
        // The SDK handles what the stream carried in the same turns; after these nothing can come any more.
        ended ??= setTimeout(() => reject(new Error('the upstream closed the stream without an answer')), 500);
      };
    });
    lost.catch(() => undefined);
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
        if (error instanceof SdkHttpError && error.status === 404 && tried === 1) {
          sessions.delete(key(caller));
          continue;
        }
        if (notSent(error)) {
          sessions.delete(key(caller));
          return { kind: 'not_sent', reason: causeText(error) };
        }
        if (error instanceof SdkHttpError && error.status >= 400) {
          // An HTTP answer is a result, also a refusal: the upstream took the request and spoke (proxy sheet 9).
          return {
            kind: 'reply',
            statusCode: error.status,
            body: {
              jsonrpc: '2.0',
              id: id ?? null,
              error: { code: -32_000, message: `upstream answered HTTP ${error.status}` },
            },
            failed: true,
          };
        }
        return { kind: 'unknown', reason: causeText(error) };
      }
    }
  };

  return {
    callTool(caller, request, { timeoutMs, signal }) {
      return send(caller, request.id, 'tools/call', request.params as JsonObject | undefined, timeoutMs, signal);
    },

    async control(caller, request, { timeoutMs }) {
      const method = CONTROL_ALIASES[request.method as string] ?? (request.method as string);
      if (method.startsWith('notifications/')) return notify(caller, method, request.params as JsonObject | undefined);
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
      sessions.clear();
      await Promise.allSettled(open.map(async (session) => (await session).client.close()));
      await dispatcher.close().catch(() => undefined);
    },
  };

  async function notify(
    caller: UpstreamCaller,
    method: string,
    params: JsonObject | undefined,
  ): Promise<UpstreamOutcome | { kind: 'accepted' }> {
    try {
      const { client } = await sessionOf(caller);
      // The session was initialized by Gate itself; saying it twice would confuse the upstream.
      if (method !== 'notifications/initialized')
        await client.notification({ method, ...(params && { params }) } as never);
      return { kind: 'accepted' };
    } catch (error) {
      return { kind: notSent(error) ? 'not_sent' : 'unknown', reason: causeText(error) };
    }
  }
}

/** Older names of control methods, as MCP spells them now. */
export const CONTROL_ALIASES: Readonly<Record<string, string>> = {
  initialized: 'notifications/initialized',
  list_tools: 'tools/list',
  list_resources: 'resources/list',
};

const LATEST_PROTOCOL = '2025-11-25';
export const requestedVersion = (request: JsonObject): string => {
  const params = request.params as JsonObject | undefined;
  return typeof params?.protocolVersion === 'string' ? params.protocolVersion : LATEST_PROTOCOL;
};
