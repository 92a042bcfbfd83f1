import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from './child.js';

/** The least an MCP server can be, in a process of its own: what is measured is Gate and not the tool behind it. */
const answers = {
  async start(): Promise<string> {
    server = createServer((request, response) => {
      void read(request).then((message) => {
        if (request.method !== 'POST') return response.writeHead(405).end();
        if (message?.id === undefined) return response.writeHead(202).end();
        return response
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
          .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
      });
    });
    server.keepAliveTimeout = 65_000;
    await new Promise<void>((listening) => server?.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  },
};
export type UpstreamQuestions = typeof answers;

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const session = randomUUID();
let server: Server | undefined;

async function read(request: IncomingMessage): Promise<Message | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? null : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as Message);
}

const resultOf = ({ method, params }: Message): object =>
  method === 'initialize'
    ? {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'bench-tools', version: '1' },
      }
    : method === 'tools/list'
      ? { tools: TOOLS.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })) }
      : { content: [{ type: 'text', text: 'notes.txt' }] };

const TOOLS = ['list_files', 'read_file', 'delete_file', 'wire_transfer'];

answerQuestions(answers, async () => {
  server?.closeAllConnections();
  await new Promise((closed) => (server ? server.close(closed) : closed(null)));
});
