import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RegistrationJson } from '../../../contracts/approval.js';
import { CEREMONY } from '../../../domain/review/passkey-ceremonies.js';
import { RECOVERY } from '../../../domain/review/passkeys.js';
import { SESSION_LIFE_MS } from '../../../domain/review/passkey-session.js';
import { authenticatorKeys, softwareAuthenticator } from '../../../test/support/authenticator.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR } from '../../../test/support/hil.js';

const BEN = 'ben-token-0123456789abcdefghijklmnop';
const OPERATORS = [
  { name: 'dev', tenant: 'acme', token: OPERATOR },
  { name: 'ben', tenant: 'acme', token: BEN },
  { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR },
];
const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };

let hil: HilFixture;
let device: ReturnType<typeof softwareAuthenticator>;
beforeEach(async () => {
  hil = await openHil('sqlite', { consoleUrl: CONSOLE.origin, operators: OPERATORS });
  device = softwareAuthenticator(CONSOLE);
});
afterEach(() => hil.close());

/** Begins a registration: the challenge, and the cookie that the browser would send. */
async function start(asked: HilAsk = {}) {
  const answer = await hil.service.app.inject({
    method: 'POST',
    url: '/auth/register/start',
    headers: {
      'x-test-caller': 'console',
      'x-gate-tenant-scope': asked.tenant ?? 'acme',
      authorization: `Bearer ${asked.token ?? OPERATOR}`,
    },
    payload: { display_name: 'Dev' },
  });
  const { publicKey } = answer.json<{ publicKey: { challenge: string; rp: { id: string }; user: { name: string } } }>();
  return { answer, publicKey, cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' };
}
const finish = (cookie: string, body: RegistrationJson, asked: HilAsk = {}) =>
  hil.ask('/auth/register/finish', { method: 'POST', token: OPERATOR, headers: { cookie }, body, ...asked });

/** The same with a statement `packed` that has a certificate. */
function certified(made: RegistrationJson): RegistrationJson {
  const told = Buffer.from(made.response.attestationObject, 'base64url').toString('hex');
  const attestationObject = Buffer.from(
    told.replace('a363666d74646e6f6e656761747453746d74a0', 'a363666d74667061636b65646761747453746d74a163783563814100'),
    'hex',
  ).toString('base64url');
  return { ...made, response: { ...made.response, attestationObject } };
}

describe('registering a passkey', () => {
  it("stores the key that the approver's device made, for the person whose token asks", async () => {
    const { answer, publicKey, cookie } = await start();
    expect(publicKey).toMatchObject({ rp: { id: 'console.example' }, user: { name: 'operator:dev@acme' } });
    expect(answer.headers['set-cookie']).toMatch(
      /^gate_hil_ceremony=[0-9a-f-]{36}; Max-Age=300; .*HttpOnly; Secure; SameSite=Strict$/,
    );
    const { status, body } = await finish(cookie, device.create(publicKey.challenge));
    expect([status, body]).toEqual([200, { ok: true, name: 'operator:dev', credential_id: device.id }]);
    const own = await hil.ask('/auth/passkeys', { token: OPERATOR });
    const created_at = new Date(hil.now).toISOString();
    expect(own).toMatchObject({ status: 200, body: { passkeys: [{ credential_id: device.id, created_at }] } });
    const others = await hil.ask('/auth/passkeys', { token: OTHER_OPERATOR, tenant: 'globex' });
    expect(others).toMatchObject({ status: 200, body: { passkeys: [] } });
    expect((await hil.ask('/auth/passkeys')).status).toBe(401);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toMatchObject([{ credential_id: device.id }]);
    expect(await hil.reviews.passkeys.of('globex', 'operator:dev')).toEqual([]);
  });

  it.each([
    ['of another challenge', () => device.create('AAAA'), 'challenge'],
    ['made at another address', (c: string) => device.create(c, { origin: 'https://evil.example' }), 'origin'],
    ['for another relying party', (c: string) => device.create(c, { rpId: 'evil.example' }), 'RP ID'],
    ['without verifying the person', (c: string) => device.create(c, { flags: 0x01 }), 'verif'],
    [
      'with certificates, for whose lists the library would ask',
      (c: string) => certified(device.create(c)),
      'certificate',
    ],
    ['that is an assertion', (c: string) => device.create(c, { type: 'webauthn.get' }), 'type'],
  ])('refuses one %s, and the registration may be tried again', async (_, made, why) => {
    const { publicKey, cookie } = await start();
    const refused = await finish(cookie, made(publicKey.challenge));
    expect(refused).toMatchObject({ status: 401, body: { error: 'passkey_refused' } });
    expect(String(refused.body['reason'])).toContain(why);
    expect((await finish(cookie, device.create(publicKey.challenge))).status).toBe(200);
  });

  it('is finished once, by who began it, in its time, and with few attempts', async () => {
    const gone = { status: 404, body: { error: 'ceremony_not_found' } };
    const first = await start();
    const foreign = device.create(first.publicKey.challenge);
    expect(await finish(first.cookie, foreign, { tenant: 'globex', token: OTHER_OPERATOR })).toMatchObject(gone);
    expect(await finish('gate_hil_ceremony=00000000-0000-4000-8000-000000000000', foreign)).toMatchObject(gone);
    expect(await finish('other=1', foreign)).toMatchObject(gone);
    const late = await start();
    hil.now += CEREMONY.lifeMs;
    expect(await finish(late.cookie, device.create(late.publicKey.challenge))).toMatchObject(gone);

    const tried = await start();
    for (let n = 0; n < CEREMONY.attempts; n += 1)
      expect((await finish(tried.cookie, device.create('AAAA'))).status).toBe(401);
    expect(await finish(tried.cookie, device.create(tried.publicKey.challenge))).toMatchObject(gone);

    const last = await start();
    const made = device.create(last.publicKey.challenge);
    expect((await finish(last.cookie, made)).status).toBe(200);
    expect(await finish(last.cookie, made)).toMatchObject(gone);
  });

  it('refuses a passkey that is registered already', async () => {
    const one = await start();
    await finish(one.cookie, device.create(one.publicKey.challenge));
    const two = await start({ tenant: 'globex', token: OTHER_OPERATOR });
    expect(
      await finish(two.cookie, device.create(two.publicKey.challenge), { tenant: 'globex', token: OTHER_OPERATOR }),
    ).toMatchObject({ status: 409, body: { error: 'passkey_known' } });
  });

  it('takes no second passkey with the token alone, nor by a registration that was begun before the first was made', async () => {
    const [early, first] = [await start(), await start()];
    expect((await finish(first.cookie, device.create(first.publicKey.challenge))).status).toBe(200);
    const second = softwareAuthenticator(CONSOLE);
    const refused = { status: 403, body: { error: 'passkey_session_required' } };
    expect(await finish(early.cookie, second.create(early.publicKey.challenge))).toMatchObject(refused);
    expect((await start()).answer.statusCode).toBe(403);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toHaveLength(1);
  });

  it('takes one of several first passkeys that are finished at the same moment', async () => {
    const begun = [await start(), await start(), await start(), await start()];
    const answers = await Promise.all(
      begun.map(({ cookie, publicKey }) => finish(cookie, softwareAuthenticator(CONSOLE).create(publicKey.challenge))),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 403, 403, 403]);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toHaveLength(1);
  });

  it.each([
    ['', {}],
    [', in another encoding', { yFirst: true }],
  ])('takes no key under another id%s: one key is one person', async (_, encoding) => {
    const keys = authenticatorKeys();
    const mine = softwareAuthenticator(CONSOLE, keys);
    const one = await start();
    expect((await finish(one.cookie, mine.create(one.publicKey.challenge))).status).toBe(200);
    const two = await start({ tenant: 'globex', token: OTHER_OPERATOR });
    const again = softwareAuthenticator(CONSOLE, keys).create(two.publicKey.challenge, encoding);
    expect(again.id).not.toBe(mine.id);
    expect(await finish(two.cookie, again, { tenant: 'globex', token: OTHER_OPERATOR })).toMatchObject({
      status: 409,
      body: { error: 'passkey_known' },
    });
  });

  it('begins only so often in a minute', async () => {
    for (let n = 0; n < CEREMONY.starts; n += 1) expect((await start()).answer.statusCode).toBe(200);
    const { answer } = await start();
    expect([answer.statusCode, answer.json()]).toMatchObject([429, { error: 'rate_limited', retry_after_secs: 60 }]);
    hil.now += CEREMONY.windowMs;
    expect((await start()).answer.statusCode).toBe(200);
  });

  it('keeps neither the challenge nor the cookie, only their digests', async () => {
    const { publicKey, cookie } = await start();
    const stored = JSON.stringify(await hil.place.sql('select * from passkey_ceremonies'));
    expect(stored).toContain('operator:dev');
    for (const secret of [publicKey.challenge, cookie.split('=')[1] ?? '?']) expect(stored).not.toContain(secret);
  });

  it('counts for nobody when somebody wrote it into the store', async () => {
    const { publicKey, cookie } = await start();
    await finish(cookie, device.create(publicKey.challenge));
    await hil.place.sql("update passkeys set subject = 'operator:eve'");
    expect(await hil.reviews.passkeys.of('acme', 'operator:eve')).toEqual([]);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toEqual([]);
  });

  it('is for people with a token, at a console whose address is known', async () => {
    const body = {};
    const ask = (asked: HilAsk) => hil.ask('/auth/register/start', { method: 'POST', body, ...asked });
    expect(await ask({})).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
    expect(await ask({ as: 'simulator', tenant: null, token: OPERATOR })).toMatchObject({ status: 403 });
    await hil.close();
    hil = await openHil('sqlite');
    expect(await ask({ token: OPERATOR })).toMatchObject({ status: 409, body: { error: 'passkeys_not_set_up' } });
  });
});

