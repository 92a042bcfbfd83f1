import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import { startDemoUpstream } from '../demo/upstream/server.js';
import { startStatelessUpstream } from '../test/support/conformance-upstream.js';
import { detectUpstream, type DetectedUpstream } from './detected-upstream.js';

const AGENT = { tenant: 'acme', agent: 'alice' };
const LIMIT = { timeoutMs: 20_000 };
const call = (name: string): JsonObject => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: {} },
});

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

describe('what stands at the address of the tools', () => {
  let server: Server;
  let url: string;
  let asked: string[];
  let answer: (request: JsonObject) => Answer | null;
  let upstream: DetectedUpstream;

  const listen = (port = 0) =>
    new Promise<void>((listening) => {
      server = createServer((request, response) => {
        let text = '';
        request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
        request.on('end', () => {
          const body = text === '' ? { method: request.method ?? '' } : (JSON.parse(text) as JsonObject);
          asked.push(body['method'] as string);
          const given = answer(body);
          if (given === null) return void request.socket.destroy();
          response.writeHead(given.status, { 'content-type': given.type ?? 'application/json' }).end(given.text);
        });
      });
      server.listen(port, '127.0.0.1', listening);
    });
  const stopServer = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };

  beforeEach(async () => {
    asked = [];
    answer = ({ id }) => ({
      status: 200,
      text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, result: { done: true } }),
    });
    await listen();
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    upstream = detectUpstream({ url });
  });
  afterEach(async () => {
    await upstream.close();
    await stopServer();
  });

  it('is an MCP server by its answer to initialize, and is then spoken to over sessions', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gate-detected-'));
    const tools = await startDemoUpstream({ port: 0, dataDir });
    const mcp = detectUpstream({ url: tools.url });
    try {
      expect(await mcp.look()).toEqual({ kind: 'mcp', words: expect.stringMatching(/^MCP server \S+/) });
      const outcome = await mcp.callTool(AGENT, call('list_files'), LIMIT);
      expect(outcome).toMatchObject({ kind: 'reply', statusCode: 200, failed: false });
    } finally {
      await mcp.close();
      await tools.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 60_000);

  it.each([
    ['another result', 200, 'application/json', '{"jsonrpc":"2.0","id":1,"result":{"done":true}}'],
    ['an error', 200, 'application/json', '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'],
    ['400 and JSON', 400, 'application/json', '{"error":"no such tool"}'],
  ])(
    'takes calls as they are where it answers initialize with %s, and was asked so once',
    async (_how, status, type, text) => {
      const tool = answer;
      answer = (request) => (request['method'] === 'initialize' ? { status, type, text } : tool(request));
      expect(await upstream.look()).toMatchObject({ kind: 'json', words: expect.stringMatching(/^no MCP server: /) });
      const outcome = await upstream.callTool(AGENT, call('pay'), LIMIT);
      expect(outcome).toMatchObject({ kind: 'reply', text: '{"jsonrpc":"2.0","id":7,"result":{"done":true}}' });
      await upstream.callTool(AGENT, call('pay'), LIMIT);
      expect(asked).toEqual(['initialize', 'server/discover', 'tools/call', 'tools/call']);
    },
  );

  it.each([
    ['503', 503, 'HTTP 503'],
    ['401', 401, 'HTTP 401'],
    ['404', 404, 'HTTP 404'],
    ['405', 405, 'HTTP 405'],
    ['429', 429, 'HTTP 429'],
    ['a page under 400', 400, 'HTTP 400', '<html>bad</html>'],
    ['a page', 200, 'no JSON object', '<html>starting</html>'],
    ['nothing', 202, 'with nothing', ''],
    ['a fault of its own', 200, 'fails at', '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"starting"}}'],
    ['a closed connection', 0, 'connection closed'],
  ])(
    'is not known where it answers %s: no call is sent, and the next one asks again',
    async (_how, status, words, text = '{}') => {
      const tool = answer;
      answer = () => (status === 0 ? null : { status, text });
      expect(await upstream.look()).toEqual({ kind: 'unclear', words: expect.stringContaining(words) });
      const refused = await upstream.callTool(AGENT, call('pay'), LIMIT);
      expect(refused).toEqual({ kind: 'not_sent', reason: expect.stringContaining('--upstream-adapter') });
      expect(asked).not.toContain('tools/call');
      answer = tool;
      expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'reply' });
      expect(asked.filter((method) => method === 'tools/call')).toHaveLength(1);
    },
  );

  it('is an MCP server where it speaks the revision without sessions alone, and is called in that', async () => {
    const tools = await startStatelessUpstream(undefined, true);
    const mcp = detectUpstream({ url: tools.url });
    try {
      expect(await mcp.look()).toEqual({ kind: 'mcp', words: expect.stringMatching(/^MCP server \S+/) });
      const outcome = await mcp.callTool(AGENT, call('test_simple_text'), LIMIT);
      expect(outcome).toMatchObject({ kind: 'reply', statusCode: 200, failed: false });
    } finally {
      await mcp.close();
      await tools.close();
    }
  }, 60_000);

  it.each([
    ['400 and the error of an unknown revision', 400, -32_022],
    ['404 and the error of an unknown method', 404, -32_601],
    ['200 and the error of an unknown method', 200, -32_601],
  ])('is an MCP server where it answers initialize with %s, and server/discover as one', async (_how, status, code) => {
    const result = {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '1' } },
    };
    answer = ({ id, method }) =>
      method === 'initialize'
        ? { status, text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message: 'no' } }) }
        : method === 'server/discover'
          ? { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, result }) }
          : { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, result: { content: [] } }) };
    expect(await upstream.look()).toEqual({ kind: 'mcp', words: 'MCP server new 1' });
    expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'reply', failed: false });
    expect(asked.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it.each([
    ['503', 503, '{}', 'HTTP 503'],
    ['401', 401, '{"error":"who?"}', 'HTTP 401'],
    ['429', 429, '{}', 'HTTP 429'],
    ['a page', 200, '<html>starting</html>', 'no JSON object'],
    ['nothing', 202, '', 'with nothing'],
    ['a fault of its own', 200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"starting"}}', 'fails at'],
    ['a closed connection', 0, '', 'connection closed'],
  ])(
    'is not known where it refuses initialize and answers server/discover with %s: no call is sent, and the next one asks again',
    async (_how, status, text, words) => {
      const refusal = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no' } };
      const tool = answer;
      const said = (discovers: () => Answer | null) => (request: JsonObject) =>
        request['method'] === 'initialize'
          ? { status: 404, text: JSON.stringify(refusal) }
          : request['method'] === 'server/discover'
            ? discovers()
            : tool(request);
      answer = said(() => (status === 0 ? null : { status, text }));
      expect(await upstream.look()).toEqual({ kind: 'unclear', words: expect.stringContaining(words) });
      expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'not_sent' });
      expect(asked).not.toContain('tools/call');
      const result = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      answer = said(() => ({ status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) }));
      expect(await upstream.look()).toMatchObject({ kind: 'mcp' });
    },
  );

  it('is found when it starts after Gate', async () => {
    const { port } = server.address() as AddressInfo;
    await stopServer();
    expect(await upstream.look()).toEqual({ kind: 'unclear', words: 'connection refused (ECONNREFUSED)' });
    await listen(port);
    expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'reply' });
  });

  it('is an MCP server where a gateway answered 404 before it was up, and each call is sent once', async () => {
    const tool = answer;
    answer = () => ({ status: 404, type: 'text/html', text: '<html>404</html>' });
    expect(await upstream.look()).toMatchObject({ kind: 'unclear' });
    expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'not_sent' });
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'late', version: '1' },
    };
    answer = (request) =>
      request['method'] === 'initialize'
        ? { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: request['id'] ?? null, result }) }
        : request['id'] === undefined
          ? { status: 202, text: '' }
          : tool(request);
    expect(await upstream.callTool(AGENT, call('pay'), LIMIT)).toMatchObject({ kind: 'reply' });
    expect(await upstream.look()).toEqual({ kind: 'mcp', words: 'MCP server late 1' });
    expect(asked.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('asks once for callers that come together', async () => {
    await Promise.all(Array.from({ length: 5 }, () => upstream.callTool(AGENT, call('pay'), LIMIT)));
    expect(asked.toSorted()).toEqual(['initialize', 'server/discover', ...Array<string>(5).fill('tools/call')]);
  });

  it('follows no redirect', async () => {
    answer = () => ({ status: 307, text: '' });
    expect(await upstream.look()).toMatchObject({ kind: 'unclear', words: expect.stringContaining('HTTP 307') });
    expect(asked).toEqual(['initialize']);
  });
});
