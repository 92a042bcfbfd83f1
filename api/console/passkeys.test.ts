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
import { valuesIn } from '../../test/support/html.js';
import type { HilTestOptions } from '../../test/support/hil-service.js';
import { ASK_LIMITS } from './ask-limits.js';

const REQUEST = '00000000-0000-4000-8000-0000000000aa';
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
    ['a foreign Origin', { origin: 'https://evil.example' }, 'csrf_failed'],
    ['another port of this machine as Origin', { origin: 'http://localhost:3000' }, 'csrf_failed'],
    ['an Origin of nobody', { origin: 'null' }, 'csrf_failed'],
    ['no Origin and no Referer', { origin: undefined }, 'csrf_failed'],
    ['a foreign Referer and no Origin', { origin: undefined, referer: 'https://evil.example/hil' }, 'csrf_failed'],
    ['a foreign Host', { host: 'evil.example:8085' }, 'host_not_allowed'],
    ['no csrf', { 'x-csrf-token': undefined }, 'csrf_failed'],
    ['a wrong csrf token', { 'x-csrf-token': 'x' }, 'csrf_failed'],
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

/** The calls that a page offers to decide at once. */
const offered = (text: string) => valuesIn(text, 'row').map((row) => row.split(' ', 1)[0]);

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

  describe('where calls of tier strict take one', () => {
    const open = async (hilOptions: Partial<HilTestOptions>) => {
      await fixture.close();
      fixture = await openConsole(undefined, { consoleUrl: CONSOLE_ORIGIN, hilOptions });
      browser = await fixture.browser();
      return [await fixture.hil.park(1), await fixture.hil.park(2, { approval_tier: 'strict' })] as const;
    };
    const asksFor = ({ id }: PendingRequest, text: string) => [
      text.includes(`data-challenge="/hil/${id}/approval-challenge"`),
      text.includes('<input type="hidden" name="passkey"'),
    ];

    it.each(['strict', 'strict-and-registered'] as const)(
      'it is asked for those alone: %s',
      async (passkeyRequired) => {
        const rows = await open({ passkeyRequired });
        const pages = await Promise.all(rows.map(({ id }) => browser.get(`/hil/${id}`)));
        expect(rows.map((each, at) => asksFor(each, pages[at]?.text ?? ''))).toEqual([
          [false, false],
          [true, true],
        ]);
        expect(pages.map(({ text }) => text.includes('you have registered none'))).toEqual([false, true]);
      },
    );

    it('it is asked for their change too, where one person may make it', async () => {
      const rows = await open({ passkeyRequired: 'strict', quorum: { strict: 1, risky: 1, destructive: 1 } });
      for (const [at, each] of rows.entries()) {
        const fields = { digest: each.original_payload_digest, request: REQUEST, 'value.0': '7' };
        const { text } = await browser.post(`/hil/${each.id}/modify/preview`, fields);
        expect(text).toContain('Approve with this change');
        expect([at, asksFor(each, text)]).toEqual([at, [at === 1, at === 1]]);
      }
    });

    it('several that are approved at once are those without, and the page says so of the others', async () => {
      const rows = await open({ passkeyRequired: 'strict' });
      const ids = rows.map(({ id }) => id);
      const { text } = await browser.post('/hil/bulk', { id: ids, decision: 'approve' });
      expect(text).toContain('Approve 1 call?');
      expect(offered(text)).toEqual([rows[0].id]);
      expect(text).toContain('1 of those you ticked is not among them');
      expect(text).toContain('open those one by one');
      // Nobody signs a denial.
      const denied = await browser.post('/hil/bulk', { id: ids, decision: 'deny' });
      expect(new Set(offered(denied.text))).toEqual(new Set(ids));
    });
  });

  it('is asked for each call by itself where all take one: none is offered to be approved with others', async () => {
    await fixture.close();
    fixture = await openConsole(undefined, { consoleUrl: CONSOLE_ORIGIN, hilOptions: { passkeyRequired: 'all' } });
    browser = await fixture.browser();
    const rows = [await fixture.hil.park(1), await fixture.hil.park(2)];
    const { text } = await browser.post('/hil/bulk', { id: rows.map(({ id }) => id), decision: 'approve' });
    expect(text).toContain('None is left to be approved');
    expect(text).toContain('2 of those you ticked are not among them');
    expect(text).toContain('open those one by one');
    expect(offered(text)).toEqual([]);
    expect(text).not.toContain('/hil/bulk/approve');
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
