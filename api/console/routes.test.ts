import diagnostics from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { NAMES, ROWS_ALSO } from '../../console/pages/audit/asked.js';
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

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
const document = JSON.parse(readFileSync('docs/openapi/console.json', 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};
const describedAt = (method: string, url: string): Described | undefined =>
  document.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];

describe('the document of the console', () => {
  it.each([
    ...RELAYED.map(({ method, service, path, query }) => [method, `/command-line/${service}${path}`, query] as const),
    ['GET', '/audit/export', [...NAMES, ...ROWS_ALSO, 'as']] as const,
    ['GET', '/audit/correlation/:cid/proof', ['seq']] as const,
  ])('%s %s: has each name that is read, and what is answered', (method, url, names) => {
    const described = describedAt(method, url);
    const asked = described?.parameters?.flatMap(({ in: place, name }) => (place === 'query' ? [name] : [])) ?? [];
    expect(asked.toSorted()).toEqual([...names].toSorted());
    expect(Object.keys(described?.responses ?? {})).toContain('200');
  });

  it.each(['/command-line/hil/decide/:id', '/hil/:id/approval-challenge'])('POST %s: has a body', (url) => {
    const described = describedAt('POST', url);
    expect(JSON.stringify(described?.requestBody?.content['application/json']?.schema)).toContain('"decision"');
    expect(described?.responses['200']?.content?.['application/json']?.schema).not.toEqual({});
  });

  it('says which names are needed', () => {
    const proof = describedAt('GET', '/audit/correlation/:cid/proof')?.parameters;
    expect(proof?.find(({ name }) => name === 'seq')).toMatchObject({ required: true });
    const decided = describedAt('POST', '/command-line/hil/decide/:id')?.requestBody?.content['application/json'];
    expect(decided?.schema).toMatchObject({ required: expect.arrayContaining(['action_digest']) });
  });
});

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
