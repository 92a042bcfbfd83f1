import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import type { PendingRequest } from '../contracts/review.js';
import { type ListingTools, listingTools } from '../test/support/listing-tools.js';
import { type LiteFixture, openLite } from '../test/support/lite.js';
import { eventually } from '../test/support/waiting.js';

const GATE = join(PROJECT_ROOT, 'bin/gate.mjs');
const TOKEN = 'the-token-of-an-agent-0123456789abcdef';
const TOOLS = ['list_files', 'delete_file', 'wire_transfer'];

let folder: string;
let tools: ListingTools;
let gate: LiteFixture;
let port: string;
const open = async (home?: string): Promise<LiteFixture> =>
  openLite(
    {
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      GATE_LITE_TOKEN: TOKEN,
      ...(port && { GATE_LITE_PORT: port }),
    },
    home === undefined ? {} : { folder: home },
  );
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-bridge-'));
  await writeFile(join(folder, 'token'), `${TOKEN}\n`);
  tools = await listingTools();
  tools.pages = [TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } }))];
  port = '';
  gate = await open();
  port = new URL(gate.lite.url).port;
});
afterAll(async () => {
  await gate?.close();
  await tools?.close();
  await rm(folder, { recursive: true, force: true });
});

async function connected(...flags: string[]): Promise<{ client: Client; said: () => string; close(): Promise<void> }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [GATE, 'mcp-bridge', '--endpoint', `http://127.0.0.1:${port}`, ...flags],
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (bytes: Buffer) => {
    said += bytes.toString('utf8');
  });
  const client = new Client({ name: 'a-client', version: '1.0.0' });
  await client.connect(transport);
  return { client, said: () => said, close: () => client.close() };
}
const textOf = (result: unknown): string => JSON.stringify((result as { content: unknown }).content);

describe('gate mcp-bridge', () => {
  it('is Gate over standard streams: lists, allows, denies, and waits for a person', async () => {
    const { client, close } = await connected('--token-file', join(folder, 'token'));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
    expect(await client.callTool({ name: 'list_files', arguments: {} })).not.toMatchObject({ isError: true });
    const denied = await client.callTool({ name: 'delete_file', arguments: { path: 'a' } });
    expect(denied).toMatchObject({ isError: true });
    expect(textOf(denied)).toContain('policy_denied');
    const waiting = client.callTool({ name: 'wire_transfer', arguments: { to: 'vendor', amount: 25 } });
    const id = await eventually('the call that waits', async () => {
      const { body } = await gate.send('GET', '/pending');
      return (body as unknown as readonly PendingRequest[])[0]?.correlation_id;
    });
    await gate.send('POST', `/decide/${id}`, { body: { decision: 'approve', reason: 'as the test says' } });
    expect(await waiting).not.toMatchObject({ isError: true });
    await close();
  });

  it('goes on where Gate was started anew in between, and tells a client while it is away', async () => {
    const { client, said, close } = await connected('--token-file', join(folder, 'token'));
    await client.callTool({ name: 'list_files', arguments: {} });
    await gate.close();
    await expect(client.callTool({ name: 'list_files', arguments: {} })).rejects.toThrow(/no answer; it is unknown/);
    gate = await open(join(folder, 'another'));
    expect(await client.callTool({ name: 'list_files', arguments: {} })).not.toMatchObject({ isError: true });
    expect(said()).toContain('began another one');
    expect(said()).not.toContain(TOKEN);
    await close();
  });

  it('hands on what Gate refuses, without the token', async () => {
    await expect(connected()).rejects.toThrow(/HTTP 401|token/);
  });

  it('ends when its client ends its input, and so does the session', async () => {
    const child = spawn(process.execPath, [
      GATE,
      'mcp-bridge',
      '--endpoint',
      `http://127.0.0.1:${port}`,
      '--token-file',
      join(folder, 'token'),
    ]);
    const opening = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    child.stdin.write(`${JSON.stringify(opening)}\n`);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(line.toString('utf8'))).toMatchObject({ id: 1, result: { serverInfo: {} } });
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.each([
    [['--endpoint', 'nowhere'], /no address/],
    [['--endpoint', 'ftp://gate'], /http or https/],
    [['--cert', 'a.crt'], /given together/],
    [['--ca', '/nothing/ca.crt'], /--ca: .* cannot be read \(ENOENT\)/],
  ])('refuses %p', async (flags, reason) => {
    const child = spawn(process.execPath, [GATE, 'mcp-bridge', ...flags]);
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString('utf8');
    });
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(said).toMatch(reason);
  });
});
