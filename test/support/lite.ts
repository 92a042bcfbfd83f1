import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import pino from 'pino';
import { readLiteConfig } from '../../config/lite.js';
import type { JsonObject } from '../../contracts/json.js';
import { startLite, type Lite, type LiteOptions } from '../../lite/serve.js';

/** Tools that take a JSON-RPC request as it is, and count what they were asked. */
export interface EchoTools {
  readonly url: string;
  readonly executed: JsonObject[];
  /** What is answered; a test changes it. `null` drops the connection. */
  answer: (request: JsonObject) => JsonObject | null | Promise<JsonObject | null>;
  close(): Promise<void>;
}

export async function echoTools(): Promise<EchoTools> {
  const executed: JsonObject[] = [];
  const answered = async (request: IncomingMessage, response: ServerResponse, bytes: Buffer) => {
    const body = JSON.parse(bytes.toString('utf8')) as JsonObject;
    // Gate looks at the definitions of a tool whose call parks: that executes nothing.
    if (body['method'] !== 'tools/list') executed.push(body);
    const answer = await tools.answer(body);
    if (answer === null) request.socket.destroy();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void answered(request, response, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const tools: EchoTools = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    executed,
    answer: (request) => ({
      jsonrpc: '2.0',
      id: request.id ?? null,
      result: { content: [{ type: 'text', text: 'done' }] },
    }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tools;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export interface LiteFixture {
  readonly folder: string;
  readonly ledger: string;
  readonly lite: Lite;
  call(tool: string, options?: CallOptions): Promise<Answered>;
  send(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answered>;
  close(): Promise<void>;
}
export interface CallOptions {
  readonly id?: string;
  readonly arguments?: JsonObject;
  readonly decision?: boolean;
  readonly headers?: Record<string, string>;
}

const OPERATORS_PATH = /^\/(?:decide\/|pending(?:$|\?)|pending\/[^/]+\/decide$|auth\/links$)/;

export const liteFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'gate-lite-'));

/** A lite process in this process, over a folder; the same folder again is a restart. */
export async function openLite(
  env: Record<string, string> = {},
  { folder, ...options }: { folder?: string } & Partial<LiteOptions> = {},
): Promise<LiteFixture> {
  const home = folder ?? (await liteFolder());
  const ledger = join(home, 'gate-lite.db');
  const config = readLiteConfig({
    GATE_LITE_PORT: '0',
    GATE_LITE_LEDGER: ledger,
    GATE_LITE_UPSTREAM_NAME: 'demo',
    // Said, so that tools which count what they are asked are asked nothing before.
    GATE_LITE_UPSTREAM_ADAPTER: 'raw-json',
    ...env,
  });
  const lite = await startLite({ config, logger: pino({ level: 'silent' }), ...options });
  const send: LiteFixture['send'] = async (method, path, { body, headers = {} } = {}) => {
    const own = lite.ownDecideToken;
    const answer = await fetch(`${lite.url}${path}`, {
      method,
      headers: {
        // As the commands do it: the token that Gate made is shown where an operator's word is asked for, and nowhere else.
        ...(own && OPERATORS_PATH.test(path) && { authorization: `Bearer ${own.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      redirect: 'manual',
    });
    const text = await answer.text();
    let parsed: JsonObject;
    try {
      parsed = JSON.parse(text) as JsonObject;
    } catch {
      parsed = { text };
    }
    return { status: answer.status, headers: answer.headers, body: parsed };
  };
  return {
    folder: home,
    ledger,
    lite,
    send,
    call: (tool, { id = randomUUID(), arguments: given = { path: 'a.txt' }, decision = false, headers = {} } = {}) =>
      send('POST', '/mcp', {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: given } },
        headers: {
          ...(decision
            ? { 'X-Gate-Decision-Contract': 'gate.decision/v1' }
            : { 'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1' }),
          'X-Gate-Idempotency-Id': id,
          ...headers,
        },
      }),
    async close() {
      await lite.close();
      if (!folder) await rm(home, { recursive: true, force: true });
    },
  };
}

/** Runs statements on a ledger file as an editor with full access would: no trigger and no foreign key stands in the way. */
export function editFile(file: string, ...statements: readonly string[]): void {
  const editor = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  try {
    for (const { name } of editor.prepare("select name from sqlite_master where type = 'trigger'").all())
      editor.exec(`drop trigger ${String(name)}`);
    for (const statement of statements) editor.exec(statement);
  } finally {
    editor.close();
  }
}
