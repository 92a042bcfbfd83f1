import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  commandLineOf,
  toldOf,
  browserAt,
  CONSOLE_ORIGIN,
  openLoneConsole,
} from '../../../test/support/lone-console.js';
import { fieldIn } from '../../../test/support/html.js';
import { type Forge, type OpenIdProvider, startOpenIdProvider } from '../../../test/support/openid-provider.js';
import { FEDERATED_RULES, loggerTo } from '../../../test/support/federation.js';
import { loggedOf } from '../../../test/support/logged.js';
import { federatedPrincipal } from './federated-principal.js';
import { openOidcMode } from './oidc.js';
import { ownPath } from './own-path.js';

const client = { id: 'gate', secret: 'a-secret-of-the-tests', consoleUrl: CONSOLE_ORIGIN };
const DECIDE = 'decide-token-0123456789abcdefghijklm';
const ADA = { org_id: 'acme', groups: ['approvers'], amr: ['pwd', 'mfa'] };
const BACK = `${CONSOLE_ORIGIN}/auth/oidc/callback`;

let provider: OpenIdProvider;
let console: Awaited<ReturnType<typeof openLoneConsole>>;
let aheadMs: number;
let logged: string;

const logger = () => loggerTo((line) => void (logged += line));
const mode = (issuer: string, over: { readonly rules?: typeof FEDERATED_RULES } = {}) =>
  openOidcMode({
    issuer,
    clientId: client.id,
    clientSecret: client.secret,
    consoleUrl: CONSOLE_ORIGIN,
    claims: { tenant: 'org_id', groups: 'groups', mfa: 'amr' },
    rules: FEDERATED_RULES,
    decideToken: DECIDE,
    key: Buffer.alloc(32, 3),
    logger: logger(),
    clock: () => Date.now() + aheadMs,
    ...over,
  });

beforeEach(async () => {
  aheadMs = 0;
  logged = '';
  provider = await startOpenIdProvider(client);
  provider.person = { sub: 'ada', claims: ADA };
  console = await openLoneConsole({
    signIn: await mode(provider.issuer),
    decideToken: DECIDE,
    clock: () => Date.now() + aheadMs,
    logger: logger(),
  });
});
afterEach(async () => {
  await console.close();
  await provider.close();
});

type Browser = ReturnType<typeof browserAt>;
/** Where the provider leads back to. */
async function atProvider(browser: Browser, wanted = '/audit'): Promise<string> {
  const begun = await browser.get(`/auth/oidc/login?${new URLSearchParams({ return_to: wanted }).toString()}`);
  expect(begun.status).toBe(303);
  return (await provider.walk(String(begun.location), BACK)).slice(CONSOLE_ORIGIN.length);
}
async function signedIn(browser = browserAt(console)): Promise<Browser> {
  expect(await browser.get(await atProvider(browser))).toMatchObject({ status: 303, location: '/audit' });
  return browser;
}
const written = (event: string) => loggedOf(logged, event);
const told = () => toldOf(console)[0] ?? null;
const lastToldIn = (tenant: string) => toldOf(console).find((word) => word?.tenant === tenant) ?? null;