/** What the browser would send back: the values of the cookies of an answer. */
const cookiesOf = (answer: { headers: Record<string, unknown> }): string =>
  [answer.headers['set-cookie']]
    .flat()
    .map((each) => String(each).split(';')[0] ?? '')
    .join('; ');
const post = (
  url: string,
  payload: object,
  { token, cookie = '', tenant = 'acme' }: HilAsk & { cookie?: string } = {},
) =>
  hil.service.app.inject({
    method: 'POST',
    url,
    headers: {
      'x-test-caller': 'console',
      'x-gate-tenant-scope': tenant ?? 'acme',
      cookie,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    payload,
  });
interface RequestOptions {
  readonly publicKey: { readonly challenge: string; readonly allowCredentials: readonly { readonly id: string }[] };
}
const me = (cookie: string, tenant = 'acme') => hil.ask('/auth/me', { headers: { cookie }, tenant });

async function registered(authenticator = device, token = OPERATOR): Promise<void> {
  const { publicKey, cookie } = await start({ token });
  expect((await finish(cookie, authenticator.create(publicKey.challenge), { token })).status).toBe(200);
}
/** Logs in, and returns the cookie of the session. */
async function loggedIn(name: string, authenticator = device): Promise<string> {
  const begun = await post('/auth/login/start', { name });
  const { publicKey } = begun.json<RequestOptions>();
  const done = await post('/auth/login/finish', authenticator.get(publicKey.challenge), { cookie: cookiesOf(begun) });
  expect([done.statusCode, done.json()]).toEqual([200, { ok: true, name: `operator:${name}` }]);
  return cookiesOf(done);
}

describe('logging in with a passkey', () => {
  it('opens a session of eight hours, which says who it is, in its tenant only, until its passkey is gone', async () => {
    await registered();
    const session = await loggedIn('dev');
    expect(await me(session)).toMatchObject({
      status: 200,
      body: { authenticated: true, name: 'operator:dev', tenant: 'acme', method: 'webauthn' },
    });
    const none = { status: 401, body: { error: 'unauthenticated' } };
    expect(await me(session, 'globex')).toMatchObject(none);
    expect(await me('')).toMatchObject({
      status: 401,
      body: {
        error: 'unauthenticated',
        reason: expect.stringMatching(/^no session of a passkey .*\/auth\/login\/start$/),
      },
    });
    for (const other of [session.slice(0, -2), `${session}.a`, session.replace('session=', 'session=a')])
      expect(await me(other)).toMatchObject(none);
    await hil.serve({ sessionKey: Buffer.alloc(32, 8) });
    expect(await me(session)).toMatchObject(none);
    await hil.serve({ operators: [{ name: 'other', tenant: 'acme', token: OPERATOR }] });
    expect(await me(session)).toMatchObject(none);
    await hil.serve({});
    expect((await me(session)).status).toBe(200);
    hil.now += SESSION_LIFE_MS;
    expect(await me(session)).toMatchObject(none);
    hil.now -= SESSION_LIFE_MS;
    await hil.place.sql('delete from passkeys');
    expect(await me(session)).toMatchObject(none);
  });

  it('is not asked for where the call cannot be changed at all', async () => {
    await hil.serve({ passkeyRequired: 'strict' });
    const row = await hil.park(1, { approval_tier: 'strict' });
    expect(row.required_approvers).toBe(2);
    const asked = (body: object) => hil.ask(`/decide/${row.id}`, { method: 'POST', token: OPERATOR, body });
    const modification_diff = {
      contract: 'gate.hil.modification-diff/v1',
      replacements: [{ path: ['amount'], value: 1 }],
    };
    expect(await asked({ decision: 'modify', modification_diff })).toMatchObject({
      body: { error: 'modify_under_quorum' },
    });
    expect(await asked({ decision: 'approve' })).toMatchObject({ body: { error: 'passkey_required' } });
  });

  it.each([
    ['its agent runs', { executed_by: 'agent' }],
    ['nobody runs', { agent_spiffe: 'spiffe://gate.local/service/simulator' }],
  ] as const)(
    'signs no change of a call that %s: there is no challenge, and no passkey is asked for',
    async (_, over) => {
      await hil.serve({ passkeyRequired: 'registered' });
      await registered();
      const row = await hil.park(1, over);
      const modification_diff = {
        contract: 'gate.hil.modification-diff/v1',
        replacements: [{ path: ['amount'], value: 7 }],
      };
      for (const route of ['/pending/:id/approval-challenge', '/decide/:id']) {
        const asked = { method: 'POST', token: OPERATOR, body: { decision: 'modify', modification_diff } } as const;
        expect(await hil.ask(route.replace(':id', row.id), asked)).toMatchObject({
          status: 422,
          body: { error: 'unsupported_decision' },
        });
      }
    },
  );

  it('is over with its cookie', async () => {
    await registered();
    const cookie = await loggedIn('dev');
    const out = await post('/auth/logout', {}, { cookie });
    expect(cookiesOf(out)).toBe('gate_hil_ceremony=; gate_hil_session=');
    expect(out.json()).toEqual({ ok: true, ended: true });
    for (const body of [{ unknown: true }, []])
      expect((await post('/auth/logout', body, { cookie })).statusCode).toBe(400);
    expect((await post('/auth/logout', {}, { cookie: '' })).json()).toEqual({ ok: true, ended: false });
  });

  it('refuses what was signed for another challenge, at another address or by another passkey, and may be tried again', async () => {
    await registered();
    const begun = await post('/auth/login/start', { name: 'dev' });
    const cookie = cookiesOf(begun);
    const { challenge } = begun.json<RequestOptions>().publicKey;
    const strange = softwareAuthenticator(CONSOLE);
    const wrong = [
      device.get('AAAA'),
      device.get(challenge, { origin: 'https://evil.example' }),
      device.get(challenge, { flags: 0x01 }),
      strange.get(challenge),
      { ...strange.get(challenge), id: device.id, rawId: device.id },
    ];
    for (const assertion of wrong) {
      const refused = await post('/auth/login/finish', assertion, { cookie });
      expect([refused.statusCode, refused.json()]).toMatchObject([401, { error: 'passkey_refused' }]);
    }
    const signed = device.get(challenge);
    const foreign = await post('/auth/login/finish', signed, { cookie, tenant: 'globex' });
    expect(foreign.json()).toMatchObject({ error: 'ceremony_not_found' });
    expect((await post('/auth/login/finish', signed, { cookie })).statusCode).toBe(200);
    expect((await post('/auth/login/finish', signed, { cookie })).json()).toMatchObject({
      error: 'ceremony_not_found',
    });
  });

  it('does not tell who has a passkey: an unknown name is asked for one too, always for the same', async () => {
    const [one, same, other] = [
      (await post('/auth/login/start', { name: 'nobody' })).json<RequestOptions>().publicKey,
      (await post('/auth/login/start', { name: 'nobody' })).json<RequestOptions>().publicKey,
      (await post('/auth/login/start', { name: 'somebody' })).json<RequestOptions>().publicKey,
    ];
    expect(one.allowCredentials).toMatchObject([{ id: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) }]);
    expect(same.allowCredentials).toEqual(one.allowCredentials);
    expect(same.challenge).not.toBe(one.challenge);
    expect(other.allowCredentials).not.toEqual(one.allowCredentials);
  });

  it('is refused to somebody who was taken out of the operators since it began', async () => {
    await registered();
    const begun = await post('/auth/login/start', { name: 'dev' });
    const assertion = device.get(begun.json<RequestOptions>().publicKey.challenge);
    await hil.serve({ operators: OPERATORS.filter(({ name }) => name !== 'dev') });
    const refused = await post('/auth/login/finish', assertion, { cookie: cookiesOf(begun) });
    expect([refused.statusCode, refused.json()]).toMatchObject([401, { error: 'passkey_refused' }]);
    await hil.serve({ operators: OPERATORS });
    expect((await post('/auth/login/finish', assertion, { cookie: cookiesOf(begun) })).statusCode).toBe(200);
  });

  it('is another ceremony than a registration', async () => {
    await registered();
    const begun = await post('/auth/login/start', { name: 'dev' });
    const { challenge } = begun.json<RequestOptions>().publicKey;
    const second = softwareAuthenticator(CONSOLE);
    expect(await finish(cookiesOf(begun), second.create(challenge))).toMatchObject({
      status: 404,
      body: { error: 'ceremony_not_found' },
    });
  });

  it('is finished by nobody once somebody wrote into its row', async () => {
    await registered();
    await registered(softwareAuthenticator(CONSOLE), BEN);
    const begun = await post('/auth/login/start', { name: 'dev' });
    await hil.place.sql("update passkey_ceremonies set subject = 'operator:ben'");
    const done = await post('/auth/login/finish', device.get(begun.json<RequestOptions>().publicKey.challenge), {
      cookie: cookiesOf(begun),
    });
    expect(done.json()).toMatchObject({ error: 'ceremony_not_found' });
  });
});

