import { randomUUID } from 'node:crypto';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Agent } from 'undici';
import type { Json, JsonObject } from '../../contracts/json.js';

/** One end of a TLS connection; without `cert` and `key` a stranger who shows no certificate. */
export interface Identity {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as a JSON object; throws when it is not one. */
  readonly body: JsonObject;
  /** `X-Gate-Correlation-Id`. */
  readonly correlationId: string;
}

export interface Http {
  request(
    method: string,
    path: string,
    options?: {
      headers?: Readonly<Record<string, string | string[]>>;
      body?: string | Buffer | JsonObject;
      /** Hangs up when it fires. */
      signal?: AbortSignal;
    },
  ): Promise<Reply>;
  close(): Promise<void>;
}

/** HTTP over mutual TLS with exactly the given certificate, on kept-alive connections. Nothing is tried twice. */
export function createHttp(base: string, identity: Identity): Http {
  const agent = new Agent({ connect: { ...identity, timeout: 30_000 }, headersTimeout: 45_000, bodyTimeout: 45_000 });
  return {
    async request(method, path, { headers = {}, body, signal } = {}) {
      const text = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
      const reply = await agent.request({
        origin: base,
        path,
        method: method as 'GET',
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        body: text ?? null,
        ...(signal && { signal }),
      });
      return toReply(reply.statusCode, reply.headers, await reply.body.text());
    },
    close: () => agent.destroy(),
  };
}

export const toReply = (status: number, headers: Reply['headers'], text: string): Reply => ({
  status,
  headers,
  text,
  get body() {
    return JSON.parse(text) as JsonObject;
  },
  correlationId: String(headers['x-gate-correlation-id']),
});

/** How a tool call is sent; what is left out is what an ordinary client would send. */
export interface CallOptions {
  readonly idempotencyId?: string;
  readonly contract?: 'decision' | 'server-execution';
  readonly rpcId?: Json;
  readonly method?: string;
  readonly callback?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AgentClient extends Http {
  /** POST /mcp with these bytes and headers, nothing added but the content type. */
  send(body: string | Buffer | JsonObject, headers?: Readonly<Record<string, string | string[]>>): Promise<Reply>;
  /** A tool call under a contract, with an idempotency id of its own where none is given. */
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Reply>;
  /** A control method. */
  control(method: string, params?: JsonObject, id?: Json): Promise<Reply>;
}

export const SELECTORS = {
  decision: { 'x-gate-decision-contract': 'gate.decision/v1' },
  'server-execution': { 'x-gate-server-execution-contract': 'gate.server-execution/v1' },
} as const;

export const rpc = (method: string, params: JsonObject | undefined, id: Json | undefined): JsonObject => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method,
  ...(params && { params }),
});

export function createAgentClient(base: string, identity: Identity): AgentClient {
  const http = createHttp(base, identity);
  const send: AgentClient['send'] = (body, headers) =>
    http.request('POST', '/mcp', { body, ...(headers && { headers }) });
  return {
    ...http,
    send,
    call: (tool, args = {}, options = {}) =>
      send(rpc(options.method ?? 'tools/call', { name: tool, arguments: args }, options.rpcId ?? 1), {
        ...SELECTORS[options.contract ?? 'server-execution'],
        'x-gate-idempotency-id': options.idempotencyId ?? randomUUID(),
        ...(options.callback !== undefined && { 'x-gate-callback-url': options.callback }),
        ...options.headers,
      }),
    control: (method, params, id = 1) => send(rpc(method, params, id)),
  };
}

/** A bare TLS connection, for what no HTTP client would send. */
export function openTls(base: string, identity: Identity, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { hostname, port } = new URL(base);
  return new Promise((opened, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ...identity, ...options }, () => opened(socket));
    socket.once('error', reject);
  });
}

/** Writes these bytes and returns everything that came back until the other side closed the connection, or until `enough` holds. */
export async function exchange(
  socket: TLSSocket,
  bytes: string | Buffer,
  enough: (answer: string) => boolean = () => false,
): Promise<string> {
  let answer = '';
  const done = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (enough(answer)) resolve();
    });
    socket.once('close', resolve);
    socket.once('error', () => resolve());
  });
  socket.write(bytes);
  await done;
  socket.destroy();
  return answer;
}