describe('signing in by a provider', () => {
  it('leads from the page that was wanted to the provider and back to it', async () => {
    const browser = browserAt(console);
    expect(await browser.get('/audit?agent=a%2Fb')).toMatchObject({
      status: 303,
      location: '/login?return_to=%2Faudit%3Fagent%3Da%252Fb',
    });
    const begun = await browser.get('/login?return_to=%2Faudit%3Fagent%3Da%252Fb');
    const back = await provider.walk(new URL(String((await browser.get(String(begun.location))).location)).href, BACK);
    expect(await browser.get(back.slice(CONSOLE_ORIGIN.length))).toMatchObject({
      status: 303,
      location: '/audit?agent=a%2Fb',
    });
    expect(await browser.me()).toMatchObject({ name: 'oidc:ada', tenant: 'acme', role: 'approver', mode: 'oidc' });
  });

  it('leads to its own name from another one of this machine, where the cookie would be lost', async () => {
    const under = async (host: string, url: string) => {
      const { statusCode, headers } = await console.service.app.inject({ url, headers: { host } });
      return [statusCode, headers.location];
    };
    const wanted = '/login?return_to=%2Faudit';
    expect(await under('127.0.0.1:8085', wanted)).toEqual([303, `${CONSOLE_ORIGIN}${wanted}`]);
    expect(await under('[::1]:8085', '/auth/oidc/login')).toEqual([303, `${CONSOLE_ORIGIN}/auth/oidc/login`]);
    expect(await under('localhost:8085', '/login')).toEqual([200, undefined]);
    expect(await under('127.0.0.1:8085', '/auth/oidc/callback')).toEqual([401, undefined]);
  });

  it('asks for a code with PKCE, state and nonce, and shows the browser nothing that they follow from', async () => {
    const browser = browserAt(console);
    const to = new URL(String((await browser.get('/auth/oidc/login')).location));
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'gate',
      scope: 'openid',
      redirect_uri: BACK,
      code_challenge_method: 'S256',
    });
    const kept = Buffer.from(
      (browser.cookies.get('gate_console_sign_in') ?? '').split('.')[0] ?? '',
      'base64url',
    ).toString();
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(to.searchParams.get(name)).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(kept).not.toContain(to.searchParams.get(name));
    }
  });

  it('goes on after the provider changed its keys, and reads them once again for it', async () => {
    await signedIn();
    await signedIn();
    expect(provider.keysRead).toBe(1);
    await provider.rotate();
    await signedIn();
    expect(provider.keysRead).toBe(2);
  });

  it('vouches for the person to the review service, and shows its token to no other', async () => {
    const browser = await signedIn();
    expect(told()).toMatchObject({ subject: 'oidc:ada', tenant: 'acme', method: 'oidc', role: 'approver' });
    await browser.get('/audit');
    await browser.get('/');
    for (const { headers } of console.asked.hil) expect(headers['authorization']).toBe(`Bearer ${DECIDE}`);
    expect(console.asked.others.length).toBeGreaterThan(0);
    expect(JSON.stringify(console.asked.others)).not.toContain(DECIDE);
  });

  it('writes who signed in, and out, without a name, a token or a code', async () => {
    const browser = browserAt(console);
    const back = await atProvider(browser);
    await browser.get(back);
    const of = { method: 'oidc', tenant: 'acme', issuer: provider.issuer, subject: 'oidc:ada' } as const;
    const entered = { protocol: 'oidc', principal: federatedPrincipal(of), tenant: 'acme', role: 'approver' };
    expect(written('federated_login')).toEqual([entered]);
    const csrf = fieldIn((await browser.get('/')).text, 'csrf');
    await browser.post('/logout', { csrf }, 'https://evil.example');
    expect(written('federated_logout')).toEqual([]);
    await browser.post('/logout', { csrf });
    await browser.post('/logout', { csrf });
    expect(written('federated_logout')).toEqual([entered]);
    expect(logged).not.toContain('oidc:ada');
    expect(logged).not.toContain(String(new URL(back, CONSOLE_ORIGIN).searchParams.get('code')));
  });

  it.each<[string, readonly string[], string]>([
    ['a viewer', ['viewers'], 'viewer'],
    ['of two groups the higher', ['viewers', 'admins'], 'admin'],
  ])('gives the role of the groups: %s', async (_what, groups, role) => {
    provider.person = { sub: 'ada', claims: { ...ADA, groups } };
    expect(await (await signedIn()).me()).toMatchObject({ role });
  });
});

