import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { JsonObject } from '../contracts/json.js';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { createPayloadCodec } from '../workers/codec.js';
import { createWorkflowPages } from './workflow-pages.js';

const TOKEN = 'an-operator-of-this-stack-0123456789abcdef';
const keys = parseKeyRing(`k1:${'10af'.repeat(16)}`);
const strangers = parseKeyRing(`k2:${'20af'.repeat(16)}`);

/** Stands for the engine's pages: answers what it was asked. */
let engine: Server;
let asked: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders }[];
let pages: FastifyInstance;
let url: string;
beforeAll(async () => {
  engine = createServer((request, response) => {
    asked.push({ method: request.method, url: request.url, headers: request.headers });
    const settings = { Codec: { Endpoint: '', PassAccessToken: false }, Version: '2', DisableWriteActions: false };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(request.url === '/api/v1/settings' ? settings : { page: request.url }));
  });
  await new Promise<void>((listening) => engine.listen(0, '127.0.0.1', listening));
  const { port } = engine.address() as AddressInfo;
  pages = createWorkflowPages({
    uiUrl: `http://127.0.0.1:${port}`,
    namespace: 'gate',
    keys,
    operatorToken: TOKEN,
    logger: pino({ level: 'silent' }),
  });
  url = await pages.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await pages.close();
  engine.close();
});
beforeEach(() => {
  asked = [];
});

const ask = (path: string, init: RequestInit = {}) => fetch(new URL(path, url), { redirect: 'manual', ...init });
const link = async (token = TOKEN) =>
  ask('/sign-in/link', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
const signedIn = async (): Promise<string> => {
  const { path } = (await (await link()).json()) as { path: string };
  return ((await ask(path)).headers.get('set-cookie') ?? '').split(';')[0] ?? '';
};
const sealed = async (value: unknown, ring = keys): Promise<JsonObject> => {
  const [payload] = await createPayloadCodec(ring).encode([
    { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) },
  ]);
  return {
    metadata: Object.fromEntries(
      Object.entries(payload?.metadata ?? {}).map(([name, each]) => [name, Buffer.from(each).toString('base64')]),
    ),
    data: Buffer.from(payload?.data ?? []).toString('base64'),
  };
};
const clear = ({ data }: { data: string }): unknown => JSON.parse(Buffer.from(data, 'base64').toString());
const decode = (cookie: string, payloads: readonly unknown[], headers: Readonly<Record<string, string>> = {}) =>
  ask('/codec/decode', {
    method: 'POST',
    headers: { cookie, 'Content-Type': 'application/json', 'X-Namespace': 'gate', ...headers },
    body: JSON.stringify({ payloads }),
  });

/** The list of calls, without the passes that look after them. */
const HOME = '/namespaces/gate/workflows?query=WorkflowType%3D%22toolCall%22';

