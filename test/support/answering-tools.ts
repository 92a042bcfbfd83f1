import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Json, JsonObject } from '../../contracts/json.js';

/** An MCP server that answers calls and reads with what a test tells it to. */
export interface AnsweringTools {
  readonly url: string;
  readonly server: Server;
  /** The result of each tool, resource (by its address) or prompt (by its name). */
  results: Readonly<Record<string, JsonObject>>;
  /** How often each was asked for. */
  readonly asked: Map<string, number>;
  /** Answers come as a stream of events. */
  streams: boolean;
  /** Answers are compressed, though nobody asked for it. */
  compresses: boolean;
  /** Sent on the stream before each answer. */
  before: readonly JsonObject[];
  close(): Promise<void>;
}

const HEAD = { 'mcp-session-id': 's' };

export async function answeringTools(): Promise<AnsweringTools> {
  const send = (response: ServerResponse, message: JsonObject) => {
    const said = tools.streams
      ? [...tools.before, message].map((one) => `event: message\ndata: ${JSON.stringify(one)}\n\n`).join('')
      : JSON.stringify(message);
    response
      .writeHead(200, {
        ...HEAD,
        'content-type': tools.streams ? 'text/event-stream' : 'application/json',
        ...(tools.compresses && { 'content-encoding': 'gzip' }),
      })
      .end(tools.compresses ? gzipSync(said) : said);
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = JSON.parse(text) as JsonObject;
      if (id === undefined) return void response.writeHead(202).end();
      const asked = params as { name?: string; uri?: string };
      if (method === 'initialize')
        return void response.writeHead(200, { ...HEAD, 'content-type': 'application/json' }).end(
          JSON.stringify({
            jsonrpc: '2.0',
            id,
            result: {
              protocolVersion: '2025-06-18',
              capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
              serverInfo: { name: 'answers', version: '1' },
            },
          }),
        );
      const name = asked.name ?? asked.uri ?? (method as string);
      tools.asked.set(name, (tools.asked.get(name) ?? 0) + 1);
      send(response, { jsonrpc: '2.0', id: id as Json, result: tools.results[name] ?? { content: [] } });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const tools: AnsweringTools = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    server,
    results: {},
    asked: new Map(),
    streams: false,
    compresses: false,
    before: [],
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return tools;
}
