import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AssertionJson, RegistrationJson } from '../../../contracts/approval.js';
import { authenticatorKeys, type AssertionFaults, softwareAuthenticator } from '../../../test/support/authenticator.js';
import {
  CONSOLE_HOST,
  CONSOLE_ORIGIN,
  type ConsoleFixture,
  openConsole,
} from '../../../test/support/console-over-hil.js';
import { OPERATOR } from '../../../test/support/hil.js';
import { ASK_LIMITS } from '../ask-limits.js';
import { passkeyMode } from './passkey.js';

const FIRST = 'first-token-0123456789abcdefghijklmn';
const RP = { rpId: 'localhost', origin: CONSOLE_ORIGIN };
type Device = ReturnType<typeof softwareAuthenticator>;

let fixture: ConsoleFixture;
let device: Device;
/** What the review service wrote to its log. */
let logged: Record<string, unknown>[];
beforeEach(async () => {
  logged = [];
  fixture = await openConsole(undefined, {
    consoleUrl: CONSOLE_ORIGIN,
    signIn: (hil, clock) => passkeyMode({ tenant: 'acme', hil, key: Buffer.alloc(32, 9), clock, limits: ASK_LIMITS }),
    hilOptions: {
      bootstrapToken: FIRST,
      logger: pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) }),
    },
  });
  device = softwareAuthenticator(RP);
});
afterEach(() => fixture.close());

/** A browser with its cookies, whose scripts ask what those of the pages ask. */
function browserAt(remoteAddress = '127.0.0.1') {
  const cookies = new Map<string, string>();
  async function go(method: 'GET' | 'POST', url: string, body?: object, more: Record<string, string> = {}) {
    const answer = await fixture.service.app.inject({
      method,
      url,
      remoteAddress,
      headers: {
        host: CONSOLE_HOST,
        origin: CONSOLE_ORIGIN,
        accept: method === 'POST' ? 'application/json' : 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body && { 'content-type': 'application/json' }),
        ...more,
      },
      ...(body && { payload: body }),
    });
    for (const { name, value } of answer.cookies) cookies.set(name, value);
    return { status: answer.statusCode, text: answer.body, body: parsed(answer.body), headers: answer.headers };
  }
  const challenge = async (path: string, body: object): Promise<string> => {
    const { body: said } = await go('POST', path, body);
    return (said['publicKey'] as { challenge: string } | undefined)?.challenge ?? '';
  };
  const csrf = async () => (await fixture.sessions.of(cookies.get('gate_console_session') ?? ''))?.csrf ?? '';
  return {
    cookies,
    get: (url: string) => go('GET', url),
    post: go.bind(null, 'POST'),
    register: async (name: string, token: string, made: (challenge: string) => RegistrationJson) =>
      go(
        'POST',
        '/auth/passkey/register/finish',
        made(await challenge('/auth/passkey/register/start', { name, token })),
      ),
    enter: async (name: string, signed: (challenge: string) => object) =>
      go('POST', '/auth/passkey/login/finish', signed(await challenge('/auth/passkey/login/start', { name }))),
    /** As a script of a page of the session asks. */
    ask: async (path: string, body: object) => go('POST', path, body, { 'x-csrf-token': await csrf() }),
    csrf,
    async me() {
      const { status, body } = await go('GET', '/auth/me');
      return status === 200 ? body : null;
    },
  };
}
const parsed = (text: string): Record<string, unknown> => {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
};

/** Who may approve with nothing but a passkey. */
const approvers = async () => (await fixture.hil.reviews.passkeys.approvers('acme')).map(({ subject }) => subject);

/** Ana, who was the first, signed in. */
async function ana() {
  const browser = browserAt();
  expect(await browser.register('ana', FIRST, (challenge) => device.create(challenge))).toMatchObject({ status: 200 });
  expect(await browser.enter('ana', (challenge) => device.get(challenge))).toMatchObject({ status: 200 });
  return browser;
}
/** Somebody whom she invited, signed in. */
async function invited(by: ReturnType<typeof browserAt>, name: string, own = softwareAuthenticator(RP)) {
  const { body } = await by.ask('/auth/enrollment/invitations', { name });
  const browser = browserAt();
  expect(await browser.register(name, String(body['token']), (at) => own.create(at))).toMatchObject({ status: 200 });
  expect(await browser.enter(name, (challenge) => own.get(challenge))).toMatchObject({ status: 200 });
  return browser;
}