describe('the pages of the engine, in clear', () => {
  it('open with a link that works once, at the call it was asked for', async () => {
    const { path } = (await (await link()).json()) as { path: string };
    const call = '0190b8d0-0000-7000-8000-000000000000';
    const opened = await ask(`${path}&call=${call}`);
    expect([opened.status, opened.headers.get('location')]).toEqual([303, `/namespaces/gate/workflows/${call}`]);
    expect(opened.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    const again = await ask(path);
    expect([again.status, await again.text()]).toEqual([401, expect.stringContaining('used already')]);
  });

  it('open with the token typed into the form', async () => {
    const typed = (token: string) =>
      ask('/sign-in', {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', origin: url },
        body: new URLSearchParams({ token }).toString(),
      });
    expect((await typed(`${TOKEN}0`)).status).toBe(401);
    expect((await typed('')).status).toBe(401);
    const opened = await typed(TOKEN);
    expect([opened.status, opened.headers.get('location')]).toEqual([303, HOME]);
  });

  it.each(['{"token":5}', '{}', '[]', `["${TOKEN}"]`, `{"token":["${TOKEN}"]}`, '{"token":{}}', 'null', '7', '"a"'])(
    'answer %s in place of a form like any wrong token, and as late',
    async (body) => {
      const from = performance.now();
      const refused = await ask('/sign-in', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', origin: url },
        body,
      });
      expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('is not the operator')]);
      expect(performance.now() - from).toBeGreaterThanOrEqual(490);
      expect(refused.headers.get('set-cookie')).toBeNull();
    },
  );

  it.each(['/a?x=%zz', '/a%zz', '/api/v1/namespaces?query=%', '/a?x=%ff', '/%E0%A4%A'])(
    'refuse what cannot be decoded: %s',
    async (path) => {
      const refused = await ask(path, { headers: { cookie: await signedIn() } });
      expect(refused.status).toBe(400);
      expect(asked).toEqual([]);
    },
  );

  it('keep the call that was asked for behind the form', async () => {
    const call = '0190b8d0-0000-7000-8000-000000000000';
    const asked = await ask(`/namespaces/gate/workflows/${call}/x/history`, { headers: { accept: 'text/html' } });
    expect(asked.headers.get('location')).toBe(`/sign-in?call=${call}`);
    expect(await (await ask(`/sign-in?call=${call}`)).text()).toContain(`name="call" value="${call}"`);
    expect(await (await ask('/sign-in?call="><script>')).text()).not.toContain('<script>');
    const opened = await ask('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', origin: url },
      body: new URLSearchParams({ token: TOKEN, call }).toString(),
    });
    expect(opened.headers.get('location')).toBe(`/namespaces/gate/workflows/${call}`);
  });

  it('lead nowhere else than to themselves', async () => {
    const { path } = (await (await link()).json()) as { path: string };
    const opened = await ask(`${path}&call=//elsewhere.example`);
    expect(opened.headers.get('location')).toBe(HOME);
  });

  it('show a person who is not signed in the form, and answer nothing else', async () => {
    const form = await ask('/namespaces/gate/workflows', { headers: { accept: 'text/html' } });
    expect([form.status, form.headers.get('location')]).toEqual([303, '/sign-in']);
    expect(await (await ask('/sign-in')).text()).toContain('<form method="post" action="/sign-in"');
    for (const path of ['/api/v1/namespaces', '/api/v1/settings']) expect((await ask(path)).status).toBe(401);
    expect((await decode('', [await sealed('a')])).status).toBe(401);
    expect((await decode(`gate_workflows_session=${'0'.repeat(64)}`, [await sealed('a')])).status).toBe(401);
    const begun = performance.now();
    expect((await link(`${TOKEN}0`)).status).toBe(401);
    // As long as the form takes: a token is not guessed sooner here.
    expect(performance.now() - begun).toBeGreaterThan(490);
    expect(asked).toEqual([]);
  });

  it('have their payloads opened; what no key here has sealed stays as it is', async () => {
    const summary = 'support-bot · wire_transfer';
    const foreign = await sealed('of another engine', strangers);
    const plain = { metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'InBsYWluIg==' };
    const answer = await decode(await signedIn(), [await sealed(summary), foreign, plain]);
    const { payloads } = (await answer.json()) as { payloads: { data: string }[] };
    expect(clear(payloads[0] as { data: string })).toBe(summary);
    expect(payloads.slice(1)).toEqual([foreign, plain]);
  });

  it.each<[string, unknown]>([
    ['without payloads', {}],
    ['with a payload that is a number', { payloads: [1] }],
    ['with more payloads than any history has', { payloads: Array.from({ length: 2_001 }, () => ({})) }],
    ['with metadata that is no text', { payloads: [{ metadata: { encoding: 1 } }] }],
  ])('refuse a request %s', async (_what, body) => {
    const refused = await ask('/codec/decode', {
      method: 'POST',
      headers: { cookie: await signedIn(), 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_request' }),
    ]);
  });

  it('answer no page but their own: not of another origin, not under another name', async () => {
    const cookie = await signedIn();
    const elsewhere = await decode(cookie, [await sealed('a')], { origin: 'http://127.0.0.1:9' });
    expect([elsewhere.status, await elsewhere.json()]).toEqual([
      403,
      expect.objectContaining({ error: 'host_not_allowed' }),
    ]);
    expect(elsewhere.headers.get('access-control-allow-origin')).toBeNull();
    for (const host of ['rebound.example', '127.0.0.1:x@rebound.example', '127.0.0.1:1:2', '127.0.0.1.rebound.example'])
      expect((await pages.inject({ path: '/sign-in', headers: { host } })).statusCode).toBe(403);
  });

  it('answer a path that is no URL with a code, like every service', async () => {
    const { statusCode, body } = await pages.inject({ path: '/sign-in%ff', headers: { host: '127.0.0.1' } });
    expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  it('pass on what is read, without the session', async () => {
    const cookie = await signedIn();
    const answer = await ask('/api/v1/namespaces/gate/workflows?query=a', {
      headers: { cookie: `${cookie}; _csrf=kept` },
    });
    expect(await answer.json()).toEqual({ page: '/api/v1/namespaces/gate/workflows?query=a' });
    expect(asked[0]?.headers.cookie).toBe('_csrf=kept');
  });

  it.each<[string, (host: string) => string]>([
    ['without a scheme', (host) => `//${host}/api`],
    ['in full', (host) => `http://${host}/api`],
    ['in full, with another scheme', (host) => `ws://${host}/api`],
    ['with backslashes', (host) => String.raw`/\\${host}/api`],
    ['as what follows a name', (host) => `@${host}/api`],
    ['as a longer port', (host) => `.${host}/api`],
    ['in place of a path', (host) => host],
    ['behind dots', (host) => `/..//${host}/api`],
  ])('never ask another server: %s', async (_how, written) => {
    let others = 0;
    const other = createServer((_request, response) => {
      others += 1;
      response.end();
    });
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    const cookie = await signedIn();
    const path = written(`127.0.0.1:${(other.address() as AddressInfo).port}`);
    const { hostname, port, host } = new URL(url);
    const status = await new Promise<number | undefined>((answered, failed) => {
      request({ hostname, port, path, headers: { host, cookie } }, (answer) => {
        answer.resume();
        answered(answer.statusCode);
      })
        .on('error', failed)
        .end();
    });
    await new Promise((closed) => other.close(closed));
    expect(others).toBe(0);
    // What the engine was asked, it was asked itself.
    expect(status).toBe(asked.length === 0 ? 400 : 200);
  });

  it('ask a workflow, and change none', async () => {
    const headers = { cookie: await signedIn(), 'Content-Type': 'application/json' };
    const post = (path: string) => ask(path, { method: 'POST', headers, body: '{}' });
    const of = '/api/v1/namespaces/gate/workflows/a';
    expect((await post(`${of}/query/__temporal_workflow_metadata`)).status).toBe(200);
    const callback =
      '/api/v1/namespaces/gate/workflows/callback%2F0190b8d0-0000-7000-8000-000000000000%2Fdenied/query/x';
    expect((await post(callback)).status).toBe(200);
    const raw = (path: string) =>
      new Promise<number | undefined>((answered, failed) => {
        const { hostname, port } = new URL(url);
        request(
          { hostname, port, path, method: 'POST', headers: { ...headers, host: new URL(url).host } },
          (answer) => {
            answer.resume();
            answered(answer.statusCode);
          },
        )
          .on('error', failed)
          .end('{}');
      });
    // What the next reader would make another path of: a browser's and undici's URL turn `\\` into `/`, and end at `#`.
    for (const path of [
      String.raw`${of}/query/x\..\..\terminate`,
      String.raw`${of}/query/x\%2e%2e\%2e%2e\terminate`,
      String.raw`/api/v1/namespaces/gate/workflows/a\terminate#/query/x`,
      String.raw`/api/v1/namespaces/gate\workflows\a\terminate#/workflows/x/query/y`,
      '/api/v1/namespaces/gate/workflows/a%2Fterminate#/query/x',
      `${of}/query/../terminate`,
      `${of}/query/%2e%2e/terminate`,
      `${of}/query/..%2Fterminate`,
      '/api/v1/namespaces/gate/workflows/..%2Fa/query/x',
      `${of}/terminate?/query/x`,
      `${of}/terminate;/query/x`,
    ])
      expect([path, await raw(path)]).toEqual([path, path.match(/[\\#]/) ? 400 : 404]);
    for (const path of [`${of}/terminate`, `${of}/signal/decide`, `${of}/query/../terminate`, '/api/v1/namespaces'])
      expect((await post(path)).status).toBe(404);
    expect((await ask(`${of}/a`, { method: 'DELETE', headers: { cookie: headers.cookie } })).status).toBe(404);
    expect(asked.map(({ url: path }) => path)).toEqual([`${of}/query/__temporal_workflow_metadata`, callback]);
  });

  it('know their codec, the namespace, and that nothing may be changed', async () => {
    const settings = await (await ask('/api/v1/settings', { headers: { cookie: await signedIn() } })).json();
    expect(settings).toEqual({
      Codec: { Endpoint: `${url}/codec`, IncludeCredentials: true, PassAccessToken: false },
      DefaultNamespace: 'gate',
      DisableWriteActions: true,
      Version: '2',
    });
  });

  it('say so when the engine is away', async () => {
    const alone = createWorkflowPages({
      uiUrl: 'http://127.0.0.1:9',
      namespace: 'gate',
      keys,
      operatorToken: TOKEN,
      logger: pino({ level: 'silent' }),
    });
    const opened = await alone.inject({
      method: 'POST',
      path: '/sign-in',
      headers: { host: '127.0.0.1', 'content-type': 'application/x-www-form-urlencoded' },
      payload: `token=${TOKEN}`,
    });
    const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? '';
    for (const path of ['/api/v1/settings', '/namespaces']) {
      const away = await alone.inject({ path, headers: { host: '127.0.0.1', cookie } });
      expect([away.statusCode >= 500, away.json()]).toEqual([
        true,
        expect.objectContaining({ reason: expect.stringContaining('do not answer') }),
      ]);
    }
    await alone.close();
  });
});
