import diagnostics from 'node:diagnostics_channel';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../contracts/json.js';
import { machineClock } from '../../lite/clock.js';
import { CONSOLE_ROUTES } from '../../lite/console.js';
import { fieldIn, wordsIn } from '../support/html.js';
import { browserAt, type LiteBrowser, signedInAt } from '../support/lite-browser.js';
import { echoTools, type EchoTools, editFile, liteFolder, type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const OPERATOR = 'operator-token-0123456789-0123456789';
const bearer = { authorization: `Bearer ${OPERATOR}` };

let tools: EchoTools;
let gate: LiteFixture;
beforeEach(async () => {
  tools = await echoTools();
});
afterEach(async () => {
  await gate.close();
  await tools.close();
});
const open = async (env: Record<string, string> = {}, options: Parameters<typeof openLite>[1] = {}) => {
  const operators = env['GATE_LITE_DECIDERS'] === undefined ? { GATE_LITE_DECIDE_TOKEN: OPERATOR } : {};
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, ...operators, ...env }, options);
};
const signIn = () => signedInAt(gate.lite);
const withToken = async (token: string): Promise<LiteBrowser> => {
  const browser = browserAt(gate.lite.url);
  expect(await browser.post('/login', { csrf: '', token })).toMatchObject({ status: 303, location: '/' });
  return browser;
};
const parked = async (args: JsonObject = { amount: 25 }, options: Parameters<LiteFixture['call']>[1] = {}) => {
  const { body } = await gate.call('wire_transfer', { arguments: args, ...options });
  return { id: body['pending_id'] as string, call: body['correlation_id'] as string };
};
const rowOf = async (id: string) =>
  ((await gate.send('GET', `/pending?id=${id}`, { headers: bearer })).body as unknown as JsonObject[])[0];
/** What the forms of a call carry. */
const formsOf = async (browser: LiteBrowser, id: string) => {
  const { text } = await browser.get(`/hil/${id}`);
  return { digest: fieldIn(text, 'digest'), request: fieldIn(text, 'request') };
};

