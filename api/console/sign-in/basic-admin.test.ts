import { afterEach, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import { readVouching } from '../../../domain/review/vouching.js';
import { browserAt, openLoneConsole } from '../../../test/support/lone-console.js';
import { basicAdminMode } from './basic-admin.js';

const DECIDE = 'decide-token-0123456789abcdefghijklm';
/** As long as bcrypt reads. */
const PASSWORD = 'correct horse battery '.padEnd(72, 'staple');
const RIGHT = { name: 'root', password: PASSWORD };
// Of a lower cost than the settings allow, so that the tests are quick.
const passwordHash = hashSync(PASSWORD, 4);

let console: Awaited<ReturnType<typeof openLoneConsole>>;
const modeOf = (hash: string) =>
  basicAdminMode({ user: 'root', passwordHash: hash, tenant: 'acme', decideToken: DECIDE });
const start = async () => {
  console = await openLoneConsole({ signIn: modeOf(passwordHash), decideToken: DECIDE });
  return browserAt(console);
};
afterEach(() => console.close());

describe('signing in with a name and a password', () => {
  it('makes an administrator of one tenant, for whom the console vouches', async () => {
    const browser = await start();
    expect((await browser.get('/login')).text).toContain('action="/auth/basic-login"');
    expect(await browser.post('/auth/basic-login', RIGHT)).toMatchObject({ status: 303, location: '/' });
    expect(await browser.me()).toMatchObject({
      name: 'basic:root',
      tenant: 'acme',
      role: 'admin',
      mode: 'basic-admin',
    });
    const { headers } = console.asked.hil[0] ?? { headers: {} as Record<string, string> };
    expect(headers['authorization']).toBe(`Bearer ${DECIDE}`);
    expect(readVouching(headers['x-gate-decision-principal'] ?? '')).toEqual({
      subject: 'basic:root',
      tenant: 'acme',
      method: 'basic-admin',
      role: 'admin',
      since_ms: expect.any(Number),
      until_ms: null,
    });
  });

  it.each<[string, Record<string, string>]>([
    ['another password', { ...RIGHT, password: PASSWORD.slice(1) }],
    ['another name', { ...RIGHT, name: 'Root' }],
    ['no password', { name: 'root', password: '' }],
    ['nothing', {}],
    ['more than 72 bytes, of which bcrypt would read the first', { ...RIGHT, password: `${PASSWORD}x` }],
  ])('is refused: %s', async (_what, form) => {
    const browser = await start();
    expect(await browser.post('/auth/basic-login', form)).toMatchObject({ status: 401 });
    expect(await browser.me()).toBeNull();
  });

  it('is refused to a form of another site, which would sign somebody in as somebody else', async () => {
    const browser = await start();
    expect(await browser.post('/auth/basic-login', RIGHT, 'https://evil.example')).toMatchObject({ status: 403 });
    expect(await browser.me()).toBeNull();
  });

  it('is tried ten times of one address, also at once', async () => {
    const browser = await start();
    const wrong = { ...RIGHT, password: 'wrong' };
    const tried = await Promise.all(Array.from({ length: 14 }, () => browser.post('/auth/basic-login', wrong)));
    expect(tried.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(tried.filter(({ status }) => status === 429)).toHaveLength(4);
    expect(await browser.post('/auth/basic-login', RIGHT)).toMatchObject({ status: 429 });
  });

  it('waits for one password of another address, and for none of one that failed too often', async () => {
    await start();
    const ended: string[] = [];
    const guess = async (address: string, form: Record<string, string>) => {
      await browserAt(console, address).post('/auth/basic-login', form);
      ended.push(address);
    };
    const wrong = { ...RIGHT, password: 'wrong' };
    await Promise.all([...Array.from({ length: 8 }, () => guess('192.0.2.1', wrong)), guess('192.0.2.2', RIGHT)]);
    expect(ended.indexOf('192.0.2.2')).toBeLessThan(3);
  });
});

describe('a session of the administrator', () => {
  const session = { id: 's', openedMs: 0, csrf: 'c', subject: 'basic:root', tenant: 'acme', role: 'admin' };
  const modeIn = async (): Promise<string> => {
    let opened = '';
    const signIn = modeOf(passwordHash);
    console = await openLoneConsole({
      signIn: { ...signIn, personOf: (of) => ((opened = of.mode), signIn.personOf(of)) },
      decideToken: DECIDE,
    });
    await browserAt(console).post('/auth/basic-login', RIGHT);
    return opened;
  };

  it('stands by the password that it was opened with, and ends with another one, another name or another way', async () => {
    const mode = await modeIn();
    expect(modeOf(passwordHash).personOf({ ...session, mode })).not.toBeNull();
    expect(modeOf(hashSync(PASSWORD, 4)).personOf({ ...session, mode })).toBeNull();
    expect(modeOf(passwordHash).personOf({ ...session, mode, subject: 'basic:other' })).toBeNull();
    expect(modeOf(passwordHash).personOf({ ...session, mode, tenant: 'globex' })).toBeNull();
    expect(modeOf(passwordHash).personOf({ ...session, mode: 'oidc' })).toBeNull();
  });
});
