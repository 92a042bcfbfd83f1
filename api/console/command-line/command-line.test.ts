import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import type { PendingRequest } from '../../../contracts/review.js';
import { ROLES } from '../../../console/roles.js';
import {
  CONSOLE_HOST,
  CONSOLE_OPERATORS,
  CONSOLE_ORIGIN,
  type ConsoleFixture,
  openConsole,
} from '../../../test/support/console-over-hil.js';
import { readVouching } from '../../../domain/review/vouching.js';
import { browserAt, openLoneConsole } from '../../../test/support/lone-console.js';
import { OPERATOR } from '../../../test/support/hil.js';
import { fieldIn } from '../../../test/support/html.js';
import { eventually } from '../../../test/support/waiting.js';
import { basicAdminMode } from '../sign-in/basic-admin.js';
import { RELAYED } from './relayed.js';

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole();
});
afterEach(() => fixture.close());

const CLIENT = { client_id: 'gate-operator-cli' };
const GRANT = { ...CLIENT, grant_type: 'urn:ietf:params:oauth:grant-type:device_code' };

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(
  method: 'GET' | 'POST',
  url: string,
  headers: Record<string, string>,
  payload?: string | Buffer,
): Promise<Answer> {
  const answer = await fixture.service.app.inject({
    method,
    url,
    headers: { host: CONSOLE_HOST, accept: 'application/json', ...headers },
    ...(payload !== undefined && { payload }),
  });
  return { status: answer.statusCode, body: JSON.parse(answer.body) as Record<string, unknown> };
}
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const form = (url: string, fields: Record<string, string>, headers = {}) =>
  ask('POST', url, { ...FORM, ...headers }, new URLSearchParams(fields).toString());
const begin = async () =>
  (await form('/oauth/device_authorization', { ...CLIENT, scope: 'gate.operator' })).body as Record<string, string>;
