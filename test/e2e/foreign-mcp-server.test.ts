import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Agent, fetch as undiciFetch } from 'undici';
import type { JsonObject } from '../../contracts/json.js';
import { issueAgent } from '../../stack/certificates/dev-pki.js';
import { freePort } from '../../stack/programs/free-port.js';
import { type AgentClient, rpc, SELECTORS } from '../support/agent.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

/** The reference server of the MCP project: an older SDK, sessions, resumable streams, progress; nothing of it is ours. */
const PROGRAM = join(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
  '../dist/index.js',
);

let port: number;
let foreign: ChildProcess;
let gate: TestStack;
let bot: AgentClient;

async function startForeign(at: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [PROGRAM, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(at) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A test run that ends early must not leave it behind.
  process.once('exit', () => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await eventually('the reference server listens', () => {
    if (child.exitCode !== null) throw new Error(`the reference server ended: ${said}`);
    return /listening on port/.test(said);
  });
  return child;
}
const ended = (child: ChildProcess) =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(null);
    child.once('exit', resolve);
    child.kill('SIGKILL');
  });

beforeAll(async () => {
  port = await freePort();
  foreign = await startForeign(port);
  gate = await startStack({ env: { GATE_UPSTREAM_URL: `http://127.0.0.1:${port}/mcp` } });
  bot = await gate.agent('explorer-bot');
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await gate?.stop();
  if (foreign) await ended(foreign);
});

const resultOf = ({ body }: { body: JsonObject }) => body.result as JsonObject;

describe("an MCP server that is not Gate's own, through Gate", () => {
  it('initialize and tools/list tell what it offers', async () => {
    const hello = await bot.control('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    expect(hello.body).toMatchObject({
      id: 1,
      result: {
        serverInfo: { name: expect.stringMatching(/everything/) },
      },
    });
    // Of what it can, what Gate serves whole.
    expect(Object.keys(resultOf(hello)['capabilities'] as JsonObject).toSorted()).toEqual([
      'completions',
      'logging',
      'prompts',
      'resources',
      'tools',
    ]);
    expect((await bot.send(rpc('notifications/initialized', undefined, undefined))).status).toBe(204);
    const { tools } = resultOf(await bot.control('tools/list')) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect(resultOf(await bot.control('resources/list'))).toHaveProperty('resources');
    expect(resultOf(await bot.control('prompts/list'))).toHaveProperty('prompts');
  });

  it('echo and get-sum answer under the id of the caller', async () => {
    const echo = await bot.call('echo', { message: 'hello through Gate' }, { rpcId: 'e-1' });
    expect(echo.body).toEqual({
      jsonrpc: '2.0',
      id: 'e-1',
      result: { content: [{ type: 'text', text: 'Echo: hello through Gate' }] },
    });
    const sum = await bot.call('get-sum', { a: 19, b: 23 });
    expect(sum.text).toContain('42');
    expect(await gate.kinds(sum.correlationId, 'upstream.outcome')).toHaveLength(4);
  });

  it('what it refuses comes back as it says it', async () => {
    const reply = await bot.call('get-sum', { a: 'nineteen', b: 23 });
    expect(reply.status).toBe(200);
    expect(reply.text).toMatch(/nineteen|number/i);
    const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.at(-1)).toMatchObject({ policy_decision: { stage: 'failed' } });
  });

  it('content that is no text is relayed as it is', async () => {
    const { content } = resultOf(await bot.call('get-tiny-image')) as { content: { type: string; data?: string }[] };
    expect(content.find(({ type }) => type === 'image')?.data?.length).toBeGreaterThan(100);
    const structured = resultOf(await bot.call('get-structured-content', { location: 'Chicago' }));
    expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) });
  });

  it('a tool that reports progress on its way runs to its end', async () => {
    const id = randomUUID();
    const ask = () =>
      bot.send(
        rpc(
          'tools/call',
          {
            name: 'trigger-long-running-operation',
            arguments: { duration: 1, steps: 4 },
            _meta: { progressToken: 'token-of-the-agent' },
          },
          'long',
        ),
        { ...SELECTORS['server-execution'], 'x-gate-idempotency-id': id },
      );
    const parked = await ask();
    expect(parked.status).toBe(202);
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    const reply = await eventually('the approved call has run', async () => {
      const answer = await ask();
      return answer.status === 200 && answer;
    });
    expect(reply.body).toMatchObject({ jsonrpc: '2.0', id: 'long', result: { content: expect.any(Array) } });
    expect(reply.text).toMatch(/completed/i);
  });

  it('a red name is denied before it hears of it', async () => {
    expect((await bot.call('delete-everything')).status).toBe(403);
  });

  it('a restart loses its sessions, and is mended with the next call', async () => {
    await ended(foreign);
    foreign = await startForeign(port);
    // It says 400 where the protocol says 404: that call is an answered one and is not sent again.
    const lost = await bot.call('echo', { message: 'first' });
    expect([200, 400]).toContain(lost.status);
    expect((await bot.call('echo', { message: 'second' })).text).toContain('Echo: second');
  });

  it("the MCP SDK's own client works through Gate with nothing but the address and its certificate", async () => {
    const { ca, cert, key } = await issueAgent(
      { stateDir: gate.stateDir, trustDomain: 'gate.local' },
      'acme',
      'sdk-bot',
    );
    const dispatcher = new Agent({ connect: { ca, cert, key } });
    const withCertificate = (url: string | URL, init?: RequestInit) =>
      undiciFetch(url, { ...(init as object), headers: [...new Headers(init?.headers)], dispatcher });
    const client = new Client({ name: 'ordinary', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gate.development.proxy.url}/mcp`), {
        fetch: withCertificate as unknown as FetchLike,
      }),
    );
    expect(client.getServerVersion()?.name).toMatch(/everything/);
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    expect(await client.callTool({ name: 'echo', arguments: { message: 'sdk' } })).toMatchObject({
      content: [{ text: 'Echo: sdk' }],
    });
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
    expect(contents).toHaveLength(1);
    expect((await client.getPrompt({ name: 'simple-prompt' })).messages.length).toBeGreaterThan(0);

    const progress: number[] = [];
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } };
    const asked = client.callTool(long, { onprogress: (one) => void progress.push(one.progress), timeout: 60_000 });
    const parked = await eventually('the call waits', async () => {
      const { body } = await gate.operator.request('GET', '/pending');
      const rows = body as unknown as { correlation_id: string; agent_id: string }[];
      return rows.find(({ agent_id: agent }) => agent.endsWith('sdk-bot'));
    });
    expect((await gate.operator.decide(parked.correlation_id, 'approve')).status).toBe(200);
    expect(JSON.stringify(await asked)).toMatch(/completed/i);
    expect(progress.length).toBeGreaterThan(1);
    await client.close();
    await dispatcher.destroy();
  });
});
