import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ClientCredentialsProvider,
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent, fetch as undiciFetch } from 'undici';
import type { PendingRequest } from '../../contracts/review.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { type AgentClient, createAgentClient } from '../support/agent.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { HAS_INSPECTOR, INSPECTOR, NODE_24 } from '../support/node24.js';
import { bareEnvironment, STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { secretOf, startTokenProvider, type TokenProvider } from '../support/token-provider.js';
import { eventually } from '../support/waiting.js';

const CLIENTS = [
  { id: 'dev-agent', tenant: 'acme' },
  { id: 'second-agent', tenant: 'acme' },
  { id: 'foreign-agent', tenant: 'globex' },
];
const TRANSFER = { from: 'operating', to: 'vendor', amount: 1 };
const ACCEPT = { accept: 'application/json, text/event-stream' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

let folder: string;
let tools: DemoUpstream;
/** Stands before the tools and notes what headers they get. */
let door: Server;
let upstreamUrl: string;
const seen: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  folder = await liteFolder();
  tools = await startDemoUpstream({ port: 0, dataDir: folder });
  door = createServer((request, response) => {
    seen.push(request.headers);
    void (async () => {
      const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
      const body = await buffer(request);
      const answer = await fetch(tools.url, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      const { 'content-encoding': _encoding, ...given } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, given);
      response.flushHeaders();
      for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    })().catch(() => response.destroy());
  });
  await once(door.listen(0, '127.0.0.1'), 'listening');
  upstreamUrl = `http://127.0.0.1:${(door.address() as AddressInfo).port}/mcp`;
});
afterAll(async () => {
  door.closeAllConnections();
  door.close();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

/** An edition that takes the tokens of a provider. */
interface Door {
  readonly provider: TokenProvider;
  readonly mcp: string;
  readonly stateDir: string;
  readonly bare: AgentClient;
  readonly fetch: typeof fetch;
  readonly output: () => string;
  /** The file of the authority that signed its certificate; empty where it has none. */
  readonly ca: string;
  /** The correlation id of the call that waits, if one does. */
  waiting(): Promise<string | undefined>;
  approve(correlationId: string): Promise<void>;
  close(): Promise<void>;
}

const settings = (prefix: string, { issuer }: TokenProvider, resource: string): Record<string, string> => ({
  [`${prefix}_OAUTH_ISSUER`]: issuer,
  [`${prefix}_OAUTH_RESOURCE`]: resource,
  [`${prefix}_OAUTH_TENANT_CLAIM`]: 'tenant',
  [`${prefix}_OAUTH_TENANT_MAP`]: 'acme=acme,globex=globex',
  [`${prefix}_OAUTH_SCOPES`]: 'mcp',
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function throughLite(): Promise<Door> {
  const port = await freePort();
  const mcp = `http://127.0.0.1:${port}/mcp`;
  const provider = await startTokenProvider({ resource: mcp, clients: CLIENTS });
  const gate: LiteFixture = await openLite({
    GATE_LITE_PORT: String(port),
    GATE_LITE_UPSTREAM_URL: upstreamUrl,
    GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
    ...settings('GATE_LITE', provider, mcp),
  });
  const bare = createAgentClient(gate.lite.url, { ca: '' });
  return {
    provider,
    mcp,
    stateDir: gate.folder,
    bare,
    fetch,
    output: () => '',
    ca: '',
    waiting: async () => ((await gate.send('GET', '/pending')).body as unknown as PendingRequest[])[0]?.correlation_id,
    approve: async (id) => void (await gate.send('POST', `/decide/${id}`, { body: { decision: 'approve' } })),
    async close() {
      await bare.close();
      await gate.close();
      await provider.close();
    },
  };
}

let stack: TestStack;
async function throughStack(): Promise<Door> {
  const port = await freePort();
  const mcp = `https://localhost:${port}/mcp`;
  const provider = await startTokenProvider({ resource: mcp, clients: CLIENTS });
  stack = await startStack({
    env: {
      GATE_PROXY_PORT: String(port),
      GATE_UPSTREAM_URL: upstreamUrl,
      GATE_LOG_LEVEL: 'trace',
      ...settings('GATE_PROXY', provider, mcp),
    },
  });
  const dispatcher = new Agent({ connect: { ca: readFileSync(stack.development.proxy.ca, 'utf8') } });
  return {
    provider,
    mcp,
    stateDir: stack.stateDir,
    bare: stack.stranger(),
    fetch: ((url: string | URL, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch,
    output: stack.output,
    ca: stack.development.proxy.ca,
    waiting: async () => (await stack.operator.pending())[0]?.correlation_id,
    approve: async (id) => void (await stack.operator.decide(id, 'approve')),
    async close() {
      await dispatcher.destroy();
      await stack.stop();
      await provider.close();
    },
  };
}

describe.each([
  ['lite', throughLite, 60_000],
  ['the full edition', throughStack, STACK_START_LIMIT_MS],
] as const)('an agent that comes with an access token to %s', (edition, open, limitMs) => {
  let gate: Door;
  beforeAll(async () => {
    gate = await open();
  }, limitMs);
  afterAll(() => gate.close(), 150_000);

  const session = async (token: string) => {
    const { headers } = await gate.bare.send(INITIALIZE, { ...ACCEPT, ...bearer(token) });
    return String(headers['mcp-session-id']);
  };
  const metadataAt = (path: string) => gate.bare.request('GET', `/.well-known/oauth-protected-resource${path}`);

  it('learns before anything else which issuer to ask, and that it needs a token', async () => {
    for (const path of ['', '/mcp']) {
      const { status, body } = await metadataAt(path);
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          resource: gate.mcp,
          resource_name: 'Gate',
          authorization_servers: [gate.provider.issuer],
          bearer_methods_supported: ['header'],
          scopes_supported: ['mcp'],
        },
      });
    }
    const { status, headers, body } = await gate.bare.send(INITIALIZE, ACCEPT);
    expect({ status, code: body['error'] }).toEqual({ status: 401, code: 'unauthorized' });
    expect(headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${gate.mcp.replace('/mcp', '')}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
    );
  });

  it('calls tools with an unmodified client that has a token, and the call is its own', async () => {
    const made = new Client({ name: 'an agent', version: '1' });
    const requestInit = { headers: bearer(await gate.provider.token()) };
    await made.connect(
      new StreamableHTTPClientTransport(new URL(gate.mcp), { requestInit, fetch: gate.fetch }) as never,
    );
    expect((await made.listTools()).tools.map(({ name }) => name)).toContain('wire_transfer');
    expect(JSON.stringify(await made.callTool({ name: 'list_files', arguments: {} }))).toContain('README.txt');
    await made.close();
  });

  it('gets one with an unmodified client that knows the address of Gate and a secret of its own', async () => {
    const authProvider = new ClientCredentialsProvider({
      clientId: 'dev-agent',
      clientSecret: secretOf('dev-agent'),
      expectedIssuer: gate.provider.issuer,
      scope: 'mcp',
    });
    // Gate by its certificate, the issuer as it is.
    const either = ((url: string | URL, init: object) =>
      String(url).startsWith(gate.provider.issuer) ? fetch(url, init) : gate.fetch(url, init)) as typeof fetch;
    const made = new NewClient({ name: 'an agent', version: '1' });
    await made.connect(new NewTransport(new URL(gate.mcp), { authProvider, fetch: either }));
    expect(JSON.stringify(await made.callTool({ name: 'list_files', arguments: {} }))).toContain('README.txt');
    await made.close();
  });

  (HAS_INSPECTOR ? it : it.skip)(
    `lists, reads, is denied and waits for a person with the MCP inspector${needs('mcp-inspector', HAS_INSPECTOR)}`,
    async () => {
      const token = await gate.provider.token();
      const ask = async (method: string, ...args: string[]) => {
        const all = [gate.mcp, '--method', method, '--header', `Authorization: Bearer ${token}`, ...args];
        const { stdout } = await promisify(execFile)(NODE_24, [INSPECTOR, '--cli', ...all], {
          env: { ...bareEnvironment(), HOME: folder, NODE_EXTRA_CA_CERTS: gate.ca },
        }).catch((ended: { stdout: string }) => ended);
        return stdout;
      };
      const call = (name: string, args: Readonly<Record<string, string | number>> = {}) =>
        ask(
          'tools/call',
          '--tool-name',
          name,
          ...Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]),
        );
      expect(await ask('tools/list')).toContain('"wire_transfer"');
      expect(await call('list_files')).toContain('README.txt');
      expect(await call('delete_file', { path: 'notes/todo.txt' })).toContain('policy_denied');
      const before = tools.state().counts['wire_transfer'] ?? 0;
      const asked = call('wire_transfer', { ...TRANSFER, amount: 7 });
      await gate.approve(await eventually('the transfer waits', () => gate.waiting()));
      expect(await asked).toContain('7.00 from operating to vendor');
      expect(tools.state().counts['wire_transfer']).toBe(before + 1);
    },
    120_000,
  );

  it('parks a call, polls for it, and gets the result under another token of the same agent', async () => {
    const parked = await gate.bare.call('wire_transfer', TRANSFER, { headers: bearer(await gate.provider.token()) });
    expect(parked.status).toBe(202);
    const id = parked.correlationId;
    const poll = async (client: string) =>
      gate.bare.request('GET', `/pending/${id}`, { headers: bearer(await gate.provider.token(client)) });
    expect((await poll('dev-agent')).body).toMatchObject({ status: 'pending', tenant: 'acme', agent_id: 'dev-agent' });
    for (const other of ['second-agent', 'foreign-agent']) expect((await poll(other)).status).toBe(404);
    expect((await gate.bare.request('GET', `/pending/${id}`)).status).toBe(401);
    await gate.approve(id);
    await eventually('the result', async () => {
      const { execution } = (await poll('dev-agent')).body as { execution: { state: string } };
      return execution.state === 'completed';
    });
  });

  it('keeps its session and its calls when its token is renewed, and nobody else has them', async () => {
    const opened = await session(await gate.provider.token());
    const ask = async (client: string, id: number) =>
      gate.bare.send(
        { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'list_files', arguments: {} } },
        { ...ACCEPT, ...bearer(await gate.provider.token(client)), 'mcp-session-id': opened },
      );
    const before = tools.state().counts['list_files'] ?? 0;
    const [first, again] = [await ask('dev-agent', 7), await ask('dev-agent', 7)];
    expect(first.text).toContain('README.txt');
    // A call that takes long is answered by a stream, and its repeat at once.
    const said = ({ text }: { readonly text: string }) => /\{"jsonrpc".*\}/.exec(text)?.[0];
    expect([said(again), again.correlationId]).toEqual([said(first), first.correlationId]);
    expect(tools.state().counts['list_files']).toBe(before + 1);
    for (const other of ['second-agent', 'foreign-agent']) expect((await ask(other, 7)).status).toBe(404);
  });

  it('has one idempotency id for itself alone', async () => {
    const idempotencyId = '0190b8d0-0000-7000-8000-00000000abcd';
    const ids = new Set<string>();
    for (const client of ['dev-agent', 'second-agent', 'foreign-agent']) {
      const headers = bearer(await gate.provider.token(client));
      ids.add((await gate.bare.call('list_files', {}, { idempotencyId, headers })).correlationId);
    }
    expect(ids.size).toBe(3);
  });

  it.each<[string, (at: Door) => Promise<string>, RegExp]>([
    [
      'for another resource',
      ({ provider }) => provider.token('dev-agent', 'https://other.example/mcp'),
      /another audience/,
    ],
    [
      'of another issuer',
      ({ provider }) => provider.forged({ ...provider.claims(), iss: 'https://evil.example' }),
      /another issuer/,
    ],
    ['that is over', ({ provider }) => provider.forged({ ...provider.claims(), exp: 1 }), /expired/],
    ['that another key signed', ({ provider }) => provider.forged(provider.claims(), {}, 'another key'), /signature/],
    ['that is no JWT', () => Promise.resolve('x'), /no signed JWT/],
  ])('is refused with a token %s, and told so as RFC 6750 says', async (_what, make, why) => {
    const before = tools.state().counts['list_files'] ?? 0;
    const headers = bearer(await make(gate));
    const answers = [
      await gate.bare.call('list_files', {}, { headers }),
      await gate.bare.send(INITIALIZE, { ...ACCEPT, ...headers }),
      await gate.bare.request('GET', '/mcp', { headers: { ...headers, 'mcp-session-id': 'x' } }),
      await gate.bare.request('GET', '/authorizations/0190b8d0-0000-7000-8000-000000000000', { headers }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.text).toMatch(why);
      expect(answer.text).toContain('token_invalid');
      expect(answer.headers['www-authenticate']).toMatch(
        /^Bearer resource_metadata=".+", error="invalid_token", error_description="[^"]+", scope="mcp"$/,
      );
    }
    expect(tools.state().counts['list_files'] ?? 0).toBe(before);
  });

  it('is refused without a scope, and told which', async () => {
    const token = await gate.provider.forged({ ...gate.provider.claims(), scope: 'read' });
    const { status, body, headers } = await gate.bare.call('list_files', {}, { headers: bearer(token) });
    expect({ status, code: body['error'] }).toEqual({ status: 403, code: 'token_scope_insufficient' });
    expect(headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="mcp"$/);
  });

  it('is refused where its token names a tenant unknown here', async () => {
    const token = await gate.provider.forged({ ...gate.provider.claims(), tenant: 'initech' });
    const { status, body } = await gate.bare.call('list_files', {}, { headers: bearer(token) });
    expect({ status, code: body['error'], layer: body['layer'] }).toEqual({
      status: 403,
      code: 'token_agent_unknown',
      layer: 'identity',
    });
  });

  it('is never taken for somebody by a header of another form', async () => {
    const token = await gate.provider.token();
    for (const authorization of [`bearer ${token}`, `Bearer  ${token}`, `Basic ${token}`, token, `Bearer ${token} x`])
      expect((await gate.bare.call('list_files', {}, { headers: { authorization } })).body).toMatchObject({
        error: 'token_invalid',
      });
  });

  it('hears 400, 413 and 426 before anything of its token', async () => {
    const headers = bearer('x');
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_files', arguments: {} } };
    expect((await gate.bare.send(call, headers)).status).toBe(426);
    expect((await gate.bare.send('{', headers)).status).toBe(400);
  });

  it('listens in its session until its token is over, and no longer', async () => {
    const opened = await session(await gate.provider.token());
    const soon = Math.floor(Date.now() / 1000) - 28;
    const token = await gate.provider.forged({ ...gate.provider.claims(), exp: soon });
    const { status, text } = await gate.bare.request('GET', '/mcp', {
      headers: { ...bearer(token), accept: 'text/event-stream', 'mcp-session-id': opened },
    });
    expect(status).toBe(200);
    expect(text).toContain('keep-alive');
  });

  it('waits on the stream of a call that broke until its token is over, and no longer', async () => {
    const opened = await session(await gate.provider.token());
    const parked = await gate.bare.call(
      'wire_transfer',
      { from: 'operating', to: 'vendor', amount: 27 },
      { headers: bearer(await gate.provider.token()) },
    );
    expect(parked.status).toBe(202);
    const place = Buffer.from(JSON.stringify([parked.body['correlation_id'], 9])).toString('base64url');
    const soon = Math.floor(Date.now() / 1000) - 28;
    const token = await gate.provider.forged({ ...gate.provider.claims(), exp: soon });
    const { status, text } = await gate.bare.request('GET', '/mcp', {
      headers: { ...bearer(token), accept: 'text/event-stream', 'mcp-session-id': opened, 'last-event-id': place },
    });
    expect(status).toBe(200);
    expect(text).not.toContain('event: message');
  });

  it('shows its token to Gate alone: no tool, no file and no log has it', async () => {
    const token = await gate.provider.token();
    await gate.bare.call('list_files', {}, { headers: bearer(token) });
    const invalid = await gate.provider.forged({ ...gate.provider.claims(), exp: 1 });
    await gate.bare.call('list_files', {}, { headers: bearer(invalid) });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    const parts = [token, invalid].flatMap((each) => each.split('.').slice(1));
    const files = readdirSync(gate.stateDir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(gate.stateDir, name))
      .filter((file) => statSync(file).isFile());
    for (const file of files) {
      const bytes = readFileSync(file);
      expect([file, parts.filter((part) => bytes.includes(part))]).toEqual([file, []]);
    }
    expect(parts.filter((part) => gate.output().includes(part))).toEqual([]);
    if (edition === 'the full edition') expect(files.some((file) => file.endsWith('gate.log'))).toBe(true);
  });

  if (edition === 'the full edition')
    describe('and with a certificate', () => {
      it('is one agent by both, and refused where they name two', async () => {
        const certified = await stack.agent('dev-agent');
        const shown = async (client?: string) =>
          certified.call(
            'list_files',
            {},
            {
              ...(client !== undefined && { headers: bearer(await gate.provider.token(client)) }),
            },
          );
        expect((await shown()).status).toBe(200);
        expect((await shown('dev-agent')).status).toBe(200);
        for (const other of ['second-agent', 'foreign-agent'])
          expect(await shown(other)).toMatchObject({ status: 401, body: { error: 'credentials_disagree' } });
      });

      it('is refused with a token that does not hold, whatever the certificate says', async () => {
        const certified = await stack.agent('dev-agent');
        const answer = await certified.call('list_files', {}, { headers: bearer('x') });
        expect(answer).toMatchObject({ status: 401, body: { error: 'token_invalid' } });
      });

      it('is no agent by a service’s certificate', async () => {
        const { cert, key, ca } = { ...stack.development.console_workload, ca: stack.development.proxy.ca };
        const service = createAgentClient(stack.development.proxy.url, {
          ca: readFileSync(ca, 'utf8'),
          cert: readFileSync(cert, 'utf8'),
          key: readFileSync(key, 'utf8'),
        });
        const answer = await service.call('list_files', {}, { headers: bearer(await gate.provider.token()) });
        await service.close();
        expect(answer).toMatchObject({ status: 401, body: { error: 'credentials_disagree' } });
      });

      it('uses a token that is bound to its certificate with that one alone (RFC 8705)', async () => {
        const certified = await stack.agent('dev-agent');
        const [row] = await stack.rows((await certified.call('list_files')).correlationId);
        const thumbprint = Buffer.from(row?.['credential_fingerprint'] as string, 'hex').toString('base64url');
        const token = await gate.provider.forged({ ...gate.provider.claims(), cnf: { 'x5t#S256': thumbprint } });
        const headers = bearer(token);
        expect((await certified.call('list_files', {}, { headers })).status).toBe(200);
        expect(await gate.bare.call('list_files', {}, { headers })).toMatchObject({
          status: 401,
          body: { error: 'token_invalid' },
        });
      });
    });
});

