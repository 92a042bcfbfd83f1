import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { startStatelessUpstream } from '../support/conformance-upstream.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const many = (count: number) => Array.from({ length: count }, (_, at) => String(at));

describe('a client of MCP 2026-07-28, which has no sessions', () => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: LiteFixture;
  const sent: { method: string; session: string | null }[] = [];
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: folder });
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' });
  });
  afterAll(async () => {
    await gate.close();
    await tools.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (method: string, params: JsonObject = {}, headers: Record<string, string> = {}) =>
    gate.send('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...headers,
      },
    });

  it('discovers the upstream, lists and calls its tools, and is told of a deny', async () => {
    const client = new Client(
      { name: 'an agent', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gate.lite.url}/mcp`), {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          sent.push({ method: headers.get('mcp-method') ?? '', session: headers.get('mcp-session-id') });
          return fetch(url, init);
        },
      }),
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('wire_transfer');
    const answer = await client.callTool({ name: 'list_files', arguments: {} });
    expect(JSON.stringify(answer.content)).toContain('README.txt');
    const denied = await client.callTool({ name: 'delete_file', arguments: { path: 'a.txt' } });
    expect([denied.isError, JSON.stringify(denied.content)]).toEqual([true, expect.stringContaining('policy_denied')]);
    expect(denied._meta?.['gate/verdict']).toMatchObject({
      reasons: expect.any(Array),
      advice: { retry: 'no', person_can_help: false, allowed: expect.any(String) },
    });
    await client.close();
    expect(sent.map(({ method }) => method)).toEqual(['server/discover', 'tools/list', 'tools/call', 'tools/call']);
    expect(sent.every(({ session }) => session === null)).toBe(true);
  });

  it('makes each request a call of its own: ids of requests begin anew with each client', async () => {
    const before = tools.state().counts['list_files'] ?? 0;
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await ask('tools/call', { name: 'list_files' }, { 'mcp-name': 'list_files' });
      expect([status, body]).toMatchObject([200, { id: 1, result: { resultType: 'complete' } }]);
    }
    expect(tools.state().counts['list_files']).toBe(before + 2);
  });

  it('makes requests with one key of the client one call, whatever their ids: the tool runs once, each gets the answer', async () => {
    const call = (id: number, key: string, path = '.') =>
      gate.send('POST', '/mcp', {
        body: {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: {
            name: 'list_files',
            arguments: { path },
            _meta: { ...META, progressToken: id, 'gate/idempotency-key': key },
          },
        },
        headers: {
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'list_files',
        },
      });
    const before = tools.state().counts['list_files'] ?? 0;
    const [first, again] = [await call(21, 'order-17'), await call(22, 'order-17')];
    expect([first.body, again.body]).toMatchObject([
      { id: 21, result: { resultType: 'complete', content: expect.any(Array) } },
      { id: 22, result: first.body['result'] },
    ]);
    expect(tools.state().counts['list_files']).toBe(before + 1);
    expect((await call(23, 'order-17', 'notes')).body).toMatchObject({
      id: 23,
      result: { _meta: { 'gate/verdict': { error: 'server_execution_idempotency_conflict' } } },
    });
    expect((await call(24, 'order-18')).body).toMatchObject({ id: 24, result: { resultType: 'complete' } });
    expect(tools.state().counts['list_files']).toBe(before + 2);
    for (const key of ['', 'a b', 'é', 'x'.repeat(129)]) expect((await call(25, key)).status).toBe(400);
  });

  it.each<[string, JsonObject, Record<string, string>, number, number]>([
    ['tools/call', { name: 'list_files' }, { 'mcp-name': 'read_file' }, 400, -32_020],
    ['tools/call', { name: 'list_files' }, { 'mcp-name': 'list_files', 'mcp-method': 'tools/list' }, 400, -32_020],
    ['tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }, 400, -32_020],
    ['tools/unheard-of', {}, {}, 404, -32_601],
    ['ping', {}, {}, 404, -32_601],
    ['logging/setLevel', { level: 'info' }, {}, 404, -32_601],
    ['subscriptions/listen', {}, {}, 200, -32_602],
    ['subscriptions/listen', { notifications: { toolsListChanged: 'yes' } }, {}, 200, -32_602],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: [1] } }, {}, 200, -32_602],
    ['subscriptions/listen', { notifications: { taskIds: many(51) } }, {}, 200, -32_602],
    ['subscriptions/listen', { notifications: { taskIds: ['x'] } }, {}, 400, -32_021],
  ])('is refused at %s with %j under %j', async (method, params, headers, status, code) => {
    const effects = tools.state().effects.length;
    const reply = await ask(method, params, headers);
    expect([reply.status, reply.body]).toMatchObject([status, { id: 1, error: { code } }]);
    expect(tools.state().effects.length).toBe(effects);
  });

  describe('that knows tasks', () => {
    const KNOWS = {
      ...META,
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    };
    const say = async (method: string, params: JsonObject, name: string, meta: JsonObject = KNOWS) => {
      const { status, body } = await gate.send('POST', '/mcp', {
        body: { jsonrpc: '2.0', id: 5, method, params: { ...params, _meta: meta } },
        headers: {
          accept: 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'mcp-name': name,
        },
      });
      return { status, ...(body as { result: JsonObject; error: JsonObject }) };
    };
    const call = (name: string, given: JsonObject) => say('tools/call', { name, arguments: given }, name);
    const waiting = async (amount: number) => {
      const { result } = await call('wire_transfer', { from: 'operating', to: 'vendor', amount });
      return { result, taskId: result['taskId'] as string };
    };
    const about = (method: string, taskId: string, more: JsonObject = {}) => say(method, { taskId, ...more }, taskId);
    const decide = async (taskId: string, decision: string) => {
      const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string; correlation_id: string }[];
      const row = rows.find(({ correlation_id }) => correlation_id === taskId);
      return (await gate.send('POST', `/decide/${row?.id ?? ''}`, { body: { decision } })).status;
    };
    const ended = (taskId: string) =>
      eventually('the task is over', async () => {
        const { result } = await about('tasks/get', taskId);
        return result['status'] !== 'working' && result;
      });

    it('listens to its tasks: how each stands, that it was decided, and its answer, and to nobody else’s', async () => {
      const [{ taskId }, other] = [await waiting(82), await waiting(83)];
      const heard: JsonObject[] = [];
      const hangUp = new AbortController();
      const stream = await fetch(`${gate.lite.url}/mcp`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'subscriptions/listen',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 'news',
          method: 'subscriptions/listen',
          params: { notifications: { taskIds: [taskId, 'nobody’s'], toolsListChanged: false }, _meta: KNOWS },
        }),
        signal: hangUp.signal,
      });
      const read = (async () => {
        for await (const chunk of stream.body as ReadableStream<Uint8Array>)
          for (const [, data] of new TextDecoder().decode(chunk).matchAll(/^data: (.+)$/gm))
            heard.push(JSON.parse(data as string) as JsonObject);
      })().catch(() => undefined);
      await eventually('it is told how the task stands', () => Promise.resolve(heard.length >= 2));
      const stamp = { 'io.modelcontextprotocol/subscriptionId': 'news' };
      expect(heard.slice(0, 2)).toMatchObject([
        {
          method: 'notifications/subscriptions/acknowledged',
          params: { notifications: { taskIds: [taskId] }, _meta: stamp },
        },
        { method: 'notifications/tasks', params: { taskId, status: 'working', _meta: stamp } },
      ]);
      await decide(other.taskId, 'deny');
      await decide(taskId, 'approve');
      await eventually('it is told that the task is over', () =>
        Promise.resolve(heard.some(({ params }) => (params as JsonObject)['status'] === 'completed')),
      );
      expect(heard.at(-1)).toMatchObject({ params: { taskId, result: { content: [{}] }, _meta: stamp } });
      expect(JSON.stringify(heard)).not.toContain(other.taskId);
      hangUp.abort();
      await read;
    });

    it('discovers that Gate does, and gets the answer itself where it comes at once', async () => {
      const { result } = await say('server/discover', {}, '');
      expect(result).toMatchObject({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
      expect((await call('list_files', {})).result).toMatchObject({ resultType: 'complete', content: [{}] });
      expect((await call('delete_file', { path: 'a' })).result).toMatchObject({
        resultType: 'complete',
        isError: true,
      });
    });

    it('gets a task for a call that waits for a person, and its answer once it was approved', async () => {
      const { result, taskId } = await waiting(81);
      expect(result).toMatchObject({
        resultType: 'task',
        status: 'working',
        statusMessage: expect.stringContaining('waits'),
        ttlMs: expect.any(Number),
        pollIntervalMs: expect.any(Number),
      });
      expect((await about('tasks/get', taskId)).result).toMatchObject({ resultType: 'complete', status: 'working' });
      expect((await about('tasks/update', taskId, { inputResponses: {} })).result).toEqual({ resultType: 'complete' });
      expect(await decide(taskId, 'approve')).toBe(200);
      expect(await ended(taskId)).toMatchObject({ status: 'completed', result: { content: [{ type: 'text' }] } });
    });

    it('is told of a denial as a result that says why', async () => {
      const { taskId } = await waiting(82);
      expect(await decide(taskId, 'deny')).toBe(200);
      expect(await ended(taskId)).toMatchObject({
        status: 'completed',
        result: { isError: true, _meta: { 'gate/verdict': { error: 'review_denied' } } },
      });
    });

    it('withdraws a call that waits, and is thanked for the wish where it is over', async () => {
      const { taskId } = await waiting(83);
      expect((await about('tasks/cancel', taskId)).result).toEqual({ resultType: 'complete' });
      expect(await ended(taskId)).toMatchObject({ status: 'cancelled' });
      expect((await about('tasks/cancel', taskId)).result).toEqual({ resultType: 'complete' });
    });

    it('is refused where the request does not say that it knows them, and for a task that does not exist', async () => {
      const { taskId } = await waiting(84);
      expect(await say('tasks/get', { taskId }, taskId, META)).toMatchObject({
        status: 400,
        error: {
          code: -32_021,
          data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
        },
      });
      expect((await about('tasks/get', '6f1f9f6e-7f3c-4a52-9a44-4d6f0c8c1c11')).error).toMatchObject({ code: -32_602 });
      expect(await say('tasks/get', { taskId }, 'another')).toMatchObject({ status: 400, error: { code: -32_020 } });
      for (const method of ['tasks/list', 'tasks/result'])
        expect(await say(method, method === 'tasks/result' ? { taskId } : {}, taskId)).toMatchObject({
          status: 404,
          error: { code: -32_601 },
        });
    });
  });

  it('is refused in a revision that nobody speaks, with those that Gate does', async () => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } },
    };
    const headers = { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' };
    expect(await gate.send('POST', '/mcp', { body, headers })).toMatchObject({
      status: 400,
      body: { error: { code: -32_022, data: { requested: '2099-01-01', supported: expect.any(Array) } } },
    });
  });
});

describe('a server without sessions that promises to tell of its lists', () => {
  let folder: string;
  let server: Awaited<ReturnType<typeof startStatelessUpstream>>;
  let gate: LiteFixture;
  beforeAll(async () => {
    folder = await liteFolder();
    server = await startStatelessUpstream();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: server.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' });
  });
  afterAll(async () => {
    await gate.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const heardBy = async (headers: Record<string, string>, method: 'GET' | 'POST', body?: JsonObject) => {
    const hangUp = new AbortController();
    const stream = await fetch(`${gate.lite.url}/mcp`, {
      method,
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: hangUp.signal,
    });
    const heard: JsonObject[] = [];
    const read = (async () => {
      for await (const chunk of stream.body as ReadableStream<Uint8Array>)
        for (const [, data] of new TextDecoder().decode(chunk).matchAll(/^data: (.+)$/gm))
          heard.push(JSON.parse(data as string) as JsonObject);
    })().catch(() => undefined);
    return {
      heard,
      async close() {
        hangUp.abort();
        await read;
      },
    };
  };
  const listening = (notifications: JsonObject) =>
    heardBy({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }, 'POST', {
      jsonrpc: '2.0',
      id: 'changes',
      method: 'subscriptions/listen',
      params: { notifications, _meta: META },
    });

  it('is heard from when its client is told so: of what each wants, under the request of each', async () => {
    const [tools, prompts] = [
      await listening({ toolsListChanged: true }),
      await listening({ promptsListChanged: true }),
    ];
    const stamp = { 'io.modelcontextprotocol/subscriptionId': 'changes' };
    await eventually('both are acknowledged', () => tools.heard.length === 1 && prompts.heard.length === 1);
    expect(tools.heard[0]).toMatchObject({ params: { notifications: { toolsListChanged: true }, _meta: stamp } });
    server.changed();
    await eventually('both are told', () => tools.heard.length === 2 && prompts.heard.length === 2);
    expect([tools.heard[1], prompts.heard[1]]).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: stamp } },
      { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: { _meta: stamp } },
    ]);
    await tools.close();
    await prompts.close();
  });
});