describe('another passkey', () => {
  it('is registered with the session of the first', async () => {
    await registered();
    const session = await loggedIn('dev');
    const second = softwareAuthenticator(CONSOLE);
    const begun = await post('/auth/register/start', {}, { token: OPERATOR, cookie: session });
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect((await finish(cookiesOf(begun), second.create(challenge))).status).toBe(200);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toHaveLength(2);
    await loggedIn('dev', second);
  });

  it('is not registered any more once the person was removed, though it was begun before', async () => {
    await registered();
    const begun = await post('/auth/register/start', {}, { token: OPERATOR, cookie: await loggedIn('dev') });
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect(await hil.reviews.passkeys.remove({ tenant: 'acme', subject: 'operator:dev' })).toBe(true);
    const late = await finish(cookiesOf(begun), softwareAuthenticator(CONSOLE).create(challenge));
    expect(late).toMatchObject({ status: 404, body: { error: 'ceremony_not_found' } });
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toEqual([]);
  });

  it('is not registered with the session of somebody else', async () => {
    const bens = softwareAuthenticator(CONSOLE);
    await registered();
    await registered(bens, BEN);
    const session = await loggedIn('ben', bens);
    const refused = await post('/auth/register/start', {}, { token: OPERATOR, cookie: session });
    expect(refused.json()).toMatchObject({ error: 'passkey_session_required' });
  });
});