describe('lite with tokens of an issuer', () => {
  it('has no anonymous agent, and knows those of its settings as before', async () => {
    const provider = await startTokenProvider({ resource: 'http://127.0.0.1/mcp', clients: CLIENTS });
    const gate = await openLite({
      GATE_LITE_AGENTS: 'acme/one:token-of-agent-one',
      ...settings('GATE_LITE', provider, 'http://127.0.0.1/mcp'),
    });
    const asked = async (headers: Record<string, string>) =>
      (await gate.call('list_files', { decision: true, headers })).status;
    expect(await asked({})).toBe(401);
    expect(await asked(bearer('token-of-agent-one'))).toBe(200);
    expect(await asked(bearer('token-of-agent-two'))).toBe(401);
    expect(await asked(bearer(await provider.token()))).toBe(200);
    await gate.close();
    await provider.close();
  }, 60_000);

  it('says nothing about a token while the issuer is away (503), and forgets nothing when it is back', async () => {
    const provider = await startTokenProvider({ resource: 'http://127.0.0.1/mcp', clients: CLIENTS });
    const gate = await openLite(settings('GATE_LITE', provider, 'http://127.0.0.1/mcp'));
    const headers = bearer(await provider.token());
    provider.fault = 'hangs up';
    const away = await gate.call('list_files', { decision: true, headers });
    expect(away).toMatchObject({ status: 503, body: { error: 'token_keys_unavailable', layer: 'identity' } });
    expect(away.headers.get('retry-after')).toBe('2');
    provider.fault = null;
    await eventually('the issuer is asked again', async () => {
      return (await gate.call('list_files', { decision: true, headers })).status === 200;
    });
    await gate.close();
    await provider.close();
  }, 60_000);
});