/** Asks for the token, when it is time to. */
const poll = (deviceCode: unknown) => {
  fixture.hil.now += 5_000;
  return form('/oauth/token', { ...GRANT, device_code: String(deviceCode) });
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('signing in a command line', () => {
  it('says where, under the address that was asked', async () => {
    expect(await ask('GET', '/.well-known/oauth-authorization-server', {})).toEqual({
      status: 200,
      body: {
        issuer: CONSOLE_ORIGIN,
        device_authorization_endpoint: `${CONSOLE_ORIGIN}/oauth/device_authorization`,
        token_endpoint: `${CONSOLE_ORIGIN}/oauth/token`,
        revocation_endpoint: `${CONSOLE_ORIGIN}/oauth/revoke`,
        scopes_supported: ['gate.operator'],
        response_types_supported: [],
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code'],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
      },
    });
  });

  it('begins with two codes and the page for the short one, for ten minutes', async () => {
    const body = await begin();
    expect(body).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${CONSOLE_ORIGIN}/device`,
      verification_uri_complete: `${CONSOLE_ORIGIN}/device?user_code=${body['user_code']}`,
      expires_in: 600,
      interval: 5,
    });
  });

  it('waits until the person agrees on the page, and then acts as that person', async () => {
    const { device_code, user_code = '' } = await begin();
    expect(await poll(device_code)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } });
    const browser = await fixture.browser();
    const page = await browser.get(`/device?user_code=${user_code}`);
    for (const said of [user_code, '127.0.0.1', 'operator:dev (admin, acme)', 'If somebody sent you']) {
      expect(page.text.replaceAll(/\s+/g, ' ')).toContain(said);
    }
    // To look is not to agree.
    expect(await poll(device_code)).toMatchObject({ body: { error: 'authorization_pending' } });
    expect((await browser.post('/device/allow', { user_code })).text).toContain('Go back to your terminal');
    const { status, body } = await poll(device_code);
    expect([status, body]).toEqual([
      200,
      { access_token: expect.any(String), token_type: 'Bearer', expires_in: 3_600, scope: 'gate.operator' },
    ]);
    expect(await ask('GET', '/command-line/me', bearer(String(body['access_token'])))).toEqual({
      status: 200,
      body: {
        subject: 'operator:dev',
        tenant: 'acme',
        role: 'admin',
        mode: 'operator-token',
        ends_at: new Date(fixture.hil.now + 3_600_000).toISOString(),
      },
    });
  });

  it('is told when the person refuses', async () => {
    const { device_code, user_code = '' } = await begin();
    expect((await (await fixture.browser()).post('/device/refuse', { user_code })).text).toContain('got nothing');
    expect(await poll(device_code)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
  });

  it('is told when nobody agreed in time', async () => {
    const { device_code, user_code = '' } = await begin();
    fixture.hil.now += 600_000;
    expect(await poll(device_code)).toMatchObject({ status: 400, body: { error: 'expired_token' } });
    expect((await (await fixture.browser()).post('/device/allow', { user_code })).status).toBe(404);
  });

  it('is slowed down where it asks too early', async () => {
    const { device_code } = await begin();
    await poll(device_code);
    const again = await form('/oauth/token', { ...GRANT, device_code: String(device_code) });
    expect(again).toMatchObject({ status: 400, body: { error: 'slow_down' } });
  });

  it('gets one token for one code: used again, the code ends it', async () => {
    const { device_code, user_code = '' } = await begin();
    await (await fixture.browser()).post('/device/allow', { user_code });
    const token = String((await poll(device_code)).body['access_token']);
    expect(await poll(device_code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(401);
  });

  it('of one who agreed and is not in the settings any more gets none', async () => {
    const { device_code, user_code = '' } = await begin();
    await (await fixture.browser()).post('/device/allow', { user_code });
    await fixture.restart({ operators: CONSOLE_OPERATORS.slice(1) });
    expect(await poll(device_code)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
  });

  it('survives a restart of the console on the way', async () => {
    const { device_code, user_code = '' } = await begin();
    await fixture.restart();
    await (await fixture.browser()).post('/device/allow', { user_code });
    await fixture.restart();
    const token = String((await poll(device_code)).body['access_token']);
    await fixture.restart();
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(200);
  });

  it.each([
    ['another client', { client_id: 'gate' }, 401, 'invalid_client'],
    ['another scope', { scope: 'gate.agent' }, 400, 'invalid_scope'],
    ['more scopes', { scope: 'openid gate.operator' }, 400, 'invalid_scope'],
    ['no scope', { scope: '' }, 400, 'invalid_scope'],
  ])('is not begun by %s', async (_, change, status, error) => {
    const refused = await form('/oauth/device_authorization', { ...CLIENT, scope: 'gate.operator', ...change });
    expect(refused).toMatchObject({ status, body: { error } });
  });

  it.each([
    ['another client', { client_id: 'gate' }, 401, 'invalid_client'],
    ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['no code', { device_code: '' }, 400, 'invalid_grant'],
    ['another code', { device_code: 'A'.repeat(43) }, 400, 'invalid_grant'],
  ])('gets no token by %s', async (_, change, status, error) => {
    const { device_code, user_code = '' } = await begin();
    await (await fixture.browser()).post('/device/allow', { user_code });
    const refused = await form('/oauth/token', { ...GRANT, device_code: String(device_code), ...change });
    expect(refused).toMatchObject({ status, body: { error } });
  });

  it.each(['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'])(
    '%s answers no page of a browser, no field twice, and nothing but a form',
    async (path) => {
      const fields = { ...GRANT, scope: 'gate.operator', token: 'x', device_code: 'x' };
      for (const headers of [{ origin: CONSOLE_ORIGIN }, { 'sec-fetch-site': 'cross-site' }])
        expect(await form(path, fields, headers)).toMatchObject({ status: 403, body: { error: 'csrf_failed' } });
      const twice = `client_id=gate-operator-cli&${new URLSearchParams(fields).toString()}`;
      expect(await ask('POST', path, FORM, twice)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      const json = { 'content-type': 'application/json' };
      expect(await ask('POST', path, json, JSON.stringify(fields))).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    },
  );

  it('is begun by one address at a bounded rate, and what is refused keeps nobody out for longer', async () => {
    const begins = async (count: number) => {
      const statuses: number[] = [];
      for (let n = 0; n < count; n += 1)
        statuses.push((await form('/oauth/device_authorization', { ...CLIENT, scope: 'gate.operator' })).status);
      return { begun: statuses.filter((status) => status === 200).length, last: statuses.at(-1) };
    };
    expect(await begins(60)).toEqual({ begun: 50, last: 429 });
    fixture.hil.now += 5_001;
    expect(await begin()).toHaveProperty('device_code');
  });
});

describe('the page for the code', () => {
  it('asks for it, finds it however it is typed, and says when nobody waits under it', async () => {
    const browser = await fixture.browser();
    expect((await browser.get('/device')).text).toContain('name="user_code"');
    const { user_code = '' } = await begin();
    const typed = encodeURIComponent(` ${user_code.replace('-', ' ').toLowerCase()} `);
    const { text } = await browser.get(`/device?user_code=${typed}`);
    expect(text).toContain('Let this command line act as you?');
    // As the terminal shows it, so that the two can be compared.
    expect(text).toContain(`>${user_code}<`);
    expect(await browser.get('/device?user_code=BCDF-BCDF')).toMatchObject({
      status: 404,
      text: expect.stringContaining('No command line waits'),
    });
  });

  it('comes after the sign-in, which leads back to it with the code', async () => {
    const { user_code = '' } = await begin();
    const { status, headers } = await fixture.stranger().get(`/device?user_code=${user_code}`);
    expect([status, headers['location']]).toEqual([
      303,
      `/login?${new URLSearchParams({ return_to: `/device?user_code=${user_code}` }).toString()}`,
    ]);
  });

  it('says nothing of deciding to who may only look', async () => {
    const { user_code = '' } = await begin();
    const text = async (role: string) =>
      (await (await fixture.browser({ role })).get(`/device?user_code=${user_code}`)).text;
    expect(await text('viewer')).not.toContain('and decide about calls');
    expect(await text('approver')).toContain('and decide about calls');
  });

  it('takes ten wrong codes of a person, and then none for a while, also no right one', async () => {
    const browser = await fixture.browser();
    const { user_code = '' } = await begin();
    for (let n = 0; n < 10; n += 1) await browser.get(`/device?user_code=BCDF-BCD${'BCDFGHJKLM'[n]}`);
    expect((await browser.get(`/device?user_code=${user_code}`)).status).toBe(429);
    expect((await browser.post('/device/allow', { user_code })).status).toBe(429);
    // Somebody else types on.
    const other = await fixture.browser({ subject: 'operator:glx', tenant: 'globex' });
    expect((await other.get(`/device?user_code=${user_code}`)).status).toBe(200);
  });

  it.each(['image', 'iframe', 'empty'])('looks up no code, and counts none, for an %s of any page', async (dest) => {
    const browser = await fixture.browser();
    const { user_code = '' } = await begin();
    const embedded = { 'sec-fetch-dest': dest, 'sec-fetch-site': 'same-site' };
    for (let n = 0; n < 11; n += 1)
      expect((await browser.get('/device?user_code=BCDF-BCDF', embedded)).status).toBe(403);
    const typed = { 'sec-fetch-dest': 'document', 'sec-fetch-site': 'same-origin' };
    expect((await browser.get(`/device?user_code=${user_code}`, typed)).status).toBe(200);
  });

  it.each(['<script>alert(1)</script>', '"><b>', `${'A'.repeat(10_000)}`, '\u202eBCDF'])(
    'shows %j inert',
    async (code) => {
      const { text } = await (await fixture.browser()).get(`/device?user_code=${encodeURIComponent(code)}`);
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('<b>');
      expect(text).not.toContain('\u202e');
    },
  );
});

describe('the page of a person', () => {
  it('lists browsers and command lines, and ends each but this one', async () => {
    const [browser, token] = [await fixture.browser(), await fixture.token()];
    await fixture.token({ subject: 'operator:glx', tenant: 'globex' });
    const { text } = await browser.get('/me');
    expect(text.match(/A browser/g)).toHaveLength(2);
    expect(text.match(/A command line/g)).toHaveLength(1);
    expect(text).toContain('192.0.2.7');
    expect(text.match(/this one/g)).toHaveLength(1);
    const { id = '' } = (await fixture.sessions.ofToken(token)) ?? {};
    expect((await browser.post('/me/end', { session: id })).headers['location']).toBe('/me');
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(401);
    expect((await browser.post('/me/end', { session: id })).status).toBe(404);
  });

  it('ends nobody else’s', async () => {
    const token = await fixture.token({ subject: 'operator:glx', tenant: 'globex' });
    const { id = '' } = (await fixture.sessions.ofToken(token)) ?? {};
    expect((await (await fixture.browser()).post('/me/end', { session: id })).status).toBe(404);
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(200);
  });
});

describe('a token', () => {
  it('is ended by its holder; one that is not known is no error', async () => {
    const token = await fixture.token();
    for (const one of [token, token, 'x'])
      expect(await form('/oauth/revoke', { ...CLIENT, token: one })).toEqual({ status: 200, body: {} });
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(401);
    expect((await form('/oauth/revoke', CLIENT)).status).toBe(400);
  });

  it('ends with the role, and with another sign-in of another role', async () => {
    const token = await fixture.token({ role: 'viewer' });
    await fixture.stranger().post('/login', { token: OPERATOR });
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(401);
  });

  it('of somebody who is not in the settings any more is none', async () => {
    const token = await fixture.token();
    await fixture.restart({ operators: CONSOLE_OPERATORS.slice(1) });
    expect((await ask('GET', '/command-line/me', bearer(token))).status).toBe(401);
  });

  it('opens no page, no stream of pages, and no other answer for programs', async () => {
    const token = await fixture.token();
    const row = await fixture.hil.park(1);
    for (const path of ['/auth/me', '/api/chain-status', '/stream/hil', '/stream/audit', '/audit/export'])
      expect([path, (await ask('GET', path, bearer(token))).status]).toEqual([path, 401]);
    expect((await ask('GET', `/api/audit/correlation/${row.correlation_id}`, bearer(token))).status).toBe(401);
    const browser = fixture.stranger();
    expect((await browser.get('/hil', bearer(token))).status).toBe(303);
    expect((await fixture.stranger(token).get('/hil')).status).toBe(303);
  });
});

describe.each(RELAYED.map((route) => [`${route.method} ${route.path} of ${route.service}`, route] as const))(
  'asked at the command line, %s',
  (_, { service, method, path, role, query }) => {
    let row: PendingRequest;
    let url: string;
    beforeEach(async () => {
      row = await fixture.hil.park(1);
      const id = path.includes('by-correlation') ? row.correlation_id : row.id;
      url = `/command-line/${service}${path.replace(':id', id).replace(':agent', 'payments-agent')}`;
      fixture.reached.length = 0;
    });
    const asked = (headers: Record<string, string>, more = '') =>
      method === 'GET'
        ? ask('GET', url + more, headers)
        : ask(
            'POST',
            url + more,
            { ...headers, 'content-type': 'application/json' },
            JSON.stringify({ decision: 'approve', action_digest: row.original_payload_digest }),
          );

    it('is answered as the service answers', async () => {
      expect((await asked(bearer(await fixture.token({ role })))).status).toBe(200);
      expect(fixture.reached).toEqual([
        `${method} ${path.replace(':id', url.split('/').at(-1) ?? '').replace(':agent', 'payments-agent')}`,
      ]);
    });

    it('is refused without a token, with a cookie, with an operator’s token and with none of Gate’s', async () => {
      const { cookie } = await fixture.browser();
      for (const headers of [
        {},
        { cookie: `gate_console_session=${cookie}` },
        bearer(cookie),
        bearer(OPERATOR),
        bearer(`gate_cli_${'A'.repeat(43)}`),
        { authorization: `Basic ${await fixture.token()}` },
      ])
        expect(await asked(headers)).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
      expect(fixture.reached).toEqual([]);
    });

    it('is refused to a lower role', async () => {
      for (const less of ROLES.slice(0, ROLES.indexOf(role)))
        expect(await asked(bearer(await fixture.token({ role: less })))).toMatchObject({
          status: 403,
          body: { error: 'role_too_low', required: role, actual: less },
        });
    });

    it('says nothing of another tenant', async () => {
      const stranger = bearer(await fixture.token({ subject: 'operator:glx', tenant: 'globex' }));
      expect(JSON.stringify((await asked(stranger)).body)).not.toContain('payments-agent');
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status: 'pending' });
    });

    it('takes no question beside those of the command line, and no tenant', async () => {
      const token = bearer(await fixture.token());
      for (const name of ['tenant', 'x', 'constructor'])
        expect(await asked(token, `?${name}=globex`)).toMatchObject({
          status: 400,
          body: { error: 'invalid_request' },
        });
      for (const name of query) expect((await asked(token, `?${name}=1&${name}=2`)).status).toBe(400);
      expect(fixture.reached).toEqual([]);
    });

    it('says when the service is away', async () => {
      fixture.away.add(service);
      expect(await asked(bearer(await fixture.token()))).toMatchObject({
        status: 503,
        body: { error: 'console_neighbour_away' },
      });
    });
  },
);

it.each([
  'GET ledger/agents',
  'POST hil/people/standing',
  'POST hil/pending/x/assign',
  'GET ledger/verify',
  'GET policy/policies',
])('what the table has not is not asked at the command line: %s', async (name) => {
  const [method, path] = name.split(' ') as ['GET' | 'POST', string];
  const token = await fixture.token();
  fixture.reached.length = 0;
  expect(await ask(method, `/command-line/${path}`, bearer(token))).toMatchObject({
    status: 404,
    body: { error: 'not_found' },
  });
  expect(fixture.reached).toEqual([]);
});

describe('a decision at the command line', () => {
  const decide = async (row: PendingRequest, body: object, as = {}) =>
    ask(
      'POST',
      `/command-line/hil/decide/${row.id}`,
      { ...bearer(await fixture.token(as)), 'content-type': 'application/json' },
      JSON.stringify(body),
    );

  it('is the person’s, and says where it was made, whatever the request says', async () => {
    const row = await fixture.hil.park(1);
    const { status, body } = await decide(row, {
      decision: 'deny',
      reason: 'no',
      action_digest: row.original_payload_digest,
      decided_via: 'console',
    });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ status: 'denied', decided_by: 'operator:dev', decided_via: 'command-line' }),
    ]);
  });

  it('is about the call that was shown', async () => {
    const row = await fixture.hil.park(1);
    expect(await decide(row, { decision: 'approve' })).toMatchObject({ status: 400 });
    expect(await decide(row, { decision: 'approve', action_digest: 'other' })).toMatchObject({ status: 409 });
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status: 'pending' });
  });

  it.each([
    ['its value twice', '"decision":"approve","modified_arguments":{"value":14,"value":14000}'],
    ['itself twice', '"decision":"deny","decision":"approve"'],
    ['a number out of range', '"decision":"approve","modified_arguments":{"value":1e400}'],
    ['a number that is rounded', '"decision":"approve","modified_arguments":{"value":9007199254740993}'],
    ['half a character', '"decision":"deny","reason":"ok\\ud800"'],
    ['a character that ends texts', '"decision":"deny","reason":"ok\\u0000"'],
    ['bytes that are no UTF-8', '"decision":"deny","reason":"ok\u00ff\u00fe\u00c0\u00af"'],
  ])('is not made by a body that says %s', async (_, said) => {
    const row = await fixture.hil.park(1);
    const headers = { ...bearer(await fixture.token()), 'content-type': 'application/json' };
    const body = Buffer.from(`{${said},"action_digest":"${row.original_payload_digest}"}`, 'latin1');
    fixture.reached.length = 0;
    expect(await ask('POST', `/command-line/hil/decide/${row.id}`, headers, body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
    expect(fixture.reached).toEqual([]);
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ status: 'pending' });
  });

  it('is not made by naming somebody else', async () => {
    const row = await fixture.hil.park(1);
    const said = { decision: 'approve', action_digest: row.original_payload_digest, decided_by: 'operator:glx' };
    await decide(row, said);
    expect((await fixture.hil.reviews.get(row.id))?.decided_by).not.toBe('operator:glx');
  });
});

it('no route of the console reads JSON in which a member stands twice', async () => {
  const { paths } = (await fixture.service.openApi()) as { paths: Record<string, object> };
  const { cookie } = await fixture.browser();
  const read: string[] = [];
  let asked = 0;
  for (const [path, methods] of Object.entries(paths)) {
    if (!('post' in methods)) continue;
    asked += 1;
    const { status, body } = await ask(
      'POST',
      path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000'),
      { cookie: `gate_console_session=${cookie}`, origin: CONSOLE_ORIGIN, 'content-type': 'application/json' },
      '{"csrf":"a","csrf":"b"}',
    );
    if (!/duplicate key/.test(JSON.stringify(body))) read.push(`${path} ${status} ${JSON.stringify(body)}`);
  }
  expect(asked).toBeGreaterThan(20);
  expect(read).toEqual([]);
});

describe('the stream of reviews at the command line', () => {
  it('follows the person’s tenant, and ends when the token is', async () => {
    await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = fixture.service.app.server.address() as AddressInfo;
    const at = `http://localhost:${port}/command-line/hil/pending/stream`;
    const statusFor = async (headers: Record<string, string>) => {
      const { status, body } = await fetch(at, { headers });
      await body?.cancel();
      return status;
    };
    expect(await statusFor({})).toBe(401);
    const token = await fixture.token();
    const answer = await fetch(at, { headers: bearer(token) });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    let text = '';
    const read = (async () => {
      for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>)
        text += Buffer.from(part).toString();
    })();
    const [own, foreign] = [await fixture.hil.park(1), await fixture.hil.park(2, { tenant: 'globex' })];
    await eventually('the call is told', () => text.includes(own.id));
    expect(text).not.toContain(foreign.id);
    await fixture.sessions.endToken(token);
    await read;
    expect(await statusFor(bearer(token))).toBe(401);
  }, 30_000);
});

