import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { openUpstreams } from '../workers/upstreams.js';
import { ensureTestPki, type TestPki } from '../test/support/service-certificates.js';
import { actorTokensOf } from './actor-tokens.js';
import { createMcpUpstream } from './mcp-upstream.js';

const SPIFFE = 'spiffe://gate.local/tenant/acme/agent/bot/instance/0190d7b4-0000-7000-8000-000000000001';
const BOT = { tenant: 'acme', agent: 'bot', agent_spiffe: SPIFFE };
const LIMIT = { timeoutMs: 10_000 };
const call = (name: string): JsonObject => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
});

const seen: { method: string; token: string | undefined; peer: string | undefined }[] = [];
/** A server of MCP that notes which token came with what. */
const tools: RequestListener = (request: IncomingMessage, reply) => {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  request.on('end', () => {
    const { method = '', id } = (text === '' ? {} : JSON.parse(text)) as { method?: string; id?: string };
    const token = request.headers['x-gate-actor-token'];
    const { socket } = request;
    const peer = 'getPeerCertificate' in socket ? (socket as TLSSocket).getPeerCertificate().subject?.CN : undefined;
    seen.push({ method, token: token === undefined ? undefined : String(token), peer: peer && String(peer) });
    if (id === undefined) return void reply.writeHead(202).end();
    const result =
      method === 'initialize'
        ? {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'other gate', version: '1' },
          }
        : { content: [] };
    return void reply
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
};
const servers: Server[] = [];
const open: Upstream[] = [];
const listening = async (server: Server): Promise<number> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((upstream) => upstream.close()));
  await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
  seen.length = 0;
});

describe('an upstream that is another Gate', () => {
  const upstreamWith = async (actorToken: NonNullable<Parameters<typeof createMcpUpstream>[0]['actorToken']>) => {
    const upstream = createMcpUpstream({
      url: `http://127.0.0.1:${await listening(createHttpServer(tools))}/mcp`,
      actorToken,
    });
    open.push(upstream);
    return upstream;
  };

  it('is told with each call of a tool which agent asks, by a token of that call, and with nothing else', async () => {
    const asked: unknown[] = [];
    const upstream = await upstreamWith((caller, tool) => {
      asked.push([caller.agent_spiffe, tool]);
      return Promise.resolve(`token-${asked.length}`);
    });
    for (const tool of ['read', 'write'])
      expect(await upstream.callTool(BOT, call(tool), LIMIT)).toMatchObject({ kind: 'reply', failed: false });
    await upstream.control(BOT, { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }, LIMIT);
    expect(asked).toEqual([
      [SPIFFE, 'read'],
      [SPIFFE, 'write'],
    ]);
    expect(seen.map(({ method, token }) => [method, token])).toEqual([
      ['initialize', undefined],
      ['notifications/initialized', undefined],
      ['tools/call', 'token-1'],
      ['tools/call', 'token-2'],
      ['tools/list', undefined],
    ]);
  });

  it('is sent nothing where there is no token', async () => {
    const upstream = await upstreamWith(() => Promise.reject(new Error('identity does not answer')));
    expect(await upstream.callTool(BOT, call('read'), LIMIT)).toEqual({
      kind: 'not_sent',
      reason: 'no credentials for the upstream: identity gives no token for its agent: identity does not answer',
      noCredentials: true,
    });
    expect(seen.map(({ method }) => method)).not.toContain('tools/call');
  });

  it('is told by what identity makes for this agent, tool and trust domain', async () => {
    const asked: unknown[] = [];
    const tokenFor = actorTokensOf(() =>
      Promise.resolve({
        url: 'https://identity',
        fetch: (url, { body }) => {
          asked.push([url, JSON.parse(body ?? '')]);
          const text = JSON.stringify({ token: 'a.b.c', jti: '0190d7b4-0000-7000-8000-000000000001', exp: 1 });
          return Promise.resolve({ status: 200, text: () => Promise.resolve(text) });
        },
      }),
    )('partner.example');
    expect(await tokenFor(BOT, 'Read')).toBe('a.b.c');
    expect(asked).toEqual([
      [
        'https://identity/actor-token',
        {
          binding: {
            target: SPIFFE,
            tenant: 'acme',
            audience: 'partner.example',
            purpose: 'agent-to-agent',
            operation: 'tools/call',
            lifetime_seconds: 30,
          },
          scope: ['tool:Read'],
        },
      ],
    ]);
    await expect(tokenFor({ tenant: 'acme', agent: 'bot' }, 'read')).rejects.toThrow('nobody knows which agent asks');
  });
});

