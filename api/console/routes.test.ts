import diagnostics from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { ACTIONS, PAGES } from '../../console/routes.js';
import { type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { ofLedger, ofPolicies, ofQueue } from '../../test/support/looked-at.js';
import { RELAYED } from './command-line/relayed.js';

/** Routes that are no form of a page, with where what protects each of them is tested. */
const BESIDE = {
  'app.test.ts': ['/login', '/auth/links', '/logout'],
  'passkeys.test.ts': [
    '/auth/register/start',
    '/auth/register/finish',
    '/auth/login/start',
    '/auth/login/finish',
    '/auth/enrollment/recoveries',
    '/auth/enrollment/invitations',
    '/auth/enrollment/removals',
    '/hil/:id/approval-challenge',
  ],
  'chat-clicks.test.ts': ['/webhook/slack', '/webhook/teams'],
  'command-line/command-line.test.ts': ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'],
};

let fixture: ConsoleFixture;
let routes: readonly { readonly method: string; readonly url: string }[];
beforeAll(async () => {
  const apps: { method: string; url: string }[][] = [];
  const seen = (message: unknown) => {
    const found: { method: string; url: string }[] = [];
    apps.push(found);
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method: methods, url }) => {
      for (const method of [methods].flat()) found.push({ method, url });
    });
  };
  diagnostics.subscribe('fastify.initialization', seen);
  try {
    fixture = await openConsole();
    await fixture.service.app.ready();
  } finally {
    diagnostics.unsubscribe('fastify.initialization', seen);
  }
  routes = apps.find((found) => found.some(({ url }) => url === '/logout')) ?? [];
});
afterAll(() => fixture.close());

describe('the routes of the console', () => {
  it('change something only where forms, the command line or the names here say so', () => {
    const changing = routes.filter(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method));
    const relayed = RELAYED.filter(({ method }) => method !== 'GET').map(
      ({ method, service, path }) => `${method} /command-line/${service}${path}`,
    );
    const posted = [...ACTIONS.map(({ path }) => path), ...Object.values(BESIDE).flat()].map((path) => `POST ${path}`);
    expect(changing.map(({ method, url }) => `${method} ${url}`).toSorted()).toEqual(
      [...posted, ...relayed].toSorted(),
    );
  });
});

describe('the pages of the console', () => {
  it('are looked at by axe and at the narrowest and widest window, every one of them', () => {
    const call = { id: 'a-call', correlation_id: 'a-correlation' };
    const addresses = [
      ...ofQueue(call, { id: 'decided' }),
      ...ofPolicies('a.rego'),
      ...ofLedger('/cases/a-case', call.correlation_id),
    ].map((address) => address.split('?', 1)[0] ?? '');
    const isAt = (path: string, address: string) => {
      const [parts, found] = [path.split('/'), address.split('/')];
      return parts.length === found.length && parts.every((part, at) => part.startsWith(':') || part === found[at]);
    };
    const paths = PAGES.map(({ path }) => path);
    // An address of a page that has its own name is none of the page of any name.
    const seen = addresses.map(
      (address) => paths.find((path) => path === address) ?? paths.find((path) => isAt(path, address)),
    );
    expect(paths.filter((path) => !seen.includes(path))).toEqual([]);
  });
});
