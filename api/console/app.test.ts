import { randomUUID } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ACTIONS, PAGES } from '../../console/routes.js';
import { ROLES } from '../../console/roles.js';
import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { createLinkCodes } from '../../domain/review/link-code.js';
import {
  CONSOLE_OPERATORS,
  CONSOLE_ORIGIN,
  type ConsoleFixture,
  openConsole,
  type TestBrowser,
} from '../../test/support/console-over-hil.js';
import { identityThatTells, STOP_ID } from '../../test/support/identity-answers.js';
import { hostileEntry, hostileLedger, hostilePolicies } from '../../test/support/hostile-services.js';
import {
  buttonsIn,
  fieldIn,
  fieldsIn,
  formIn,
  linkOf,
  linksIn,
  partsIn,
  rowsOf,
  textOf,
  valuesIn,
  wordsIn,
} from '../../test/support/html.js';
import { MINED_FACTS } from '../../test/support/mined-facts.js';
import { fieldsOfForms } from '../../test/support/form-fields.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { OPERATOR } from '../../test/support/hil.js';
import { pageAddress } from '../../test/support/page-address.js';
import { OF_GATE_ITSELF } from '../../test/support/pages-of-gate.js';
import { reportOf } from '../../test/support/sandbox-report.js';
import { pairsOf } from '../../test/support/some-of.js';

let fixture: ConsoleFixture;
const { sharedHere } = openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
);

/** Forms of what the console keeps itself for whoever is signed in: they ask no service, and every role has them. */
const KEPT_HERE: readonly string[] = ['/audit/searches', '/audit/searches/forget'];
const REQUEST = '00000000-0000-4000-8000-0000000000aa';
/** What somebody else writes, and how a page shows it. */
const HOSTILE: Readonly<Record<string, readonly [words: string, shown: string]>> = {
  markup: [
    '<img src=x onerror=alert(1)><script>alert(2)</script>',
    '&lt;img src=x onerror=alert(1)>&lt;script>alert(2)&lt;/script>',
  ],
  closing: [
    '</script></style></textarea></title><b>bold</b>',
    '&lt;/script>&lt;/style>&lt;/textarea>&lt;/title>&lt;b>bold&lt;/b>',
  ],
  attribute: ['" autofocus onfocus="alert(3)', '&quot; autofocus onfocus=&quot;alert(3)'],
  bidi: ['pay\u202eevil\u2066', 'pay\\u{202e}evil\\u{2066}'],
  control: ['a\u0001b\u001b[31m\u0007c\u0085', 'a\\u{1}b\\u{1b}[31m\\u{7}c\\u{85}'],
  invisible: ['z\u200bw\u00adn', 'z\\u{200b}w\\u{ad}n'],
};
const fieldsOf = (row: PendingRequest, over = {}) => ({
  digest: row.original_payload_digest,
  request: REQUEST,
  ...over,
});
const listOf = (text: string) => [...text.matchAll(/data-row="([^"]+)"/g)].map(([, id]) => id);
const statusOf = async (row: PendingRequest) => (await fixture.hil.reviews.get(row.id))?.status;
const pathFor = (path: string, row: { id: string; correlation_id: string }) =>
  pageAddress(path, {
    id: path.startsWith('/stops/') ? STOP_ID : row.id,
    cid: row.correlation_id,
    agent: 'stopped-bot',
  });

const SUGGESTED = {
  tenant: 'acme',
  tool: 'a_tool',
  rule_name: 'mined_a_tool.rego',
  state: 'proposed',
  state_why: null,
  in_force: false,
  one_liner: 'a rule',
  next_step: 'a command',
  rego_body: '',
  body_sha256: 'a',
  proposed_at: '2026-11-02T10:00:00.000Z',
  ...MINED_FACTS,
};
/** A policy engine that has every policy, every template and a suggestion, and takes each change. */
const hasPolicies = (id: string) => (path: string, method: string) => {
  const facts = {
    name: 'a.rego',
    content_type: 'rego',
    domain: 'finance',
    severity: 'high',
    frameworks: [],
    tags: [],
    tier: 'deny',
    tool_surface: [],
    summary: 'a rule',
  };
  const version = { version: 1, current_version: 1, body_sha256: 'a', active: true };
  const stored = { ...version, name: 'a.rego', body: '', reason: 'r', actor_sub: 'a', actor_idp: 'b', chain_seq: 1 };
  const changed = { ...version, name: 'a.rego', event_kind: 'policy.updated' };
  const answer = (): object => {
    if (path === '/policies/validate') return { ok: true };
    if (path === '/policies/suggestions') return { suggestions: [{ ...SUGGESTED, id }] };
    if (path.startsWith('/policies/templates/') && method === 'GET')
      return { ...facts, body: '', body_sha256: 'a', parameters: null, installed: false };
    if (path.endsWith('/versions/1') && method === 'GET')
      return { ...stored, event_kind: 'policy.created', created_at: '2026-11-02T10:00:00.000Z' };
    if (method !== 'GET') return changed;
    return {
      ...facts,
      ...version,
      protected: false,
      as_shipped: false,
      package: null,
      bytes: 0,
      rules: [],
      tenant: null,
      deleted_at: null,
      created_at: null,
      updated_at: null,
      current_body: '',
      current_body_sha256: 'a',
    };
  };
  return { status: method === 'POST' && path === '/policies' ? 201 : 200, body: answer() };
};

describe('a session', () => {
  it('survives a restart of the console', async () => {
    const browser = await fixture.browser();
    await fixture.restart();
    expect((await browser.get('/hil')).status).toBe(200);
  });

  it('ends after its time without a request, and a request begins that time anew', async () => {
    const browser = await fixture.browser();
    fixture.hil.now += 50 * 60_000;
    expect((await browser.get('/hil')).status).toBe(200);
    fixture.hil.now += 50 * 60_000;
    expect((await browser.get('/hil')).status).toBe(200);
    fixture.hil.now += 60 * 60_000 + 1;
    expect(await browser.get('/hil')).toMatchObject({ status: 303, headers: { location: '/login?return_to=%2Fhil' } });
  });

  it.each([
    ['subject', 'operator:glx'],
    ['tenant', 'globex'],
    ['mode', 'saml'],
    ['role', 'viewer'],
  ])('whose %s somebody wrote into the store is none', async (column, value) => {
    const browser = await fixture.browser();
    const file = new DatabaseSync(fixture.sessionFile);
    file.prepare(`update console_sessions set ${column} = ?`).run(value);
    file.close();
    expect((await browser.get('/hil')).status).toBe(303);
  });

  it('of an operator who is not in the settings any more is none', async () => {
    const browser = await fixture.browser();
    await fixture.restart({ operators: CONSOLE_OPERATORS.slice(1) });
    expect((await browser.get('/hil')).status).toBe(303);
    expect((await browser.get('/stream/hil', { accept: 'text/event-stream' })).status).toBe(401);
  });

  it('ends with another key, and by signing out', async () => {
    const browser = await fixture.browser();
    await fixture.restart({ key: Buffer.alloc(32, 8) });
    expect((await browser.get('/hil')).status).toBe(303);
    const again = await fixture.browser();
    expect(await again.post('/logout')).toMatchObject({
      status: 303,
      headers: { location: '/login' },
    });
    expect((await again.get('/hil')).status).toBe(303);
  });

  it.each([
    ['Secure where people open the console over HTTPS', 'https://gate.example', true],
    ['not so over HTTP, where browsers would not keep it', CONSOLE_ORIGIN, false],
  ])('has a cookie that is %s: as it is given, renewed and taken away', async (_, origin, isSecure) => {
    await fixture.restart({ url: origin });
    const from = { host: new URL(origin).host, origin };
    const given = await fixture.stranger().post('/login', { token: OPERATOR }, from);
    const cookieIn = ({ headers }: typeof given) => String(headers['set-cookie']);
    const kept = /^gate_console_session=([\w-]{43}); Max-Age=3600; Path=\/; HttpOnly;(?: Secure;)? SameSite=Lax$/;
    const browser = fixture.stranger(kept.exec(cookieIn(given))?.[1]);
    fixture.hil.now += 50 * 60_000;
    const renewed = await browser.get('/hil', from);
    expect([given, renewed].map(cookieIn)).toEqual([expect.stringMatching(kept), expect.stringMatching(kept)]);
    const ended = await browser.post('/logout', {}, from);
    expect(cookieIn(ended)).toMatch(/^gate_console_session=;/);
    expect([given, renewed, ended].map((answer) => cookieIn(answer).includes('; Secure;'))).toEqual(
      Array<boolean>(3).fill(isSecure),
    );
  });

  it.each(['', 'x', 'A'.repeat(43), '../../etc'])('is not in the cookie %j', async (cookie) => {
    expect((await fixture.stranger(cookie).get('/hil')).status).toBe(303);
  });
});