describe('nobody is signed in', () => {
  async function refused(browser: Browser, back: string): Promise<string> {
    const answer = await browser.get(back);
    expect(answer.status).toBe(401);
    expect(await browser.me()).toBeNull();
    expect(lineOf(answer.text)).toMatchObject({ event: 'federated_refused', protocol: 'oidc' });
    return answer.text;
  }
  /** The one line of the log under the id that a page shows. */
  function lineOf(page: string): Record<string, unknown> {
    const id = /\(([0-9a-f-]{36})\)/.exec(page)?.[1] ?? 'no id';
    const lines = logged.split('\n').filter((line) => line.includes(id));
    expect(lines).toHaveLength(1);
    return JSON.parse(String(lines[0])) as Record<string, unknown>;
  }

  it('and the log says under the id of the page who came with how many values, and none of them', async () => {
    provider.person = { sub: 'ada', claims: { ...ADA, groups: ['staff', 'cooks'], amr: undefined } };
    const browser = browserAt(console);
    const factorless = lineOf(await refused(browser, await atProvider(browser)));
    expect(factorless).toMatchObject({ lacks: 'mfa', came: { org_id: 1, groups: 2, amr: 0 } });
    provider.person = { sub: 'ada', claims: { ...ADA, groups: ['staff', 'cooks'] } };
    const other = browserAt(console);
    const roleless = lineOf(await refused(other, await atProvider(other)));
    expect(roleless).toMatchObject({
      lacks: 'role',
      principal: expect.stringMatching(/^oidc:acme:[0-9a-f]{16}:[0-9a-f]{32}$/),
      came: { org_id: 1, groups: 2, amr: 2 },
    });
    expect(JSON.stringify(roleless)).not.toMatch(/ada|staff|cooks/);
  });

  it('and is told as whom the provider named him, with a way to it that asks who somebody is', async () => {
    provider.person = { sub: 'ada', claims: { ...ADA, groups: ['staff'] } };
    const browser = browserAt(console);
    const page = await refused(browser, await atProvider(browser));
    expect(page).toContain('says that you are <bdi class="foreign">ada</bdi>');
    const link = /href="([^"]*another=1[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? 'no link';
    const to = new URL(String((await browser.get(link)).location));
    expect(to.searchParams.get('prompt')).toBe('login');
    provider.person = { sub: 'bob', claims: ADA };
    const back = await provider.walk(to.href, BACK);
    expect(await browser.get(back.slice(CONSOLE_ORIGIN.length))).toMatchObject({ status: 303, location: '/audit' });
    expect(await browser.me()).toMatchObject({ name: 'oidc:bob' });
    expect(new URL(String((await browser.get('/auth/oidc/login')).location)).searchParams.has('prompt')).toBe(false);
  });

  it('and the log says of a browser that did not begin whether it sent the cookie', async () => {
    const back = await atProvider(browserAt(console));
    expect(lineOf(await refused(browserAt(console), back))['reason']).toMatch(/sent no cookie gate_console_sign_in/);
    const other = browserAt(console);
    other.cookies.set('gate_console_sign_in', 'made.up');
    expect(lineOf(await refused(other, back))['reason']).toMatch(/cookie gate_console_sign_in is changed/);
  });

  it.each<[string, Forge]>([
    ['another nonce', (claims) => ({ ...claims, nonce: 'another' })],
    ['no nonce', ({ nonce: _nonce, ...claims }) => claims],
    ['another audience', (claims) => ({ ...claims, aud: 'others' })],
    ['a further audience', (claims) => ({ ...claims, aud: ['gate', 'others'], azp: 'gate' })],
    ['another issuer', (claims) => ({ ...claims, iss: 'https://login.example' })],
    [
      'a token of an hour ago',
      (claims) => ({ ...claims, iat: 1_700_000_000, exp: Math.floor(Date.now() / 1000) - 3_600 }),
    ],
    ['no subject', ({ sub: _sub, ...claims }) => claims],
    ['a subject that cannot be recorded', (claims) => ({ ...claims, sub: 'ada\u202e' })],
  ])('by a token with %s', async (_what, forge) => {
    provider.forge = forge;
    const browser = browserAt(console);
    await refused(browser, await atProvider(browser));
    provider.forge = (claims) => claims;
    await signedIn(browser);
  });

  it("by a token that another key signed under the name of the provider's", async () => {
    provider.forge = (claims) => claims;
    provider.foreignKey = true;
    const browser = browserAt(console);
    await refused(browser, await atProvider(browser));
    expect(provider.keysRead).toBe(1);
  });

  it('by a callback that comes a second time', async () => {
    const browser = browserAt(console);
    const back = await atProvider(browser);
    const kept = browser.cookies.get('gate_console_sign_in') ?? '';
    expect(await browser.get(back)).toMatchObject({ status: 303 });
    const again = browserAt(console);
    again.cookies.set('gate_console_sign_in', kept);
    await refused(again, back);
    expect(provider.tokensAsked).toBe(1);
  });

  it('by a callback in another browser than the one that began', async () => {
    const back = await atProvider(browserAt(console));
    await refused(browserAt(console), back);
    const other = browserAt(console);
    await atProvider(other);
    await refused(other, back);
  });

  it('by a cookie that the console did not make, or that is too old', async () => {
    const browser = browserAt(console);
    const back = await atProvider(browser);
    const kept = browser.cookies.get('gate_console_sign_in') ?? '';
    browser.cookies.set('gate_console_sign_in', `${kept.slice(0, 10)}A${kept.slice(11)}`);
    await refused(browser, back);
    browser.cookies.set('gate_console_sign_in', kept);
    aheadMs = 600_001;
    await refused(browser, back);
  });

  it('where the provider says no, or nothing', async () => {
    const browser = browserAt(console);
    const back = new URL(await atProvider(browser), CONSOLE_ORIGIN);
    const said = `/auth/oidc/callback?error=access_denied&error_description=of-the-provider&state=${String(back.searchParams.get('state'))}`;
    expect(await refused(browser, said)).not.toContain('of-the-provider');
    await refused(browser, '/auth/oidc/callback');
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['no group', { groups: undefined }],
    ['groups that have no role', { groups: ['staff'] }],
    ['a tenant that is not here', { org_id: 'globex' }],
    ['no second factor', { amr: ['pwd'] }],
  ])('with %s', async (_what, over) => {
    provider.person = { sub: 'ada', claims: { ...ADA, ...over } };
    const browser = browserAt(console);
    await refused(browser, await atProvider(browser));
  });

  it('after ten failures of one address, for a minute', async () => {
    const browser = browserAt(console);
    for (let tried = 0; tried < 10; tried += 1) await browser.get('/auth/oidc/callback');
    expect(await browser.get('/auth/oidc/callback')).toMatchObject({ status: 429 });
    expect(await browser.get('/auth/oidc/login')).toMatchObject({ status: 429 });
    aheadMs = 61_000;
    expect(await browser.get('/auth/oidc/callback')).toMatchObject({ status: 401 });
  });

  it('by forty callbacks at once of one address, of which the provider is asked about ten', async () => {
    const ready = [];
    for (let n = 0; n < 40; n += 1) {
      const begins = browserAt(console, `10.0.0.${n}`);
      const back = new URL(await atProvider(begins), CONSOLE_ORIGIN);
      back.searchParams.set('code', 'made-up');
      const browser = browserAt(console, '10.0.1.1');
      for (const [name, value] of begins.cookies) browser.cookies.set(name, value);
      ready.push(() => browser.get(`${back.pathname}${back.search}`));
    }
    const answers = await Promise.all(ready.map((send) => send()));
    expect(answers.map(({ status }) => status).sort((one, other) => one - other)).toEqual([
      ...Array.from({ length: 10 }, () => 401),
      ...Array.from({ length: 30 }, () => 429),
    ]);
  });
});