describe('a lost passkey', () => {
  const bens = () => softwareAuthenticator(CONSOLE);
  const allow = async (name: string) => {
    const ben = bens();
    await registered(ben, BEN);
    return post('/auth/enrollment/recoveries', { name }, { token: BEN, cookie: await loggedIn('ben', ben) });
  };
  const recover = (recovery_token: string, token = OPERATOR) =>
    post('/auth/register/start', { recovery_token }, { token });

  it('is replaced with a token that somebody else asked for, which holds for one use', async () => {
    await registered();
    const allowed = await allow('dev');
    const { token, expires_at } = allowed.json<{ token: string; expires_at: string }>();
    expect([allowed.statusCode, Date.parse(expires_at) - hil.now]).toEqual([200, RECOVERY.lifeMs]);
    expect(JSON.stringify(await hil.place.sql('select * from passkey_recoveries'))).not.toContain(token);
    const next = softwareAuthenticator(CONSOLE);
    const begun = await recover(token);
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect((await finish(cookiesOf(begun), next.create(challenge))).status).toBe(200);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toMatchObject([{ credential_id: next.id }]);
    expect((await recover(token)).json()).toMatchObject({ error: 'recovery_refused' });
  });

  /** The owner recovers with a new device. */
  async function recovered() {
    const { token } = (await allow('dev')).json<{ token: string }>();
    const next = softwareAuthenticator(CONSOLE);
    const begun = await recover(token);
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect((await finish(cookiesOf(begun), next.create(challenge))).status).toBe(200);
    return next;
  }

  it('ends with its replacement what a thief began with it: another passkey, a login', async () => {
    await registered();
    const session = await loggedIn('dev');
    const thief = softwareAuthenticator(CONSOLE);
    const begun = await post('/auth/register/start', {}, { token: OPERATOR, cookie: session });
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    const login = await post('/auth/login/start', { name: 'dev' });
    const next = await recovered();
    const gone = { status: 404, body: { error: 'ceremony_not_found' } };
    expect(await finish(cookiesOf(begun), thief.create(challenge))).toMatchObject(gone);
    const late = device.get(login.json<RequestOptions>().publicKey.challenge);
    expect((await post('/auth/login/finish', late, { cookie: cookiesOf(login) })).statusCode).toBe(404);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toMatchObject([{ credential_id: next.id }]);
    await loggedIn('dev', next);
  });

  it('begins nothing with its session once it was replaced, also where that happens while it begins', async () => {
    await registered();
    const session = await loggedIn('dev');
    const { passkeys } = hil.reviews;
    const begin = passkeys.begin.bind(passkeys);
    const began = jest.spyOn(passkeys, 'begin').mockImplementationOnce(async (ceremony) => {
      began.mockRestore();
      await recovered();
      await begin(ceremony);
    });
    const begun = await post('/auth/register/start', {}, { token: OPERATOR, cookie: session });
    expect([begun.statusCode, begun.json()]).toMatchObject([403, { error: 'passkey_session_required' }]);
    expect(await hil.place.sql('select * from passkey_ceremonies')).toEqual([]);
  });

  it('is not replaced by another person, with another token, or too late; wrong tokens end the right one for nobody', async () => {
    await registered();
    const { token } = (await allow('dev')).json<{ token: string }>();
    const refused = { error: 'recovery_refused' };
    expect((await recover(token, BEN)).json()).toMatchObject(refused);
    hil.now += RECOVERY.lifeMs;
    expect((await recover(token)).json()).toMatchObject(refused);
    hil.now -= RECOVERY.lifeMs;
    for (let n = 0; n < 12; n += 1) expect((await recover('AAAA')).json()).toMatchObject(refused);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toMatchObject([{ credential_id: device.id }]);
    expect((await recover(token)).statusCode).toBe(200);
  });

  it('is replaced also while somebody floods the name with logins', async () => {
    await registered();
    const { token } = (await allow('dev')).json<{ token: string }>();
    const login = () => post('/auth/login/start', { name: 'dev' });
    for (let n = 0; n < CEREMONY.open; n += 1) expect((await login()).statusCode).toBe(200);
    expect((await recover(token)).statusCode).toBe(200);
  });

  it('is replaced with the same token after a start that came too often', async () => {
    await registered();
    const ben = bens();
    await registered(ben, BEN);
    const session = await loggedIn('ben', ben);
    const allowed = async () =>
      (await post('/auth/enrollment/recoveries', { name: 'dev' }, { token: BEN, cookie: session })).json<{
        token: string;
      }>().token;
    for (let n = 0; n < CEREMONY.starts; n += 1) expect((await recover(await allowed())).statusCode).toBe(200);
    const token = await allowed();
    const refused = await recover(token);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60']);
    hil.now += CEREMONY.windowMs;
    expect((await recover(token)).statusCode).toBe(200);
  });

  it('counts for nobody when its token was written into the store', async () => {
    await registered();
    const { token } = (await allow('dev')).json<{ token: string }>();
    await hil.place.sql('update passkey_recoveries set expires_ms = expires_ms + 1');
    expect((await recover(token)).json()).toMatchObject({ error: 'recovery_refused' });
  });

  it('needs somebody else with a passkey, for an operator of the same tenant', async () => {
    const ask = (name: string, cookie = '') =>
      post('/auth/enrollment/recoveries', { name }, { token: OPERATOR, cookie });
    expect((await ask('ben')).json()).toMatchObject({ error: 'passkey_session_required' });
    await registered();
    const session = await loggedIn('dev');
    expect((await ask('dev', session)).json()).toMatchObject({ error: 'own_request' });
    expect((await ask('glx', session)).json()).toMatchObject({ error: 'not_found' });
    expect((await ask('ben', session)).statusCode).toBe(200);
  });
});

