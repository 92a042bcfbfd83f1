import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../contracts/json.js';

/** An MCP server that lists what a test tells it to, page by page, and counts the calls of its tools. */
export interface ListingTools {
  readonly url: string;
  readonly server: Server;
  /** The pages of `tools/list`; the cursor of one is the place of the next. */
  pages: readonly (readonly JsonObject[])[];
  /** What other lists and introductions answer, by method. */
  results: Readonly<Record<string, JsonObject>>;
  /** Tools that were called, in order. */
  readonly called: string[];
  /** The status that `initialize` is answered with instead of a session; null where it opens one. */
  limited: number | null;
  /** Answers no list any more, but with this status; true is 500. */
  mute: boolean | number;
  close(): Promise<void>;
}

export async function listingTools(): Promise<ListingTools> {
  const json = (response: ServerResponse, body: JsonObject) =>
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' }).end(JSON.stringify(body));
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = JSON.parse(text) as JsonObject;
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'initialize' && tools.limited !== null)
        return void response.writeHead(tools.limited, { 'retry-after': '1' }).end('slow down');
      if (method === 'initialize')
        return void json(response, {
          jsonrpc: '2.0',
          id,
          result: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {}, resources: {}, prompts: {} },
            serverInfo: { name: 'lists', version: '1' },
            ...tools.results['initialize'],
          },
        });
      if (method === 'tools/call') {
        tools.called.push((params as { name: string }).name);
        return void json(response, { jsonrpc: '2.0', id, result: { content: [] } });
      }
      const other = typeof method === 'string' && tools.results[method];
      if (other) return void json(response, { jsonrpc: '2.0', id, result: other });
      if (tools.mute !== false) return void response.writeHead(tools.mute === true ? 500 : tools.mute).end();
      const at = Number((params as JsonObject | undefined)?.['cursor'] ?? 0);
      const nextCursor = at + 1 < tools.pages.length ? { nextCursor: String(at + 1) } : {};
      return void json(response, {
        jsonrpc: '2.0',
        id,
        result: { tools: [...(tools.pages[at] ?? [])], ...nextCursor },
      });
    });
  });
  // On a busy machine a client may be silent for longer than the five seconds after which Node ends a connection that it is about to use.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const tools: ListingTools = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    server,
    pages: [],
    results: {},
    called: [],
    limited: null,
    mute: false,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return tools;
}
