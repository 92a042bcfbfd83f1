import { afterEach, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import { CONSOLE_AT, openConsole } from '../../test/support/console.js';
import { basicAdminMode } from './sign-in/basic-admin.js';

const PROXY = '10.1.2.3';
const signIn = () =>
  basicAdminMode({
    user: 'root',
    passwordHash: hashSync('right', 4),
    tenant: 'acme',
    decideToken: 'decide-token-0123456789abcdefghijklm',
  });

let console: Awaited<ReturnType<typeof openConsole>>;
const start = async (...trustedProxies: string[]) =>
  void (console = await openConsole({ signIn: signIn(), trustedProxies }));
afterEach(() => console.close());

async function signInAs(forwarded: string | undefined, from: string, password = 'wrong'): Promise<number> {
  const { statusCode } = await console.service.app.inject({
    method: 'POST',
    url: '/auth/basic-login',
    remoteAddress: from,
    headers: {
      host: new URL(CONSOLE_AT).host,
      origin: CONSOLE_AT,
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