describe('the console of lite', () => {
  it('has the routes that lite mounts for it, and no other', async () => {
    const apps: string[][] = [];
    const seen = (message: unknown) => {
      const routes: string[] = [];
      apps.push(routes);
      (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method: methods, url }) => {
        for (const method of [methods].flat()) routes.push(`${method} ${url}`);
      });
    };
    diagnostics.subscribe('fastify.initialization', seen);
    try {
      await open();
      await signIn();
    } finally {
      diagnostics.unsubscribe('fastify.initialization', seen);
    }
    const own = apps.find((routes) => routes.includes('GET /hil') && !routes.includes('POST /mcp')) ?? [];
    const routes = own.map((route) => route.replace(/^GET \/static\/.*/, 'GET /static/*'));
    expect([...new Set(routes)].sort()).toEqual([...CONSOLE_ROUTES].sort());
  });

  it('has no identity: the page of an agent says that none is stopped here, and shows the rest', async () => {
    await open();
    await gate.call('echo', {});
    const browser = await signIn();
    const { text } = await browser.get('/agents/anonymous');
    expect(wordsIn(text)).toContain('This Gate has no identity service: no agent is stopped here.');
    expect(wordsIn(text)).toContain('One call');
    expect((await browser.get('/agents')).text).not.toContain('identity service');
    expect((await browser.get('/stops')).status).toBe(404);
  });

  it('shows pages to browsers and rows to programs, where both are at one path', async () => {
    await open();
    const { call } = await parked();
    const browser = await signIn();
    for (const path of ['/agents', '/audit/hunt', `/audit/correlation/${call}`, '/audit/agents/anonymous/narrative']) {
      expect([path, (await browser.get(path)).text]).toEqual([path, expect.stringContaining('<!doctype html>')]);
      const program = await gate.send('GET', path, { headers: bearer });
      expect([path, program.headers.get('content-type')]).toEqual([path, expect.stringContaining('application/json')]);
      // With a token it is a program, whatever else it has.
      const both = await browser.get(path, bearer);
      expect(both.headers.get('content-type')).toContain('application/json');
      // And nobody without either is told anything.
      const stranger = await gate.send('GET', path);
      expect([path, [401, 403].includes(stranger.status)]).toEqual([path, true]);
      expect((await browserAt(gate.lite.url).get(path)).location).toMatch(/^\/login\?return_to=/);
    }
    expect((await browser.get('/agents/anonymous')).text).toContain('One call, 1 tool');
    // Everybody may check the chain here, also with a browser.
    expect((await browser.get('/verify')).headers.get('content-type')).toContain('application/json');
    expect((await browser.get('/api/chain-status')).text).toContain('"valid":true');
  });

  /** All that a browser is told of what a page may do, word by word: one source more would be no failure of a test that looks for the others. */
  const isGuarded = (headers: Headers) =>
    expect(
      [
        'content-security-policy',
        'x-content-type-options',
        'referrer-policy',
        'cross-origin-opener-policy',
        'cache-control',
      ].map((name) => headers.get(name)),
    ).toEqual([
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'nosniff',
      'same-origin',
      'same-origin',
      'no-store',
    ]);

  it('guards what it shows to nobody in particular, and where there is no page, in the same way', async () => {
    await open();
    for (const path of ['/login', '/no-such-page', '/hil/no-such-call']) {
      const { headers } = await browserAt(gate.lite.url).get(path, { accept: 'text/html' });
      isGuarded(headers);
    }
  });

  it.each(['/', '/hil', '/audit', '/audit/hunt', '/agents', '/policies', '/health-of-services', '/me'])(
    'shows %s, with its script and style from here alone and nothing inline',
    async (path) => {
      await open();
      await parked();
      const { status, text, headers } = await (await signIn()).get(path);
      expect(status).toBe(200);
      isGuarded(headers);
      expect(text).not.toMatch(/<script(?! src="\/static\/)|<style|style="|onload=|is away/);
      for (const [, asset = ''] of text.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g))
        expect((await browserAt(gate.lite.url).get(asset)).headers.get('cache-control')).toContain('immutable');
    },
  );

  it('says on a page that there is none, to whoever looks at pages, and in JSON to programs', async () => {
    await open();
    for (const path of ['/no-such-page', '/hil/x/y/z', '/tenants']) {
      const { status, text, headers } = await browserAt(gate.lite.url).get(path);
      expect([path, status, text.includes('</html>')]).toEqual([path, 404, true]);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      const program = await gate.send('GET', path);
      expect([path, program.status, program.body['error']]).toEqual([path, 404, 'not_found']);
    }
  });

  it('shows the text of a rule, and says of none that there is none', async () => {
    await open();
    const browser = await signIn();
    const { text } = await browser.get('/policies/budget.rego');
    expect(text).toContain('package gate.authz');
    const [, line] = /href="\/policies\/budget\.rego#(L\d+)"/.exec((await browser.get('/policies')).text) ?? [];
    expect(text).toContain(`<span id="${line}">`);
    for (const none of ['none.rego', 'standing', 'templates', 'suggestions'])
      expect([none, (await browser.get(`/policies/${none}`)).status]).toEqual([none, 404]);
  });

  it('is signed in beside another lite of the same host', async () => {
    await open();
    const browser = await signIn();
    const first = gate;
    await open();
    const other = await signIn();
    expect(other.cookie().split('=')[0]).not.toBe(browser.cookie().split('=')[0]);
    const both = { cookie: `${browser.cookie()}; ${other.cookie()}` };
    for (const lite of [first, gate]) expect((await browserAt(lite.lite.url).get('/hil', both)).status).toBe(200);
    await first.close();
  });

  it('has no page and no navigation for what lite has not: decision links, passkeys', async () => {
    await open();
    const browser = await signIn();
    const { text } = await browser.get('/me');
    expect(text).toContain('operator:lite');
    expect(text).toContain('all of them');
    expect(text).not.toMatch(/passkey/i);
    expect(text).not.toContain('/decide/redeem');
    expect((await browser.get('/decide/redeem?token=x')).status).toBe(404);
    expect((await browser.post('/auth/register/start')).status).toBe(404);
  });

  it('lists the rules that judge, and says that its services answer', async () => {
    await open();
    const browser = await signIn();
    expect((await browser.get('/policies')).text).toContain('budget.rego');
    const { text } = await browser.get('/health-of-services');
    for (const name of ['review service', 'ledger', 'policy engine']) expect(text).toContain(`>${name}</th>`);
    expect(text).toMatch(/The ledger had no row when it was walked/);
  });

  it('says where somebody decides that the chain does not hold, as a walk at the sign-in found', async () => {
    const folder = await liteFolder();
    await open({}, { folder });
    await parked();
    const before = await signIn();
    expect((await before.get('/')).text).not.toContain('The chain');
    await gate.close();
    editFile(gate.ledger, "update ledger_entries set reasoning = 'fine' where seq = 1");
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: OPERATOR }, { folder });
    const browser = await signIn();
    await eventually('the queue says so', async () =>
      (await browser.get('/')).text.includes('The chain does not hold'),
    );
    for (const path of ['/audit', '/health-of-services'])
      expect((await browser.get(path)).text).toContain('The chain does not hold');
    await rm(folder, { recursive: true, force: true });
  });

  it('says on every page what observe mode means, and that agents are anonymous', async () => {
    await open({ GATE_LITE_MODE: 'observe' });
    const browser = await signIn();
    for (const path of ['/', '/audit', '/me']) {
      const { text } = await browser.get(path);
      expect(text).toContain('Observe mode: every call runs, and nothing waits for you.');
      expect(text).toContain('Anonymous agents: whoever reaches this port can call.');
    }
    expect((await browserAt(gate.lite.url).get('/login')).text).not.toContain('Anonymous agents');
    await gate.close();
    await open({ GATE_LITE_TOKEN: 'agent-token-0123456789-0123456789' });
    expect((await (await signIn()).get('/')).text).not.toMatch(/Observe mode|Anonymous agents/);
  });
});

