import { describe, expect, it } from '@jest/globals';
import type { RouteAuthority } from '../../contracts/route-authority.js';
import { bareService } from '../../test/support/bare-service.js';
import { enforceRouteAuthority, registeredRoutes } from './caller-authority.js';
import type { Caller, ServiceApp } from './app.js';

const row = (
  service: RouteAuthority['service'],
  method: RouteAuthority['method'],
  path: string,
  capability: string,
  callers: RouteAuthority['callers'],
  built = true,
): RouteAuthority => ({ service, method, path, capability, callers, built });
const rows = [
  row('hil', 'POST', '/pending', 'x.create', ['service-proxy']),
  row('hil', 'GET', '/pending/{id}', 'x.read', ['service-console']),
  row('hil', 'GET', '/pending/stream', 'x.read', ['service-proxy']),
  row('hil', 'GET', '/open', 'x.open', 'public'),
  row('ledger', 'POST', '/log', 'x.append', ['service-proxy']),
  row('hil', 'GET', '/later', 'x.read', ['service-proxy'], false),
];

const workload = (name: string): Caller => ({
  kind: 'service',
  spiffe: `spiffe://gate.local/service/${name}`,
  callerId: `service-${name}`,
  fingerprint: 'ab'.repeat(32),
});

function hil(caller: Caller | null, register: (app: ServiceApp) => void = standardRoutes): ServiceApp {
  const { app } = bareService({ name: 'hil', resolveCaller: () => caller });
  enforceRouteAuthority(app, 'hil', rows);
  register(app);
  return app;
}

function standardRoutes(app: ServiceApp): void {
  app.post('/pending', () => ({ ran: 'create' }));
  app.get('/pending/:id', () => ({ ran: 'read' }));
  app.get('/open', { config: { public: true } }, () => ({ ran: 'open' }));
}

const refusal = { error: 'capability_denied', reason: 'capability_not_granted' };

describe('who may call a governed route', () => {
  it('runs the route for a listed caller', async () => {
    const answer = await hil(workload('proxy')).inject({ method: 'POST', url: '/pending', payload: {} });
    expect([answer.statusCode, answer.json()]).toEqual([200, { ran: 'create' }]);
  });

  it.each([
    ['a caller of another row', workload('console')],
    ['an agent', { ...workload('x'), kind: 'agent' as const, callerId: 'agent-workload' }],
    ['a service whose name only starts like a listed one', workload('proxy2')],
  ])('refuses %s with 403', async (_who, caller) => {
    const answer = await hil(caller).inject({ method: 'POST', url: '/pending', payload: {} });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toMatchObject(refusal);
  });

  it('refuses before the body is read: a body that is not JSON is still 403', async () => {
    const answer = await hil(workload('console')).inject({
      method: 'POST',
      url: '/pending',
      headers: { 'content-type': 'application/json' },
      payload: '{broken',
    });
    expect(answer.statusCode).toBe(403);
  });

  it('answers 401 caller_spiffe_missing when the caller has no SPIFFE id, on an unknown path too', async () => {
    for (const url of ['/pending', '/nowhere']) {
      const answer = await hil(null).inject({ method: 'POST', url, payload: {} });
      expect(answer.statusCode).toBe(401);
      expect(answer.json()).toMatchObject({ error: 'caller_spiffe_missing' });
    }
  });

  it.each([
    ['GET', '/nowhere'],
    ['GET', '/pending'],
    ['HEAD', '/pending/7'],
    ['OPTIONS', '/pending'],
    ['DELETE', '/pending/7'],
    ['GET', '/pending/7/'],
    ['GET', '//pending/7'],
    ['GET', '/%70ending/7'],
  ] as const)('answers 403 for %s %s, which is no route of the table', async (method, url) => {
    const answer = await hil(workload('console')).inject({ method, url });
    expect(answer.statusCode).toBe(403);
    if (method !== 'HEAD') expect(answer.json()).toMatchObject(refusal);
  });

  it('never runs the {id} route for a path whose literal row is not registered', async () => {
    for (const name of ['console', 'proxy']) {
      const answer = await hil(workload(name)).inject({ method: 'GET', url: '/pending/stream' });
      expect(answer.statusCode).toBe(403);
    }
  });

  it('opens a public route to every caller the CA knows, with or without a SPIFFE id', async () => {
    for (const caller of [null, workload('stranger')]) {
      const answer = await hil(caller).inject({ method: 'GET', url: '/open' });
      expect(answer.json()).toEqual({ ran: 'open' });
    }
  });

  it('governs routes inside plugins with a prefix as well', async () => {
    const app = hil(workload('console'), (host) => {
      void host.register(
        (plugin, _options, done) => {
          plugin.get('/:id', () => ({ ran: 'read' }));
          done();
        },
        { prefix: '/pending' },
      );
    });
    expect((await app.inject({ method: 'GET', url: '/pending/7' })).json()).toEqual({ ran: 'read' });
    expect(registeredRoutes(app)).toEqual([{ method: 'GET', path: '/pending/{id}', public: false }]);
  });
});

describe('a service whose routes and rows differ does not start', () => {
  it.each<[string, string, (app: ServiceApp) => void]>([
    ['a route without a row', 'GET /extra has no row', (app) => app.get('/extra', () => '')],
    ['a row of another service', 'POST /log has no row', (app) => app.post('/log', () => '')],
    ['another parameter name', 'GET /pending/{key} has no row', (app) => app.get('/pending/:key', () => '')],
    ['a wildcard', 'GET /pending/* has no row', (app) => app.get('/pending/*', () => '')],
    [
      'a public route with callers',
      'public on one side only',
      (app) => app.post('/pending', { config: { public: true } }, () => ''),
    ],
    ['a route whose row says that it is not built', 'is not built, says', (app) => app.get('/later', () => '')],
    ['a public row whose route is not', 'public on one side only', (app) => app.get('/open', () => '')],
    [
      'the same route twice',
      'registered twice',
      (app) => {
        app.post('/pending', () => '');
        app.post('/pending', { constraints: { version: '2.0.0' } }, () => '');
      },
    ],
  ])('%s', (_what, message, register) => expect(() => hil(null, register)).toThrow(message));
});
