import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { hostHeaderValidation, NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { errorText } from '../../domain/errors.js';
import { type Balances, type Effect, openEffectLog } from './effects.js';
import { createDemoServer } from './tools.js';
import { openWorkspace } from './workspace.js';

export interface DemoUpstreamOptions {
  /** Holds `workspace/`, `journal.jsonl` and `balances.json`. */
  readonly dataDir: string;
  /** 0: any free one. */
  readonly port: number;
  readonly host?: string;
  /** Names it may be called by besides localhost, 127.0.0.1 and ::1; others are refused, so that no web page can reach it. */
  readonly allowedHosts?: readonly string[];
  /** Answers come as server-sent events, as from most MCP servers; `false`: as plain JSON. */
  readonly sse?: boolean;
}

export interface DemoState {
  /** Every tool call that ran, oldest first. */
  readonly effects: readonly Effect[];
  /** How many times each tool ran. */
  readonly counts: Readonly<Record<string, number>>;
  readonly balances: Balances;
  readonly sessions: number;
}

export interface DemoUpstream {
  /** Its MCP endpoint. */
  readonly url: string;
  readonly port: number;
  state(): DemoState;
  /** Ends the calls it is handling. What they did stays. */
  close(): Promise<void>;
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport;
  close(): Promise<void>;
}

const MAX_SESSIONS = 2_000;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * The demonstration tools: a real MCP server over streamable HTTP, with sessions, on `POST|GET|DELETE /mcp`. Beside it `GET /state`
 * (DemoState as JSON) and `GET /health`. Effects last: the journal in `dataDir` holds one line for each tool call that ran, so "executed
 * exactly once" can be counted. Tools: list_files, read_file, write_file, delete_file (a workspace folder), get_balance, wire_transfer,
 * get_reference_status (whether an order was carried out; not in the journal, because it does nothing),
 * slow_task (up to 60 seconds), failing_tool (an answer with isError), drop_connection (acts, then hangs up), big_result (so many bytes).
 *
 * Alone: `node dist/demo/upstream/main.js --port 9000 --data DIR`; SIGTERM ends it.
 * Rejects when the port is taken.
 */
export async function startDemoUpstream(options: DemoUpstreamOptions): Promise<DemoUpstream> {
  const host = options.host ?? '127.0.0.1';
  const effects = openEffectLog(options.dataDir);
  const workspace = openWorkspace(join(options.dataDir, 'workspace'));
  const allowed = hostHeaderValidation(['localhost', '127.0.0.1', '[::1]', ...(options.allowedHosts ?? [])]);
  /** Oldest first. */
  const sessions = new Map<string, Session>();
  const connection = new AsyncLocalStorage<Socket>();

  async function openSession(): Promise<Session> {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: options.sse === false,
      maxRequestBodySize: MAX_BODY_BYTES,
      onsessioninitialized: async (id) => {
        sessions.set(id, session);
        const [oldest] = sessions;
        if (sessions.size > MAX_SESSIONS && oldest) await forget(oldest[0]);
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = createDemoServer({ effects, workspace, dropConnection: () => connection.getStore()?.destroy() });
    const session = { transport, close: () => server.close() };
    await server.connect(transport);
    return session;
  }

  async function forget(id: string): Promise<void> {
    const session = sessions.get(id);
    sessions.delete(id);
    await session?.close();
  }

  async function handleMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    // The protocol's answer to a session that is gone: the client opens a new one.
    if (id !== undefined && !known) return refuse(response, 404, -32_001, 'Session not found');
    const session = known ?? (await openSession());
    await connection.run(request.socket, () => session.transport.handleRequest(request, response));
    // A request that opened no session leaves none behind.
    if (!known && session.transport.sessionId === undefined) await session.close();
  }

  const state = (): DemoState => {
    const counts: Record<string, number> = {};
    for (const { tool } of effects.effects) counts[tool] = (counts[tool] ?? 0) + 1;
    return { effects: effects.effects, counts, balances: effects.balances, sessions: sessions.size };
  };

  const http = createServer((request, response) => {
    if (!allowed(request, response)) return;
    const path = request.url?.split('?')[0];
    if (path === '/mcp') {
      handleMcp(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else refuse(response, 500, -32_603, errorText(error));
      });
    } else if (request.method === 'GET' && path === '/state') answer(response, 200, state());
    else if (request.method === 'GET' && path === '/health') answer(response, 200, { status: 'ok' });
    else answer(response, 404, { error: 'not_found' });
  });
  // Longer than Gate keeps a connection to an upstream, so that it is never this side that hangs up first.
  http.keepAliveTimeout = 65_000;
  await new Promise<void>((listening, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`demo upstream: port ${options.port} on ${host} is used by another program`)
          : error,
      ),
    );
    http.listen(options.port, host, listening);
  });
  const { port } = http.address() as AddressInfo;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${port}/mcp`,
    port,
    state,
    async close() {
      const closed = new Promise<void>((done) => http.close(() => done()));
      for (const id of sessions.keys()) await forget(id);
      http.closeAllConnections();
      await closed;
    },
  };
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  answer(response, status, { jsonrpc: '2.0', error: { code, message }, id: null });
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