describe('signing in at lite', () => {
  it('works once by the printed link; a session survives a restart, and signing out ends it', async () => {
    const folder = await liteFolder();
    await open({}, { folder });
    const link = gate.lite.signInLink() ?? '';
    const browser = browserAt(gate.lite.url);
    const came = await browser.get(link);
    expect(came.headers.get('set-cookie')).toMatch(
      /^gate_console_session_[0-9a-f]{8}=[\w-]{43}; .*HttpOnly; SameSite=Lax$/,
    );
    const used = await browserAt(gate.lite.url).get(link);
    expect([used.status, used.text]).toEqual([401, expect.stringContaining('The command below prints a new one')]);
    // Whoever is signed in and opens the used link again wants the page.
    expect(await browser.get(link)).toMatchObject({ status: 303, location: '/' });
    await gate.close();

    await open({}, { folder });
    const cookie = browser.cookie();
    const again = browserAt(gate.lite.url);
    expect((await again.get('/hil', { cookie })).status).toBe(200);
    const csrf = fieldIn((await again.get('/hil', { cookie })).text, 'csrf');
    expect((await again.post('/logout', { csrf }, { cookie })).location).toBe('/login');
    expect((await again.get('/hil', { cookie })).status).toBe(303);
    await gate.close();
    await open({}, { folder });
    expect((await browserAt(gate.lite.url).get('/hil', { cookie })).status).toBe(303);
    await rm(folder, { recursive: true, force: true });
  });

  it('takes the decide token in any form but a wrong one, and leads to the page that was wanted', async () => {
    await open();
    const stranger = browserAt(gate.lite.url);
    expect((await stranger.get('/')).location).toBe('/login');
    expect((await stranger.get('/login')).text).toContain('npx gate lite link');
    expect(await stranger.post('/login', { csrf: '', token: 'wrong' })).toMatchObject({ status: 401 });
    for (const body of ['{"token":5}', '{}', '[]', 'null', `{"token":["${OPERATOR}"]}`])
      expect(
        await gate.send('POST', '/login', { body, headers: { 'content-type': 'application/json' } }),
      ).toMatchObject({ status: 401 });
    expect(await stranger.post('/login', { csrf: '', token: OPERATOR, return_to: '/audit' })).toMatchObject({
      status: 303,
      location: '/audit',
    });
  });

  it('ends with the token that opened it', async () => {
    const folder = await liteFolder();
    await open({}, { folder });
    const cookie = (await signIn()).cookie();
    await gate.close();
    await open({ GATE_LITE_DECIDE_TOKEN: `another-${OPERATOR}` }, { folder });
    // The operator is the same one, so the session stands; it decides with the token of now.
    expect((await browserAt(gate.lite.url).get('/hil', { cookie })).status).toBe(200);
    await gate.close();
    await open({ GATE_LITE_DECIDERS: `alpha:${OPERATOR}` }, { folder });
    expect((await browserAt(gate.lite.url).get('/hil', { cookie })).status).toBe(303);
    await rm(folder, { recursive: true, force: true });
  });

  it('is none by a row that somebody wrote into the file', async () => {
    await open();
    const browser = await signIn();
    await gate.send('GET', '/pending', { headers: bearer });
    editFile(gate.ledger, "update console_sessions set subject = 'operator:other'");
    expect((await browser.get('/hil')).status).toBe(303);
  });

  it('behind something that speaks TLS a form is from the same host, and from no other', async () => {
    await open({ GATE_LITE_ALLOWED_HOSTS: 'gate.example' });
    const browser = await signIn();
    const { id } = await parked();
    const fields = await formsOf(browser, id);
    for (const origin of ['https://evil.example', 'http://127.0.0.1:1', 'null'])
      expect((await browser.post(`/hil/${id}/deny`, fields, { origin })).status).toBe(403);
    expect((await browser.post(`/hil/${id}/deny`, { ...fields, csrf: 'x' })).text).toContain('csrf_failed');
    expect((await rowOf(id))?.['status']).toBe('pending');
    const origin = gate.lite.url.replace(/^http:/, 'https:');
    expect((await browser.post(`/hil/${id}/deny`, fields, { origin })).status).toBe(303);
  });
});