describe('GET /auth/me', () => {
  const me = async (browser: TestBrowser) =>
    JSON.parse((await browser.get('/auth/me', { accept: 'application/json' })).text) as Record<string, unknown>;

  it('says who is signed in and until when, which each use renews', async () => {
    const browser = await fixture.browser();
    const first = await me(browser);
    expect(first).toEqual({
      authenticated: true,
      name: 'operator:dev',
      role: 'admin',
      tenant: 'acme',
      mode: 'operator-token',
      expires_at: new Date(fixture.hil.now + 3_600_000).toISOString(),
    });
    fixture.hil.now += 600_000;
    expect(await me(browser)).toMatchObject({ expires_at: new Date(fixture.hil.now + 3_600_000).toISOString() });
  });

  it('says to a stranger that nobody is signed in, and nothing of a token', async () => {
    const { status, text } = await fixture.stranger().get('/auth/me', { accept: 'application/json' });
    expect([status, JSON.parse(text)]).toMatchObject([401, { error: 'unauthenticated' }]);
    expect(text).toContain('Nobody is signed in');
    expect(text).not.toContain('token');
  });
});

describe('signing in', () => {
  const linkOf = async () =>
    (
      JSON.parse(
        (
          await fixture
            .stranger()
            .post('/auth/links', {}, { authorization: `Bearer ${OPERATOR}`, accept: 'application/json' })
        ).text,
      ) as { path: string }
    ).path;

  it('a link signs in once, and then not again', async () => {
    const path = await linkOf();
    const entered = await fixture.stranger().get(path);
    expect(entered).toMatchObject({ status: 303, headers: { location: '/' } });
    expect(String(entered.headers['set-cookie'])).toMatch(
      /^gate_console_session=[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(await fixture.stranger().get(path)).toMatchObject({
      status: 401,
      text: expect.stringContaining('used already'),
    });
  });

  it('a link that is ten minutes old signs nobody in', async () => {
    const path = await linkOf();
    fixture.hil.now += 10 * 60_000 + 1;
    expect((await fixture.stranger().get(path)).status).toBe(401);
  });

  it('a used link leads whoever is signed in to the queue', async () => {
    const path = await linkOf();
    await fixture.stranger().get(path);
    expect((await (await fixture.browser()).get(path)).headers['location']).toBe('/');
  });

  it('the token itself signs in; another one does not, and gets no link', async () => {
    expect((await fixture.stranger().post('/login', { token: OPERATOR })).status).toBe(303);
    expect((await fixture.stranger().post('/login', { token: `${OPERATOR}x` })).status).toBe(401);
    const refused = await fixture
      .stranger()
      .post('/auth/links', {}, { authorization: 'Bearer x', accept: 'application/json' });
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      401,
      expect.objectContaining({ error: 'unauthenticated' }),
    ]);
  });

  it.each([
    ['cross-site', 'image'],
    ['same-site', 'image'],
    ['same-site', 'iframe'],
    ['same-site', 'empty'],
    ['same-site', undefined],
  ])('a part of a page that is not the console’s is no attempt, and signs nobody in: %s %s', async (site, dest) => {
    const part = { 'sec-fetch-site': site, ...(dest !== undefined && { 'sec-fetch-dest': dest }) };
    for (let at = 0; at < 12; at += 1) expect((await fixture.stranger().get('/login?link=x', part)).status).toBe(403);
    expect((await fixture.stranger().get('/login?link=x')).status).toBe(401);
    const path = await linkOf();
    const refused = await fixture.stranger().get(path, part);
    expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    // Opened as a page it asks, or signs in where nobody else's page led to it.
    const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' };
    expect((await fixture.stranger().get(path, opened)).status).toBe(200);
    expect((await fixture.stranger().get(path, { ...opened, 'sec-fetch-site': 'none' })).status).toBe(303);
  });

  it('opens the page that somebody wanted, and none of another host', async () => {
    const page = await fixture.stranger().get('/hil/x?status=denied');
    expect(page.headers['location']).toBe('/login?return_to=%2Fhil%2Fx%3Fstatus%3Ddenied');
    const signIn = await fixture.stranger().get(String(page.headers['location']));
    expect(fieldIn(signIn.text, 'return_to')).toBe('/hil/x?status=denied');
    for (const [wanted, to] of [
      ['/hil/x', '/hil/x'],
      ['//evil.example', '/'],
      ['https://evil.example', '/'],
    ] as const) {
      const came = await fixture
        .stranger()
        .post('/login', { token: CONSOLE_OPERATORS[0]?.token ?? '', return_to: wanted });
      expect([came.status, came.headers['location']]).toEqual([303, to]);
    }
  });

  it('after ten failures of one address what nobody guesses still signs in from there: whoever shares it keeps nobody out', async () => {
    const path = await linkOf();
    const wrong = () => fixture.stranger().post('/login', { token: 'wrong' });
    for (let n = 0; n < 10; n += 1) expect((await wrong()).status).toBe(401);
    const throttled = await wrong();
    expect(throttled).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(throttled.text).toContain('rate_limited');
    const makeLink = (token: string) =>
      fixture.stranger().post('/auth/links', {}, { authorization: `Bearer ${token}` });
    expect((await makeLink('wrong')).status).toBe(429);
    expect((await fixture.stranger().get('/login?link=x')).status).toBe(429);
    expect((await fixture.stranger().get(path)).status).toBe(303);
    expect((await fixture.stranger().get(path)).status).toBe(429);
    expect((await makeLink(OPERATOR)).status).toBe(200);
    expect((await fixture.stranger().post('/login', { token: OPERATOR })).status).toBe(303);
    fixture.hil.now += 60_001;
    expect((await wrong()).status).toBe(401);
  });
});

/** Requests of other sites, or under another name. */
const FOREIGN: readonly (readonly [string, Record<string, string | undefined>, string])[] = [
  ['a foreign Origin', { origin: 'https://evil.example' }, 'csrf_failed'],
  ['another port of this machine as Origin', { origin: 'http://localhost:3000' }, 'csrf_failed'],
  ['an Origin of nobody', { origin: 'null' }, 'csrf_failed'],
  ['a foreign Host', { host: 'evil.example:8085' }, 'host_not_allowed'],
  [
    'a foreign Host that is also the Origin',
    { host: 'evil.example', origin: 'http://evil.example' },
    'host_not_allowed',
  ],
];
/** Requests that do not say that they are of the console's own page. */
const UNNAMED: readonly (readonly [string, Record<string, string | undefined>, string])[] = [
  ['no Origin and no Referer', { origin: undefined }, 'csrf_failed'],
  ['a foreign Referer and no Origin', { origin: undefined, referer: 'https://evil.example/hil' }, 'csrf_failed'],
  ['an invalid Referer', { origin: undefined, referer: 'hil' }, 'csrf_failed'],
];

const REFUSED = [...FOREIGN, ...UNNAMED];
/** What a form refuses in a run: some of them each, and each of them is refused by some of the forms. */
const isTried = pairsOf('the foreign requests that a form refuses', REFUSED.length, 4);

