import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { CONSOLE_HOST, CONSOLE_ORIGIN, type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';

let fixture: ConsoleFixture;
let port: number;
const { sharedHere } = openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
);

/** The status of a request whose body does not come. */
const sent = (path: string, headers: Readonly<Record<string, string>>) =>
  new Promise<number | undefined>((resolve, reject) => {
    const asking = request({ port, host: '127.0.0.1', path, method: 'POST', headers }, (answer) => {
      resolve(answer.statusCode);
      asking.destroy();
    });
    asking.on('error', reject);
    asking.flushHeaders();
  });
/** The same from a page of the console. */
const asked = (path: string, headers: Readonly<Record<string, string>>) => {
  const own = { host: CONSOLE_HOST, origin: CONSOLE_ORIGIN, 'content-type': 'application/x-www-form-urlencoded' };
  return sent(path, { ...own, ...headers });
};

describe('what the console reads of a request', () => {
  sharedHere();
  beforeAll(async () => {
    const address = { host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 };
    ({ port } = await fixture.service.listen(address));
  });

  it.each([
    ['content-length', '16385'],
    ['content-length', '1048576'],
    ['transfer-encoding', 'chunked'],
  ])('refuses a form of somebody who is not signed in before it comes, by %s: %s', async (header, value) => {
    for (const path of ['/hil/x/modify', '/me/end', '/hil/x/approval-challenge', '/command-line/hil/decide/x'])
      expect([path, await asked(path, { [header]: value })]).toEqual([path, 401]);
  });

  it.each([
    ['another site', 'https://evil.example'],
    ['a page that hides its own', 'null'],
  ])('refuses a large form that %s sends in the name of who is signed in, before it comes', async (_from, origin) => {
    const { cookie } = await fixture.browser();
    for (const [header, value] of [
      ['content-length', '16385'],
      ['transfer-encoding', 'chunked'],
    ] as const)
      for (const path of ['/hil/x/modify', '/me/end', '/hil/x/approval-challenge']) {
        const headers = { cookie: `gate_console_session=${cookie}`, origin, [header]: value };
        expect([path, await asked(path, headers)]).toEqual([path, 403]);
      }
  });

  it('refuses a large form that says by Referer alone that it is of another site, before it comes', async () => {
    const { cookie } = await fixture.browser();
    const own = { host: CONSOLE_HOST, 'content-type': 'application/x-www-form-urlencoded' };
    for (const referer of ['https://evil.example/hil', undefined])
      for (const path of ['/hil/x/modify', '/me/end', '/hil/x/approval-challenge']) {
        const of = { ...own, cookie: `gate_console_session=${cookie}`, ...(referer && { referer }) };
        expect([referer, path, await sent(path, { ...of, 'content-length': '16385' })]).toEqual([referer, path, 403]);
      }
  });

  it.each(['/login', '/logout', '/auth/links', '/oauth/device_authorization', '/oauth/token', '/oauth/revoke'])(
    'takes 16 KiB on %s, from anybody',
    async (path) => {
      expect(await asked(path, { 'content-length': '16385' })).toBe(413);
    },
  );

  it('reads a small form of somebody whose session ended, and shows what was typed', async () => {
    const answer = await fixture.stranger().post('/hil/x/modify', { reason: 'agreed with the owner' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('agreed with the owner');
  });

  it('reads no more than 1 MiB of a form of somebody who is signed in that no policy is typed into', async () => {
    const { cookie } = await fixture.browser();
    for (const path of ['/hil/x/modify', '/me/end', '/audit/searches', '/hil/x/approval-challenge'])
      for (const large of ['1048577', '6307840'])
        expect([
          path,
          await asked(path, { cookie: `gate_console_session=${cookie}`, 'content-length': large }),
        ]).toEqual([path, 413]);
  });

  it('reads the largest form of somebody who is signed in', async () => {
    const browser = await fixture.browser();
    const answer = await browser.post('/audit/searches', { name: 'x'.repeat(1_000_000) });
    expect([answer.status, answer.text.includes('unauthenticated')]).toEqual([400, false]);
  });

  it('takes 1,000 connections, and answers also where strangers hold that many', async () => {
    const { cookie } = await fixture.browser();
    const stream = request({
      port,
      host: '127.0.0.1',
      path: '/stream/hil',
      headers: { host: CONSOLE_HOST, cookie: `gate_console_session=${cookie}` },
    });
    const follows = new Promise<IncomingMessage>((resolve, reject) =>
      stream.on('response', resolve).on('error', reject),
    );
    stream.end();
    const followed = (await follows).on('error', () => undefined).resume();
    const strangers = Array.from({ length: 1_010 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    const ended = strangers.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await Promise.race(ended);
    expect((await fetch(`http://127.0.0.1:${port}/login`)).status).toBe(200);
    const told = (await fixture.service.health.inject('/readyz')).json<{ details: { connections: string } }>();
    expect(told.details.connections).toMatch(/^\d+ of 1000$/);
    expect(followed.closed).toBe(false);
    for (const socket of strangers) socket.destroy();
    stream.destroy();
  });
});