describe('what somebody puts back into the store of passkeys', () => {
  const rows = (table: string) => hil.place.sql(`select * from ${table} where subject = 'operator:dev'`);
  const putBack = async (table: string, stored: readonly Record<string, unknown>[]) => {
    await hil.place.sql(`delete from ${table} where subject = 'operator:dev'`);
    for (const row of stored) {
      const values = Object.values(row).map((value) => (typeof value === 'number' ? value : `'${String(value)}'`));
      await hil.place.sql(`insert into ${table} (${Object.keys(row).join(', ')}) values (${values.join(', ')})`);
    }
  };
  const ben = () => softwareAuthenticator(CONSOLE);
  const known = async () =>
    (await hil.reviews.passkeys.of('acme', 'operator:dev')).map(({ credential_id }) => credential_id);
  const recover = (recovery_token: string) => post('/auth/register/start', { recovery_token }, { token: OPERATOR });
  let allow: () => Promise<string>;
  /** Replaces the passkey of the device, and returns the one that stands then. */
  const replaced = async (token?: string) => {
    const next = softwareAuthenticator(CONSOLE);
    const begun = await recover(token ?? (await allow()));
    const { challenge } = begun.json<{ publicKey: { challenge: string } }>().publicKey;
    expect((await finish(cookiesOf(begun), next.create(challenge))).status).toBe(200);
    return next;
  };
  beforeEach(async () => {
    const bens = ben();
    await registered();
    await registered(bens, BEN);
    const cookie = await loggedIn('ben', bens);
    allow = async () =>
      (await post('/auth/enrollment/recoveries', { name: 'dev' }, { token: BEN, cookie })).json<{ token: string }>()
        .token;
  });

  it('is no passkey: one that was replaced neither logs in nor opens its session again', async () => {
    const session = await loggedIn('dev');
    const old = await rows('passkeys');
    const next = await replaced();
    await putBack('passkeys', [...old, ...(await rows('passkeys'))]);
    expect(await known()).toEqual([next.id]);
    expect((await me(session)).status).toBe(401);
    const begun = await post('/auth/login/start', { name: 'dev' });
    const { publicKey } = begun.json<RequestOptions>();
    const done = await post('/auth/login/finish', device.get(publicKey.challenge), { cookie: cookiesOf(begun) });
    expect(done.json()).toMatchObject({ error: 'passkey_refused' });
    await hil.serve({});
    expect(await known()).toEqual([next.id]);
  });

  it('is no token: neither one that was used nor one in whose place another was given', async () => {
    const first = await allow();
    const given = await rows('passkey_recoveries');
    const second = await allow();
    await putBack('passkey_recoveries', given);
    expect((await recover(first)).json()).toMatchObject({ error: 'recovery_refused' });
    const token = await allow();
    const row = await rows('passkey_recoveries');
    await replaced(token);
    await putBack('passkey_recoveries', row);
    for (const used of [token, second])
      expect((await recover(used)).json()).toMatchObject({ error: 'recovery_refused' });
  });

  it.each([
    ['an older standing with its passkeys', (old: Record<string, unknown>[]) => putBack('passkey_standings', old)],
    ['no standing', () => putBack('passkey_standings', [])],
    [
      'an edited standing',
      () => hil.place.sql("update passkey_standings set generation = 99 where subject = 'operator:dev'"),
    ],
    ['no passkeys', () => putBack('passkeys', [])],
  ])('leaves %s: nothing counts, the token alone registers none, and another operator helps', async (what, edit) => {
    const [standing, passkeys] = [await rows('passkey_standings'), await rows('passkeys')];
    const early = await start();
    expect(early.answer.statusCode).toBe(403);
    await replaced();
    if (what !== 'no passkeys') await putBack('passkeys', passkeys);
    await edit(standing);
    expect(await known()).toEqual([]);
    expect((await start()).answer.json()).toMatchObject({ error: 'passkey_session_required' });
    const next = await replaced();
    expect(await known()).toEqual([next.id]);
    await loggedIn('dev', next);
  });
});

