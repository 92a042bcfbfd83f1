import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { JsonObject } from '../../contracts/json.js';
import { definitionDigest } from '../../domain/tool-definitions/definitions.js';
import { type DemoState, type DemoUpstream, startDemoUpstream } from './server.js';

let dataDir: string;
let upstream: DemoUpstream;
const clients: Client[] = [];
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gate-demo-'));
  upstream = await startDemoUpstream({ dataDir, port: 0 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function connect(url = upstream.url): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1,
        maxReconnectionDelay: 1,
        reconnectionDelayGrowFactor: 1,
      },
    }),
  );
  clients.push(client);
  return client;
}

interface Outcome {
  readonly text: string;
  readonly failed: boolean;
}
async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Outcome> {
  const result = await client.callTool({ name, arguments: args });
  const [first] = result.content as { text: string }[];
  return { text: first?.text ?? '', failed: result.isError === true };
}

async function restart(): Promise<void> {
  await upstream.close();
  upstream = await startDemoUpstream({ dataDir, port: 0 });
}

const post = (headers: Record<string, string>, body: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      upstream.url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });

describe('the demonstration tools', () => {
  it('are listed with their schemas; list_files needs no argument', async () => {
    const { tools } = await (await connect()).listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(
      'big_result delete_file drop_connection failing_tool get_balance get_reference_status list_files read_file slow_task wire_transfer write_file'.split(
        ' ',
      ),
    );
    const required = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema.required ?? [];
    expect(required('list_files')).toEqual([]);
    expect(required('wire_transfer')).toEqual(['from', 'to', 'amount']);
  });

  it('are defined as README shows it of one', async () => {
    const { tools } = await (await connect()).listTools();
    const told = tools.find(({ name }) => name === 'wire_transfer');
    const readme = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');
    const shown = /definition of the tool ([0-9a-f]+) of demo/.exec(readme)?.[1];
    expect(shown).toBe(definitionDigest(told as unknown as JsonObject).slice(0, 16));
  });

  it('write, read, list and delete files of the workspace', async () => {
    const client = await connect();
    await call(client, 'write_file', { path: 'a/b.txt', content: 'hello' });
    expect((await call(client, 'read_file', { path: 'a/b.txt' })).text).toBe('hello');
    expect((await call(client, 'list_files')).text.split('\n')).toEqual(['README.txt', 'a/b.txt', 'notes/todo.txt']);
    expect((await call(client, 'list_files', { folder: 'a' })).text).toBe('a/b.txt');
    await call(client, 'delete_file', { path: 'a/b.txt' });
    expect(await call(client, 'read_file', { path: 'a/b.txt' })).toMatchObject({ failed: true });
    expect(upstream.state().counts).toEqual({ write_file: 1, read_file: 1, list_files: 2, delete_file: 1 });
  });

  it.each([
    ['above', '../out.txt'],
    ['absolute', '/etc/passwd'],
    ['above, in the end', 'a/../../out.txt'],
    ['behind a link', 'link/out.txt'],
    ['a link', 'link'],
    ['cut by a NUL', 'nul\0'],
  ])('refuse a path that is %s, and nothing is done', async (_what, path) => {
    symlinkSync(tmpdir(), join(dataDir, 'workspace', 'link'));
    const client = await connect();
    for (const [name, args] of [
      ['read_file', { path }],
      ['write_file', { path, content: 'x' }],
      ['delete_file', { path }],
      ['list_files', { folder: path }],
    ] as const)
      expect(await call(client, name, args)).toMatchObject({ failed: true });
    expect(upstream.state().effects).toEqual([]);
  });

  it('move money once, and know the balance', async () => {
    const client = await connect();
    const args = { from: 'operating', to: 'vendor', amount: 1250.5, memo: 'invoice 7' };
    expect((await call(client, 'wire_transfer', args)).text).toContain('operating now holds 248749.50');
    expect((await call(client, 'get_balance', { account: 'vendor' })).text).toBe('vendor: 1250.50');
    expect(upstream.state().balances).toMatchObject({ operating: 248_749_50, vendor: 1_250_50 });
  });

  it.each([
    ['more than there is', { from: 'vendor', to: 'savings', amount: 1 }],
    ['an unknown account', { from: 'operating', to: 'constructor', amount: 1 }],
    ['the same account', { from: 'operating', to: 'operating', amount: 1 }],
    ['half a cent', { from: 'operating', to: 'vendor', amount: 0.005 }],
    ['less than nothing', { from: 'operating', to: 'vendor', amount: -5 }],
  ])('refuse to move %s, and nothing is done', async (_what, args) => {
    const before = { ...upstream.state().balances };
    const client = await connect();
    const outcome = await call(client, 'wire_transfer', args).catch(() => ({ failed: true }));
    expect(outcome.failed).toBe(true);
    expect(upstream.state().balances).toEqual(before);
    expect(upstream.state().effects).toEqual([]);
  });

  it('tell what became of an order by its reference, and do nothing by it', async () => {
    const client = await connect();
    const status = async (reference: string) =>
      JSON.parse((await call(client, 'get_reference_status', { reference })).text) as Record<string, unknown>;
    expect(await status('order-7')).toEqual({ reference: 'order-7', status: 'unknown' });
    await call(client, 'wire_transfer', { from: 'operating', to: 'vendor', amount: 10, reference: 'order-7' });
    const before = upstream.state().effects;
    expect(await status('order-7')).toMatchObject({ status: 'booked', order: 1 });
    expect(upstream.state().effects).toEqual(before);
  });

  it('fail with isError, take their time, and answer at length', async () => {
    const client = await connect();
    expect(await call(client, 'failing_tool', { reason: 'no' })).toEqual({ text: 'no', failed: true });
    expect((await call(client, 'slow_task', { seconds: 0.05 })).text).toBe('done after 0.05 s');
    expect((await call(client, 'big_result', { bytes: 3_000_000 })).text).toHaveLength(3_000_000);
  });

  it.each([true, false])('drop the connection after the effect, without an answer (sse: %p)', async (sse) => {
    const other = await startDemoUpstream({ dataDir: join(dataDir, 'other'), port: 0, sse });
    const client = await connect(other.url);
    await expect(client.callTool({ name: 'drop_connection', arguments: {} }, { timeout: 500 })).rejects.toThrow();
    expect(other.state().counts).toEqual({ drop_connection: 1 });
    // Only that connection: the session goes on.
    expect((await call(client, 'get_balance', { account: 'vendor' })).text).toBe('vendor: 0.00');
    await other.close();
  });
});

