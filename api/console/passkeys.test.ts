import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { softwareAuthenticator } from '../../test/support/authenticator.js';
import {
  CONSOLE_HOST,
  CONSOLE_ORIGIN,
  type ConsoleFixture,
  openConsole,
  type TestBrowser,
} from '../../test/support/console-over-hil.js';
import { ASK_LIMITS } from './ask-limits.js';

let fixture: ConsoleFixture;
let browser: TestBrowser;
let row: PendingRequest;
beforeEach(async () => {
  fixture = await openConsole(undefined, { consoleUrl: CONSOLE_ORIGIN });
  browser = await fixture.browser();
  row = await fixture.hil.park(1);
  fixture.reached.length = 0;
});
afterEach(() => fixture.close());

/** As the script of a page asks; a header that is `undefined` is not sent. */
async function ask(path: string, body: object, more: Record<string, string | undefined> = {}, by = browser) {
  const headers = Object.entries({
    host: CONSOLE_HOST,
    origin: CONSOLE_ORIGIN,
    accept: 'application/json',
    'content-type': 'application/json',
    'x-csrf-token': await by.csrf(),
    cookie: `gate_console_session=${by.cookie}`,
    ...more,
  }).filter(([, value]) => value !== undefined);
  const answer = await fixture.service.app.inject({
    method: 'POST',
    url: path,
    headers: Object.fromEntries(headers) as Record<string, string>,
    payload: JSON.stringify(body),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.json<Record<string, unknown>>() };
}

const NAMED = { name: 'operator:dev' };
describe.each([
  ['/auth/register/start', '/auth/register/start', { display_name: 'Dev' }],
  ['/auth/register/finish', '/auth/register/finish', {}],
  ['/auth/login/start', '/auth/login/start', NAMED],
  ['/auth/login/finish', '/auth/login/finish', {}],
  ['/auth/enrollment/recoveries', '/auth/enrollment/recoveries', NAMED],
  ['/auth/enrollment/invitations', '/auth/enrollment/invitations', NAMED],
  ['/auth/enrollment/removals', '/auth/enrollment/removals', NAMED],
  ['/hil/:id/approval-challenge', '/pending/:id/approval-challenge', { decision: 'approve' }],
])('the ceremony at %s', (path, of, body) => {
  const address = () => path.replace(':id', row.id);

  it('is passed on for a page of the session, so that the refusals below refuse something', async () => {
    const answer = await ask(address(), body);
    // Who may invite is HIL's to say; nothing here refuses it.
    expect(['csrf_failed', 'host_not_allowed', 'role_too_low']).not.toContain(answer.body['error']);
    expect(fixture.reached).toEqual([`POST ${of.replace(':id', row.id)}`]);
  });

  it.each([
    ['a foreign Origin', { origin: 'https://evil.example' }, 'host_not_allowed'],
    ['another port of this machine as Origin', { origin: 'http://localhost:3000' }, 'host_not_allowed'],
    ['an Origin of nobody', { origin: 'null' }, 'host_not_allowed'],
    ['no Origin and no Referer', { origin: undefined }, 'csrf_failed'],
    ['a foreign Referer and no Origin', { origin: undefined, referer: 'https://evil.example/hil' }, 'csrf_failed'],
    ['a foreign Host', { host: 'evil.example:8085' }, 'host_not_allowed'],
    ['no csrf', { 'x-csrf-token': undefined }, 'csrf_failed'],
    ['a csrf that is none', { 'x-csrf-token': 'x' }, 'csrf_failed'],
  ])('is refused with %s', async (_, headers, code) => {
    expect(await ask(address(), body, headers)).toMatchObject({ status: 403, body: { error: code } });
    expect(fixture.reached).toEqual([]);
  });

  it('is refused with the csrf of another session of the same person', async () => {
    const other = await (await fixture.browser()).csrf();
    expect(await ask(address(), body, { 'x-csrf-token': other })).toMatchObject({
      status: 403,
      body: { error: 'csrf_failed' },
    });
    expect(fixture.reached).toEqual([]);
  });

  it('is refused without a session', async () => {
    for (const cookie of [undefined, 'gate_console_session=x'])
      expect(await ask(address(), body, { cookie })).toMatchObject({
        status: 401,
        body: { error: 'unauthenticated' },
      });
    expect(fixture.reached).toEqual([]);
  });
});

describe.each(['/auth/enrollment/invitations', '/auth/enrollment/removals'])('the ceremony at %s', (path) => {
  it.each(['viewer', 'approver'] as const)('is refused to a person who is %s', async (role) => {
    const refused = await ask(path, NAMED, {}, await fixture.browser({ role }));
    expect(refused).toMatchObject({ status: 403, body: { error: 'role_too_low', required: 'admin', actual: role } });
    expect(fixture.reached).toEqual([]);
  });
});

describe('a passkey at the console', () => {
  it('is registered for who is signed in, whose browser sees no cookie of the review service', async () => {
    const device = softwareAuthenticator({ rpId: 'localhost', origin: CONSOLE_ORIGIN });
    const begun = await ask('/auth/register/start', { display_name: 'Dev' });
    const { challenge } = begun.body['publicKey'] as { challenge: string };
    const made = device.create(challenge);
    // Another session of the same person did not begin it.
    expect(await ask('/auth/register/finish', made, {}, await fixture.browser())).toMatchObject({
      status: 404,
      body: { error: 'ceremony_not_found' },
    });
    const ended = await ask('/auth/register/finish', made);
    expect([ended.status, ended.body]).toEqual([200, { ok: true, name: 'operator:dev', credential_id: device.id }]);
    for (const { headers } of [begun, ended]) expect(String(headers['set-cookie'] ?? '')).not.toContain('gate_hil');
  });

  it('is asked for by the page of a call once its person has one, where whoever has one signs', async () => {
    await fixture.close();
    fixture = await openConsole(undefined, {
      consoleUrl: CONSOLE_ORIGIN,
      hilOptions: { passkeyRequired: 'registered' },
    });
    browser = await fixture.browser();
    row = await fixture.hil.park(1);
    const page = async () => (await browser.get(`/hil/${row.id}`)).text;
    expect(await page()).not.toContain('data-challenge');
    const begun = await ask('/auth/register/start', { display_name: 'Dev' });
    const { challenge } = begun.body['publicKey'] as { challenge: string };
    const device = softwareAuthenticator({ rpId: 'localhost', origin: CONSOLE_ORIGIN });
    expect(await ask('/auth/register/finish', device.create(challenge))).toMatchObject({ status: 200 });
    expect(await page()).toContain(`data-challenge="/hil/${row.id}/approval-challenge"`);
  });

  it('keeps no page waiting for the review service that is about no call', async () => {
    await fixture.close();
    fixture = await openConsole(undefined, {
      consoleUrl: CONSOLE_ORIGIN,
      hilOptions: { passkeyRequired: 'registered' },
      limits: { ...ASK_LIMITS, readMs: 2 ** 31 - 1 },
    });
    browser = await fixture.browser();
    row = await fixture.hil.park(1);
    fixture.hanging.add('hil');
    expect((await browser.get('/settings')).status).toBe(200);
  });

  it('signs nothing of another tenant’s call', async () => {
    const stranger = await fixture.browser({ subject: 'operator:glx', tenant: 'globex' });
    const asked = await ask(`/hil/${row.id}/approval-challenge`, { decision: 'approve' }, {}, stranger);
    expect(asked).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(JSON.stringify(asked.body)).not.toContain('payments-agent');
  });
});
