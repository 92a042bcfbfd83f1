import diagnostics from 'node:diagnostics_channel';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../contracts/json.js';
import { CONSOLE_ROUTES } from '../../lite/console.js';
import { type LiteFixture, openLite } from '../support/lite.js';

const AGENT = 'agent-token-0123456789-0123456789-ab';
const OPERATOR = 'operator-token-0123456789-0123456789';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

type Env = Readonly<Record<string, string>>;
const SETTINGS: readonly (readonly [name: string, env: Env])[] = [
  ['one token, the agent’s', { GATE_LITE_TOKEN: AGENT }],
  ['one token for the agent and one for the operator', { GATE_LITE_TOKEN: AGENT, GATE_LITE_DECIDE_TOKEN: OPERATOR }],
  ['a registry of agents', { GATE_LITE_AGENTS: `acme/bot:${AGENT}`, GATE_LITE_DECIDE_TOKEN: OPERATOR }],
  ['registries of both', { GATE_LITE_AGENTS: `acme/bot:${AGENT}`, GATE_LITE_DECIDERS: `acme:${OPERATOR}` }],
];
const STRANGERS: readonly (readonly [who: string, headers: Env])[] = [
  ['without a token', {}],
  ['with a wrong one', bearer(`${AGENT}-`)],
  ['with an empty one', { authorization: 'Bearer ' }],
  ['with the right one under another scheme', { authorization: `Basic ${AGENT}` }],
  ['who says that it is a service', { ...bearer('wrong'), 'x-gate-caller': 'service-console' }],
];
/** What says nothing of any call, or asks for a token by itself. */
const FOR_EVERYBODY = new Map<string, number>([
  ['GET /health', 200],
  ['GET /readyz', 200],
  ['GET /docs/select-a-contract', 200],
  ['GET /.well-known/jwks.json', 200],
  // Which issuer to ask: here there is none.
  ['GET /.well-known/oauth-protected-resource', 404],
  ['GET /.well-known/oauth-protected-resource/mcp', 404],
  // Pages lead to the sign-in, whose form anybody may see and fill in.
  ...CONSOLE_ROUTES.filter((route) =>
    /^(?:GET \/(?:$|hil|me$|audit$|policies|agents\/|health-of)|POST \/logout)/.test(route),
  ).map((route) => [route, 303] as const),
  ['GET /login', 200],
  // For whoever is no browser the ledger is at these paths, which takes no such form.
  ['POST /audit/searches', 404],
  ['POST /audit/searches/forget', 404],
  ['GET /static/*', 404],
  // A page of the console says so; whoever is no browser is at no route.
  ['GET /*', 404],
  // Which contract it is for is asked first, as at /mcp (docs/architecture/requests-and-answers.md#order-of-gates).
  ['POST /tool/:name', 426],
  ['GET /mcp', 405],
  ['DELETE /mcp', 405],
]);
/** What each route takes from those who may ask, so that nothing but the caller is refused. */
const BODIES: Readonly<Record<string, unknown>> = {
  '/mcp': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  '/decide/:id': { decision: 'deny' },
  '/pending/:id/decide': { decision: 'deny' },
  '/tools/class': { tool: 'read_file', class: 'read' },
  '/tools/forget': { all: true },
};

let gate: LiteFixture;
afterEach(() => gate.close());

/** Opens lite; the routes that its listener has, as they are registered. */
async function open(env: Env): Promise<readonly string[]> {
  const apps: string[][] = [];
  const seen = (message: unknown) => {
    const routes: string[] = [];
    apps.push(routes);
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method: methods, url }) => {
      for (const method of [methods].flat()) routes.push(`${method} ${url}`);
    });
  };
  diagnostics.subscribe('fastify.initialization', seen);
  try {
    gate = await openLite(env);
  } finally {
    diagnostics.unsubscribe('fastify.initialization', seen);
  }
  return apps.find((routes) => routes.includes('POST /mcp')) ?? [];
}

/** Asks as anybody would: nothing is added to what is given. */
async function ask(route: string, headers: Env): Promise<{ status: number; text: string }> {
  const [method = '', url = ''] = route.split(' ');
  const answer = await fetch(gate.lite.url + url.replaceAll(/:\w+/g, () => randomUUID()).replace('*', 'bot'), {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { body: JSON.stringify(BODIES[url] ?? {}) }),
  });
  // A refused caller is told how to say who he is, and nobody else is. The console has sessions, for which no challenge has a name; some
  // of its paths are lite's own routes to whoever is no browser.
  const isRefused = answer.status === 401;
  if (!isRefused || !(CONSOLE_ROUTES as readonly string[]).includes(route))
    expect([route, answer.headers.get('www-authenticate')]).toEqual([route, isRefused ? 'Bearer' : null]);
  return { status: answer.status, text: await answer.text() };
}

describe.each(SETTINGS)('with %s', (_name, env) => {
  it.each(STRANGERS)('a stranger %s is told nothing, whatever is asked', async (_who, headers) => {
    const routes = await open(env);
    expect(routes).toEqual(expect.arrayContaining(['POST /mcp', 'GET /verify', 'GET /metrics', 'GET /audit/*']));
    const answered: Record<string, number> = {};
    for (const route of routes) answered[route] = (await ask(route, headers)).status;
    expect(answered).toEqual(Object.fromEntries(routes.map((route) => [route, FOR_EVERYBODY.get(route) ?? 401])));
  });

  it('what a stranger is told of the process holds no detail of it, and no refusal speaks of certificates', async () => {
    await open(env);
    expect(JSON.parse((await ask('GET /readyz', {})).text)).not.toHaveProperty('details');
    for (const route of ['GET /verify', 'GET /agents', 'GET /audit/*', 'GET /metrics']) {
      const { text } = await ask(route, bearer('wrong'));
      const { error, ...words } = JSON.parse(text) as JsonObject;
      expect({ route, error }).toEqual({ route, error: 'unauthenticated' });
      expect(JSON.stringify(words)).toContain('token is missing or wrong');
      expect(text).not.toContain('certificate');
    }
  });

  it('an agent checks the chain and reads no counters; an operator does both', async () => {
    await open(env);
    const operator = bearer(gate.lite.ownDecideToken?.token ?? OPERATOR);
    const statuses = async (headers: Env) =>
      Promise.all(['GET /verify', 'GET /metrics'].map(async (route) => (await ask(route, headers)).status));
    expect(await statuses(bearer(AGENT))).toEqual([200, 401]);
    expect(await statuses(operator)).toEqual([200, 200]);
  });
});

describe('with no token for agents', () => {
  it('everybody on this machine is an agent, and what is counted is there as on the port of health', async () => {
    await open({});
    for (const route of ['GET /verify', 'GET /metrics', 'GET /health', 'GET /readyz'])
      for (const headers of [{}, bearer('any')]) expect((await ask(route, headers)).status).toBe(200);
    expect((await ask('GET /agents', {})).status).toBe(403);
    expect((await ask('GET /pending', {})).status).toBe(401);
    for (const route of ['GET /verify', 'GET /metrics'])
      expect((await ask(route, { origin: 'https://evil.example' })).status).toBe(403);
  });
});
