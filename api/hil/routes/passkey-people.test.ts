import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { SignedDecision } from '../../../contracts/review.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { CEREMONY, OPEN_LOGINS } from '../../../domain/review/passkey-ceremonies.js';
import { softwareAuthenticator } from '../../../test/support/authenticator.js';
import { challengeIn, type HilFixture, openHil, OPERATOR } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';

const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };
const BOOTSTRAP = 'bootstrap-token-0123456789abcdefghij';
const BEN = 'ben-token-0123456789abcdefghijklmnop';

describe.each(STORES)('people with a passkey alone, on %s', (kind) => {
  let hil: HilFixture;
  let sent: SignedDecision[];
  let admin: string;
  beforeEach(async () => {
    sent = [];
    hil = await openHil(kind, {
      consoleUrl: CONSOLE.origin,
      bootstrapToken: BOOTSTRAP,
      operators: [
        { name: 'dev', tenant: 'acme', token: OPERATOR },
        { name: 'ben', tenant: 'acme', token: BEN },
      ],
      sender: {
        decide: (decision) => {
          sent.push(decision);
          return Promise.resolve({ outcome: 'voted', approvals: [] });
        },
      },
    });
    admin = await signIn('ana', await register('ana', BOOTSTRAP));
  });
  afterEach(() => hil.close());

  const post = (url: string, body: object, { cookie, token }: { cookie?: string; token?: string } = {}) =>
    hil.ask(url, { method: 'POST', body, ...(cookie && { headers: { cookie } }), ...(token && { token }) });
  const begin = (name: string, token: string) => post('/auth/people/register/start', { name, token });
  const login = (name: string) => post('/auth/people/login/start', { name });
  async function register(name: string, token: string) {
    const device = softwareAuthenticator(CONSOLE);
    const begun = await begin(name, token);
    const made = device.create(challengeIn(begun));
    expect((await post('/auth/people/register/finish', made, begun)).status).toBe(200);
    return device;
  }
  async function signIn(name: string, device: ReturnType<typeof softwareAuthenticator>): Promise<string> {
    const begun = await login(name);
    const done = await post('/auth/login/finish', device.get(challengeIn(begun)), begun);
    expect(done.status).toBe(200);
    return done.cookie;
  }
  const invited = async (name: string): Promise<string> =>
    String((await post('/auth/enrollment/invitations', { name }, { cookie: admin })).body['token']);
  const takeOut = (name: string) => post('/auth/enrollment/removals', { name }, { cookie: admin });

  describe('somebody who was taken out', () => {
    it('has no account of a chat any more, also once somebody else has the name', async () => {
      await register('bob', await invited('bob'));
      await hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'webauthn:bob', slack_user_id: 'U9' });
      await hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'webauthn:ana', slack_user_id: 'U8' });
      await takeOut('bob');
      await register('bob', await invited('bob'));
      expect(await hil.reviews.chatLinks.linksOf('slack', 'U9')).toEqual([]);
      expect(await hil.reviews.chatLinks.linksOf('slack', 'U8')).toMatchObject([{ oidc_sub: 'webauthn:ana' }]);
    });

    it('leaves no vote to whoever has the name next, who counts for what is asked for from then on', async () => {
      const before = await hil.park(1, { approval_tier: 'strict' });
      await register('bob', await invited('bob'));
      await register('cy', await invited('cy'));
      const standingFor = async ({ id }: { readonly id: string }) => {
        await post(`/decide/${id}`, { decision: 'approve' }, { token: BEN });
        return sent.at(-1)?.standing_approvers?.filter((each) => each.startsWith('webauthn:'));
      };
      expect(await standingFor(before)).toEqual(['webauthn:ana', 'webauthn:bob', 'webauthn:cy']);
      await takeOut('bob');
      expect(await standingFor(before)).toEqual(['webauthn:ana', 'webauthn:cy']);
      hil.now += 60_000;
      const second = await register('bob', await invited('bob'));
      expect(await standingFor(before)).toEqual(['webauthn:ana', 'webauthn:cy']);
      const since = await hil.park(61, { approval_tier: 'strict' });
      expect(await standingFor(since)).toEqual(['webauthn:ana', 'webauthn:bob', 'webauthn:cy']);
      // A further passkey of his takes no vote of his own away.
      hil.now += 60_000;
      const session = await signIn('bob', second);
      const begun = await post('/auth/register/start', {}, { cookie: session });
      const made = softwareAuthenticator(CONSOLE).create(challengeIn(begun));
      const cookie = `${session}; ${begun.cookie}`;
      expect((await post('/auth/register/finish', made, { cookie })).status).toBe(200);
      expect(await standingFor(since)).toEqual(['webauthn:ana', 'webauthn:bob', 'webauthn:cy']);
    });
  });

  describe('an invitation', () => {
    it('holds after a dialog that was cancelled, and for one passkey', async () => {
      const token = await invited('bob');
      const cancelled = await begin('bob', token);
      await register('bob', token);
      const late = softwareAuthenticator(CONSOLE).create(challengeIn(cancelled));
      expect(await post('/auth/people/register/finish', late, { cookie: cancelled.cookie })).toMatchObject({
        status: 404,
        body: { error: 'ceremony_not_found' },
      });
      expect(await begin('bob', token)).toMatchObject({ status: 403, body: { error: 'recovery_refused' } });
    });

    it('ends what was begun with the one before', async () => {
      const leaked = await invited('bob');
      const stranger = await begin('bob', leaked);
      const token = await invited('bob');
      const made = softwareAuthenticator(CONSOLE).create(challengeIn(stranger));
      expect(await post('/auth/people/register/finish', made, { cookie: stranger.cookie })).toMatchObject({
        status: 404,
        body: { error: 'ceremony_not_found' },
      });
      expect((await begin('bob', token)).status).toBe(200);
    });

    it('begins nothing where its passkey is registered while it begins', async () => {
      const token = await invited('bob');
      const { passkeys } = hil.reviews;
      const beginning = passkeys.begin.bind(passkeys);
      const began = jest.spyOn(passkeys, 'begin').mockImplementationOnce(async (ceremony) => {
        began.mockRestore();
        await register('bob', token);
        await beginning(ceremony);
      });
      expect(await begin('bob', token)).toMatchObject({ status: 403, body: { error: 'recovery_refused' } });
      expect(await hil.place.sql("select * from passkey_ceremonies where subject = 'webauthn:bob'")).toEqual([]);
    });
  });

  describe('strangers', () => {
    it('end no invitation with wrong tokens', async () => {
      const token = await invited('bob');
      for (let n = 0; n < 12; n += 1)
        expect(await begin('bob', 'x'.repeat(43))).toMatchObject({ status: 403, body: { error: 'recovery_refused' } });
      expect((await begin('bob', token)).status).toBe(200);
    });

    it('keep nobody from a login: each further one ends the oldest', async () => {
      const device = await register('bob', await invited('bob'));
      const oldest = await login('bob');
      // All but one of those that may be open, as a request would store them.
      const loginOf = { tenant: 'acme', subject: 'webauthn:bob', purpose: 'login' } as const;
      for (let n = 1; n < OPEN_LOGINS; n += 1) {
        hil.now += 1;
        const begun = { created_ms: hil.now, expires_ms: hil.now + CEREMONY.lifeMs };
        const ids = { id_sha256: sha256Hex(`login ${n}`), challenge_sha256: sha256Hex(`challenge ${n}`) };
        await hil.reviews.passkeys.begin({ ...loginOf, ...ids, ...begun });
      }
      expect(await hil.reviews.passkeys.begun(loginOf, hil.now)).toHaveLength(OPEN_LOGINS);
      hil.now += 1;
      expect((await login('bob')).status).toBe(200);
      expect(await hil.reviews.passkeys.begun(loginOf, hil.now)).toHaveLength(OPEN_LOGINS);
      await signIn('bob', device);
      const late = device.get(challengeIn(oldest));
      expect(await post('/auth/login/finish', late, { cookie: oldest.cookie })).toMatchObject({ status: 404 });
    });

    it('begin no login of an operator by a token of their own', async () => {
      expect(await post('/auth/login/start', { name: 'dev' }, { token: BEN })).toMatchObject({
        status: 403,
        body: { error: 'capability_denied' },
      });
      expect((await post('/auth/login/start', { name: 'dev' }, { token: OPERATOR })).status).toBe(200);
    });
  });
});
