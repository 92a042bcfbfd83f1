import { afterEach, describe, expect, it } from '@jest/globals';
import { fieldIn } from '../../../test/support/html.js';
import { browserAt, openLoneConsole } from '../../../test/support/lone-console.js';
import { operatorTokenMode } from './operator-token.js';

const TOKEN = 'dev-token-0123456789abcdefghijklmnop';
const operators = [{ name: 'dev', tenant: 'acme', token: TOKEN }];
let console: Awaited<ReturnType<typeof openLoneConsole>>;
const start = async () => {
  console = await openLoneConsole({ signIn: operatorTokenMode({ operators, clock: Date.now }) });
  return browserAt(console);
};
afterEach(() => console.close());

describe('signing in with the token of an operator', () => {
  it('makes an administrator who proves himself to the review service with that token, and vouches for nobody', async () => {
    const browser = await start();
    expect(await browser.post('/login', { token: TOKEN })).toMatchObject({ status: 303, location: '/' });
    expect(await browser.me()).toMatchObject({ name: 'operator:dev', tenant: 'acme', role: 'admin' });
    expect(console.asked.hil).toEqual([]);
    await browser.get('/');
    expect(console.asked.hil[0]?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      'x-gate-tenant-scope': 'acme',
    });
    expect(JSON.stringify(console.asked.hil)).not.toContain('x-gate-decision-principal');
  });

  it('works once by a link that the token makes', async () => {
    const browser = await start();
    const made = await console.service.app.inject({
      method: 'POST',
      url: '/auth/links',
      headers: { host: 'localhost:8085', authorization: `Bearer ${TOKEN}` },
    });
    const { path } = JSON.parse(made.body) as { path: string };
    expect(await browser.get(path)).toMatchObject({ status: 303, location: '/' });
    expect(await browser.me()).not.toBeNull();
    expect(await browserAt(console).get(path)).toMatchObject({ status: 401 });
  });

  it.each(['cross-site', 'same-site'])(
    'asks who follows a link of another page (%s) before it signs in',
    async (site) => {
      await start();
      const { app } = console.service;
      const host = { host: 'localhost:8085' };
      const authorization = `Bearer ${TOKEN}`;
      const made = await app.inject({ method: 'POST', url: '/auth/links', headers: { ...host, authorization } });
      const { path } = JSON.parse(made.body) as { path: string };
      const follow = (from: string) =>
        app.inject({ url: path, headers: { ...host, 'sec-fetch-site': from, 'sec-fetch-dest': 'document' } });
      const asked = await follow(site);
      expect([asked.statusCode, asked.headers['set-cookie']]).toEqual([200, undefined]);
      expect(path).toBe(`/login?link=${fieldIn(asked.body, 'link')}`);
      // The form's own press, or an address that somebody typed.
      expect((await follow('same-origin')).statusCode).toBe(303);
      expect((await follow('none')).statusCode).toBe(401);
    },
  );

  it('has no other way in', async () => {
    const browser = await start();
    expect(await browser.post('/login', { token: 'x' })).toMatchObject({ status: 401 });
    expect(await browser.post('/auth/basic-login', { name: 'dev', password: TOKEN })).toMatchObject({ status: 404 });
    expect(await browser.get('/auth/oidc/login')).toMatchObject({ status: 404 });
  });

  it('ends with the operator in the settings', () => {
    const session = {
      id: 's',
      openedMs: 0,
      csrf: 'c',
      subject: 'operator:dev',
      tenant: 'acme',
      mode: 'operator-token',
      role: 'admin',
    };
    const of = (known: typeof operators) => operatorTokenMode({ operators: known, clock: Date.now }).personOf(session);
    expect(of(operators)).not.toBeNull();
    expect(of([])).toBeNull();
    expect(of([{ name: 'dev', tenant: 'globex', token: TOKEN }])).toBeNull();
    return start();
  });
});
