import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type LoggingLevel, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { type ConformanceUpstream, startConformanceUpstream } from '../support/conformance-upstream.js';
import { type LiteFixture, openLite } from '../support/lite.js';

const OPERATOR = 'the-token-of-an-operator-of-this-test';
const TOOL = 'test_tool_with_levels';
const ALL = ['debug', 'info', 'warning', 'error'];
const UNASKED = ALL.slice(1);
const AGENTS = ['one', 'two'] as const;
const authorization = (agent: (typeof AGENTS)[number]) => ({ authorization: `Bearer token-of-agent-${agent}` });

/** The tool says one thing of each of four levels. */
describe('the log messages of an upstream', () => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  const opened: Client[] = [];
  const env = () => ({
    GATE_LITE_UPSTREAM_URL: upstream.url,
    GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
    GATE_LITE_DECIDE_TOKEN: OPERATOR,
    GATE_LITE_AGENTS: AGENTS.map((agent) => `acme/${agent}:token-of-agent-${agent}`).join(','),
  });
  beforeAll(async () => {
    upstream = await startConformanceUpstream();
    gate = await openLite(env());
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const agent of AGENTS) await gate.send('POST', '/mcp', { body: list, headers: authorization(agent) });
    await gate.send('POST', '/tools/class', {
      body: { tool: TOOL, class: 'read', reason: 'a test' },
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  afterAll(async () => {
    await gate.close();
    await upstream.close();
  });

  /** A session of this agent, and what a call in it is told. */
  async function session(agent: (typeof AGENTS)[number] = 'one', sessionId?: string) {
    const client = new Client({ name: 'an agent', version: '1' });
    let told: string[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void told.push(params.level));
    opened.push(client);
    const transport = new StreamableHTTPClientTransport(new URL(`${gate.lite.url}/mcp`), {
      requestInit: { headers: authorization(agent) },
      ...(sessionId !== undefined && { sessionId }),
    });
    await client.connect(transport as never);
    return {
      id: () => transport.sessionId as string,
      level: (level: LoggingLevel) => client.setLoggingLevel(level),
      async heard() {
        told = [];
        const { content } = await client.callTool({ name: TOOL, arguments: {} }, undefined, { timeout: 9_000 });
        expect(JSON.stringify(content)).toContain('said four things');
        return told;
      },
    };
  }

  it('come to a session from the level on that it set, and from info on to one that set none', async () => {
    const agent = await session();
    expect(await agent.heard()).toEqual(UNASKED);
    await agent.level('warning');
    expect(await agent.heard()).toEqual(['warning', 'error']);
    await agent.level('critical');
    expect(await agent.heard()).toEqual([]);
    await agent.level('debug');
    expect(await agent.heard()).toEqual(ALL);
  });

  it.each([
    ['two sessions of one agent, which share the one with the upstream', 'one'],
    ['sessions of two agents', 'two'],
  ] as const)('do not come less, or more, for what another session set: %s', async (_whose, other) => {
    const [quiet, loud, silent] = [await session('one'), await session(other), await session(other)];
    await loud.level('debug');
    await quiet.level('error');
    expect(await loud.heard()).toEqual(ALL);
    expect(await silent.heard()).toEqual(UNASKED);
    await loud.level('info');
    expect(await quiet.heard()).toEqual(['error']);
    expect(await loud.heard()).toEqual(['info', 'warning', 'error']);
  });

  it('come after a restart of Gate as before it', async () => {
    const [quiet, loud] = [await session(), await session()];
    await quiet.level('error');
    await gate.lite.close();
    gate = await openLite(env(), { folder: gate.folder });
    expect(await (await session('one', quiet.id())).heard()).toEqual(['error']);
    expect(await (await session('one', loud.id())).heard()).toEqual(UNASKED);
  });

  describe('to a client without sessions (2026-07-28)', () => {
    async function heard(logLevel?: unknown): Promise<{ status: number; levels: string[] }> {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        ...(logLevel !== undefined && { 'io.modelcontextprotocol/logLevel': logLevel }),
      };
      const answer = await fetch(`${gate.lite.url}/mcp`, {
        method: 'POST',
        headers: {
          ...authorization('one'),
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': TOOL,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: TOOL, arguments: {}, _meta },
        }),
      });
      const text = await answer.text();
      expect(text).toContain(answer.ok ? 'said four things' : '-32602');
      return {
        status: answer.status,
        levels: [...text.matchAll(/"level":"(\w{1,20})"/g)].map(([, level]) => level as string),
      };
    }

    it('come where the request asks for them, from the level on that it names', async () => {
      expect(await heard()).toEqual({ status: 200, levels: [] });
      expect(await heard('warning')).toEqual({ status: 200, levels: ['warning', 'error'] });
      expect(await heard('debug')).toEqual({ status: 200, levels: ALL });
    });

    it('are refused under an unknown level', async () => {
      for (const level of ['loud', 3, null]) expect(await heard(level)).toEqual({ status: 400, levels: [] });
    });
  });
});