describe('the first administrator', () => {
  it('is whoever has the token of the settings, once, and signs in by the passkey from then on', async () => {
    const browser = await ana();
    expect(await browser.me()).toMatchObject({ name: 'webauthn:ana', role: 'admin', tenant: 'acme', mode: 'webauthn' });
    const other = softwareAuthenticator(RP);
    for (const name of ['ana', 'eve']) {
      const again = await browserAt().register(name, FIRST, (challenge) => other.create(challenge));
      expect(again.status).not.toBe(200);
    }
    expect(await approvers()).toEqual(['webauthn:ana']);
  });

  it.each([
    ['another token', 'ana', FIRST.replace('first', 'worst')],
    ['a name that would be two people', 'Ana', FIRST],
    ['the name of an operator', 'operator:dev', FIRST],
  ])('is nobody with %s', async (_what, name, token) => {
    const answer = await browserAt().register(name, token, (challenge) => device.create(challenge || 'AAAA'));
    expect(answer.status).toBe(404);
    expect(await approvers()).toEqual([]);
  });

  it('is one of two who finish at the same moment', async () => {
    const [one, two] = [browserAt(), browserAt()];
    const start = async (browser: typeof one, name: string) =>
      (await browser.post('/auth/passkey/register/start', { name, token: FIRST })).body['publicKey'] as {
        challenge: string;
      };
    const [first, second] = [await start(one, 'ana'), await start(two, 'eve')];
    const came = await Promise.all([
      one.post('/auth/passkey/register/finish', device.create(first.challenge)),
      two.post('/auth/passkey/register/finish', softwareAuthenticator(RP).create(second.challenge)),
    ]);
    expect(came.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await approvers()).toHaveLength(1);
  });
});

