import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../demo/upstream/server.js';
import type { Upstream, UpstreamCaller } from '../domain/upstream/upstream.js';
import { createMcpUpstream, type McpUpstreamOptions } from './mcp-upstream.js';
import { sessionsInMemory } from './upstream-sessions.js';
import { eventually, timePasses } from '../test/support/waiting.js';

const ALICE: UpstreamCaller = { tenant: 'acme', agent: 'alice' };
const BOB: UpstreamCaller = { tenant: 'acme', agent: 'bob' };
/** Longer than any test here may take: what is answered was not waited for until then. */
const LIMIT = { timeoutMs: 600_000 };

const call = (name: string, args: JsonObject = {}, id: string | number = 1): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** Until this side has seen that the other one closed its connections; a call sent before is an unknown outcome, and rightly so. */
const untilClosed = () => timePasses(100, 'nothing outside the client tells when it has read the end of a connection');

const open: Upstream[] = [];
/** The client, with answers as what their text means. */
const clientOf = (url: string, options: Omit<McpUpstreamOptions, 'url'> = {}) => {
  const upstream = createMcpUpstream({ url, ...options });
  open.push(upstream);
  const read = (outcome: Awaited<ReturnType<Upstream['control']>>) => {
    if (outcome.kind !== 'reply') return outcome;
    const { text, ...said } = outcome;
    return { ...said, body: JSON.parse(text) as JsonObject };
  };
  return {
    callTool: async (...call: Parameters<Upstream['callTool']>) => read(await upstream.callTool(...call)),
    control: async (...control: Parameters<Upstream['control']>) => read(await upstream.control(...control)),
    listen: async (...listening: Parameters<NonNullable<Upstream['listen']>>) => upstream.listen?.(...listening),
  };
};
const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((upstream) => upstream.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

describe.each([
  ['server-sent events', true],
  ['plain JSON', false],
])('the tools behind Gate, answering by %s', (_how, sse) => {
  let dataDir: string;
  let tools: DemoUpstream;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gate-upstream-'));
    tools = await startDemoUpstream({ dataDir, port: 0, sse });
  });
  afterEach(async () => {
    await tools.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('end as one JSON-RPC object under the id of the caller', async () => {
    const upstream = clientOf(tools.url);
    for (const id of ['text', 17, 0]) {
      expect(await upstream.callTool(ALICE, call('get_balance', { account: 'vendor' }, id), LIMIT)).toEqual({
        kind: 'reply',
        statusCode: 200,
        failed: false,
        body: { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'vendor: 0.00' }] } },
      });
    }
  });

  it('say that a tool failed, and what it answered', async () => {
    const upstream = clientOf(tools.url);
    expect(await upstream.callTool(ALICE, call('failing_tool', { reason: 'no luck' }), LIMIT)).toMatchObject({
      kind: 'reply',
      statusCode: 200,
      failed: true,
      body: { result: { isError: true, content: [{ text: 'no luck' }] } },
    });
  });

  it('are one session per agent, however many calls come at once', async () => {
    const upstream = clientOf(tools.url);
    await Promise.all(
      [ALICE, BOB].flatMap((caller) =>
        Array.from({ length: 5 }, () => upstream.callTool(caller, call('list_files'), LIMIT)),
      ),
    );
    expect(tools.state()).toMatchObject({ sessions: 2, counts: { list_files: 10 } });
  });

  it('get their sessions back when Gate ends', async () => {
    const upstream = createMcpUpstream({ url: tools.url });
    await upstream.callTool(ALICE, call('list_files'), LIMIT);
    expect(tools.state().sessions).toBe(1);
    await upstream.close();
    expect(tools.state().sessions).toBe(0);
  });

  it('are met in a new session where the old one is gone, and the call runs once', async () => {
    const upstream = clientOf(tools.url);
    await upstream.callTool(ALICE, call('list_files'), LIMIT);
    const { port } = tools;
    await tools.close();
    tools = await startDemoUpstream({ dataDir, port, sse });
    await untilClosed();
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        upstream.callTool(ALICE, call('write_file', { path: `${index}`, content: '' }), LIMIT),
      ),
    );
    for (const reply of replies) expect(reply).toMatchObject({ kind: 'reply', failed: false });
    expect(tools.state()).toMatchObject({ sessions: 1, counts: { write_file: 6 } });
  });

  it('that hang up leave an unknown outcome, and at once', async () => {
    const upstream = clientOf(tools.url);
    await upstream.callTool(ALICE, call('list_files'), LIMIT);
    expect(await upstream.callTool(ALICE, call('drop_connection'), LIMIT)).toMatchObject({ kind: 'unknown' });
    expect(tools.state().counts.drop_connection).toBe(1);
    expect(await upstream.callTool(ALICE, call('list_files'), LIMIT)).toMatchObject({ kind: 'reply' });
  });

  it('that take too long leave an unknown outcome', async () => {
    const upstream = clientOf(tools.url);
    // Its session is open, so that the time is the call's alone.
    await upstream.callTool(ALICE, call('list_files'), LIMIT);
    expect(await upstream.callTool(ALICE, call('slow_task', { seconds: 10 }), { timeoutMs: 1_000 })).toMatchObject({
      kind: 'unknown',
      cause: 'timeout',
      reason: expect.stringMatching(/timed out/),
    });
  });

  it('that nobody waits for any more leave an unknown outcome', async () => {
    const upstream = clientOf(tools.url);
    const stop = new AbortController();
    const asked = upstream.callTool(ALICE, call('slow_task', { seconds: 10 }), { ...LIMIT, signal: stop.signal });
    await eventually('the tool runs', () => tools.state().counts.slow_task);
    stop.abort();
    expect(await asked).toMatchObject({ kind: 'unknown', cause: 'cancelled' });
  });

  it('that answer with more than may be kept leave an unknown outcome, and at once', async () => {
    const upstream = clientOf(tools.url, { maxResponseBytes: 100_000 });
    expect(await upstream.callTool(ALICE, call('big_result', { bytes: 50_000 }), LIMIT)).toMatchObject({
      kind: 'reply',
    });
    expect(await upstream.callTool(ALICE, call('big_result', { bytes: 300_000 }), LIMIT)).toEqual({
      kind: 'unknown',
      cause: 'invalid_answer',
      reason: 'the upstream gave no answer: the answer is larger than 100000 bytes',
    });
  });

  it('answer control methods, under the id of the caller', async () => {
    const upstream = clientOf(tools.url);
    const control = (method: string, id: string | number = 'c') =>
      upstream.control(ALICE, { jsonrpc: '2.0', id, method }, LIMIT);
    expect(await control('ping')).toMatchObject({ kind: 'reply', body: { jsonrpc: '2.0', id: 'c', result: {} } });
    expect(await control('tools/list')).toMatchObject({
      kind: 'reply',
      body: { id: 'c', result: { tools: expect.any(Array) } },
    });
    expect(await control('prompts/list')).toMatchObject({
      kind: 'reply',
      statusCode: 200,
      failed: true,
      body: { id: 'c', error: { code: -32601, message: expect.any(String) } },
    });
  });

  it('are introduced by Gate: initialize answers with the session it has', async () => {
    const upstream = clientOf(tools.url);
    const initialize = (protocolVersion: string) =>
      upstream.control(ALICE, { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion } }, LIMIT);
    for (const [asked, answered] of [
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['1066-10-14', '2025-11-25'],
    ] as const)
      expect(await initialize(asked)).toMatchObject({
        kind: 'reply',
        body: {
          id: 1,
          result: {
            protocolVersion: answered,
            serverInfo: { name: 'gate-demo-upstream' },
            capabilities: { tools: {} },
          },
        },
      });
    expect(tools.state().sessions).toBe(1);
  });

  it('keep the reply of a call whose session must make room for another agent', async () => {
    const upstream = clientOf(tools.url, { sessions: sessionsInMemory(1) });
    const running = upstream.callTool(ALICE, call('slow_task', { seconds: 1 }), LIMIT);
    await eventually('the tool runs', () => tools.state().counts.slow_task);
    expect(await upstream.callTool(BOB, call('list_files'), LIMIT)).toMatchObject({ kind: 'reply' });
    expect(await running).toMatchObject({ kind: 'reply', failed: false });
  });
});