describe('deciding at the console of lite', () => {
  it('approves; the page then says what came of it, and the row that it was the console', async () => {
    await open();
    const { id, call } = await parked({ to: '<script>alert(1)</script>\u202e', amount: 25 });
    const browser = await signIn();
    const { text } = await browser.get('/');
    expect(text).toContain('&lt;script>alert(1)&lt;/script>\\u{202e}');
    expect(text).toContain('Once it is approved, Gate executes it, once.');
    // A second page of the call is open meanwhile.
    const [mine, slower] = [await formsOf(browser, id), await formsOf(browser, id)];
    const came = await browser.post(`/hil/${id}/approve`, mine);
    expect(came.status).toBe(303);
    const shown = (await browser.get(came.location ?? '')).text;
    expect(shown).toMatch(/Approved: .*wire_transfer.* for .*anonymous.*, by .*operator:lite/s);
    expect(shown).toContain('Gate executed it, once.');
    expect(tools.executed).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({
      status: 'approved',
      decided_by: 'operator:lite',
      decided_via: 'console',
    });
    expect((await browser.get(`/audit/correlation/${call}`)).text).toContain('hil.approved');
    const late = await browser.post(`/hil/${id}/deny`, slower);
    expect(late.status).toBe(409);
    expect(wordsIn(late.text)).toContain('already_decided');
    expect(wordsIn(late.text)).toMatch(/approved by operator:lite/);
    expect(tools.executed).toHaveLength(1);
  });

  it.each([
    ['an error of the tool', { error: { code: -1, message: 'no money' } }, 'and the tool answered with an error'],
    ['no answer', null, 'Nobody knows whether it ran'],
  ])('says so of %s', async (_what, answer, words) => {
    await open();
    const { id } = await parked();
    tools.answer = ({ id: asked }) => answer && { jsonrpc: '2.0', id: asked ?? null, ...answer };
    const browser = await signIn();
    const came = await browser.post(`/hil/${id}/approve`, await formsOf(browser, id));
    const { text } = await browser.get(came.location ?? '');
    expect(text).toContain(words);
    expect(text).toContain('notice bad');
  });

  it('executes nothing for an agent that asked for the decision alone, and says that before and after', async () => {
    await open();
    const { id } = await parked({ amount: 1 }, { decision: true });
    const browser = await signIn();
    expect((await browser.get(`/hil/${id}`)).text).toContain('Gate executes nothing here');
    const came = await browser.post(`/hil/${id}/approve`, await formsOf(browser, id));
    expect((await browser.get(came.location ?? '')).text).toContain(
      'Gate executes nothing here: its agent asked for the decision, and may act now.',
    );
    expect(tools.executed).toHaveLength(0);
  });

  it('says nothing of a decision that an address only claims', async () => {
    await open();
    const { id } = await parked();
    const { text } = await (await signIn()).get(`/hil/${id}?done=${id}`);
    expect(text).not.toContain('class="notice');
  });

  it('changes arguments before it approves', async () => {
    await open();
    const { id } = await parked({ amount: 25 });
    const browser = await signIn();
    const fields = { ...(await formsOf(browser, id)), 'value.0': '12' };
    expect((await browser.post(`/hil/${id}/modify/preview`, fields)).text).toContain('Approve with this change');
    const came = await browser.post(`/hil/${id}/modify`, fields);
    expect((await browser.get(came.location ?? '')).text).toContain('Approved with changed arguments');
    expect(tools.executed).toMatchObject([{ params: { arguments: { amount: 12 } } }]);
  });

  it('notes what came of a call that is decided, and of none that waits', async () => {
    await open();
    const { id, call } = await parked();
    const browser = await signIn();
    const csrf = fieldIn((await browser.get(`/hil/${id}`)).text, 'csrf');
    const note = 'Paid by hand.';
    expect((await browser.post(`/hil/${id}/note`, { csrf, note })).status).toBe(409);
    await browser.post(`/hil/${id}/deny`, { csrf, reason: 'no', list: '', ...(await formsOf(browser, id)) });
    const { text } = await browser.get(`/hil/${id}/note`);
    expect(text).not.toContain('Have a model suggest one');
    expect(await browser.post(`/hil/${id}/note`, { csrf, note })).toMatchObject({
      status: 303,
      location: `/audit/correlation/${call}`,
    });
    expect(await rowOf(id)).toMatchObject({ status: 'denied', incident_summary: note, incident_by: 'operator:lite' });
  });

  it('tells the slower one who was faster', async () => {
    await open();
    const { id } = await parked();
    const browser = await signIn();
    const fields = await formsOf(browser, id);
    await gate.send('POST', `/decide/${id}`, { body: { decision: 'deny' }, headers: bearer });
    const late = await browser.post(`/hil/${id}/approve`, fields);
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('already_decided')]);
    expect(late.text).toContain('operator:lite');
    expect(tools.executed).toHaveLength(0);
  });

  it('decides no call but the one that was shown, and none that expired', async () => {
    let aheadMs = 0;
    const clock = { ...machineClock, now: () => Date.now() + aheadMs };
    await open({ GATE_LITE_PENDING_TTL_SECS: '30' }, { clock });
    const { id } = await parked();
    const browser = await signIn();
    const fields = await formsOf(browser, id);
    const other = await browser.post(`/hil/${id}/approve`, { ...fields, digest: `sha256:${'0'.repeat(64)}` });
    expect([other.status, other.text]).toEqual([409, expect.stringContaining('action_digest_mismatch')]);
    aheadMs = 31_000;
    const late = await browser.post(`/hil/${id}/approve`, fields);
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('pending_expired')]);
    expect(tools.executed).toHaveLength(0);
  });

  it('approves nothing that it cannot show whole, whatever a form sends; it may be denied', async () => {
    await open();
    const { id } = await parked({ memo: 'x'.repeat(150_000), zeal: 'the harmful end' });
    const browser = await signIn();
    const { text } = await browser.get(`/hil/${id}`);
    expect(text).not.toContain('the harmful end');
    expect(text).toContain('Too large to be read here: cut, and not approved here.');
    const fields = await formsOf(browser, id);
    expect((await browser.post(`/hil/${id}/approve`, fields)).text).toContain('too large to be read here');
    expect((await rowOf(id))?.['status']).toBe('pending');
    expect((await browser.post(`/hil/${id}/deny`, { ...fields, reason: 'too long' })).status).toBe(303);
    expect(await rowOf(id)).toMatchObject({ status: 'denied', decision_reason: 'too long' });
  });
});

