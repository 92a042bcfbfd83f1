import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PendingRequest } from '../../contracts/review.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { keysBeside } from '../../lite/keys.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

let folder: string;
let tools: DemoUpstream;
let gate: LiteFixture;
const opened: Client[] = [];

const env = () => ({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'auto' });
const AGENTS = { GATE_LITE_AGENTS: 'acme/one:token-of-agent-one,acme/two:token-of-agent-two' };

beforeAll(async () => {
  folder = await liteFolder();
  tools = await startDemoUpstream({ port: 0, dataDir: folder });
});
afterAll(async () => {
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  gate = await openLite(env());
});
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
  await gate.close();
});

/** An unmodified client: the only thing of Gate that it knows is the address. */
async function client(url = `${gate.lite.url}/mcp`, token?: string): Promise<Client> {
  const made = new Client({ name: 'an agent', version: '1' });
  opened.push(made);
  const requestInit = token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  await made.connect(new StreamableHTTPClientTransport(new URL(url), requestInit) as never);
  return made;
}
const kinds = async (correlationId: string) => {
  const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keysBeside(gate.ledger) });
  const rows = await ledger.byCorrelation(correlationId);
  await ledger.close();
  return rows.map(({ event_kind }) => event_kind);
};
const waiting = () =>
  eventually('a parked call', async () => {
    const parked = (await gate.send('GET', '/pending')).body as unknown as PendingRequest[];
    return parked.length === 1 && parked[0];
  });

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
};
const ACCEPT = { accept: 'application/json, text/event-stream' };
async function openSession(headers: Record<string, string> = {}): Promise<string> {
  const { headers: given } = await gate.send('POST', '/mcp', { body: INITIALIZE, headers: { ...ACCEPT, ...headers } });
  return given.get('mcp-session-id') as string;
}
const listFiles = (id: number | string = 1): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'list_files', arguments: {} },
});
const inSession = (session: string, body: unknown, headers: Record<string, string> = {}) =>
  gate.send('POST', '/mcp', { body, headers: { ...ACCEPT, 'mcp-session-id': session, ...headers } });