/** Forms about a call that is decided. */
const isOfDecided = (path: string): boolean => path.startsWith('/hil/:id/note');
const stood = (path: string): string => (isOfDecided(path) ? 'denied' : 'pending');
/** Forms about a person's own sessions ask no other service, and whoever is signed in may send them. */
const isOwn = (path: string): boolean => /^\/(?:device\/|me\/end$)/.test(path);

describe.each(ACTIONS.map((action, form) => [action.path, action, form] as const))(
  'the form %s',
  (path, { role }, form) => {
    let row: PendingRequest;
    let browser: TestBrowser;
    let address: string;
    let code: string;
    let other: string;
    // Of one console, since the refusals leave nothing there: each test has a call, a session and a code of its own.
    sharedHere();
    let parked = 0;
    const linkCodes = createLinkCodes({ sessionKey: Buffer.alloc(32, 7), clock: () => fixture.hil.now });
    beforeEach(async () => {
      row = await fixture.hil.park(++parked);
      if (isOfDecided(path)) await fixture.hil.settle(row, { status: 'denied' });
      fixture.brain = () => ({ status: 200, body: { incident_summary: 'a note', model: 'a:b' } });
      await fixture.hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'mine', slack_user_id: `W${parked}` });
      const cookie = (await fixture.browser()).cookie;
      other = (await fixture.sessions.of(cookie))?.id ?? '';
      browser = await fixture.browser();
      code = (await fixture.sessions.grants.begin('192.0.2.7'))?.userCode ?? '';
      address = pathFor(path, row);
      fixture.policies = hasPolicies(row.id);
      fixture.away.clear();
      fixture.reached.length = 0;
    });
    const ownStands = async (): Promise<boolean> =>
      (await fixture.sessions.grants.asking(code)) !== null &&
      (await fixture.sessions.openOf({ subject: 'operator:dev', tenant: 'acme' })).some(({ id }) => id === other);
    const nothingReached = async () => {
      expect(fixture.reached).toEqual([]);
      expect(await ownStands()).toBe(true);
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({
        status: stood(path),
        assigned_to: null,
        incident_summary: null,
      });
    };
    const fields = () =>
      fieldsOfForms({
        row,
        request: REQUEST,
        session: other,
        userCode: code,
        linkCode: linkCodes.codeOf('slack', `U${parked}`),
        ...(path.startsWith('/agents/:agent/') && { agent: decodeURIComponent(address.split('/')[2] ?? '') }),
      });

    it('is refused with a field that stands twice, whichever it is: nobody knows which one was meant', async () => {
      for (const field of ['reason', 'seen', 'no field of it']) {
        const refused = await browser.post(address, { ...fields(), [field]: ['one', 'another'] });
        expect(refused.status).toBe(400);
        expect(refused.text).toContain(`${field}: stands twice in the form`);
      }
      // The page of the refusal asks what it shows.
      const changing = fixture.reached.filter((one) => !/^GET |^POST \/policies\/validate$/.test(one));
      expect(changing).toEqual([]);
      expect(await ownStands()).toBe(true);
    });

    it('does something where nothing is wrong, so that the refusals below refuse something', async () => {
      const { status } = await browser.post(address, fields());
      expect([200, 303]).toContain(status);
      if (isOwn(path)) expect(await ownStands()).toBe(false);
      else expect(fixture.reached.length > 0 || KEPT_HERE.includes(path)).toBe(true);
    });

    it.each(REFUSED.filter((_, at) => isTried(form, at)))('is refused with %s', async (_, headers, code) => {
      const refused = await browser.post(address, fields(), headers);
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(code)]);
      await nothingReached();
    });

    it('is taken with a Referer of its own where a browser sends no Origin', async () => {
      const { status } = await browser.post(address, fields(), {
        origin: undefined,
        referer: 'http://localhost:8085/hil',
      });
      expect([200, 303]).toContain(status);
    });

    it.each([
      ['no csrf', () => Promise.resolve('')],
      ['the csrf of another session of the same person', async () => (await fixture.browser()).csrf()],
      ['two csrf', async () => [await browser.csrf(), 'x']],
    ])('is refused with %s', async (_, csrf) => {
      const refused = await browser.post(address, { ...fields(), csrf: await csrf() });
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('csrf_failed')]);
      await nothingReached();
    });

    it('is refused without a session', async () => {
      const refused = await fixture.stranger().post(address, { ...fields(), csrf: await browser.csrf() });
      expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('href="/login"')]);
      await nothingReached();
    });

    it('is refused to a lower role', async () => {
      const lower = ROLES.slice(0, ROLES.indexOf(role));
      expect(lower.length > 0 || isOwn(path) || KEPT_HERE.includes(path)).toBe(true);
      for (const less of lower) {
        const refused = await (await fixture.browser({ role: less })).post(address, fields());
        expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('role_too_low')]);
        expect(refused.text).toContain(`needs the role ${role}, and yours is ${less}`);
      }
      await nothingReached();
    });

    it('shows a problem, and decides nothing, while the services are away', async () => {
      fixture.away.add('hil').add('ledger').add('policy').add('identity');
      const { status, text } = await browser.post(address, fields());
      if (isOwn(path)) expect([200, 303]).toContain(status);
      else if (!KEPT_HERE.includes(path)) expect(text).toContain('console_neighbour_away');
      expect(await statusOf(row)).toBe(stood(path));
    });
  },
);

describe('the form /logout', () => {
  sharedHere();
  let browser: TestBrowser;
  beforeEach(async () => {
    browser = await fixture.browser();
  });
  const stands = async () => (await browser.get('/auth/me')).status === 200;

  it('ends the session, so that the refusals below refuse something', async () => {
    const headers = { location: '/login', 'clear-site-data': '"cache"' };
    expect(await browser.post('/logout')).toMatchObject({ status: 303, headers });
    expect(await stands()).toBe(false);
  });

  it.each(REFUSED)('is refused with %s', async (_, headers, code) => {
    const refused = await browser.post('/logout', {}, headers);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(code)]);
    expect(await stands()).toBe(true);
  });

  it.each([
    ['no csrf', () => Promise.resolve('')],
    ['the csrf of another session of the same person', async () => (await fixture.browser()).csrf()],
    ['two csrf', async () => [await browser.csrf(), 'x']],
  ])('is refused with %s', async (_, csrf) => {
    const refused = await browser.post('/logout', { csrf: await csrf() });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('csrf_failed')]);
    expect(await stands()).toBe(true);
  });

  it('leads to the sign-in without a session, and ends nobody else’s', async () => {
    const answer = await fixture.stranger().post('/logout', { csrf: await browser.csrf() });
    expect([answer.status, answer.headers['location']]).toEqual([303, '/login']);
    expect(await stands()).toBe(true);
  });
});

describe('POST /auth/links', () => {
  sharedHere();
  const asked = (headers: Record<string, string | undefined>) =>
    fixture.stranger().post('/auth/links', {}, { accept: 'application/json', ...headers });
  const authorization = `Bearer ${OPERATOR}`;

  it('gives a program a link, so that the refusals below refuse something', async () => {
    const { status, text } = await asked({ authorization, origin: undefined });
    expect([status, text]).toEqual([200, expect.stringContaining('/login')]);
  });

  it.each(FOREIGN)('is refused with %s', async (_, headers, code) => {
    const refused = await asked({ authorization, ...headers });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(code)]);
    expect(refused.text).not.toContain('/login');
  });

  it.each([
    ['no token', {}],
    ['the token of nobody', { authorization: 'Bearer nobody' }],
    ['the token as a password', { authorization: `Basic ${OPERATOR}` }],
  ])('is refused with %s', async (_, headers) => {
    const refused = await asked({ origin: undefined, ...headers });
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('unauthenticated')]);
  });

  it('takes no session for a token', async () => {
    const { status, text } = await (await fixture.browser()).post('/auth/links', {}, { accept: 'application/json' });
    expect([status, text]).toEqual([401, expect.stringContaining('unauthenticated')]);
  });
});