describe('an upstream that is no MCP server, or a bad one', () => {
  /** Answers as an MCP server until the session stands; what becomes of a tool call is the test's to choose. */
  async function badServer(
    onCall: (request: IncomingMessage, response: ServerResponse, body: JsonObject) => void,
    seen: { headers: IncomingMessage['headers']; body: JsonObject; method: string | undefined }[] = [],
  ): Promise<string> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        const body = (text ? JSON.parse(text) : {}) as JsonObject;
        seen.push({ headers: request.headers, body, method: request.method });
        const json = (value: JsonObject) =>
          response
            .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, ...value }));
        if (request.method !== 'POST') return void response.writeHead(405).end();
        if (body.method === 'initialize')
          return void json({
            result: {
              protocolVersion: '2025-06-18',
              capabilities: { tools: {} },
              serverInfo: { name: 'bad', version: '1' },
            },
          });
        if (body.method === 'tools/call') return onCall(request, response, body);
        return void response.writeHead(202).end();
      });
    });
    servers.push(server);
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
  }
  const sseHead = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
  const calls = (seen: readonly { body: JsonObject }[]) => seen.filter(({ body }) => body.method === 'tools/call');

  it('not there: surely nothing was sent', async () => {
    const probe = createTcpServer();
    await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening));
    const { port } = probe.address() as { port: number };
    await new Promise((closed) => probe.close(closed));
    const upstream = clientOf(`http://127.0.0.1:${port}/mcp`);
    expect(await upstream.callTool(ALICE, call('list_files'), LIMIT)).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringMatching(/ECONNREFUSED/),
    });
    for (const method of ['tools/list', 'initialize'])
      expect(await upstream.control(ALICE, { jsonrpc: '2.0', id: 1, method }, LIMIT)).toMatchObject({
        kind: 'not_sent',
      });
  });

  it('a name that does not resolve: surely nothing was sent', async () => {
    const upstream = clientOf('http://no-such-host.invalid/mcp');
    expect(await upstream.callTool(ALICE, call('list_files'), LIMIT)).toMatchObject({ kind: 'not_sent' });
  });

  it('not speaking TLS: surely nothing was sent', async () => {
    const url = await badServer((_request, response) => response.end());
    const upstream = clientOf(url.replace('http:', 'https:'));
    expect(await upstream.callTool(ALICE, call('list_files'), LIMIT)).toMatchObject({ kind: 'not_sent' });
  });

  it('gone after the session was opened: surely nothing was sent, and the next call finds the new one', async () => {
    let url = await badServer((_request, response, body) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} })),
    );
    const upstream = clientOf(url);
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({ kind: 'reply' });
    const [first] = servers.splice(0);
    first?.closeAllConnections();
    await new Promise((closed) => first?.close(closed));
    await untilClosed();
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({ kind: 'not_sent' });
    url = url.replace(/\/mcp$/, '');
    const again = createServer((request, response) => {
      request.resume();
      response.writeHead(500).end();
    });
    servers.push(again);
    await new Promise<void>((listening) => again.listen(Number(new URL(url).port), '127.0.0.1', listening));
    // It opened a session anew, and that is what fails now.
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringMatching(/no session with the upstream/),
    });
  });

  it.each([
    ['before a byte of the answer', (response: ServerResponse) => response.destroy()],
    [
      'after the head of a JSON answer',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":');
        setTimeout(() => response.destroy(), 50);
      },
    ],
    [
      'in the middle of a stream',
      (response: ServerResponse) => {
        sseHead(response).write(': hello\n\n');
        setTimeout(() => response.destroy(), 50);
      },
    ],
    ['at the end of a stream without a reply', (response: ServerResponse) => sseHead(response).end(': bye\n\n')],
    [
      'at the end of a stream that could be resumed',
      (response: ServerResponse) => sseHead(response).end('id: 7\ndata: \n\n'),
    ],
    [
      'with an empty answer',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
    ],
    [
      'with a page',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>'),
    ],
    [
      'with an answer nested deeper than readers can follow',
      (response: ServerResponse, { id }: JsonObject) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(
            `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
          ),
    ],
    [
      'behind a flood of notifications',
      (response: ServerResponse) =>
        sseHead(response).write('data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n'.repeat(10_001)),
    ],
    ['with 202 and nothing else', (response: ServerResponse) => response.writeHead(202).end()],
  ])('hanging up %s: unknown at once, and never a second attempt', async (_when, hangUp) => {
    const seen: Parameters<typeof badServer>[1] = [];
    const upstream = clientOf(await badServer((_request, response, body) => hangUp(response, body), seen));
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({ kind: 'unknown' });
    await timePasses(300, 'a second attempt would come');
    expect(calls(seen)).toHaveLength(1);
  });

  it('answering under another id: unknown when the time is up', async () => {
    const upstream = clientOf(
      await badServer((_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":"not-yours","result":{}}'),
      ),
    );
    expect(await upstream.callTool(ALICE, call('x'), { timeoutMs: 1_500 })).toMatchObject({ kind: 'unknown' });
  });

  it.each([400, 401, 403, 429, 500])('HTTP %i is a result: the upstream took the call and spoke', async (status) => {
    const seen: Parameters<typeof badServer>[1] = [];
    const upstream = clientOf(await badServer((_request, response) => response.writeHead(status).end('no'), seen));
    expect(await upstream.callTool(ALICE, call('x', {}, 5), LIMIT)).toEqual({
      kind: 'reply',
      statusCode: status,
      failed: true,
      body: {
        jsonrpc: '2.0',
        id: 5,
        error: { code: -32000, message: `upstream answered HTTP ${status}`, data: 'no' },
      },
    });
    expect(calls(seen)).toHaveLength(1);
  });

  it.each([502, 503, 504, 520, 524, 530, 598])(
    'HTTP %i may be the word of a gateway that has no answer: what became of the call is unknown',
    async (status) => {
      const seen: Parameters<typeof badServer>[1] = [];
      const upstream = clientOf(await badServer((_request, response) => response.writeHead(status).end('no'), seen));
      expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({
        kind: 'unknown',
        reason: `HTTP ${status} without an answer to the call: a gateway may have said it, and the upstream may have acted`,
      });
      expect(calls(seen)).toHaveLength(1);
    },
  );

  it.each([502, 503])('HTTP %i with an answer to the request itself is that answer', async (status) => {
    const upstream = clientOf(
      await badServer((_request, response, { id }) => {
        const error = { code: -32_001, message: 'the bank is shut' };
        const body = { jsonrpc: '2.0', id: id as string, error };
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      }),
    );
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({ kind: 'reply', statusCode: status });
  });

  describe('a tool call is never sent twice', () => {
    /** A server that acts on a tool call and answers it as the test wants; what it says of its session is told apart. */
    async function acting(
      answer: (response: ServerResponse, body: JsonObject) => void,
      {
        session = 'one',
        ping = 'stands',
        isDown = () => false,
        capabilities = { tools: {} },
        resource,
      }: {
        session?: string | null;
        ping?: 'stands' | 'gone' | 'limited';
        isDown?: () => boolean;
        capabilities?: JsonObject;
        /** Answers what is asked of a resource, and then says true. */
        resource?: (uri: string, method: string, response: ServerResponse, done: () => void) => boolean;
      } = {},
    ) {
      const effects: JsonObject[] = [];
      const levels: unknown[] = [];
      /** What is subscribed to or not any more, and over which session. */
      const subscribed: string[] = [];
      /** The stream that is read over each session; null where the server says 404 to one. */
      const listeners = new Map<string, ServerResponse | null>();
      let opened = 0;
      let pinged = 0;
      const server = createServer((request, response) => {
        let text = '';
        request.on('data', (chunk: Buffer) => (text += chunk.toString()));
        request.on('end', () => {
          if (isDown()) return void response.writeHead(503).end('no healthy upstream');
          if (request.method === 'GET') {
            const over = String(request.headers['mcp-session-id']);
            if (listeners.get(over) === null) return notFound(response);
            sseHead(response).flushHeaders();
            return void listeners.set(over, response);
          }
          const body = (text ? JSON.parse(text) : {}) as JsonObject;
          const json = (result: JsonObject) =>
            response
              .writeHead(200, {
                'content-type': 'application/json',
                ...(session && { 'mcp-session-id': `${session}-${opened}` }),
              })
              .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }));
          if (body.method === 'initialize') {
            opened += 1;
            const serverInfo = { name: 'acting', version: '1' };
            return void json({ protocolVersion: '2025-06-18', capabilities, serverInfo });
          }
          if (body.method === 'ping') {
            pinged += 1;
            if (ping === 'limited') return void response.writeHead(429).end();
            return ping === 'gone' ? notFound(response) : void json({});
          }
          if (body.method === 'logging/setLevel') {
            levels.push(body.params);
            return void json({});
          }
          const method = typeof body.method === 'string' ? body.method : '';
          if (method.startsWith('resources/')) {
            const { uri } = body.params as { uri: string };
            subscribed.push(`${method} ${uri} over ${String(request.headers['mcp-session-id'])}`);
            if (uri === 'test://gone' && opened > 1) return notFound(response);
            if (resource?.(uri, method, response, () => void json({})) === true) return;
            return void json({});
          }
          if (body.method !== 'tools/call') return void response.writeHead(202).end();
          effects.push(body);
          return answer(response, body);
        });
      });
      servers.push(server);
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
      return { url, effects, levels, subscribed, listeners, opened: () => opened, pinged: () => pinged };
    }
    const notFound = (response: ServerResponse) => void response.writeHead(404).end('no such thing');
    const outcome404 = { kind: 'reply', statusCode: 404, failed: true };

    it('404 of a server that keeps no sessions is the outcome', async () => {
      const { url, effects } = await acting(notFound, { session: null });
      expect(await clientOf(url).callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect(effects).toHaveLength(1);
    });

    it('404 over a session that still stands is the outcome, and the session is kept', async () => {
      const { url, effects, opened } = await acting(notFound);
      const upstream = clientOf(url);
      for (const _again of [1, 2]) expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect([effects.length, opened()]).toEqual([2, 1]);
    });

    it('404 over a session that served and still stands is the outcome: the tool may have run', async () => {
      let served = 0;
      const { url, effects, opened } = await acting((response, body) => {
        served += 1;
        if (served > 1) return notFound(response);
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} }));
      });
      const upstream = clientOf(url);
      expect(await upstream.callTool(ALICE, call('look'), LIMIT)).toMatchObject({ kind: 'reply', failed: false });
      effects.length = 0;
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect([effects.length, opened()]).toEqual([1, 1]);
    });

    it('a server that does not answer initialize takes no more than the time of the request', async () => {
      const server = createServer(() => undefined);
      servers.push(server);
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      const upstream = clientOf(`http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`);
      const limit = { timeoutMs: 300 };
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
      expect(await upstream.control(ALICE, list, limit)).toMatchObject({ kind: 'not_sent' });
      expect(await upstream.callTool(BOB, call('pay'), limit)).toMatchObject({ kind: 'not_sent' });
      expect(await upstream.control(BOB, { ...list, method: 'initialize' }, limit)).toMatchObject({ kind: 'not_sent' });
    });

    it('404 with an answer to the request itself is the outcome, whatever is said of the session', async () => {
      const { url, effects } = await acting(
        (response, body) =>
          void response
            .writeHead(404, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error: { code: -32_001, message: 'gone' } })),
        { ping: 'gone' },
      );
      expect(await clientOf(url).callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect(effects).toHaveLength(1);
    });

    it('404 over a session that never served is the outcome, whatever is said of the session', async () => {
      const { url, effects } = await acting(notFound, { ping: 'gone' });
      expect(await clientOf(url).callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect(effects).toHaveLength(1);
    });

    it('a session that served and is gone is opened anew once: a second 404 is the outcome', async () => {
      let served = 0;
      const { url, effects, opened } = await acting(
        (response, body) => {
          served += 1;
          if (served > 1) return notFound(response);
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} }));
        },
        { ping: 'gone' },
      );
      const upstream = clientOf(url);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'reply', failed: false });
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject(outcome404);
      expect([effects.length, opened()]).toEqual([3, 2]);
    });

    it.each([400, 401, 403, 405, 407, 408, 409, 410, 421, 425, 429, 500, 502, 503, 504, 520])(
      'HTTP %i is the outcome, and no reason to ask again',
      async (status) => {
        const { url, effects } = await acting(
          (response) => void response.writeHead(status, { 'retry-after': '0', 'www-authenticate': 'Bearer' }).end(),
        );
        expect(await clientOf(url, { apiKey: 'key' }).callTool(ALICE, call('pay'), LIMIT)).toMatchObject(
          [502, 503, 504, 520].includes(status) ? { kind: 'unknown' } : { kind: 'reply', statusCode: status },
        );
        await timePasses(50, 'a second attempt would come');
        expect(effects).toHaveLength(1);
      },
    );

    it('HTTP 503 for everything makes one call uncertain: those after it surely send nothing', async () => {
      let isDown = false;
      const behind = await acting(
        (response) => {
          isDown = true;
          response.writeHead(503).end('upstream connect error or disconnect/reset before headers');
        },
        { isDown: () => isDown },
      );
      const upstream = clientOf(behind.url);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'unknown' });
      await eventually('the session is given up', async () => {
        const { kind } = await upstream.callTool(ALICE, call('pay'), LIMIT);
        return kind === 'not_sent';
      });
      expect(behind.effects).toHaveLength(1);
    });

    it('HTTP 503 of who limits rates, also to the ping, ends no session where that says 429', async () => {
      const { url, opened, pinged } = await acting((response) => void response.writeHead(503).end(), {
        ping: 'limited',
      });
      const upstream = clientOf(url);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'unknown' });
      await eventually('its session is asked after', () => pinged() === 1);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'unknown' });
      await eventually('its session is asked after', () => pinged() === 2);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'unknown' });
      expect(opened()).toBe(1);
    });

    /** Its second call finds the session gone. */
    const forgetful = () => {
      let served = 0;
      return acting(
        (response, body) => {
          served += 1;
          if (served === 2) return notFound(response);
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} }));
        },
        { ping: 'gone' },
      );
    };

    it('a session that is given up takes its stream along: what the upstream says then is heard over the next one', async () => {
      const { url, opened, listeners } = await forgetful();
      const upstream = clientOf(url);
      const told: string[] = [];
      const over = new AbortController();
      const listener = {
        progress: false,
        told: (method: string) => void told.push(method),
        asked: () => Promise.reject(new Error('unused')),
      };
      const listened = upstream.listen(ALICE, listener, over.signal).catch(() => undefined);
      await eventually('the first session is listened to', () => listeners.has('one-1'));
      for (const _call of [1, 2]) await upstream.callTool(ALICE, call('pay'), LIMIT);
      await eventually('the second session is listened to', () => listeners.has('one-2'));
      listeners.get('one-2')?.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
      await eventually('it is heard', () => told.length > 0);
      expect([opened(), told]).toEqual([2, ['notifications/tools/list_changed']]);
      over.abort();
      await listened;
    });

    it('a session that is given up takes no subscription along: what its agent still wants is subscribed to over the next one', async () => {
      const { url, subscribed, listeners } = await forgetful();
      const upstream = clientOf(url);
      const told: string[] = [];
      const over = new AbortController();
      const listener = {
        progress: false,
        told: (method: string, params: string) => void told.push(`${method} ${params}`),
        asked: () => Promise.reject(new Error('unused')),
      };
      const about = (method: string, uri: string, caller = ALICE) =>
        upstream.control(caller, { jsonrpc: '2.0', id: 1, method, params: { uri } }, LIMIT);
      const listened = upstream.listen(ALICE, listener, over.signal).catch(() => undefined);
      await eventually('the first session is listened to', () => listeners.has('one-1'));
      for (const uri of ['test://a', 'test://dropped', 'test://gone', 'test://b'])
        await about('resources/subscribe', uri);
      await about('resources/unsubscribe', 'test://dropped');
      const before = subscribed.length;
      for (const _call of [1, 2]) await upstream.callTool(ALICE, call('pay'), LIMIT);
      await eventually('its agent is told of both', () => told.length === 2);
      expect(subscribed.slice(before)).toEqual([
        'resources/subscribe test://a over one-2',
        'resources/subscribe test://gone over one-2',
        'resources/subscribe test://b over one-2',
      ]);
      // They may have changed meanwhile. One that the upstream refuses now is not asked for again in this session.
      expect(told).toEqual(
        ['test://a', 'test://b'].map((uri) => `notifications/resources/updated ${JSON.stringify({ uri })}`),
      );
      over.abort();
      await listened;
    });

    it('a subscription that the upstream does not take for now is asked for again when it is listened to again, and holds no other one up', async () => {
      let isBusy = false;
      let served = 0;
      const { url, subscribed, listeners } = await acting(
        (response, body) => {
          served += 1;
          if (served === 1) return notFound(response);
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} }));
        },
        {
          ping: 'gone',
          resource: (uri, _method, response) => {
            if (!isBusy || uri === 'test://well') return false;
            if (uri === 'test://hangs up') response.destroy();
            else response.writeHead(Number(uri.slice(-3))).end();
            return true;
          },
        },
      );
      const upstream = clientOf(url);
      const told: string[] = [];
      const listener = {
        progress: false,
        told: (_method: string, params: string) => void told.push(params),
        asked: () => Promise.reject(new Error('unused')),
      };
      const notNow = ['test://hangs up', 'test://401', 'test://429', 'test://503'];
      for (const uri of [...notNow, 'test://403', 'test://well'])
        await upstream.control(ALICE, { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } }, LIMIT);
      // The next request opens the next session.
      await upstream.callTool(ALICE, call('pay'), LIMIT);
      isBusy = true;
      const first = new AbortController();
      const listened = upstream.listen(ALICE, listener, first.signal).catch(() => undefined);
      await eventually('the one that is well is subscribed to', () => told.length === 1);
      first.abort();
      await listened;
      isBusy = false;
      const before = subscribed.length;
      const second = new AbortController();
      const again = upstream.listen(ALICE, listener, second.signal).catch(() => undefined);
      await eventually('the others are subscribed to', () => told.length === 1 + notNow.length);
      expect(subscribed.slice(before)).toEqual(notNow.map((uri) => `resources/subscribe ${uri} over one-2`));
      expect(listeners.has('one-2')).toBe(true);
      second.abort();
      await again;
    });

    it.each([
      [
        'those that somebody knows, and no other',
        async () => ['test://known', 'test://gone'],
        ['test://known', 'test://gone'],
      ],
      ['its own, where nobody can say', () => Promise.reject(new Error('away')), ['test://own']],
    ])('subscribes when its stream opens to %s', async (_what, of, expected) => {
      const { url, subscribed, listeners } = await acting(notFound, { ping: 'gone' });
      const upstream = clientOf(url);
      const about = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'test://own' } };
      await upstream.control(ALICE, about, LIMIT);
      // The next request opens the next session.
      for (const _call of [1, 2]) await upstream.callTool(ALICE, call('pay'), LIMIT);
      const before = subscribed.length;
      const askedFor: string[] = [];
      const told: string[] = [];
      const over = new AbortController();
      const listener = {
        progress: false,
        told: (_method: string, params: string) => void told.push(params),
        asked: () => Promise.reject(new Error('unused')),
        resources: { of, askedFor: async (uri: string) => void askedFor.push(uri) },
      };
      const listened = upstream.listen(ALICE, listener, over.signal).catch(() => undefined);
      await eventually('it asked for all', () => askedFor.length === expected.length);
      expect(listeners.size).toBe(1);
      expect(subscribed.slice(before).map((one) => one.split(' ').slice(0, 2).join(' '))).toEqual(
        expected.map((uri) => `resources/subscribe ${uri}`),
      );
      expect(askedFor).toEqual(expected);
      await eventually('its listener is told', () => told.length > 0);
      expect(told).toEqual([JSON.stringify({ uri: expected[0] })]);
      over.abort();
      await listened;
    });

    it('a subscription that its client ends before it is answered is ended', async () => {
      let answerIt: (() => void) | undefined;
      const { url, subscribed, listeners } = await acting(
        (response, body) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} })),
        {
          resource: (_uri, method, _response, done) => {
            if (method === 'resources/subscribe' && !answerIt) answerIt = done;
            else done();
            return true;
          },
        },
      );
      const upstream = clientOf(url);
      const about = (method: string) =>
        upstream.control(ALICE, { jsonrpc: '2.0', id: 1, method, params: { uri: 'test://a' } }, LIMIT);
      const subscribing = about('resources/subscribe');
      await eventually('it is asked for', () => answerIt !== undefined);
      await about('resources/unsubscribe');
      answerIt?.();
      await subscribing;
      // The upstream may have taken the two in the order in which it answered them.
      await eventually('it is ended again', () => subscribed.length === 3);
      expect(subscribed.map((one) => one.split(' ')[0])).toEqual([
        'resources/subscribe',
        'resources/unsubscribe',
        'resources/unsubscribe',
      ]);
      expect(listeners.size).toBe(0);
    });

    it.each([
      ['is asked once in each session for all its log messages', { tools: {}, logging: {} }, 2],
      ['is asked for none where it declares none', { tools: {} }, 0],
    ])('a server %s', async (_what, capabilities, times) => {
      const { url, levels } = await acting(
        (response, { id }) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, result: {} })),
        { capabilities },
      );
      const upstream = clientOf(url);
      for (const caller of [ALICE, BOB, ALICE]) await upstream.callTool(caller, call('x'), LIMIT);
      expect(levels).toEqual(Array.from({ length: times }, () => ({ level: 'debug' })));
    });

    /** More of them than are handed on, and together larger than an answer may be. */
    const LOGS =
      'event: message\r\nid: 1\r\ndata: {"jsonrpc":"2.0","method":"notifications\\/message","params":{"level":"debug"}}\r\n\r\n'.repeat(
        10_001,
      );
    const SMALL = { maxResponseBytes: 300_000 };
    it('a tool that says very much before its result has answered, and most of it is handed on', async () => {
      const { url } = await acting(
        (response, { id }) =>
          void sseHead(response).end(`${LOGS}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`),
      );
      let told = 0;
      const listener = {
        progress: false,
        told: () => void (told += 1),
        asked: () => Promise.reject(new Error('unused')),
      };
      expect(await clientOf(url, SMALL).callTool(ALICE, call('x'), { ...LIMIT, listener })).toMatchObject({
        kind: 'reply',
        failed: false,
      });
      expect(told).toBe(10_000);
    });

    it('a result that is larger than an answer may be is none, also behind log messages', async () => {
      const result = { text: 'x'.repeat(SMALL.maxResponseBytes) };
      const { url } = await acting(
        (response, { id }) =>
          void sseHead(response).end(`${LOGS}data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`),
      );
      expect(await clientOf(url, SMALL).callTool(ALICE, call('x'), LIMIT)).toMatchObject({
        kind: 'unknown',
        cause: 'invalid_answer',
      });
    });

    it('a stream of what the upstream says outside of calls is not ended by its log messages', async () => {
      const { url, listeners } = await acting(() => undefined);
      const told = new Set<string>();
      const over = new AbortController();
      const listener = {
        progress: false,
        told: (method: string) => void told.add(method),
        asked: () => Promise.reject(new Error('unused')),
      };
      const listened = clientOf(url, SMALL)
        .listen(ALICE, listener, over.signal)
        .catch(() => undefined);
      await eventually('it is listened to', () => listeners.has('one-1'));
      listeners.get('one-1')?.write(`${LOGS}data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`);
      await eventually('what comes behind them is heard', () => told.has('notifications/tools/list_changed'));
      over.abort();
      await listened;
    });

    it('a stream that its session is unknown for, 404, is opened over a new session the next time', async () => {
      const { url, opened, listeners } = await acting(() => undefined, { ping: 'gone' });
      listeners.set('one-1', null);
      const upstream = clientOf(url);
      const over = new AbortController();
      const listener = { progress: false, told: () => undefined, asked: () => Promise.reject(new Error('unused')) };
      await upstream.listen(ALICE, listener, over.signal);
      expect(opened()).toBe(1);
      const again = upstream.listen(ALICE, listener, over.signal).catch(() => undefined);
      await eventually('a new session is listened to', () => listeners.has('one-2'));
      over.abort();
      await again;
    });

    it('a connection that ends over a call is not tried again, also where it had served before', async () => {
      let served = 0;
      const { url, effects } = await acting((response, body) => {
        served += 1;
        if (served > 1) return void response.destroy();
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} }));
      });
      const upstream = clientOf(url);
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'reply' });
      expect(await upstream.callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ kind: 'unknown' });
      await timePasses(300, 'a second attempt would come');
      expect(effects).toHaveLength(2);
    });

    it('a server that says 400 for a lost session gets a new one with the next call', async () => {
      const { url, effects, opened } = await acting(
        (response) => void response.writeHead(400).end('Bad Request: No valid session ID'),
        { ping: 'gone' },
      );
      const upstream = clientOf(url);
      await upstream.callTool(ALICE, call('x'), LIMIT);
      await upstream.callTool(ALICE, call('x'), LIMIT);
      expect([effects.length, opened()]).toEqual([2, 2]);
    });

    it.each([
      ['a ping', '{"jsonrpc":"2.0","id":7,"method":"ping"}'],
      ['a request of the server', '{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage","params":{}}'],
      ['progress', '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'],
    ])('%s on its stream is not the answer, and the answer behind it is', async (_what, message) => {
      const { url, effects } = await acting((response, body) => {
        sseHead(response).write(`event: message\r\nid: 1\r\ndata: ${message}\r\n\r\n`);
        const answer = JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { ok: true } });
        setTimeout(() => response.end(`: \n\ndata: ${answer.slice(0, 1)}\ndata: ${answer.slice(1)}\n\n`), 20);
      });
      expect(await clientOf(url).callTool(ALICE, call('pay'), LIMIT)).toMatchObject({ body: { result: { ok: true } } });
      expect(effects).toHaveLength(1);
    });
  });

  it.each([
    ['JSON', false],
    ['server-sent events', true],
  ])('what is answered in %s goes on as it was written', async (_how, sse) => {
    const numbers =
      '{"structuredContent":{"a":1e400,"b":12345678901234567890,"c":1.10,"d":-0,"e":0.1e1,"f":"\\ud83d \\u00e9"}}';
    const url = await badServer((_request, response, body) => {
      const text = `{ "result" : ${numbers} , "error": null, "id":${JSON.stringify(body.id)},"jsonrpc":"2.0"}`;
      if (sse) return void sseHead(response).end(`data: ${text}\n\n`);
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    const upstream = createMcpUpstream({ url });
    open.push(upstream);
    expect(await upstream.callTool(ALICE, call('x', {}, 9), LIMIT)).toEqual({
      kind: 'reply',
      statusCode: 200,
      failed: false,
      text: `{"jsonrpc":"2.0","id":9,"result":${numbers}}`,
    });
  });

  it.each([
    ['neither a result nor an error', { error: null }],
    ['a result and an error', { result: {}, error: { code: 1, message: 'x' } }],
    ['a result that is no object', { result: 7 }],
    ['an error of the wrong shape', { error: 'no' }],
    ['no version', { jsonrpc: undefined, result: {} }],
  ])('an answer with %s leaves an unknown outcome', async (_what, said) => {
    const upstream = clientOf(
      await badServer((_request, response, body) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, ...said })),
      ),
    );
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({ kind: 'unknown' });
  });

  it.each([
    ['an emoji', Buffer.from('😀 no')],
    ['NUL', Buffer.from('\0 no')],
    ['half a character', Buffer.from([0xf0, 0x9f, 0x98])],
    ['an emoji at the cut', Buffer.from(`${'a'.repeat(299)}😀`)],
  ])('a body that begins with %s leaves no text that a store refuses', async (_what, body) => {
    for (const status of [200, 500]) {
      const upstream = clientOf(
        await badServer((_request, response) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(body),
        ),
      );
      const outcome = await upstream.callTool(ALICE, call('x'), LIMIT);
      const said = JSON.stringify(outcome);
      expect(said).not.toMatch(/\\ud[89a-f]|\\u0000/);
      expect(outcome.kind).toBe(status === 200 ? 'unknown' : 'reply');
    }
  });

  it.each([301, 302, 307, 308])('a redirect (%i) is not followed, at whatever address', async (status) => {
    const seen: Parameters<typeof badServer>[1] = [];
    const upstream = clientOf(
      await badServer((_request, response) => response.writeHead(status, { location: '/mcp' }).end(), seen),
    );
    expect(await upstream.callTool(ALICE, call('x'), LIMIT)).toMatchObject({
      kind: 'reply',
      statusCode: 502,
      failed: true,
    });
    expect(calls(seen)).toHaveLength(1);
  });

  it('a JSON-RPC error is relayed with its code, message and data', async () => {
    const error = { code: -32042, message: 'not today', data: { why: 'holiday' } };
    const upstream = clientOf(
      await badServer((_request, response, body) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error })),
      ),
    );
    expect(await upstream.callTool(ALICE, call('x', {}, 'mine'), LIMIT)).toEqual({
      kind: 'reply',
      statusCode: 200,
      failed: true,
      body: { jsonrpc: '2.0', id: 'mine', error },
    });
  });

  it('gets its key and an id of Gate, and nothing of the agent but the call', async () => {
    const seen: Parameters<typeof badServer>[1] = [];
    const upstream = clientOf(
      await badServer(
        (_request, response, body) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} })),
        seen,
      ),
      { apiKey: 'key-of-the-upstream' },
    );
    await upstream.callTool(ALICE, call('x', { a: 1 }, 'agent-id'), LIMIT);
    await upstream.callTool(ALICE, call('x', { a: 1 }, 'agent-id'), LIMIT);
    const [first, second] = calls(seen) as typeof seen;
    expect(first?.headers.authorization).toBe('Bearer key-of-the-upstream');
    expect(first?.body.id).not.toBe('agent-id');
    expect(second?.body.id).not.toBe(first?.body.id);
    expect(first?.body).toMatchObject({ method: 'tools/call', params: { name: 'x', arguments: { a: 1 } } });
    expect(JSON.stringify(seen)).not.toMatch(/alice|acme|agent-id/);
  });
});