describe('a provider that is away', () => {
  it.each(['hangs up', 'answers 503'] as const)(
    'is told, and counts as nobody’s failed attempt: it %s',
    async (fault) => {
      const browser = browserAt(console);
      for (let tried = 0; tried < 11; tried += 1) {
        const back = await atProvider(browser);
        provider.fault = fault;
        const answer = await browser.get(back);
        provider.fault = null;
        expect(answer.status).toBe(503);
        expect(answer.text).toContain('The provider does not answer');
        expect(await browser.me()).toBeNull();
      }
      await signedIn(browser);
      const { values } = await console.registry.getSingleMetric('gate_console_auth_attempts_total')!.get();
      expect(Object.fromEntries(values.map(({ labels, value }) => [labels['outcome'], value]))).toEqual({
        provider_away: 11,
        accepted: 1,
      });
    },
  );
});

describe('a session by a provider', () => {
  it("ends at the provider's expiry, although it is used", async () => {
    provider.forge = (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1000) + 300 });
    const browser = await signedIn();
    aheadMs = 200_000;
    expect(await browser.me()).not.toBeNull();
    aheadMs = 301_000;
    expect(await browser.me()).toBeNull();
  });

  it('is told with that end, and on every page from ten minutes before it', async () => {
    const exp = Math.floor(Date.now() / 1000) + 1_800;
    provider.forge = (claims) => ({ ...claims, exp });
    const browser = await signedIn();
    const end = new Date(exp * 1_000).toISOString();
    const mine = (await browser.get('/me')).text;
    expect(mine).toMatch(new RegExp(`dateTime="${end}"|datetime="${end}"`));
    expect(mine).not.toContain('Your session ends');
    aheadMs = 1_260_000;
    const page = (await browser.get('/audit')).text;
    expect(page).toMatch(/Your session ends <time[^>]*>in (8|9) min/);
    expect(page).toContain('href="/login?return_to=%2Faudit"');
  });

  it('ends with the last group, and the review service is told', async () => {
    const browser = await signedIn();
    const opened = told()?.since_ms;
    aheadMs = 1;
    provider.person = { sub: 'ada', claims: { ...ADA, groups: [] } };
    const later = browserAt(console);
    expect(await later.get(await atProvider(later))).toMatchObject({ status: 401 });
    expect(await browser.me()).toBeNull();
    expect(told()).toMatchObject({ subject: 'oidc:ada', tenant: 'acme', role: 'none' });
    // Later than the session: what is still on its way with that one gives nothing back.
    expect(told()?.since_ms).toBeGreaterThan(opened ?? Number.NaN);
  });

  it('ends when its person signs in with another role, and not with the same', async () => {
    const approver = await signedIn();
    const other = await signedIn();
    expect(await approver.me()).not.toBeNull();
    provider.person = { sub: 'ada', claims: { ...ADA, groups: ['viewers'] } };
    const viewer = await signedIn();
    expect(await approver.me()).toBeNull();
    expect(await other.me()).toBeNull();
    expect(await viewer.me()).toMatchObject({ role: 'viewer' });
    expect(told()).toMatchObject({ role: 'viewer' });
  });

  it('ends when its person signs in for another tenant, in which alone he is then', async () => {
    const [browser, other] = [await signedIn(), await signedIn()];
    const token = await commandLineOf(console, browser);
    aheadMs += 1_000;
    provider.person = { sub: 'ada', claims: { ...ADA, org_id: 'beta' } };
    const moved = await signedIn();
    expect(await moved.me()).toMatchObject({ name: 'oidc:ada', tenant: 'beta', role: 'approver' });
    expect(await browser.me()).toBeNull();
    expect(await other.me()).toBeNull();
    expect(await console.sessions.ofToken(token)).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ subject: 'oidc:ada', role: 'none' });
    expect(lastToldIn('beta')).toMatchObject({ subject: 'oidc:ada', role: 'approver' });
    aheadMs += 1_000;
    provider.person = { sub: 'ada', claims: { ...ADA, org_id: 'acme' } };
    await signedIn();
    expect(await moved.me()).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ role: 'approver' });
    expect(lastToldIn('beta')).toMatchObject({ role: 'none' });
  });

  it.each<[string, Partial<typeof ADA>]>([
    ['no tenant', { org_id: '' }],
    ['a tenant that is not here', { org_id: 'globex' }],
    ['another tenant and no group', { org_id: 'beta', groups: [] }],
    ['another tenant and no second factor', { org_id: 'beta', amr: ['pwd'] }],
  ])('ends with a refusal of its person: %s', async (_what, over) => {
    const browser = await signedIn();
    const token = await commandLineOf(console, browser);
    aheadMs += 1_000;
    provider.person = { sub: 'ada', claims: { ...ADA, ...over } };
    const later = browserAt(console);
    expect(await later.get(await atProvider(later))).toMatchObject({ status: 401 });
    expect(await browser.me()).toBeNull();
    expect(await console.sessions.ofToken(token)).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ subject: 'oidc:ada', role: 'none' });
  });

  it.each([
    ['tenant', { org_id: 'beta' }],
    ['role', { groups: ['viewers'] }],
  ])('does not stand beside one of another %s, also when both begin at once', async (_what, over) => {
    const [one, other] = [browserAt(console, '10.0.0.1'), browserAt(console, '10.0.0.2')];
    const [first, second] = [await atProvider(one), await atProvider(other)];
    let tokens = 0;
    provider.forge = (claims) => {
      tokens += 1;
      return tokens === 1 ? claims : { ...claims, ...over };
    };
    const { enter } = console.sessions;
    const opening: (() => void)[] = [];
    Object.assign(console.sessions, {
      async enter(who: Parameters<typeof enter>[0]) {
        // Neither enters before both are about to.
        await new Promise<void>((go) => {
          opening.push(go);
          if (opening.length === 2) for (const each of opening) each();
        });
        return enter(who);
      },
    });
    await Promise.all([one.get(first), other.get(second)]);
    expect(opening).toHaveLength(2);
    expect([await one.me(), await other.me()]).toContain(null);
  });

  it("of one person goes on when another one's ends", async () => {
    const browser = await signedIn();
    provider.person = { sub: 'bob', claims: { ...ADA, org_id: 'beta' } };
    await signedIn();
    expect(await browser.me()).toMatchObject({ tenant: 'acme' });
    expect(lastToldIn('acme')).toMatchObject({ role: 'approver' });
  });

  it.each<[string, Partial<typeof FEDERATED_RULES>]>([
    ['another group of a role', { approverGroups: ['others'] }],
    ['another tenant', { tenantMap: new Map([['acme', 'globex']]) }],
    ['another factor', { mfaValues: ['webauthn'] }],
  ])('is none under other settings: %s', async (_what, over) => {
    const browser = await signedIn();
    const opened = await console.sessions.of(browser.cookies.get('gate_console_session') ?? '');
    if (opened === null) throw new Error('nobody is signed in');
    expect((await mode(provider.issuer)).personOf(opened)).toMatchObject({
      person: { role: 'approver', mode: 'oidc' },
    });
    expect((await mode(provider.issuer, { rules: { ...FEDERATED_RULES, ...over } })).personOf(opened)).toBeNull();
  });

  it('ends here first and then at the provider, to which forms of the console may lead', async () => {
    const browser = await signedIn();
    const { text, headers } = await browser.get('/');
    const csrf = fieldIn(text, 'csrf');
    expect(headers['content-security-policy']).toContain(`form-action 'self' ${provider.issuer};`);
    expect(await browser.post('/logout', { csrf }, 'https://evil.example')).toMatchObject({ status: 403 });
    expect(await browser.me()).not.toBeNull();
    const out = await browser.post('/logout', { csrf });
    const to = new URL(String(out.location));
    expect(to.origin).toBe(provider.issuer);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      client_id: 'gate',
      post_logout_redirect_uri: `${CONSOLE_ORIGIN}/login`,
    });
    expect(await browser.me()).toBeNull();
  });
});