describe('the reason of a decision', () => {
  it('is typed once, beside both buttons, and Enter in its field denies', async () => {
    const row = await fixture.hil.park(1);
    const { text } = await (await fixture.browser()).get(`/hil/${row.id}`);
    const form = formIn(text, `/hil/${row.id}/deny`);
    expect(form.attributes['method']).toBe('post');
    expect(fieldsIn(form)).toHaveProperty('reason');
    expect(buttonsIn(form).map(({ attributes }) => [attributes['class'], attributes['formaction']])).toEqual([
      ['destroy', undefined],
      ['act', `/hil/${row.id}/approve`],
    ]);
    expect(partsIn(form, 'button', { type: 'submit' })).toHaveLength(2);
  });

  it.each([
    ['approve', 'invoice 4711', 'approved', 'invoice 4711'],
    ['approve', ' ', 'approved', null],
    ['deny', 'not our vendor', 'denied', 'not our vendor'],
    ['deny', '', 'denied', null],
  ])('%s with %j is recorded', async (decision, reason, status, decision_reason) => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    await browser.post(`/hil/${row.id}/${decision}`, fieldsOf(row, { reason }));
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status, decision_reason });
    if (decision_reason !== null) expect((await browser.get(`/hil/${row.id}`)).text).toContain(decision_reason);
  });

  it('stands beside the word that a value is folded, where one is', async () => {
    const browser = await fixture.browser();
    for (const [length, told] of [
      [4_000, false],
      [4_001, true],
    ] as const) {
      const row = await fixture.hil.park(length, {
        request_payload: { method: 'tools/call', params: { name: 'write', arguments: { text: 'x'.repeat(length) } } },
      });
      const { text } = await browser.get(`/hil/${row.id}`);
      expect(text.includes('A long value above is folded: read what you approve.')).toBe(told);
    }
  });

  it('stands beside a denial that no signature of an approval hinders', async () => {
    const row = await fixture.hil.park(1);
    await (await fixture.browser()).post(`/hil/${row.id}/deny`, fieldsOf(row, { passkey: 'of an approval' }));
    expect(await statusOf(row)).toBe('denied');
  });
});

describe('what somebody typed', () => {
  const TYPED = 'because of <b>this</b>';
  const inField = (text: string) => partsIn(text, 'input', { id: 'reason' })[0]?.attributes['value'];
  const toCopy = (text: string) => partsIn(text, 'pre', { 'aria-label': 'Reason' }).map(textOf);
  const signInOf = (text: string) => linksIn(text).filter(({ words }) => words === 'Sign in');
  const DENIED = 'It is denied already';
  let row: PendingRequest;
  let browser: TestBrowser;
  beforeEach(async () => {
    row = await fixture.hil.park(1);
    browser = await fixture.browser();
  });

  it('stands in its field again where the call still waits, beside the list as it was', async () => {
    const fields = fieldsOf(row, { digest: '0'.repeat(64), reason: TYPED, list: 'q=payments' });
    const { status, text } = await browser.post(`/hil/${row.id}/deny`, fields);
    expect(status).toBe(409);
    expect(inField(text)).toBe(TYPED);
    const [search] = partsIn(text, 'input', { placeholder: 'Agent, tool, words or an id' });
    expect(search?.attributes['value']).toBe('payments');
  });

  it('can be copied where somebody else was faster', async () => {
    await (await fixture.browser()).post(`/hil/${row.id}/approve`, fieldsOf(row));
    const { text } = await browser.post(
      `/hil/${row.id}/deny`,
      fieldsOf(row, { reason: TYPED, request: REQUEST.replace('aa', 'bb') }),
    );
    const told = partsIn(text, 'p', { class: 'notice bad', role: 'alert' }).map(textOf);
    expect(told).toEqual([expect.stringMatching(/\(already_decided\) operator:dev approved it .+\.$/)]);
    expect(toCopy(text)).toEqual([TYPED]);
  });

  it.each<[string, () => void, Record<string, string>]>([
    ['the session is over', () => (fixture.hil.now += 2 * 3_600_000), {}],
    ['the form is not of this session', () => undefined, { csrf: 'x' }],
    ['the review service is away', () => fixture.away.add('hil'), {}],
  ])('can be copied where %s', async (_, happens, over) => {
    const csrf = await browser.csrf();
    happens();
    for (const form of ['deny', 'modify', 'modify/preview']) {
      const fields = fieldsOf(row, { csrf, reason: TYPED, 'value.0': '7 and more', ...over });
      const { text } = await browser.post(`/hil/${row.id}/${form}`, fields);
      expect(toCopy(text)).toEqual([TYPED]);
      // Only a change of the arguments has a field for it.
      if (form !== 'deny') expect(text).toContain('7 and more');
    }
    expect(await statusOf(row)).toBe('pending');
  });

  it.each([
    ['the page itself', '/hil/ID?q=payments', '/hil/ID?q=payments'],
    ['the page of a form that was refused', '/hil/ID/deny', '/hil/ID'],
    ['the page before a preview', '/hil/ID/modify/preview', '/hil/ID/modify'],
    ['the list, of several calls', '/hil/bulk/deny', '/hil'],
    ['no page at all', '/static/x/y', '/'],
    ['a page of another site', 'https://evil.example/hil/ID', '/'],
    ['another port', 'http://localhost:3000/hil/ID', '/'],
    ['what a browser reads as another host', '//evil.example/hil', '/'],
    ['nothing', undefined, '/'],
  ])('is beside a link that signs in again and leads back: from %s', async (_, from, to) => {
    const csrf = await browser.csrf();
    fixture.hil.now += 2 * 3_600_000;
    const referer = from?.replace('ID', row.id).replace(/^(?=\/)/, CONSOLE_ORIGIN);
    const { status, text } = await browser.post(`/hil/${row.id}/deny`, fieldsOf(row, { csrf, reason: TYPED }), {
      referer,
    });
    expect([status, toCopy(text)]).toEqual([401, [TYPED]]);
    const wanted = to.replace('ID', row.id);
    const link = wanted === '/' ? '/login' : `/login?${new URLSearchParams({ return_to: wanted }).toString()}`;
    expect(signInOf(text)).toEqual([{ words: 'Sign in', href: link }]);
  });

  it.each([
    ['the list with its filter', { list: 'status=denied&q=pay' }, '/hil?status=denied&q=pay'],
    ['the case on which they were ticked', { case: randomUUID() }, '/cases/CASE'],
    [
      'the list alone, where what the form says is none',
      { list: 'status=x&href=//evil.example', case: '../x' },
      '/hil',
    ],
  ])('leads from several calls, whose page has no address of its own, back to %s', async (_, carried, to) => {
    const csrf = await browser.csrf();
    fixture.hil.now += 2 * 3_600_000;
    const { status, text } = await browser.post(
      '/hil/bulk/deny',
      { csrf, id: [row.id], ...carried },
      { referer: `${CONSOLE_ORIGIN}/hil/bulk` },
    );
    const wanted = to.replace('CASE', 'case' in carried ? carried.case : '');
    expect(status).toBe(401);
    const link = `/login?${new URLSearchParams({ return_to: wanted }).toString()}`;
    expect(signInOf(text)).toEqual([{ words: 'Sign in', href: link }]);
  });

  it('goes through all of a change: an invalid value, and what policy refuses', async () => {
    const wrong = await browser.post(`/hil/${row.id}/modify`, fieldsOf(row, { reason: TYPED, 'value.0': 'ten' }));
    expect(partsIn(wrong.text, 'input', { type: 'hidden', name: 'reason', value: TYPED })).toHaveLength(1);
    const look = await browser.post(`/hil/${row.id}/modify/preview`, fieldsOf(row, { reason: TYPED, 'value.0': '10' }));
    expect(inField(look.text)).toBe(TYPED);
  });

  it('is beside the status of a call that is decided already, which is not offered to be changed', async () => {
    await browser.post(`/hil/${row.id}/deny`, fieldsOf(row));
    const { text } = await browser.get(`/hil/${row.id}/modify`);
    expect(wordsIn(text)).toContain(DENIED);
    expect(valuesIn(text, 'value.0')).toEqual([]);
    for (const form of ['modify/preview', 'modify/more']) {
      const late = await browser.post(`/hil/${row.id}/${form}`, fieldsOf(row, { 'value.0': '10', reason: TYPED }));
      expect(wordsIn(late.text)).toContain(DENIED);
      expect(toCopy(late.text)).toEqual([TYPED]);
      expect(late.text).not.toContain('Approve with this change');
    }
  });

  it('keeps its ticks where a list cannot be decided at once', async () => {
    const other = await fixture.hil.park(2, {
      request_payload: { method: 'tools/call', params: { name: 'delete_file', arguments: {} } },
    });
    const third = await fixture.hil.park(3);
    const { text } = await browser.post('/hil/bulk', { id: [row.id, other.id], decision: 'approve' });
    const boxes = partsIn(text, 'input', { type: 'checkbox' }).map(({ attributes }) => attributes);
    expect(boxes).toHaveLength(3);
    for (const box of boxes) expect('checked' in box).toBe(box['value'] !== third.id);
  });
});

