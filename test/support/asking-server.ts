import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What its other tool says is up to the test. */
export interface Telling {
  progress(progress: number): Promise<void>;
  log(words: string): Promise<void>;
  /** Its answer is `told`. */
  end(): void;
}

export interface AskingServer {
  readonly url: string;
  /** How often its tools were called. */
  readonly runs: () => number;
  /** The runs of its other tool, the oldest first. */
  readonly telling: readonly Telling[];
  close(): Promise<void>;
}

/** Its name is one that the agents of the demonstration call. */
export const TOOL = 'list_files';
/** The one that tells instead of asking. */
export const TELLING = 'read_file';
/** What its tool asks the person at the client: a word that nothing else says. */
export const ASKED = 'Which of the aubergine accounts?';

/**
 * An MCP server over streamable HTTP with sessions. One tool asks the person at the client, for as long as it has patience, and then the client's
 * model, and tells what both said. The other says what a test makes it say until that ends it.
 */
export async function startAskingServer(): Promise<AskingServer> {
  let runs = 0;
  const telling: Telling[] = [];
  const sessions = new Map<string, { transport: NodeStreamableHTTPServerTransport; server: McpServer }>();
  const asking = (): McpServer => {
    const server = new McpServer({ name: 'asking', version: '1' }, { capabilities: { logging: {} } });
    server.registerTool(
      TOOL,
      { description: 'Asks before it answers.', inputSchema: z.object({ patience_ms: z.number().optional() }) },
      async ({ patience_ms: timeout = 60_000 }, { mcpReq }) => {
        runs += 1;
        const requestedSchema = { type: 'object', properties: { account: { type: 'string' } }, required: ['account'] };
        const params = { message: ASKED, requestedSchema } as never;
        const { action, content: chosen } = await mcpReq.send({ method: 'elicitation/create', params }, { timeout });
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: `Name ${action}` } }];
        const { content } = await mcpReq.send({
          method: 'sampling/createMessage',
          params: { messages, maxTokens: 10 },
        });
        return { content: [{ type: 'text' as const, text: JSON.stringify([action, chosen, content]) }] };
      },
    );
    server.registerTool(
      TELLING,
      { description: 'Tells how far it is.', inputSchema: z.object({}) },
      async (_, { mcpReq }) => {
        runs += 1;
        const progressToken = mcpReq._meta?.progressToken as string;
        await new Promise<void>((end) =>
          telling.push({
            progress: (progress) =>
              mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } }),
            log: (words) => mcpReq.log('warning', words),
            end,
          }),
        );
        return { content: [{ type: 'text' as const, text: 'told' }] };
      },
    );
    return server;
  };
  const http = createServer((request, response) => {
    void (async () => {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      if (known) return known.transport.handleRequest(request, response);
      if (id !== undefined) return void response.writeHead(404).end();
      const server = asking();
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened) => void sessions.set(opened, { transport, server }),
        onsessionclosed: (closed) => void sessions.delete(closed),
      });
      await server.connect(transport);
      return transport.handleRequest(request, response);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    runs: () => runs,
    telling,
    async close() {
      const closed = new Promise((done) => http.close(done));
      for (const { server } of sessions.values()) await server.close();
      http.closeAllConnections();
      await closed;
    },
  };
}