describe('an unmodified MCP client, one address changed', () => {
  it('lists tools, calls one, pings, and ends its session', async () => {
    const agent = await client();
    expect(agent.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('wire_transfer');
    expect(await agent.ping()).toEqual({});
    const before = tools.state().counts['list_files'] ?? 0;
    const answer = await agent.callTool({ name: 'list_files', arguments: {} });
    expect(JSON.stringify(answer.content)).toContain('README.txt');
    expect(tools.state().counts['list_files']).toBe(before + 1);
    const transport = agent.transport as StreamableHTTPClientTransport;
    const session = transport.sessionId as string;
    await transport.terminateSession();
    expect((await inSession(session, listFiles())).status).toBe(404);
  });

  it.each([
    ['Claude Code', { 'claudecode/toolUseId': 'toolu_015V' }],
    ['VS Code', { 'vscode.conversationId': 'c', 'vscode.requestId': 'r' }],
    ['Codex', { callId: 'call_1', 'x-codex-turn-metadata': { turn_id: 't' } }],
  ])('may add what it likes in `_meta`, as %s does: the tool hears nothing of it', async (_who, _meta) => {
    const agent = await client();
    const before = tools.state().counts['list_files'] ?? 0;
    const answer = await agent.callTool({ name: 'list_files', arguments: {}, _meta });
    expect(answer.isError).not.toBe(true);
    expect(tools.state().counts['list_files']).toBe(before + 1);
  });

  it('hears of a deny as a result that says which rule, under which code', async () => {
    const agent = await client();
    const answer = await agent.callTool({ name: 'delete_file', arguments: { path: 'notes/todo.txt' } });
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer.content)).toMatch(/policy_denied.*destructive/);
    const verdict = answer._meta?.['gate/verdict'] as JsonObject;
    expect(verdict).toMatchObject({ error: 'policy_denied', layer: 'policy', correlation_id: expect.any(String) });
    expect(await kinds(verdict['correlation_id'] as string)).toContain('proxy.verdict');
  });

  it('waits on its open request while a person decides, and gets what the tool said', async () => {
    const agent = await client();
    const progress: string[] = [];
    const transfer = { from: 'operating', to: 'vendor', amount: 25 };
    const before = tools.state().counts['wire_transfer'] ?? 0;
    const asked = agent.callTool({ name: 'wire_transfer', arguments: transfer }, undefined, {
      onprogress: ({ message }) => void progress.push(message ?? ''),
    });
    const parked = await waiting();
    await eventually('the client is told that it waits', () => progress.length > 0);
    expect(progress[0]).toContain(parked.correlation_id);
    expect(tools.state().counts['wire_transfer'] ?? 0).toBe(before);
    await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'approve' } });
    const answer = await asked;
    expect(answer.isError).not.toBe(true);
    expect(tools.state().counts['wire_transfer']).toBe(before + 1);
  });

  it('hears of a person’s deny on its open request, and before that which call waits, without having asked for progress', async () => {
    const agent = await client();
    const logged: unknown[] = [];
    agent.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
    await agent.setLoggingLevel('info');
    const asked = agent.callTool({ name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 26 } });
    const parked = await waiting();
    await eventually('the client is told that it waits', () => logged.length > 0);
    expect(logged).toEqual([
      {
        level: 'warning',
        logger: 'gate',
        data: { message: expect.stringContaining('waits for a person'), correlation_id: parked.correlation_id },
      },
    ]);
    await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'deny', reason: 'not this vendor' } });
    const answer = await asked;
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer.content)).toMatch(/review_denied.*not this vendor/);
  });

  it.each([
    ['of its own request: it is withdrawn, and nothing runs, whoever approves it', true],
    ['of another session’s request: it goes on', false],
  ])('sends a cancellation %s', async (_what, isOwn) => {
    const agent = await client();
    const before = tools.state().counts['wire_transfer'] ?? 0;
    const cancels = new AbortController();
    const asked = agent
      .callTool({ name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 27 } }, undefined, {
        signal: cancels.signal,
      })
      .catch((error: unknown) => String(error));
    const parked = await waiting();
    if (isOwn) cancels.abort('the user changed his mind');
    else {
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
      expect((await inSession(await openSession(), cancelled)).status).toBe(202);
    }
    if (isOwn) {
      expect(await asked).toContain('the user changed his mind');
      await eventually('it is withdrawn', async () => {
        const { body } = await gate.send('GET', `/pending/${parked.id}`);
        return body['status'] !== 'pending';
      });
    }
    const { status } = await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'approve' } });
    expect(status).toBe(isOwn ? 409 : 200);
    if (!isOwn) await asked;
    expect((tools.state().counts['wire_transfer'] ?? 0) - before).toBe(isOwn ? 0 : 1);
    if (isOwn) expect(await kinds(parked.correlation_id)).toContain('hil.denied');
  });

  it('hears which call waits only if it wants warnings', async () => {
    const agent = await client();
    const logged: unknown[] = [];
    agent.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
    const denied = async (amount: number, before: () => Promise<unknown>) => {
      const asked = agent.callTool({
        name: 'wire_transfer',
        arguments: { from: 'operating', to: 'vendor', amount },
      });
      const parked = await waiting();
      await before();
      await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'deny' } });
      return asked;
    };
    await agent.setLoggingLevel('error');
    expect((await denied(41, async () => undefined)).isError).toBe(true);
    expect(logged).toEqual([]);
    await agent.setLoggingLevel('debug');
    await denied(42, () => eventually('the client is told', () => logged.length > 0));
    const loud = { jsonrpc: '2.0', id: 43, method: 'logging/setLevel', params: { level: 'loud' } };
    expect(await inSession(await openSession(), loud)).toMatchObject({
      status: 400,
      body: { error: { code: -32_602, data: { error: 'invalid_mcp', field: 'params.level' } } },
    });
  });

  it('goes on in its session after a restart of Gate', async () => {
    const session = await openSession();
    const { folder: home } = gate;
    await gate.lite.close();
    gate = await openLite(env(), { folder: home });
    expect((await inSession(session, listFiles())).body).toMatchObject({
      id: 1,
      result: { content: expect.any(Array) },
    });
  });
});