describe('signing in by a passkey', () => {
  const stranger = softwareAuthenticator(RP);
  it.each<[string, string, (challenge: string, own: Device) => AssertionJson]>([
    ['another challenge', 'ana', (_, own) => own.get('AAAA')],
    ['another address', 'ana', at({ origin: 'https://evil.example' })],
    ['another relying party', 'ana', at({ rpId: 'evil.example' })],
    ['nobody verified', 'ana', at({ flags: 0x01 })],
    ['a page of another origin around it', 'ana', at({ crossOrigin: true, origin: 'https://evil.example' })],
    ['a registration', 'ana', at({ type: 'webauthn.create' })],
    ['a counter that went back', 'ana', at({ counter: 1 })],
    ["somebody else's passkey", 'ana', (challenge) => stranger.get(challenge)],
    [
      "somebody else's key under the id",
      'ana',
      (challenge, own) => ({
        ...softwareAuthenticator(RP, authenticatorKeys()).get(challenge),
        id: own.id,
        rawId: own.id,
      }),
    ],
    ['another name', 'eve', (challenge, own) => own.get(challenge)],
    [
      'a signature over other bytes',
      'ana',
      (challenge, own) => {
        const said = own.get(challenge);
        const data = Buffer.from(said.response.authenticatorData, 'base64url');
        data.writeUInt32BE(9_999, 33);
        return { ...said, response: { ...said.response, authenticatorData: data.toString('base64url') } };
      },
    ],
  ])('is refused with %s', async (_what, name, signed) => {
    await ana();
    const browser = browserAt();
    const answer = await browser.enter(name, (challenge) => signed(challenge, device));
    expect(answer).toMatchObject({ status: 401, body: { error: 'passkey_refused' } });
    expect(await browser.me()).toBeNull();
  });

  it('takes an assertion once, in the browser that began', async () => {
    await ana();
    const [browser, other] = [browserAt(), browserAt()];
    const { body } = await browser.post('/auth/passkey/login/start', { name: 'ana' });
    const assertion = device.get((body['publicKey'] as { challenge: string }).challenge);
    expect(await other.post('/auth/passkey/login/finish', assertion)).toMatchObject({ status: 404 });
    expect(await browser.post('/auth/passkey/login/finish', assertion)).toMatchObject({ status: 200 });
    expect((await browser.post('/auth/passkey/login/finish', assertion)).status).toBe(404);
  });

  it('leads to the page that was wanted, and nowhere else', async () => {
    await ana();
    const browser = browserAt();
    const enter = async (return_to: string) =>
      (await browser.enter('ana', (challenge) => ({ ...device.get(challenge), return_to }))).body['to'];
    expect(await enter('/audit?tool=x')).toBe('/audit?tool=x');
    expect(await enter('//evil.example')).toBe('/');
  });

  it('is refused to an operator, who has a token beside the passkey', async () => {
    const start = await fixture.hil.service.app.inject({
      method: 'POST',
      url: '/auth/register/start',
      headers: { 'x-test-caller': 'console', 'x-gate-tenant-scope': 'acme', authorization: `Bearer ${OPERATOR}` },
      payload: {},
    });
    const { publicKey } = start.json<{ publicKey: { challenge: string } }>();
    const cookie = String(start.headers['set-cookie']).split(';')[0] ?? '';
    const body = device.create(publicKey.challenge);
    const headers = { cookie };
    await fixture.hil.ask('/auth/register/finish', { method: 'POST', token: OPERATOR, headers, body });
    const browser = browserAt();
    expect((await browser.enter('dev', (challenge) => device.get(challenge))).status).toBe(401);
    // A ceremony of the operator's name that somebody else began with the console.
    const begun = await fixture.hil.service.app.inject({
      method: 'POST',
      url: '/auth/login/start',
      headers: { 'x-test-caller': 'console', 'x-gate-tenant-scope': 'acme' },
      payload: { name: 'dev' },
    });
    const [ceremony = ''] = String(begun.headers['set-cookie']).split(';');
    browser.cookies.set('gate_console_ceremony', ceremony.split('=')[1] ?? '');
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect((await browser.post('/auth/passkey/login/finish', device.get(challenge))).status).toBe(401);
    expect(await browser.me()).toBeNull();
  });

  it('is closed to an address of which ten attempts failed, and refuses what other pages send', async () => {
    await ana();
    const browser = browserAt('192.0.2.9');
    for (let tried = 0; tried < 10; tried += 1)
      expect((await browser.post('/auth/passkey/register/start', { name: 'eve', token: 'a guess' })).status).toBe(403);
    expect((await browser.enter('ana', (challenge) => device.get(challenge || 'AAAA'))).status).toBe(429);
    const evil = { origin: 'https://evil.example' };
    expect((await browserAt().post('/auth/passkey/login/start', { name: 'ana' }, evil)).status).toBe(403);
  });

  it('begins twenty times a minute for one address', async () => {
    const browser = browserAt('192.0.2.10');
    const came: number[] = [];
    for (let n = 0; n < 21; n += 1)
      came.push((await browser.post('/auth/passkey/login/start', { name: `p${n}` })).status);
    expect(came.slice(-2)).toEqual([200, 429]);
  });

  it('begins for an address that did not yet, when others have used up what there is for all', async () => {
    const begin = async (address: string, times: number) => {
      const browser = browserAt(address);
      for (let n = 0; n < times - 1; n += 1)
        await browser.post('/auth/passkey/login/start', { name: `${address}-${n}` });
      return (await browser.post('/auth/passkey/login/start', { name: `${address}-last` })).status;
    };
    const statuses: number[] = [];
    for (let n = 1; n <= 30; n += 1) statuses.push(await begin(`198.51.100.${n}`, 20));
    expect(statuses.slice(-2)).toEqual([200, 429]);
    expect(await begin('192.0.2.11', 3)).toBe(200);
    expect(await begin('192.0.2.12', 4)).toBe(429);
  });

  it('says that the review service is away, which signs nobody out for five minutes', async () => {
    const browser = await ana();
    fixture.away.add('hil');
    fixture.hil.now += 60_000;
    expect((await browser.get('/audit')).status).toBe(200);
    expect((await browserAt().post('/auth/passkey/login/start', { name: 'ana' })).status).toBe(503);
    fixture.hil.now += 300_000;
    expect((await browser.get('/audit')).status).toBe(303);
  });
});