describe('an upstream that is proved by certificates', () => {
  let folder: string;
  let pki: TestPki;
  let other: TestPki;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-tls-upstream-'));
    [pki, other] = (await Promise.all(
      ['one', 'other'].map((name) => ensureTestPki({ stateDir: join(folder, name), trustDomain: 'partner.example' })),
    )) as [TestPki, TestPki];
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const reached = async (tls: Partial<Record<'ca_file' | 'cert_file' | 'key_file', string>>) => {
    const { cert, key } = pki.services.proxy;
    const server = createHttpsServer({ cert, key, ca: pki.ca, requestCert: true, rejectUnauthorized: true }, tools);
    const url = `https://127.0.0.1:${await listening(server)}/mcp`;
    const entry = { name: 'partner', prefix: 'partner', priceMicros: 0, toolPrices: {}, timeoutMs: undefined };
    const upstream = await openUpstreams([{ ...entry, url, credentials: undefined, gate: undefined, tls }], {
      env: {},
    });
    open.push(upstream);
    return upstream.callTool(BOT, call('partner__read'), LIMIT);
  };

  it('is reached by its own CA, with the client certificate of the files', async () => {
    const { certFile, keyFile } = pki.services.console;
    expect(await reached({ ca_file: pki.caFile, cert_file: certFile, key_file: keyFile })).toMatchObject({
      kind: 'reply',
    });
    expect(seen.at(-1)).toMatchObject({ method: 'tools/call', peer: 'console' });
  });

  it('is sent nothing where another CA proves it, or where it does not know the certificate', async () => {
    const { certFile, keyFile } = pki.services.console;
    for (const files of [
      { ca_file: other.caFile, cert_file: certFile, key_file: keyFile },
      { cert_file: certFile, key_file: keyFile },
    ])
      expect(await reached(files)).toMatchObject({ kind: 'not_sent' });
    expect(seen).toEqual([]);
  });

  it('is refused at the start where a file cannot be read, and by lite, which has no identity', async () => {
    const missing = join(folder, 'missing.pem');
    await expect(reached({ ca_file: missing })).rejects.toThrow('upstreams[0].tls: the file');
    const entry = {
      name: 'p',
      prefix: 'p',
      priceMicros: 0,
      toolPrices: {},
      timeoutMs: undefined,
      credentials: undefined,
    };
    const gate = { trust_domain: 'partner.example' };
    const url = 'https://partner.example/mcp';
    await expect(openUpstreams([{ ...entry, url, tls: undefined, gate }], { env: {} })).rejects.toThrow(
      'upstreams[0].gate: nobody here makes tokens',
    );
  });

  it('reads its files for each connection', async () => {
    const [certFile, keyFile] = ['live.crt', 'live.key'].map((name) => join(folder, name)) as [string, string];
    const write = ({ cert, key }: { readonly cert: string; readonly key: string }) => {
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
    };
    const files = { ca_file: pki.caFile, cert_file: certFile, key_file: keyFile };
    write(pki.services.console);
    await reached(files);
    write(pki.services.brain);
    await reached(files);
    expect(seen.filter(({ method }) => method === 'tools/call').map(({ peer }) => peer)).toEqual(['console', 'brain']);
  });
});