describe('somebody for whom the console vouches', () => {
  it('asks at the command line by its word, which no other service hears, with the role of the session', async () => {
    const decideToken = 'decide-token-0123456789abcdefghijklm';
    const password = 'correct horse battery staple';
    const signIn = basicAdminMode({ user: 'ada', passwordHash: hashSync(password, 4), tenant: 'acme', decideToken });
    const console = await openLoneConsole({ signIn, decideToken });
    try {
      const browser = browserAt(console);
      await browser.post('/auth/basic-login', { name: 'ada', password });
      const send = async (url: string, fields: Record<string, string>) =>
        (
          await console.service.app.inject({
            method: 'POST',
            url,
            headers: { host: CONSOLE_HOST, ...FORM },
            payload: new URLSearchParams(fields).toString(),
          })
        ).json<Record<string, string>>();
      const { device_code = '', user_code = '' } = await send('/oauth/device_authorization', {
        ...CLIENT,
        scope: 'gate.operator',
      });
      const csrf = fieldIn((await browser.get(`/device?user_code=${user_code}`)).text, 'csrf');
      await browser.post('/device/allow', { csrf, user_code });
      const { access_token = '' } = await send('/oauth/token', { ...GRANT, device_code });
      console.asked.hil.length = 0;
      console.asked.others.length = 0;
      for (const path of ['hil/pending', 'ledger/audit/agent/rows?agent_id=payments-agent'])
        await console.service.app.inject({
          url: `/command-line/${path}`,
          headers: { host: CONSOLE_HOST, ...bearer(access_token) },
        });
      const [toHil, toLedger] = [console.asked.hil[0]?.headers, console.asked.others[0]?.headers];
      expect(toHil).toMatchObject({ authorization: `Bearer ${decideToken}`, 'x-gate-tenant-scope': 'acme' });
      expect(readVouching(toHil?.['x-gate-decision-principal'] ?? '')).toMatchObject({
        subject: 'basic:ada',
        tenant: 'acme',
        method: 'basic-admin',
        role: 'admin',
      });
      expect(toLedger).toEqual({ 'x-gate-tenant-scope': 'acme' });
      expect(console.asked.others[0]?.query).toBe('?tenant=acme&agent_id=payments-agent');
    } finally {
      await console.close();
    }
  });
});
