import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RegistrationJson } from '../../../contracts/approval.js';
import { CEREMONY } from '../../../domain/review/passkeys.js';
import { softwareAuthenticator } from '../../../test/support/authenticator.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR } from '../../../test/support/hil.js';

const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };

let hil: HilFixture;
let device: ReturnType<typeof softwareAuthenticator>;
beforeEach(async () => {
  hil = await openHil('sqlite', { consoleUrl: CONSOLE.origin });
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

describe('registering a passkey', () => {
  it("stores the key that the approver's device made, for the person whose token asks", async () => {
    const { answer, publicKey, cookie } = await start();
    expect(publicKey).toMatchObject({ rp: { id: 'console.example' }, user: { name: 'operator:dev@acme' } });
    expect(answer.headers['set-cookie']).toMatch(
      /^gate_hil_ceremony=[0-9a-f-]{36}; Max-Age=300; .*HttpOnly; Secure; SameSite=Strict$/,
    );
    const { status, body } = await finish(cookie, device.create(publicKey.challenge));
    expect([status, body]).toEqual([200, { ok: true, name: 'operator:dev', credential_id: device.id }]);
    expect(await hil.reviews.passkeys.of('acme', 'operator:dev')).toMatchObject([{ credential_id: device.id }]);
    expect(await hil.reviews.passkeys.of('globex', 'operator:dev')).toEqual([]);
  });

  it.each([
    ['of another challenge', () => device.create('AAAA'), 'challenge'],
    ['made at another address', (c: string) => device.create(c, { origin: 'https://evil.example' }), 'origin'],
    ['for another relying party', (c: string) => device.create(c, { rpId: 'evil.example' }), 'RP ID'],
    ['without verifying the person', (c: string) => device.create(c, { flags: 0x01 }), 'verif'],
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