describe('tenants at the console of lite', () => {
  const AGENTS = 'alpha/buyer:agent-token-a-0123456789-0123456789,beta/seller:agent-token-b-0123456789-0123456789';
  const as = (tenant: 'a' | 'b') => ({
    headers: { authorization: `Bearer agent-token-${tenant}-0123456789-0123456789` },
  });

  it('an operator of one sees, decides and looks up what is his, and nothing of the other', async () => {
    await open({ GATE_LITE_DECIDERS: `alpha:${OPERATOR},beta:other-${OPERATOR}`, GATE_LITE_AGENTS: AGENTS });
    const own = await parked({ amount: 1 }, as('a'));
    const foreign = await parked({ amount: 2, note: 'SECRET' }, as('b'));
    const browser = await withToken(OPERATOR);
    const queue = (await browser.get('/')).text;
    expect(queue).toContain('buyer');
    for (const path of [
      '/',
      '/audit',
      '/agents',
      '/audit/hunt',
      `/hil/${foreign.id}`,
      `/audit/correlation/${foreign.call}`,
      `/api/audit/correlation/${foreign.call}`,
      '/audit/export',
    ]) {
      const { text } = await browser.get(path);
      expect([path, /seller|SECRET/.test(text)]).toEqual([path, false]);
    }
    expect((await browser.get('/audit')).text).toContain('buyer');
    const fields = { ...(await formsOf(browser, own.id)), digest: (await rowOfBeta(foreign.id)).digest };
    expect((await browser.post(`/hil/${foreign.id}/approve`, fields)).status).toBe(404);
    expect((await browser.post(`/hil/${own.id}/deny`, await formsOf(browser, own.id))).status).toBe(303);
    expect(tools.executed).toHaveLength(0);
  });
  const rowOfBeta = async (id: string) => {
    const headers = { authorization: `Bearer other-${OPERATOR}` };
    const [row] = (await gate.send('GET', `/pending?id=${id}`, { headers })).body as unknown as JsonObject[];
    return { digest: row?.['original_payload_digest'] as string };
  };

  it('the operator of all of them has one queue, in which each call says whose it is', async () => {
    await open({ GATE_LITE_AGENTS: AGENTS });
    await parked({ amount: 1 }, as('a'));
    const second = await parked({ amount: 2 }, as('b'));
    const browser = await signIn();
    const { text } = await browser.get('/');
    expect(text).toContain('buyer');
    expect(text).toContain('seller');
    expect((await browser.get(`/hil/${second.id}`)).text).toMatch(/Tenant<\/dt><dd><bdi class="foreign">beta/);
    expect((await browser.get('/audit')).text).toMatch(/buyer[^]*seller|seller[^]*buyer/);
    expect((await browser.post(`/hil/${second.id}/approve`, await formsOf(browser, second.id))).status).toBe(303);
    await eventually('the call of the second tenant ran', () => Promise.resolve(tools.executed.length === 1));
  });
});