describe('POST /pending/{id}/approval-challenge', () => {
  const challenge = (id: string, body: object, asked: HilAsk = {}) =>
    hil.ask(`/pending/${id}/approval-challenge`, { method: 'POST', token: OPERATOR, body, ...asked });
  const register = async () => {
    const { publicKey, cookie } = await start();
    await finish(cookie, device.create(publicKey.challenge));
  };

  it('says what is to be signed, the same each time, and another text for each decision', async () => {
    await register();
    const row = await hil.park(1);
    const approve = await challenge(row.id, { decision: 'approve' });
    expect(approve).toMatchObject({
      status: 200,
      body: {
        statement: {
          contract: 'gate.approval/v1',
          decision: 'approve',
          pending_id: row.id,
          payload_digest: row.original_payload_digest,
        },
        publicKey: { rpId: 'console.example', userVerification: 'required', allowCredentials: [{ id: device.id }] },
      },
    });
    expect((await challenge(row.id, { decision: 'approve' })).body).toEqual(approve.body);
    const other = await hil.park(2);
    const texts = [
      approve.body['challenge'],
      (await challenge(row.id, { decision: 'deny' })).body['challenge'],
      (await challenge(other.id, { decision: 'approve' })).body['challenge'],
    ];
    expect(new Set(texts).size).toBe(3);
  });

  it('of a change is the same in whatever order its values are sent, as the decision is', async () => {
    await register();
    const row = await hil.park(1);
    const amount = { path: ['amount'], value: 5 };
    const to = { path: ['to'], value: 'vendor' };
    const asked = (...replacements: object[]) =>
      challenge(row.id, {
        decision: 'modify',
        modification_diff: { contract: 'gate.hil.modification-diff/v1', replacements },
      });
    const sent = await asked(to, amount);
    expect(sent).toMatchObject({ status: 200, body: { challenge: expect.any(String) } });
    expect((await asked(amount, to)).body).toEqual(sent.body);
  });

  it('is refused without a passkey, for a row of nobody or of another tenant, and for a settled one', async () => {
    const row = await hil.park(1);
    expect(await challenge(row.id, { decision: 'approve' })).toMatchObject({
      status: 401,
      body: { error: 'passkey_refused' },
    });
    await register();
    expect(await challenge(row.id, { decision: 'approve' }, { tenant: 'globex', token: OTHER_OPERATOR })).toMatchObject(
      { status: 404 },
    );
    expect(await challenge(row.id, { decision: 'modify' })).toMatchObject({ status: 400 });
    await hil.settle(row);
    expect(await challenge(row.id, { decision: 'approve' })).toMatchObject({
      status: 409,
      body: { error: 'already_decided' },
    });
  });
});
