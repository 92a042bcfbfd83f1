import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostHeaderValidation, NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  completable,
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { addAskingTools, addChangingTools, STATES } from './asking-tools.js';
import { timePasses } from './waiting.js';

/** The smallest images and sounds there are: one red pixel, and no sample at all. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const resource = (uri: string, words: string, mimeType = 'text/plain') =>
  ({ type: 'resource', resource: { uri, mimeType, text: words } }) as const;
const said = (...content: readonly object[]) => ({
  messages: content.map((one) => ({ role: 'user' as const, content: one as { type: 'text'; text: string } })),
});

/** Asks the person at the client, on the stream of the request that it belongs to, as the specification wants it. */
async function elicited(context: ServerContext, message: string, properties: object, required?: readonly string[]) {
  const requestedSchema = { type: 'object', properties, ...(required && { required }) };
  const params = { message, requestedSchema } as never;
  const { action, content } = await context.mcpReq.send({ method: 'elicitation/create', params });
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

const NAMED = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
];

/** What the conformance suite of MCP asks a server for: every tool, resource and prompt. */
function conformingServer(): McpServer {
  const server = new McpServer(
    { name: 'gate-conformance-upstream', version: '1' },
    {
      capabilities: { logging: {}, resources: { subscribe: true }, completions: {} },
      requestState: { verify: STATES.verify },
    },
  );
  addAskingTools(server);
  const tool = (name: string, answer: (context: ServerContext) => CallToolResult | Promise<CallToolResult>) =>
    server.registerTool(name, { description: `Conformance: ${name}.`, inputSchema: z.object({}) }, (_, context) =>
      answer(context),
    );
  tool('test_simple_text', () => text('This is a simple text response for testing.'));
  tool('test_image_content', () => ({ content: [image] }));
  tool('test_audio_content', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
  tool('test_embedded_resource', () => ({
    content: [resource('test://embedded-resource', 'This is an embedded resource content.')],
  }));
  tool('test_multiple_content_types', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
    ],
  }));
  tool('test_error_handling', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  tool('test_tool_with_logging', async ({ mcpReq }) => {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', words);
      await timePasses(50, 'the suite wants to hear them apart');
    }
    return text('Tool with logging executed successfully');
  });
  // Beside what the suite asks for: one message of each of four levels.
  tool('test_tool_with_levels', async ({ mcpReq }) => {
    for (const level of ['debug', 'info', 'warning', 'error'] as const) await mcpReq.log(level, level);
    return text('said four things');
  });
  tool('test_tool_with_progress', async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await timePasses(50, 'the suite wants to hear them apart');
    }
    return text('Tool with progress executed successfully');
  });
  // Long enough for a client to lose its connection in the middle.
  tool('test_reconnection', async () => {
    await timePasses(2_000, 'the client has this long to lose its connection');
    return text('Reconnection test completed successfully');
  });
  server.registerTool(
    'test_sampling',
    { description: 'Conformance: asks the model of the client.', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.send({
        method: 'sampling/createMessage',
        params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
      });
      return text(`LLM response: ${JSON.stringify(content)}`);
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Conformance: asks the person at the client.', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => {
      const given = (description: string) => ({ type: 'string', description });
      const properties = { username: given("User's response"), email: given("User's email address") };
      return elicited(context, message, properties, ['username', 'email']);
    },
  );
  tool('test_elicitation_sep1034_defaults', (context) =>
    elicited(context, 'Please review these values', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  );
  tool('test_elicitation_sep1330_enums', (context) =>
    elicited(context, 'Please choose', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: NAMED },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: NAMED } },
    }),
  );
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Conformance: keywords of JSON Schema 2020-12.',
      inputSchema: fromJsonSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      }),
    },
    (given) => text(JSON.stringify(given)),
  );

  const kept = (name: string, uri: string, mimeType: string, held: { text: string } | { blob: string }) =>
    server.registerResource(name, uri, { description: `Conformance: ${name}.`, mimeType }, ({ href }) => ({
      contents: [{ uri: href, mimeType, ...held }],
    }));
  kept('static-text', 'test://static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  });
  kept('static-binary', 'test://static-binary', 'image/png', { blob: PNG });
  kept('watched-resource', 'test://watched-resource', 'text/plain', { text: 'Watched resource content' });
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Conformance: a template.', mimeType: 'application/json' },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  const watched = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    watched.add(uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    watched.delete(uri);
    return {};
  });
  tool('test_change_resource', async () => {
    for (const uri of watched) await server.server.sendResourceUpdated({ uri });
    return text(`told of ${watched.size}`);
  });

  server.registerPrompt('test_simple_prompt', { description: 'Conformance: simple.' }, () =>
    said({ type: 'text', text: 'This is a simple prompt for testing.' }),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Conformance: arguments.',
      argsSchema: z.object({
        arg1: completable(z.string(), (begun) => ['paris', 'park', 'party'].filter((word) => word.startsWith(begun))),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => said({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Conformance: a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      said(resource(resourceUri, 'Embedded resource content for testing.'), {
        type: 'text',
        text: 'Please process the embedded resource above.',
      }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'Conformance: an image.' }, () =>
    said(image, { type: 'text', text: 'Please analyze the image above.' }),
  );
  return server;
}

export interface ConformanceUpstream {
  readonly url: string;
  close(): Promise<void>;
}

/** An MCP server of its own for the conformance suite, over streamable HTTP with sessions. */
export async function startConformanceUpstream(): Promise<ConformanceUpstream> {
  const sessions = new Map<string, { transport: NodeStreamableHTTPServerTransport; server: McpServer }>();
  const allowed = hostHeaderValidation(['localhost', '127.0.0.1', '[::1]']);
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && !known) {
      const error = { jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null };
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(error));
      return;
    }
    if (known) return known.transport.handleRequest(request, response);
    const server = conformingServer();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (opened) => void sessions.set(opened, { transport, server }),
      onsessionclosed: (closed) => void sessions.delete(closed),
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  }
  const http = createServer((request, response) => {
    if (!allowed(request, response)) return;
    handle(request, response).catch(() => response.destroy());
  });
  http.keepAliveTimeout = 65_000;
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async close() {
      const closed = new Promise((done) => http.close(done));
      for (const { server } of sessions.values()) await server.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

/** The same in MCP 2026-07-28, which has no sessions; older revisions are served without sessions too, unless it speaks `alone`. `heard` is told of each request. */
export async function startStatelessUpstream(
  heard: (request: IncomingMessage) => void = () => undefined,
  alone = false,
): Promise<ConformanceUpstream & { readonly changed: () => void }> {
  const served = (): McpServer => {
    const server = conformingServer();
    addChangingTools(server, () => handler.notify);
    return server;
  };
  const handler = createMcpHandler(served, alone ? { legacy: 'reject' } : {});
  const handle = toNodeHandler(handler);
  const allowed = hostHeaderValidation(['localhost', '127.0.0.1', '[::1]']);
  const http = createServer((request, response) => {
    heard(request);
    if (!allowed(request, response)) return;
    handle(request as never, response).catch(() => response.destroy());
  });
  http.keepAliveTimeout = 65_000;
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    /** Its lists of tools and prompts. */
    changed() {
      handler.notify.toolsChanged();
      handler.notify.promptsChanged();
    },
    async close() {
      const closed = new Promise((done) => http.close(done));
      await handler.close();
      http.closeAllConnections();
      await closed;
    },
  };
}