describe('what was done stays done', () => {
  it('keeps balances, files and the journal over a restart', async () => {
    const client = await connect();
    await call(client, 'wire_transfer', { from: 'operating', to: 'vendor', amount: 10 });
    await call(client, 'write_file', { path: 'kept.txt', content: 'x'.repeat(300) });
    await client.close();
    const before = upstream.state();
    await restart();
    expect(upstream.state()).toMatchObject({ effects: before.effects, balances: before.balances });
    expect(upstream.state().effects[1]?.arguments['content']).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await call(await connect(), 'read_file', { path: 'kept.txt' })).text).toHaveLength(300);
  });

  it('works the balances out from the journal, and drops a line that a crash cut off', async () => {
    const client = await connect();
    await call(client, 'wire_transfer', { from: 'operating', to: 'vendor', amount: 10 });
    await client.close();
    writeFileSync(join(dataDir, 'balances.json'), '{');
    appendFileSync(join(dataDir, 'journal.jsonl'), '{"seq":2,"at":"2026');
    await restart();
    expect(upstream.state().counts).toEqual({ wire_transfer: 1 });
    expect(upstream.state().balances['vendor']).toBe(1_000);
    await call(await connect(), 'get_balance');
    expect(readFileSync(join(dataDir, 'journal.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
    expect(JSON.parse(readFileSync(join(dataDir, 'balances.json'), 'utf8'))).toEqual(upstream.state().balances);
  });

  it('is told by GET /state', async () => {
    await call(await connect(), 'list_files');
    const reply = await fetch(upstream.url.replace('/mcp', '/state'));
    const state = (await reply.json()) as DemoState;
    expect(state).toEqual(JSON.parse(JSON.stringify(upstream.state())));
    expect(state.counts).toEqual({ list_files: 1 });
  });
});

describe('MCP sessions', () => {
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  });
  const accept = { accept: 'application/json, text/event-stream' };

  it('are one per client; one that is gone is 404, so that the client opens a new one', async () => {
    const [first] = [await connect(), await connect()];
    expect(upstream.state().sessions).toBe(2);
    const transport = first?.transport as StreamableHTTPClientTransport;
    await transport.terminateSession();
    expect(upstream.state().sessions).toBe(1);
    expect(await post({ ...accept, 'mcp-session-id': 'gone' }, initialize)).toBe(404);
  });

  it('are not opened by an invalid request', async () => {
    expect(await post(accept, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).toBe(400);
    expect(await post(accept, 'nonsense')).toBe(400);
    expect(upstream.state().sessions).toBe(0);
  });

  it('are refused to a web page that points its own name here', async () => {
    expect(await post({ ...accept, host: 'evil.example' }, initialize)).toBe(403);
    expect(await post({ ...accept, host: 'localhost:1' }, initialize)).toBe(200);
  });

  it('a port that is taken is one clear line', async () => {
    await expect(startDemoUpstream({ dataDir, port: upstream.port })).rejects.toThrow(
      `demo upstream: port ${upstream.port} on 127.0.0.1 is used by another program`,
    );
  });
});