describe('every page', () => {
  const pages = PAGES.map(({ path }) => path);
  let row: PendingRequest;
  /** A console, and a call in it, for every page of a `describe`: a page that is looked at changes nothing. */
  const whereOneWaits = (over: () => Partial<NewReview> = () => ({})) => {
    sharedHere();
    beforeAll(async () => {
      row = await fixture.hil.park(1, over());
    });
    beforeEach(() => {
      fixture.ledger = hostileLedger('a-bot', row.correlation_id);
      fixture.policies = hostilePolicies('a-policy');
      fixture.reached.length = 0;
    });
  };
  /** Where the address names no link to decide there is none. */
  const answered = (path: string): number => (path === '/decide/redeem' ? 404 : 200);
  /** Pages that are nothing without the review service; every other one shows what is known elsewhere. */
  const OF_REVIEWS_ALONE: readonly string[] = ['/hil/:id/modify', '/hil/:id/note', '/decide/redeem'];
  const whileAway = (path: string): number => (OF_REVIEWS_ALONE.includes(path) ? 503 : 200);
  /** Where nothing stands that an agent or a policy says. */
  const OF_NOBODY: readonly string[] = [...OF_GATE_ITSELF, '/decide/redeem'];

  describe('without a session', () => {
    whereOneWaits();
    it.each(pages)('%s leads to the sign-in', async (path) => {
      const wanted = pathFor(path, row);
      expect((await fixture.stranger().get(wanted)).headers['location']).toBe(
        wanted === '/' ? '/login' : `/login?${new URLSearchParams({ return_to: wanted }).toString()}`,
      );
      expect(fixture.reached).toEqual([]);
    });
  });

  describe('of another tenant', () => {
    whereOneWaits();
    it.each(pages)('%s shows nothing of a call', async (path) => {
      const { text } = await (await fixture.browser({ subject: 'operator:glx', tenant: 'globex' })).get(
        pathFor(path, row),
      );
      expect(text).toContain('operator:glx');
      expect(text).not.toContain('payments-agent');
      expect(text).not.toContain('SECRET-VALUE');
    });
  });

  describe('while a service is away', () => {
    whereOneWaits();
    beforeEach(() => fixture.away.clear());
    it.each(pages)('%s stands, and says which', async (path) => {
      const browser = await fixture.browser();
      for (const name of ['hil', 'ledger'] as const) {
        fixture.away.add(name);
        const { status, text } = await browser.get(pathFor(path, row));
        expect([name, status]).toEqual([name, name === 'hil' ? whileAway(path) : answered(path)]);
        expect(text).toContain('<header class="top">');
        fixture.away.delete(name);
      }
      fixture.away.add('hil').add('ledger').add('policy').add('brain').add('identity');
      fixture.reached.length = 0;
      const { status, text } = await browser.get(pathFor(path, row));
      expect(status).toBe(whileAway(path));
      // A page about the session alone asks nobody.
      if (fixture.reached.length > 0 || path === '/health-of-services')
        expect(text).toMatch(/is away|not ready|cannot be reached/);
    });
  });

  describe.each(Object.entries(HOSTILE))(
    'with %s from an agent, or from whoever writes policies',
    (_, [words, shown]) => {
      whereOneWaits(() => ({
        agent_id: `agent ${words}`,
        request_payload: {
          method: 'tools/call',
          params: { name: `tool ${words}`, arguments: { [`key ${words}`]: `value ${words}`, list: [words] } },
        },
        risk_summary: `risk ${words}`,
        review_reasons: [`reason ${words}`],
      }));
      beforeEach(() => {
        fixture.ledger = hostileLedger(words, row.correlation_id);
        fixture.policies = hostilePolicies(words);
        fixture.standings = identityThatTells(words);
      });
      it.each(pages)('%s shows it as text', async (path) => {
        const { status, text } = await (await fixture.browser()).get(pathFor(path, row));
        assertInert(text);
        expect(status).toBe(answered(path));
        // Each answer was one that the page reads.
        expect(text).not.toContain('is away');
        expect([path, text.includes(shown)]).toEqual([path, !OF_NOBODY.includes(path)]);
      });
    },
  );

  describe('however much an agent sends', () => {
    whereOneWaits(() => ({
      agent_id: 'a'.repeat(256),
      request_payload: { method: 'tools/call', params: { name: 'tool', arguments: { text: '<b>'.repeat(200_000) } } },
    }));
    beforeEach(() => {
      const much = '<b>'.repeat(350_000);
      const tells = hostileLedger('a-bot', row.correlation_id);
      const entry = hostileEntry('a-bot', row.correlation_id);
      const rows = Array.from({ length: 300 }, (_, at) => ({
        ...entry,
        id: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
        seq: at + 1,
        ...(at === 0 && {
          event_kind: 'proxy.verdict',
          payload_sha256: '1'.repeat(64),
          policy_decision: { outcome: 'deny', reasons: [much] },
        }),
      }));
      fixture.ledger = (path) =>
        path === `/audit/correlation/${row.correlation_id}`
          ? rows
          : path.endsWith('/masked-params')
            ? { masked_params: { text: much }, retention_class: null }
            : tells(path);
    });
    it('the page of a call says what of it it does not show', async () => {
      const { text } = await (await fixture.browser()).get(pathFor('/audit/correlation/:cid', row));
      expect(text).toContain('Only the beginning: the request has more than 100000 characters.');
      expect(text).toContain('100 more rows are in the JSON.');
      expect(text.match(/<summary>What the row says/g)).toHaveLength(200);
    });
    it.each(pages)('%s stays small', async (path) => {
      const { status, text } = await (await fixture.browser()).get(pathFor(path, row));
      expect(status).toBe(answered(path));
      expect(text.length).toBeLessThan(1_500_000);
      expect(text).not.toContain('<b><b>');
    });
  });
});