describe('the start', () => {
  it('is refused where the provider signs nobody out', async () => {
    const silent = await startOpenIdProvider(client, { signsOut: false });
    await expect(mode(silent.issuer)).rejects.toThrow('end_session_endpoint');
    await silent.close();
  });

  it('is refused where the provider has another name than the settings say, with both names', async () => {
    const other = provider.issuer.replace('127.0.0.1', 'localhost');
    await expect(mode(other)).rejects.toThrow(`${other} calls itself ${provider.issuer}, and GATE_CONSOLE_OIDC_ISSUER`);
  });

  it('is refused where the provider is away or knows no such issuer, with the address and what became of it', async () => {
    const gone = await startOpenIdProvider(client);
    await gone.close();
    await expect(mode(gone.issuer)).rejects.toThrow(
      `${gone.issuer}/.well-known/openid-configuration does not answer: connection refused (ECONNREFUSED)`,
    );
    await expect(mode(`${provider.issuer}/nobody`)).rejects.toThrow(
      `${provider.issuer}/nobody/.well-known/openid-configuration: answered 404`,
    );
  });
});

describe('the page after signing in', () => {
  it.each(['/', '/hil/1', '/audit?agent=a%2Fb&x=1'])('is one of the console: %s', (path) => {
    expect(ownPath(path)).toBe(path);
  });

  it.each([
    undefined,
    ['/a', '/b'],
    '//evil.example',
    '/\\evil.example',
    '/a\\b',
    'https://evil.example',
    '/a\nb',
    `/${'a'.repeat(2_000)}`,
  ])('is the first one instead of %j', (path) => {
    expect(ownPath(path)).toBe('/');
  });
});