describe('the streams of the console in lite', () => {
  /** The events of a stream, as they come, and a way to leave. */
  const follow = async (path: string, cookie: string) => {
    const left = new AbortController();
    const answer = await fetch(`${gate.lite.url}${path}`, {
      headers: { cookie, accept: 'text/event-stream' },
      signal: left.signal,
    });
    const events: string[] = [];
    const reading = (async () => {
      const text = new TextDecoder();
      for await (const part of answer.body ?? []) events.push(text.decode(part as Uint8Array));
    })().catch(() => undefined);
    return { status: answer.status, told: () => events.join(''), ended: reading, leave: () => left.abort() };
  };

  it('tell a page of reviews and of rows as they come, and end with the session', async () => {
    await open();
    const browser = await signIn();
    const reviews = await follow('/stream/hil', browser.cookie());
    const rows = await follow('/stream/audit', browser.cookie());
    expect([reviews.status, rows.status]).toEqual([200, 200]);
    const { id } = await parked();
    await eventually('the review', () => Promise.resolve(reviews.told().includes(id)));
    await eventually('its rows', () => Promise.resolve(rows.told().includes('hil.created')));
    await gate.send('POST', `/decide/${id}`, { body: { decision: 'deny' }, headers: bearer });
    await eventually('the decision', () => Promise.resolve(reviews.told().includes('event: decided')));
    await browser.post('/logout');
    await Promise.all([reviews.ended, rows.ended]);
    expect((await follow('/stream/hil', browser.cookie())).status).toBe(401);
  });

  it('leave nothing behind when their reader goes: their places are free again', async () => {
    await open();
    const browser = await signIn();
    for (let round = 0; round < 12; round += 1) {
      const streams = await Promise.all(
        Array.from({ length: 6 }, () => follow(round % 2 === 0 ? '/stream/hil' : '/stream/audit', browser.cookie())),
      );
      expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
      for (const stream of streams) stream.leave();
      await Promise.all(streams.map(({ ended }) => ended));
      await eventually('room for more', async () => {
        const one = await follow('/stream/hil', browser.cookie());
        one.leave();
        return one.status === 200;
      });
    }
  }, 60_000);

  it('end when lite stops, which waits for none of them', async () => {
    await open();
    const browser = await signIn();
    const streams = [await follow('/stream/hil', browser.cookie()), await follow('/stream/audit', browser.cookie())];
    const began = Date.now();
    await gate.lite.close();
    await Promise.all(streams.map(({ ended }) => ended));
    expect(Date.now() - began).toBeLessThan(4_000);
    gate = { ...gate, close: () => Promise.resolve() };
  });
});
