import { afterEach, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import { CONSOLE_ORIGIN, openLoneConsole } from '../../test/support/lone-console.js';
import { basicAdminMode } from './sign-in/basic-admin.js';

const PROXY = '10.1.2.3';
const signIn = () =>
  basicAdminMode({
    user: 'root',
    passwordHash: hashSync('right', 4),
    tenant: 'acme',
    decideToken: 'decide-token-0123456789abcdefghijklm',
  });

let console: Awaited<ReturnType<typeof openLoneConsole>>;
const start = async (...trustedProxies: string[]) =>
  void (console = await openLoneConsole({ signIn: signIn(), trustedProxies }));
afterEach(() => console.close());

async function signInAs(forwarded: string | undefined, from: string, password = 'wrong'): Promise<number> {
  const { statusCode } = await console.service.app.inject({
    method: 'POST',
    url: '/auth/basic-login',
    remoteAddress: from,
    headers: {
      host: new URL(CONSOLE_ORIGIN).host,
      origin: CONSOLE_ORIGIN,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
    },
    payload: new URLSearchParams({ name: 'root', password }).toString(),
  });
  return statusCode;
}
async function failTenTimes(forwarded: string | undefined, from: string): Promise<void> {
  for (let tried = 0; tried < 10; tried += 1) expect(await signInAs(forwarded, from)).toBe(401);
}

describe('failed attempts to sign in, behind a reverse proxy', () => {
  it('are those of the address for which the trusted proxy asks', async () => {
    await start('10.1.0.0/16');
    await failTenTimes('198.51.100.7', PROXY);
    expect(await signInAs('198.51.100.7', PROXY, 'right')).toBe(429);
    expect(await signInAs('198.51.100.8', PROXY, 'right')).toBe(303);
  });

  it.each([
    ['with the port of each connection', (tried: number) => `198.51.100.7:${40_000 + tried}`, '198.51.100.8:40000'],
    ['also in brackets, as IPv6', (tried: number) => `[2001:db8::7]:${40_000 + tried}`, '[2001:db8:0:1::7]:40000'],
    ['of IPv6 by its /64, of which one has them all', (tried: number) => `2001:db8::${tried + 1}`, '2001:db8:0:1::1'],
    ['as IPv4 within IPv6', (tried: number) => ['', '::ffff:'][tried % 2] + '198.51.100.7', '::ffff:198.51.100.8'],
  ])('are those of one address %s', async (_, forwarded, other) => {
    await start('10.1.0.0/16');
    for (let tried = 0; tried < 10; tried += 1) expect(await signInAs(forwarded(tried), PROXY)).toBe(401);
    expect(await signInAs(forwarded(10), PROXY, 'right')).toBe(429);
    expect(await signInAs(other, PROXY, 'right')).toBe(303);
  });

  it('are those of the address behind a second proxy, whose port stands there', async () => {
    await start('10.1.0.0/16');
    await failTenTimes('198.51.100.7:40001, 10.1.9.9:40002', PROXY);
    expect(await signInAs('198.51.100.7:40003, 10.1.9.8:40004', PROXY, 'right')).toBe(429);
    expect(await signInAs('198.51.100.8:40003, 10.1.9.9:40004', PROXY, 'right')).toBe(303);
  });

  it('are those of an address without a proxy too, IPv6 by its /64', async () => {
    await start();
    for (let tried = 0; tried < 10; tried += 1) await signInAs(undefined, `2001:db8::${tried + 1}`);
    expect(await signInAs(undefined, '2001:db8::ffff', 'right')).toBe(429);
    expect(await signInAs(undefined, '::ffff:192.0.2.1', 'right')).toBe(303);
  });

  it('are not those of an address that somebody put there before the proxy', async () => {
    await start(PROXY);
    for (let tried = 0; tried < 10; tried += 1)
      expect(await signInAs(`203.0.113.${tried}, 198.51.100.7`, PROXY)).toBe(401);
    expect(await signInAs('203.0.113.99, 198.51.100.7', PROXY)).toBe(429);
  });

  it.each([
    ['of anybody but the trusted proxy', [PROXY]],
    ['where none is trusted', []],
  ])('the header is ignored %s', async (_what, trusted) => {
    await start(...trusted);
    for (let tried = 0; tried < 10; tried += 1) expect(await signInAs(`203.0.113.${tried}`, '10.9.9.9')).toBe(401);
    expect(await signInAs('203.0.113.99', '10.9.9.9')).toBe(429);
  });
});