/** Nothing of what was written became an element, an attribute, or a character that nobody sees. */
function assertInert(page: string): void {
  const found = (pattern: RegExp) =>
    [...page.matchAll(pattern)].map(({ index }) => page.slice(Math.max(0, index - 60), index + 30));
  expect(found(/<img|<b>|<script(?! src="\/static\/)/g)).toEqual([]);
  expect(found(/<[^>]* onfocus="/g)).toEqual([]);
  expect(found(/[\p{Cf}\p{Cc}]/gu).filter((around) => !around.includes('\n'))).toEqual([]);
}

/** What the page of several decisions says of one call, without its markup. */
const wordsOfRow = (page: string, id: string): string =>
  rowsOf(page, 'What became of each')
    .filter((row) => linksIn(row).some(({ href }) => href.split('?', 1)[0] === `/hil/${id}`))
    .map(wordsIn)
    .join('');

describe('several calls at once', () => {
  const parked = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => fixture.hil.park(n + 1)));
  const rowFields = (text: string) => valuesIn(text, 'row');

  it('are listed with their arguments before anything is decided, and are each decided by themselves', async () => {
    const rows = await parked(3);
    const browser = await fixture.browser();
    const look = await browser.post('/hil/bulk', { id: rows.map(({ id }) => id), decision: 'approve' });
    expect(look.text).toContain('Approve 3 calls?');
    for (const n of [1, 2, 3]) expect(look.text).toContain(`&quot;amount&quot;: ${n}`);
    expect(await Promise.all(rows.map(statusOf))).toEqual(['pending', 'pending', 'pending']);

    const [, second] = rows;
    if (second) await (await fixture.browser()).post(`/hil/${second.id}/deny`, fieldsOf(second, { reason: 'no' }));
    const came = await browser.post('/hil/bulk/approve', { row: rowFields(look.text) });
    expect(came.text).toContain('2 of 3 took your decision.');
    const faster = wordsOfRow(came.text, second?.id ?? '');
    expect(faster).toMatch(/^[0-9a-f]{8} wire_transfer payments-agent denied by operator:dev .*UTC\)\./);
    expect(faster).toContain(
      'It was decided or ended before. The first decision stands, and this one changed nothing. (already_decided)',
    );
    expect(await Promise.all(rows.map(statusOf))).toEqual(['approved', 'denied', 'approved']);
    expect((await browser.post('/hil/bulk/approve', { row: rowFields(look.text) })).text).toContain(
      '2 of 3 took your decision.',
    );
  });

  it('tell of those that were not sent because the session ended, and not that a service went away', async () => {
    const rows = await parked(2);
    const browser = await fixture.browser();
    const look = await browser.post('/hil/bulk', { id: rows.map(({ id }) => id), decision: 'deny' });
    const csrf = await browser.csrf();
    const { sender } = fixture;
    fixture.sender = (decision) => {
      fixture.hil.now += 2 * 3_600_000;
      return sender(decision);
    };
    const came = await browser.post('/hil/bulk/deny', { row: rowFields(look.text), csrf });
    expect(came.text).toContain('1 of 2 took your decision.');
    expect(wordsOfRow(came.text, rows[1]?.id ?? '')).toContain(
      'not sent: you are not signed in any more (unauthenticated)',
    );
    expect(came.text).not.toContain('went away');
  });

  it.each([
    ['deny', 'denied'],
    ['approve', 'approved'],
  ])('take one reason: %s', async (decision, status) => {
    const rows = await parked(2);
    const browser = await fixture.browser();
    const look = await browser.post('/hil/bulk', { id: rows.map(({ id }) => id), decision });
    expect(partsIn(look.text, 'input', { id: 'reason', name: 'reason' })).toHaveLength(1);
    await browser.post(`/hil/bulk/${decision}`, { row: rowFields(look.text), reason: ' invoice 4711 ' });
    for (const { id } of rows)
      expect(await fixture.hil.reviews.get(id)).toMatchObject({
        status,
        decision_reason: 'invoice 4711',
        decided_by: 'operator:dev',
      });
  });

  it('is not changed by a form that was made by hand where it is too large to be read', async () => {
    const large = await fixture.hil.park(9, {
      request_payload: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'send', arguments: { body: 'x'.repeat(150_000), to: 'a' } },
      },
    });
    const browser = await fixture.browser();
    const forged = await browser.post(`/hil/${large.id}/modify`, fieldsOf(large, { 'value.0': 'b', 'value.1': 'b' }));
    expect([forged.status, forged.text]).toEqual([400, expect.stringContaining('too large to be read here')]);
    expect(await statusOf(large)).toBe('pending');
  });

  it('are not approved where they are of several tools, or too large to be read', async () => {
    const [one] = await parked(1);
    const other = await fixture.hil.park(8, {
      request_payload: { method: 'tools/call', params: { name: 'delete_file', arguments: {} } },
    });
    const large = await fixture.hil.park(9, {
      request_payload: {
        method: 'tools/call',
        params: { name: 'wire_transfer', arguments: { text: 'x'.repeat(150_000) } },
      },
    });
    const browser = await fixture.browser();
    const tools = await browser.post('/hil/bulk', { id: [one?.id ?? '', other.id], decision: 'approve' });
    expect([tools.status, tools.text]).toEqual([400, expect.stringContaining('calls of several tools')]);
    const look = await browser.post('/hil/bulk', { id: [one?.id ?? '', large.id], decision: 'approve' });
    expect(look.text).toContain('1 of those you ticked is not among them');
    expect(rowFields(look.text)).toHaveLength(1);
    const forced = await browser.post('/hil/bulk/approve', {
      row: `${large.id} ${large.original_payload_digest} ${REQUEST}`,
    });
    expect(forced.text).toContain('too large to be read here');
    expect(await statusOf(large)).toBe('pending');
  });

  it('are not decided when a digest is not that of the row', async () => {
    const [row] = await parked(1);
    const came = await (await fixture.browser()).post('/hil/bulk/approve', {
      row: `${row?.id} ${'0'.repeat(64)} ${REQUEST}`,
    });
    expect(came.text).toContain('action_digest_mismatch');
  });

  it('nothing more is sent once the review service is away', async () => {
    const rows = await parked(3);
    const browser = await fixture.browser();
    const look = await browser.post('/hil/bulk', { id: rows.map(({ id }) => id), decision: 'deny' });
    fixture.away.add('hil');
    fixture.reached.length = 0;
    const came = await browser.post('/hil/bulk/deny', { row: rowFields(look.text), reason: 'not today' });
    expect(valuesIn(came.text, 'reason')).toContain('not today');
    expect(came.text).toContain(
      '0 of 3 are known to have taken your decision; of 1 it is not known, and 2 were not sent.',
    );
    expect(came.text.match(/not sent: the review service went away/g)).toHaveLength(2);
    expect(fixture.reached).toHaveLength(1);
    // When it is back, the same decisions can be sent again, with the reason.
    fixture.away.clear();
    const again = await browser.post('/hil/bulk/deny', { row: rowFields(came.text), reason: 'not today' });
    expect(again.text).toContain('3 of 3 took your decision.');
    expect(again.text).not.toContain('without an answer');
  });

  it.each([
    ['none', []],
    ['something else', ['x']],
    [
      'more than are read',
      Array.from({ length: 51 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`),
    ],
  ])('%s is refused', async (_, id) => {
    expect((await (await fixture.browser()).post('/hil/bulk', { id, decision: 'deny' })).status).toBe(400);
    expect((await (await fixture.browser()).post('/hil/bulk/deny', { row: id })).status).toBe(400);
  });

  it('is not looked at under two decisions', async () => {
    const { id } = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const both = await browser.post('/hil/bulk', { id, decision: ['approve', 'deny'] });
    expect(both.status).toBe(400);
    expect(both.text).toContain('decision: stands twice in the form');
  });

  it.each(['reason', 'digest', 'request', 'link', 'passkey'])(
    'is not approved by a form in which %s stands twice',
    async (field) => {
      const row = await fixture.hil.park(1);
      const browser = await fixture.browser();
      const fields = {
        reason: 'ok',
        digest: row.original_payload_digest,
        request: '00000000-0000-4000-8000-000000000000',
        link: '',
        passkey: '',
      };
      const twice = { ...fields, [field]: [fields[field as keyof typeof fields], 'another'] };
      const refused = await browser.post(`/hil/${row.id}/approve`, twice);
      expect(refused.status).toBe(400);
      expect(refused.text).toContain(`${field}: stands twice in the form`);
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status: 'pending' });
    },
  );
});

describe('a call', () => {
  it('tells what the same agent’s calls of the same tool were decided, and by whom', async () => {
    const before = await fixture.hil.park(1);
    const foreign = await fixture.hil.park(2, { agent_id: 'other-agent' });
    const otherTool = await fixture.hil.park(3, {
      request_payload: { method: 'tools/call', params: { name: 'read_file', arguments: {} } },
    });
    await fixture.hil.settle(before, { by: 'operator:ada', status: 'denied' });
    await fixture.hil.settle(foreign);
    await fixture.hil.settle(otherTool);
    const row = await fixture.hil.park(4);
    const { text } = await (await fixture.browser()).get(`/hil/${row.id}`);
    expect(linksIn(text)).toContainEqual({ words: 'denied', href: `/hil/${before.id}` });
    expect(text).toContain('operator:ada');
    expect(text).not.toContain(foreign.id);
    expect(text).not.toContain(otherTool.id);
  });

  it('tells those that were decided last first, whenever they were asked for', async () => {
    const [first, second] = [await fixture.hil.park(1), await fixture.hil.park(2)];
    await fixture.hil.settle(second, { status: 'denied' });
    fixture.hil.now += 60_000;
    await fixture.hil.settle(first, { status: 'denied' });
    const row = await fixture.hil.park(4);
    const { text } = await (await fixture.browser()).get(`/hil/${row.id}`);
    const told = linksIn(text).filter(({ words }) => words === 'denied');
    expect(told.map(({ href }) => href)).toEqual([`/hil/${first.id}`, `/hil/${second.id}`]);
  });

  it('does not count a decided call among the others of its agent', async () => {
    const row = await fixture.hil.park(1);
    await fixture.hil.settle(row, { by: 'operator:ada', status: 'denied' });
    const told = async () => (await (await fixture.browser()).get(`/hil/${row.id}`)).text;
    expect(await told()).toContain('No other call of this agent was decided yet.');
    await fixture.hil.settle(
      await fixture.hil.park(2, {
        request_payload: { method: 'tools/call', params: { name: 'read_file', arguments: {} } },
      }),
    );
    expect(await told()).toContain('Its last other decided call was not of this tool.');
  });
});

describe('the time left of a call', () => {
  it('falls with the clock, to nothing and no lower, and says when it ends', async () => {
    const row = await fixture.hil.park(1);
    const ends = Date.parse(row.created_at) + row.ttl_seconds * 1_000;
    const browser = await fixture.browser();
    const left = async () => {
      const { text } = await browser.get(`/hil/${row.id}`);
      const [meter] = partsIn(text, 'meter', { 'aria-label': 'Time left' });
      expect(meter?.attributes).toMatchObject({ min: '0', max: String(row.ttl_seconds), 'data-due': String(ends) });
      return Number(meter?.attributes['value']);
    };
    for (const seconds of [row.ttl_seconds, 61, 1.5, 0, -30]) {
      fixture.hil.now = ends - seconds * 1_000;
      expect(await left()).toBe(Math.max(0, seconds));
    }
  });
});

/** How a page's notice looks, and its words. */
function noticeOf(text: string): string[] | undefined {
  const [notice] = partsIn(text, 'p', { class: /^notice \w+$/ });
  return notice && [notice.attributes['class']?.slice('notice '.length) ?? '', wordsIn(notice)];
}

describe('what an approval does', () => {
  const told = async (
    rows: readonly (readonly [kind: string, decision: object, reasoning?: string])[],
    status?: 'denied',
  ) => {
    const row = await fixture.hil.park(1);
    const shown = (text: string, label: RegExp) => label.exec(wordsIn(text))?.[0];
    fixture.ledger = (asked) =>
      asked.startsWith('/audit/correlation/')
        ? rows.map(([kind, decision, reasoning = '']) => ({
            ...hostileEntry('agent', row.correlation_id),
            event_kind: kind,
            policy_decision: decision,
            reasoning,
          }))
        : [];
    const browser = await fixture.browser();
    const before = (await browser.get(`/hil/${row.id}`)).text;
    await fixture.hil.settle(row, status && { status });
    const after = (await browser.get(`/hil/${row.id}?done=${row.id}`)).text;
    return {
      before: shown(before, /Once it is approved[^.]*\./),
      after: shown(after, /(?<=by \S+ ?\.).*?(?=What came of it)/)?.trim(),
      kind: noticeOf(after)?.[0],
    };
  };
  const EXECUTED = ['proxy.verdict', { contract: 'gate.server-execution/v1' }] as const;
  const outcome = (stage: string) => ['upstream.outcome', { stage }, 'the <b>tool'] as const;

  it.each([
    ['completed', 'good', 'Gate executed it, once.'],
    ['failed', 'bad', 'Gate executed it, once, and the tool answered with an error: the <b>tool.'],
    ['uncertain', 'bad', 'Nobody knows whether it ran: the <b>tool. It is not sent again; look at the tool itself.'],
    ['not_run', 'bad', 'It was not executed: the <b>tool.'],
  ])('is said before and after it: %s', async (stage, kind, after) => {
    expect(await told([EXECUTED, outcome(stage)])).toEqual({
      before: 'Once it is approved, Gate executes it, once.',
      kind,
      after,
    });
  });

  it.each([
    [{ available: true }, 'Inspection: Privileged Action: <b>nothing speaks against it'],
    [{ available: false }, 'Inspection: none, the call was judged without it: Privileged Action: <b>nothing'],
  ])('stands beside what inspection found: %j', async (decision, words) => {
    const row = await fixture.hil.park(1);
    fixture.ledger = () => [
      {
        ...hostileEntry('agent', row.correlation_id),
        event_kind: 'brain.inspection',
        policy_decision: decision,
        reasoning: 'Privileged Action: <b>nothing speaks against it',
      },
    ];
    const { text } = await (await fixture.browser()).get(`/hil/${row.id}`);
    expect(wordsIn(text)).toContain(words);
    fixture.ledger = () => [];
    expect((await (await fixture.browser()).get(`/hil/${row.id}`)).text).not.toContain('Inspection:');
  });

  it('is nothing here, where the agent asked for the decision alone', async () => {
    expect(await told([['proxy.verdict', { contract: 'gate.decision/v1' }]])).toEqual({
      before: 'Once it is approved, its agent may act: Gate executes nothing here.',
      kind: 'good',
      after: 'Gate executes nothing here: its agent asked for the decision, and may act now.',
    });
  });

  it('is not known yet while the tool works, and nothing is said where the ledger has no verdict, or is away', async () => {
    expect((await told([EXECUTED])).after).toBe('Gate executes it now: load this page again for what came of it.');
    expect(await told([])).toEqual({ before: undefined, kind: 'good', after: '' });
    fixture.away.add('ledger');
    expect(await told([EXECUTED])).toEqual({ before: undefined, kind: 'good', after: '' });
  });

  it('a denial waits for nothing, and is what its person wanted', async () => {
    expect(await told([EXECUTED], 'denied')).toMatchObject({ kind: 'good', after: '' });
  });
});

describe('the notice after a denial', () => {
  it('is good to who denied, and begins as a sentence', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const { headers } = await browser.post(`/hil/${row.id}/deny`, fieldsOf(row));
    expect(noticeOf((await browser.get(String(headers['location']))).text)).toEqual([
      'good',
      expect.stringMatching(/^Denied: wire_transfer for payments-agent, by operator:dev/),
    ]);
  });

  it.each([
    ['somebody else', { by: 'operator:second' }],
    [
      'policy, of the change that was to be approved',
      {
        by: 'operator:dev',
        modification: {
          diff: {
            contract: 'gate.hil.modification-diff/v1' as const,
            replacements: [{ path: ['amount'], value: 2 }],
          },
          reviewed_digest: '0'.repeat(64),
        },
      },
    ],
  ])('is bad where it was %s', async (_, ended) => {
    const row = await fixture.hil.park(1);
    await fixture.hil.settle(row, { status: 'denied', ...ended });
    const { text } = await (await fixture.browser()).get(`/hil/${row.id}?done=${row.id}`);
    expect(noticeOf(text)).toEqual(['bad', expect.stringMatching(/^Denied: /)]);
  });
});

describe('the list', () => {
  it('tells like calls apart: why each waits and its id, in the row and in the name of its box', async () => {
    const one = await fixture.hil.park(1, { risk_summary: 'Review: the first\nof them' });
    const two = await fixture.hil.park(2, { risk_summary: 'Review: the second' });
    const { text } = await (await fixture.browser()).get('/hil');
    for (const [row, words] of [
      [one, 'Review: the first\\nof them'],
      [two, 'Review: the second'],
    ] as const) {
      const [item = ''] = partsIn(text, 'div', { role: 'listitem', 'data-row': row.id });
      const short = row.id.slice(0, 8);
      const boxes = partsIn(item, 'input', { type: 'checkbox' }).map(({ attributes }) => attributes['aria-label']);
      expect(boxes).toEqual([`Choose wire_transfer for payments-agent, ${short}: ${words}`]);
      const [link] = linksIn(item);
      expect(link?.words).toContain(words);
      expect(link?.words).toContain(`payments-agent ${short}`);
    }
  });

  it('says what each call is predicted to do, and finds it by that', async () => {
    const one = await fixture.hil.park(1, { sandbox_report: reportOf('move 5 to `vendor`') });
    await fixture.hil.park(2, { sandbox_report: reportOf('move 6 to `other`') });
    const { text } = await (await fixture.browser()).get('/hil?q=TO%20%60vendor');
    expect(listOf(text)).toEqual([one.id]);
    const [why] = partsIn(text, 'span', { class: 'dim why' });
    expect(why?.attributes['title']).toMatch(/^move 5 to `vendor`.*: money movement$/);
  });

  it.each(['id', 'correlation_id'] as const)('finds a call by its whole %s, whatever became of it', async (field) => {
    const row = await fixture.hil.park(1);
    await fixture.hil.park(2);
    const browser = await fixture.browser();
    const found = () => browser.get(`/hil?q=${encodeURIComponent(` ${row[field].toUpperCase()} `)}`);
    expect(listOf((await found()).text)).toEqual([row.id]);
    await fixture.hil.settle(row, { status: 'denied' });
    const { text } = await found();
    expect(listOf(text)).toEqual([row.id]);
    expect(partsIn(text, 'span', { class: 'tag denied' }).map(wordsIn)).toContain('denied');
    // Nobody decides it a second time, and how many wait is told all the same.
    expect(partsIn(text, 'input', { type: 'checkbox' })).toEqual([]);
    expect(partsIn(text, 'span', { class: 'count' }).map(wordsIn)).toContain('1');
  });

  it('finds a call by the beginning of its id, as the list shows it', async () => {
    const [row] = [await fixture.hil.park(1), await fixture.hil.park(2)];
    const { text } = await (await fixture.browser()).get(`/hil?q=${row.id.slice(0, 8)}`);
    expect(listOf(text)).toEqual([row.id]);
  });

  it('finds nothing under the id of another tenant’s call, or of none, and says so', async () => {
    const row = await fixture.hil.park(1, { tenant: 'globex' });
    for (const id of [row.id, row.correlation_id, REQUEST]) {
      const { text } = await (await fixture.browser()).get(`/hil?q=${id}`);
      expect(listOf(text)).toEqual([]);
      expect(text).toContain('No call has this id, or it is past its retention.');
    }
  });

  it.each([
    ['pending', [0, 1, 2]],
    ['denied', [2, 1, 0]],
  ] as const)('knows where a call stood that is not in it any more: %s', async (status, places) => {
    const rows = [await fixture.hil.park(10), await fixture.hil.park(20), await fixture.hil.park(30)];
    const listed = [await fixture.hil.park(15), await fixture.hil.park(25)];
    for (const row of status === 'denied' ? listed : rows) await fixture.hil.settle(row, { status: 'denied' });
    const browser = await fixture.browser();
    for (const [at, row] of rows.entries()) {
      const { text } = await browser.get(`/hil/${row.id}?status=${status}`);
      expect(listOf(text)).toHaveLength(2);
      expect(text).toContain(`data-place="${places[at]}"`);
    }
  });
});

describe('a list of many calls', () => {
  const nextOf = (text: string) => linksIn(text).find(({ rel }) => rel === 'next')?.href;
  it('comes in pages of a hundred by link, each row once', async () => {
    for (let n = 1; n <= 230; n += 1) await fixture.hil.park(n);
    const browser = await fixture.browser();
    const seen: string[] = [];
    let next: string | undefined = '/hil';
    let pages = 0;
    while (next !== undefined) {
      const { text } = await browser.get(next);
      pages += 1;
      seen.push(...[...text.matchAll(/data-row="([^"]+)"/g)].map(([, id]) => id ?? ''));
      next = nextOf(text);
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([3, 230, 230]);
  });

  it('stays at its page after a decision, so that the next call is one key away', async () => {
    for (let n = 1; n <= 103; n += 1) await fixture.hil.park(n);
    const browser = await fixture.browser();
    const second = nextOf((await browser.get('/hil')).text) ?? '';
    const [first = '', ...after] = listOf((await browser.get(second)).text);
    expect(after).toHaveLength(2);
    const row = await fixture.hil.reviews.get(first);
    const page = await browser.get(`/hil/${first}?${second.split('?')[1]}`);
    const list = fieldIn(page.text, 'list');
    const { headers } = await browser.post(`/hil/${first}/deny`, fieldsOf(row as PendingRequest, { list }));
    const { text } = await browser.get(String(headers['location']));
    expect(listOf(text)).toEqual(after);
    expect(text).toContain('data-place="0"');
  });

  it('is shown from its beginning where the place in an address is none of it, which the page says', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const words = 'This list has no such place as this address names. It is shown from its beginning (invalid_cursor).';
    for (const path of ['/hil?cursor=zzz', `/hil/${row.id}?cursor=zzz`]) {
      const { status, text } = await browser.get(path);
      expect([path, status, text.includes(words)]).toEqual([path, 200, true]);
      expect(listOf(text)).toContain(row.id);
      // Nothing on it leads back to that place.
      expect(text).not.toContain('zzz');
    }
    // What the script puts behind rows that stand there would be rows that stand there.
    expect((await browser.get('/hil?cursor=zzz&part=rows')).status).toBe(400);
  });

  it('is the same after a change of arguments: its filter and its page, and Change more keeps what was typed', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const list = 'q=payments&cursor=c';
    const listIn = (text: string) =>
      partsIn(text, 'form', { action: /^\/hil\/.+\/modify/ }).map((form) => fieldIn(form, 'list'));
    const { text } = await browser.get(`/hil/${row.id}?q=payments`);
    expect(linksIn(text).map(({ href }) => href)).toContain(`/hil/${row.id}/modify?q=payments`);
    const form = (await browser.get(`/hil/${row.id}/modify?${list}`)).text;
    expect(listIn(form)).toEqual([list]);
    expect(linkOf(form, 'Back to the call')).toBe(`/hil/${row.id}?${list}`);
    const fields = fieldsOf(row, { list, 'value.0': '7' });
    const preview = (await browser.post(`/hil/${row.id}/modify/preview`, fields)).text;
    expect(listIn(preview)).toEqual([list]);
    expect(buttonsIn(preview)).toContainEqual({
      words: 'Change more',
      attributes: { type: 'submit', formaction: `/hil/${row.id}/modify/more` },
    });
    const more = (await browser.post(`/hil/${row.id}/modify/more`, { ...fields, reason: 'half' })).text;
    expect(listIn(more)).toEqual([list]);
    expect(valuesIn(more, 'value.0')).toEqual(['7']);
    expect(partsIn(more, 'input', { type: 'hidden', name: 'reason', value: 'half' })).toHaveLength(1);
    const wrong = await browser.post(`/hil/${row.id}/modify`, { ...fields, 'value.0': 'seven' });
    expect(listIn(wrong.text)).toEqual([list]);
    expect((await browser.post(`/hil/${row.id}/modify`, fields)).headers['location']).toBe(
      `/hil/${row.id}?${list}&done=${row.id}`,
    );
  });
});