describe('somebody who signed in by a passkey', () => {
  it('decides, and the row says which passkey', async () => {
    const browser = await ana();
    const row = await fixture.hil.park(1);
    const answer = await browser.post(
      `/hil/${row.id}/deny`,
      { csrf: await browser.csrf(), digest: row.original_payload_digest, request: row.id, reason: 'no' },
      { accept: 'text/html' },
    );
    expect(answer.status).toBe(303);
    expect(await fixture.hil.reviews.get(row.id, 'acme')).toMatchObject({
      status: 'denied',
      decided_by: 'webauthn:ana',
    });
  });

  it('keeps the session over a restart; the store holds nothing of the review service that can be used', async () => {
    const browser = await ana();
    await fixture.restart();
    expect(await browser.me()).toMatchObject({ name: 'webauthn:ana' });
    const file = new DatabaseSync(fixture.sessionFile);
    const [stored] = file.prepare('select subject, mode from console_sessions').all() as Record<string, string>[];
    file.close();
    expect(stored?.['subject']).toBe('webauthn:ana');
    expect(stored?.['mode']).toMatch(/^webauthn [\w-]{100,}$/);
    expect(stored?.['mode']).not.toContain(Buffer.from('{"tenant":"acme"').toString('base64url'));
  });

  it('ends with the review service session, however much it is used', async () => {
    const browser = await ana();
    for (let hour = 0; hour < 16; hour += 1) {
      fixture.hil.now += 1_795_000;
      expect((await browser.get('/me')).status).toBe(200);
    }
    fixture.hil.now += 120_000;
    expect((await browser.get('/me')).status).toBe(303);
  });

  it('is refused what an administrator alone does, as an approver', async () => {
    const ben = await invited(await ana(), 'ben');
    expect(await ben.me()).toMatchObject({ name: 'webauthn:ben', role: 'approver' });
    for (const path of ['invitations', 'removals', 'recoveries'])
      expect(await ben.ask(`/auth/enrollment/${path}`, { name: 'ana' })).toMatchObject({
        status: 403,
        body: { error: 'role_too_low' },
      });
  });

  it('adds a passkey on another device', async () => {
    const browser = await ana();
    const second = softwareAuthenticator(RP);
    const { body } = await browser.ask('/auth/register/start', {});
    const { challenge } = body['publicKey'] as { challenge: string };
    expect((await browser.ask('/auth/register/finish', second.create(challenge))).status).toBe(200);
    expect((await browserAt().enter('ana', (at) => second.get(at))).status).toBe(200);
  });

  it('counts in a quorum until he is taken out, which ends what he has open at once', async () => {
    const first = await ana();
    const ben = await invited(first, 'ben');
    expect(await approvers()).toEqual(['webauthn:ana', 'webauthn:ben']);
    expect((await first.ask('/auth/enrollment/removals', { name: 'ana' })).status).toBe(403);
    expect((await first.ask('/auth/enrollment/removals', { name: 'ben' })).status).toBe(200);
    fixture.hil.now += 1_000;
    expect((await ben.get('/me')).status).toBe(303);
    expect(await approvers()).toEqual(['webauthn:ana']);
  });

  it('is replaced by nobody: an invitation is for a name without a passkey, a new passkey for a known one', async () => {
    const first = await ana();
    const own = softwareAuthenticator(RP);
    await invited(first, 'ben', own);
    expect(await first.ask('/auth/enrollment/invitations', { name: 'ben' })).toMatchObject({
      status: 409,
      body: { error: 'person_known' },
    });
    const { body } = await first.ask('/auth/enrollment/recoveries', { name: 'ben' });
    const replacement = softwareAuthenticator(RP);
    const came = await browserAt().register('ben', String(body['token']), (at) => replacement.create(at));
    expect(came.status).toBe(200);
    expect((await browserAt().enter('ben', (at) => own.get(at))).status).toBe(401);
    const browser = browserAt();
    expect((await browser.enter('ben', (at) => replacement.get(at))).status).toBe(200);
    expect(await browser.me()).toMatchObject({ role: 'approver' });
    expect((await first.ask('/auth/enrollment/recoveries', { name: 'nobody' })).status).toBe(404);
  });

  it('is invited, replaced and taken out under the name of who did it, in the log of the review service', async () => {
    const first = await ana();
    await invited(first, 'ben');
    await first.ask('/auth/enrollment/recoveries', { name: 'ben' });
    await first.ask('/auth/enrollment/removals', { name: 'ben' });
    await first.ask('/auth/enrollment/removals', { name: 'nobody' });
    const told = logged.filter(({ event }) => String(event).startsWith('passkey_'));
    expect(told.map(({ event, by, who, tenant }) => [event, by, who, tenant])).toEqual(
      ['passkey_invited', 'passkey_replacement_allowed', 'passkey_person_removed'].map((event) => [
        event,
        'webauthn:ana',
        'webauthn:ben',
        'acme',
      ]),
    );
  });

  it('holds an invitation for a day, one use and one name', async () => {
    const first = await ana();
    const token = async (name: string) =>
      String((await first.ask('/auth/enrollment/invitations', { name })).body['token']);
    const [ben, cleo] = [await token('ben'), await token('cleo')];
    const own = softwareAuthenticator(RP);
    expect((await browserAt().register('eve', ben, (at) => own.create(at || 'AAAA'))).status).toBe(404);
    expect((await browserAt().register('ben', ben, (at) => own.create(at))).status).toBe(200);
    expect((await browserAt().register('ben', ben, (at) => own.create(at || 'AAAA'))).status).toBe(404);
    fixture.hil.now += 86_400_000;
    expect((await browserAt().register('cleo', cleo, (at) => own.create(at || 'AAAA'))).status).toBe(404);
  });
});

function at(faults: AssertionFaults): (challenge: string, own: Device) => AssertionJson {
  return (challenge, own) => own.get(challenge, faults);
}
