import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from '@modelcontextprotocol/client';
import { type ConformanceUpstream, startConformanceUpstream } from '../support/conformance-upstream.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const OPERATOR = 'the-token-of-an-operator-of-this-test';
const TOOLS = ['test_tool_with_logging', 'test_tool_with_progress', 'test_elicitation', 'test_change_resource'];

describe('what an upstream says to an ordinary MCP client', () => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  const opened: Client[] = [];
  beforeAll(async () => {
    upstream = await startConformanceUpstream();
    gate = await openLite({
      GATE_LITE_UPSTREAM_URL: upstream.url,
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      GATE_LITE_DECIDE_TOKEN: OPERATOR,
    });
    await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    for (const tool of TOOLS)
      await gate.send('POST', '/tools/class', {
        body: { tool, class: 'read', reason: 'a test' },
        headers: { authorization: `Bearer ${OPERATOR}` },
      });
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  let isGateClosed = false;
  afterAll(async () => {
    if (!isGateClosed) await gate.close();
    await upstream.close();
  });

  async function client(capabilities: object = {}, prepare: (made: Client) => void = () => undefined): Promise<Client> {
    const made = new Client({ name: 'an agent', version: '1' }, { capabilities });
    prepare(made);
    opened.push(made);
    await made.connect(new StreamableHTTPClientTransport(new URL(`${gate.lite.url}/mcp`)) as never);
    return made;
  }

  it('comes while the call runs: progress under the token of the client, and log messages in order', async () => {
    const logged: unknown[] = [];
    const agent = await client({}, (made) =>
      made.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data)),
    );
    const progress: number[] = [];
    await agent.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, {
      onprogress: (one) => void progress.push(one.progress),
    });
    expect(progress).toEqual([0, 50, 100]);
    await agent.callTool({ name: 'test_tool_with_logging', arguments: {} });
    expect(logged).toEqual(['Tool execution started', 'Tool processing data', 'Tool execution completed']);
  });

  it('is asked of the client that can be asked, and of no other', async () => {
    const able = await client({ elicitation: {} }, (made) =>
      made.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
        action: 'accept',
        content: { username: params.message, email: 'a@example.com' },
      })),
    );
    const call = { name: 'test_elicitation', arguments: { message: 'who are you' } };
    const [answer, refused] = [await able.callTool(call), await (await client()).callTool(call)];
    expect(JSON.stringify(answer.content)).toMatch(/action=accept.*who are you/);
    expect(refused.isError).toBe(true);
  });

  it('comes on the stream of the session outside of calls: a resource that was subscribed to has changed', async () => {
    const updated: string[] = [];
    const agent = await client({}, (made) =>
      made.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri)),
    );
    await agent.subscribeResource({ uri: 'test://watched-resource' });
    await eventually('the client is told', async () => {
      await agent.callTool({ name: 'test_change_resource', arguments: {} });
      return updated.length > 0;
    });
    expect(updated[0]).toBe('test://watched-resource');
    await agent.unsubscribeResource({ uri: 'test://watched-resource' });
    const before = updated.length;
    expect(JSON.stringify(await agent.callTool({ name: 'test_change_resource', arguments: {} }))).toContain(
      'told of 0',
    );
    expect(updated).toHaveLength(before);
  });

  it('is read by the agent: resources, templates and prompts, each a call of its own', async () => {
    const agent = await client();
    expect((await agent.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    const { contents } = await agent.readResource({ uri: 'test://template/5/data' });
    expect(JSON.stringify(contents)).toContain('Data for ID: 5');
    const { messages } = await agent.getPrompt({
      name: 'test_prompt_with_arguments',
      arguments: { arg1: 'one', arg2: 'two' },
    });
    expect(JSON.stringify(messages)).toContain("arg1='one'");
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' } as const;
    const { completion } = await agent.complete({ ref, argument: { name: 'arg1', value: 'par' } });
    expect(completion.values).toEqual(['paris', 'park', 'party']);
    await expect(agent.getPrompt({ name: 'drop_table', arguments: { sql: 'DROP TABLE users' } })).rejects.toThrow(
      'policy_denied',
    );
  });

  it('comes to a client without sessions on the stream that it asked for, and nothing else does', async () => {
    const agent = new StatelessClient(
      { name: 'an agent', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const updated: string[] = [];
    agent.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri));
    await agent.connect(new StatelessTransport(new URL(`${gate.lite.url}/mcp`)));
    const watched = 'test://watched-resource';
    const stream = await agent.listen({ resourceSubscriptions: [watched], promptsListChanged: true });
    expect(stream.honoredFilter).toEqual({ resourceSubscriptions: [watched], promptsListChanged: true });
    await eventually('the client is told', async () => {
      await agent.callTool({ name: 'test_change_resource', arguments: {} });
      return updated.length > 0;
    });
    expect(new Set(updated)).toEqual(new Set([watched]));
    const tools = await agent.listen({ toolsListChanged: true });
    const before = updated.length;
    await stream.close();
    await agent.callTool({ name: 'test_change_resource', arguments: {} });
    expect(updated).toHaveLength(before);
    isGateClosed = true;
    await gate.close();
    expect(await tools.closed).toBe('graceful');
    await agent.close();
  });
});