describe('a session', () => {
  it('is 404 for another agent, for a changed id, after its end, and for an id that Gate never gave', async () => {
    await gate.close();
    gate = await openLite({ ...env(), ...AGENTS });
    const one = { authorization: 'Bearer token-of-agent-one' };
    const two = { authorization: 'Bearer token-of-agent-two' };
    const session = await openSession(one);
    expect((await inSession(session, listFiles(), one)).status).toBe(200);
    const changed = `${session.slice(0, -2)}${session.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const [id, who] of [
      [session, two],
      [changed, one],
      ['made-up', one],
      ['', one],
      ['x'.repeat(5_000), one],
    ] as const)
      expect(await inSession(id, listFiles(), who)).toMatchObject({
        status: 404,
        body: { jsonrpc: '2.0', id: 1, error: { code: -32_001, data: { error: 'session_not_found' } } },
      });
    // Who ends another's session ends nothing.
    expect((await gate.send('DELETE', '/mcp', { headers: { ...two, 'mcp-session-id': session } })).status).toBe(404);
    expect((await inSession(session, listFiles(2), one)).status).toBe(200);
    expect((await gate.send('DELETE', '/mcp', { headers: { ...one, 'mcp-session-id': session } })).status).toBe(204);
    expect((await inSession(session, listFiles(3), one)).status).toBe(404);
    expect((await gate.send('GET', '/mcp', { headers: { ...one, 'mcp-session-id': session } })).status).toBe(404);
  });

  it('is nobody’s without a credential, whatever the request asks', async () => {
    await gate.close();
    gate = await openLite({ ...env(), ...AGENTS });
    for (const body of [listFiles(), { jsonrpc: '2.0', id: 1, method: 'tools/unheard-of' }])
      expect((await inSession('any', body)).status).toBe(401);
    for (const method of ['GET', 'DELETE'])
      expect((await gate.send(method, '/mcp', { headers: { 'mcp-session-id': 'any' } })).status).toBe(401);
  });

  it('answers notifications with 202, and a revision it does not speak with 400', async () => {
    const session = await openSession();
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect((await inSession(session, initialized)).status).toBe(202);
    expect(await inSession(session, { jsonrpc: '2.0', method: 'notifications/unheard-of' })).toMatchObject({
      status: 202,
      body: { text: '' },
    });
    for (const version of ['2025-06-18', '2025-11-25'])
      expect((await inSession(session, listFiles(), { 'mcp-protocol-version': version })).status).toBe(200);
    expect(await inSession(session, listFiles(), { 'mcp-protocol-version': '1999-01-01' })).toMatchObject({
      status: 400,
      body: { error: { data: { error: 'protocol_version_unsupported' } } },
    });
  });

  it('refuses a method it does not know with -32601, and sends nothing', async () => {
    const session = await openSession();
    const reply = await inSession(session, { jsonrpc: '2.0', id: 'q', method: 'tools/unheard-of', params: {} });
    expect(reply).toMatchObject({ status: 200, body: { id: 'q', error: { code: -32_601 } } });
    const unjudged = { ...listFiles(), params: { name: 'list_files', priority: 1 } };
    expect((await inSession(session, unjudged)).body).toMatchObject({ id: 1, error: { code: -32_602 } });
    expect(await inSession(session, '{"jsonrpc":"2.0","id":1')).toMatchObject({
      status: 400,
      body: { error: { code: -32_600 } },
    });
  });

  it('leaves the contracts as they are for who selects one', async () => {
    const session = await openSession();
    const headers = { 'X-Gate-Decision-Contract': 'gate.decision/v1', 'X-Gate-Idempotency-Id': randomUUID() };
    expect((await inSession(session, listFiles(), headers)).body).toMatchObject({
      decision: 'allow',
      executable: false,
    });
    expect((await gate.send('POST', '/mcp', { body: listFiles() })).status).toBe(426);
  });
});

describe('a client that asks again because no answer came', () => {
  it('gets the first answer under the same id and body, and the tool runs once', async () => {
    const session = await openSession();
    const before = tools.state().counts['list_files'] ?? 0;
    const answers = await Promise.all([1, 2, 3].map(() => inSession(session, listFiles('again'))));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => headers.get('x-gate-correlation-id'))).size).toBe(1);
    expect(tools.state().counts['list_files']).toBe(before + 1);
    // Another id, another type of id, another body, another session: each is a call of its own.
    await inSession(session, listFiles('other'));
    await inSession(session, listFiles(7));
    await inSession(session, listFiles('7'));
    await inSession(session, { ...listFiles('again'), params: { name: 'list_files', arguments: { path: 'notes' } } });
    await inSession(await openSession(), listFiles('again'));
    expect(tools.state().counts['list_files']).toBe(before + 6);
  });

  it('gets it also where what it says of this one sending is another: a renewed trace, a token of progress', async () => {
    const session = await openSession();
    const before = tools.state().counts['list_files'] ?? 0;
    const traced = (meta?: object) => ({
      ...listFiles('traced'),
      params: { name: 'list_files', arguments: {}, ...(meta && { _meta: meta }) },
    });
    const answers: Awaited<ReturnType<typeof inSession>>[] = [];
    for (const meta of [
      { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', progressToken: 1 },
      {
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        progressToken: 'two',
        tracestate: 'a=b',
      },
      undefined,
    ])
      answers.push(await inSession(session, traced(meta)));
    expect(answers.map(({ body }) => body)).toEqual(
      answers.map(() => expect.objectContaining({ id: 'traced', result: answers[0]?.body['result'] })),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('x-gate-correlation-id'))).size).toBe(1);
    expect(tools.state().counts['list_files']).toBe(before + 1);
  });

  it('gets it in another session too, under a key of its own', async () => {
    const before = tools.state().counts['list_files'] ?? 0;
    const keyed = (id: number) => ({
      ...listFiles(id),
      params: { name: 'list_files', arguments: {}, _meta: { 'gate/idempotency-key': 'monthly-report' } },
    });
    const [first, second] = [await openSession(), await openSession()];
    expect((await inSession(first, keyed(1))).body).toMatchObject({ id: 1, result: { content: expect.any(Array) } });
    expect((await inSession(second, keyed(2))).body).toMatchObject({ id: 2, result: { content: expect.any(Array) } });
    expect(tools.state().counts['list_files']).toBe(before + 1);
    // Who selects a contract has a header for it, and one key is enough.
    const headers = { 'X-Gate-Decision-Contract': 'gate.decision/v1', 'X-Gate-Idempotency-Id': randomUUID() };
    expect((await inSession(first, keyed(3), headers)).body).toMatchObject({ error: 'unjudged_field' });
  });

  it('hangs up while a person decides, comes back to the place it knows, and gets the one answer', async () => {
    const session = await openSession();
    const transfer = { name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 27 } };
    const before = tools.state().counts['wire_transfer'] ?? 0;
    const hangUp = new AbortController();
    const asked = await fetch(`${gate.lite.url}/mcp`, {
      method: 'POST',
      headers: { ...ACCEPT, 'content-type': 'application/json', 'mcp-session-id': session },
      body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: transfer }),
      signal: hangUp.signal,
    });
    expect(asked.headers.get('content-type')).toBe('text/event-stream');
    const { value } = await (asked.body as ReadableStream<Uint8Array>).getReader().read();
    const [, place] = /^id: (\S+)$/m.exec(new TextDecoder().decode(value)) ?? [];
    hangUp.abort();
    const parked = await waiting();

    const { folder: home } = gate;
    await gate.lite.close();
    gate = await openLite(env(), { folder: home });
    const resumed = fetch(`${gate.lite.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': place as string },
    }).then((answer) => answer.text());
    await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'approve' } });
    const events = (await resumed).split('\n\n').filter((event) => event.includes('event: message'));
    expect(events).toHaveLength(1);
    const [, data] = /^data: (.*)$/m.exec(events[0] as string) ?? [];
    expect(JSON.parse(data as string)).toMatchObject({ id: 9, result: { content: expect.any(Array) } });
    expect(tools.state().counts['wire_transfer']).toBe(before + 1);
  });
});

describe('the stream of a session', () => {
  it('stays open with signs of life, gives its place back, and ends with Gate', async () => {
    await gate.close();
    gate = await openLite({ ...env(), GATE_LITE_STREAM_LIMIT: '1' });
    const session = await openSession();
    const get = (signal?: AbortSignal) =>
      fetch(`${gate.lite.url}/mcp`, {
        headers: { accept: 'text/event-stream', 'mcp-session-id': session },
        ...(signal && { signal }),
      });
    const hangUp = new AbortController();
    const first = await get(hangUp.signal);
    expect(first.headers.get('content-type')).toBe('text/event-stream');
    const { value } = await (first.body as ReadableStream<Uint8Array>).getReader().read();
    expect(new TextDecoder().decode(value)).toMatch(/^:/);
    expect((await get()).status).toBe(429);
    hangUp.abort();
    const second = await eventually('a place for the next stream', async () => {
      const answer = await get();
      return answer.status === 200 && answer;
    });
    const ended = second.text();
    await gate.lite.close();
    expect(await ended).toMatch(/^:/);
    gate = await openLite(env());
  });

  it('is 405 without a session, as for a server that has no stream', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await gate.send(method, '/mcp');
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });
});
