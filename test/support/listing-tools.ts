import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../contracts/json.js';

/** An MCP server that lists what a test tells it to, page by page, and counts the calls of its tools. */
export interface ListingTools {
  readonly url: string;
  /** The pages of `tools/list`; the cursor of one is the place of the next. */
  pages: readonly (readonly JsonObject[])[];
  /** Tools that were called, in order. */
  readonly called: string[];
  /** Answers no list any more. */
  mute: boolean;
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
      if (method === 'initialize')
        return void json(response, {
          jsonrpc: '2.0',
          id,
          result: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'lists', version: '1' },
          },
        });
      if (method === 'tools/call') {
        tools.called.push((params as { name: string }).name);
        return void json(response, { jsonrpc: '2.0', id, result: { content: [] } });
      }
      if (tools.mute) return void response.writeHead(500).end();
      const at = Number((params as JsonObject | undefined)?.['cursor'] ?? 0);
      const nextCursor = at + 1 < tools.pages.length ? { nextCursor: String(at + 1) } : {};
      return void json(response, {
        jsonrpc: '2.0',
        id,
        result: { tools: [...(tools.pages[at] ?? [])], ...nextCursor },
      });
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const tools: ListingTools = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    pages: [],
    called: [],
    mute: false,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return tools;
}
