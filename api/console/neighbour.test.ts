import diagnostics from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import type { FastifyInstance } from 'fastify';
import { Agent, buildConnector } from 'undici';
import { connectorThatTells } from '../../activities/clients/unsent.js';
import { SERVICE_WORDS, settled } from '../../console/services.js';
import type { GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';
import {
  CONSOLE_HOST,
  CONSOLE_ORIGIN,
  type ConsoleFixture,
  type Neighbour,
  openConsole,
} from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import type { Over } from '../plugins/declaration.js';
import { ASK_LIMITS, type AskLimits } from './ask-limits.js';
import { get, MAY_BE_DECIDED, neighbourOf } from './neighbour.js';
import { basicAdminMode } from './sign-in/basic-admin.js';
import { passkeyMode } from './sign-in/passkey.js';

/** Nobody waits long here. */
const SOON = Object.fromEntries(Object.keys(ASK_LIMITS).map((name) => [name, 40])) as unknown as AskLimits;
const ID = '00000000-0000-4000-8000-0000000000aa';
/** Which neighbours were waited for. */
const waited = new Set<Neighbour>();
/** A service that is never there, and says who waits for it. */
const never = (name: Neighbour): Promise<Over> => {
  const over = new Promise<Over>(() => undefined);
  const then = over.then.bind(over);
  // A promise of another kind, which `await` asks.
  return Object.assign(Object.create(Promise.prototype) as Promise<Over>, {
    constructor: Object,
    then: (...how: Parameters<typeof then>) => {
      waited.add(name);
      return then(...how);
    },
  });
};

interface Route {
  readonly method: string;
  readonly url: string;
}
async function consoleOf(how: NonNullable<Parameters<typeof openConsole>[1]>) {
  const apps: Route[][] = [];
  const seen = (message: unknown) => {
    const found: Route[] = [];
    apps.push(found);
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method: methods, url }) => {
      for (const method of [methods].flat()) found.push({ method, url });
    });
  };
  diagnostics.subscribe('fastify.initialization', seen);
  try {
    const fixture = await openConsole(undefined, {
      consoleUrl: CONSOLE_ORIGIN,
      limits: SOON,
      overOf: (name) => never(name),
      ...how,
    });
    await fixture.service.app.ready();
    const routes = apps.find((found) => found.some(({ url }) => url === '/logout')) ?? [];
    return { fixture, routes: routes.filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS') };
  } finally {
    diagnostics.unsubscribe('fastify.initialization', seen);
  }
}

/** What the forms and the programs send that ask another service, each with what it needs to get so far. */
const SENT: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/hil/:id/assign': { assignee: 'operator:me' },
  '/hil/bulk': { id: [ID], decision: 'approve' },
  '/hil/bulk/approve': { row: [`${ID} ${'a'.repeat(64)} ${ID}`] },
  '/hil/bulk/deny': { row: [`${ID} ${'a'.repeat(64)} ${ID}`] },
  '/exports/regulatory': { from: '2026-01-02', to: '2026-01-03' },
  '/cases': { title: 'a case' },
  '/me/link-chat': { code: 'ABCD-EFGH' },
  '/me/unlink-chat': { chat: 'slack' },
  '/me/unlink-chat-of': { chat: 'slack' },
  '/agents/:agent/force-hil': { for: '2h' },
  '/stops/tool': { tool: 'pay', unlisted: 'yes' },
  '/stops/tenant': { tenant_name: 'acme' },
  '/upstreams/add': { upstream: 'crm', upstream_url: 'https://tools.example/mcp' },
  '/decoys/add': { decoy: 'a_decoy' },
  '/decoys/remove': { decoy: 'a_decoy' },
  '/grants/revoke': { grant: ID },
  '/measurements/withdraw': { measurement: ID },
  '/tenants/budget': { whose: 'tenant', agent_name: '', sum: '12.50' },
  '/command-line/hil/decide/:id': { action_digest: 'a'.repeat(64), decision: 'approve' },
};
const DECISION = { digest: 'a'.repeat(64), request: ID, reason: 'because', note: 'what came', name: 'a', body: 'x' };

async function ask({ fixture, session }: { fixture: ConsoleFixture; session: string }, { method, url }: Route) {
  const isRelayed = url.startsWith('/command-line/');
  const isForm = method === 'POST' && !isRelayed && !/^\/auth\/|approval-challenge|^\/webhook/.test(url);
  const csrf = (await fixture.sessions.of(session))?.csrf ?? '';
  const fields = { csrf, ...DECISION, ...SENT[url] };
  const headers = {
    host: CONSOLE_HOST,
    origin: CONSOLE_ORIGIN,
    accept: isForm || (method === 'GET' && !/stream|^\/api\//.test(url)) ? 'text/html' : 'application/json',
    ...(!isRelayed && { cookie: `gate_console_session=${session}; gate_console_ceremony=${ID}` }),
    ...(isRelayed && { authorization: `Bearer ${await fixture.token()}` }),
    ...(!isForm && { 'x-csrf-token': csrf }),
    'x-slack-signature': 'v0=x',
    ...(url === '/webhook/teams' && { authorization: 'HMAC x' }),
    ...(method === 'POST' && {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
    }),
  };
  const pairs = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  waited.clear();
  const { statusCode, body } = await fixture.service.app.inject({
    method: method as 'GET',
    url: `${url.replace(':name', 'a.rego').replace(/:\w+/g, ID)}${url.endsWith('/proof') ? '?seq=1' : ''}`,
    headers,
    ...(method === 'POST' && { payload: isForm ? new URLSearchParams(pairs).toString() : JSON.stringify(fields) }),
  });
  return { status: statusCode, text: body, waitedFor: [...waited] };
}

/** Says of each route that asks a service which is not there: what is wrong with its answer; nothing where it names one of them. */
async function faultsOf(of: Awaited<ReturnType<typeof consoleOf>>, session: () => Promise<string>) {
  const asked: string[] = [];
  const faults: string[] = [];
  // Whether the tenant is stopped is heard for every page, and by the next one no more.
  await (await of.fixture.browser()).get('/me');
  for (const route of of.routes) {
    const { status, text, waitedFor } = await ask({ fixture: of.fixture, session: await session() }, route);
    if (waitedFor.length === 0) continue;
    asked.push(`${route.method} ${route.url}`);
    const said = text.toLowerCase();
    const isNamed = waitedFor.some((name) => said.includes(SERVICE_WORDS[name].toLowerCase()));
    // What was typed may be wrong as well; the page tells of the service all the same.
    const isTold = status < 500 || (status === 503 && said.includes('console_neighbour_away'));
    if (!isNamed || !isTold) faults.push(`${route.method} ${route.url}: ${status} ${text.slice(-400)}`);
  }
  return { asked, faults };
}

describe('services that never come up', () => {
  let of: Awaited<ReturnType<typeof consoleOf>>;
  openedFor(
    async () => (of = await consoleOf({})),
    () => of.fixture.close(),
  );

  it('are named in time by every route that asks one, of pages, forms and programs', async () => {
    const { asked, faults } = await faultsOf(of, async () => (await of.fixture.browser()).cookie);
    expect(faults).toEqual([]);
    expect(ASKED.filter((route) => !asked.includes(route))).toEqual([]);
  }, 120_000);

  it('are called on the probes as on the page of health', async () => {
    const { checks } = (await of.fixture.service.health.inject('/readyz')).json<{ checks: object }>();
    const names = ['review service', 'ledger', 'Brain', 'policy engine', 'sandbox'];
    expect(Object.keys(checks)).toEqual(['sessions', ...names, 'connections']);
    const { text } = await (await of.fixture.browser()).get('/health-of-services');
    for (const name of names) expect(text).toContain(`>${name}</th>`);
  });

  it('keep nothing taken: an archive is refused for the same reason again', async () => {
    const route = { method: 'POST', url: '/exports/regulatory' };
    const session = (await of.fixture.browser()).cookie;
    for (const _ of [1, 2]) expect(await ask({ fixture: of.fixture, session }, route)).toMatchObject({ status: 503 });
  });
});

/** Those that wait for an answer in ways of their own, and some of each other kind. */
const ASKED = [
  'GET /',
  'GET /hil/:id',
  'POST /hil/:id/approve',
  'POST /hil/:id/approval-challenge',
  'POST /auth/login/start',
  'POST /auth/register/finish',
  'POST /webhook/slack',
  'POST /webhook/teams',
  'POST /exports/regulatory',
  'POST /exports/run',
  'GET /stream/hil',
  'GET /stream/audit',
  'GET /audit/export',
  'GET /api/chain-status',
  'GET /command-line/hil/pending',
  'GET /command-line/hil/pending/stream',
  'POST /command-line/hil/decide/:id',
  'GET /command-line/ledger/audit/correlation/:id',
  'GET /policies',
  'GET /brain',
  'GET /cases',
  'GET /agents/:agent',
  'GET /stops',
  'GET /decoys',
  'GET /upstreams',
  'GET /grants',
  'GET /measurements',
  'POST /agents/:agent/stop',
  'POST /agents/:agent/force-hil',
  'POST /agents/:agent/force-hil/end',
  'POST /agents/:agent/release',
  'POST /agents/:agent/describe',
  'POST /agents/:agent/team',
  'POST /agents/:agent/narrow',
  'POST /agents/:agent/decommission',
  'POST /stops/tool',
  'POST /stops/tenant',
  'POST /stops/:id/release',
  'POST /upstreams/add',
  'POST /upstreams/:id/retire',
  'POST /decoys/add',
  'POST /decoys/remove',
  'POST /tenants/budget',
  'POST /agents/:agent/revoke-grant',
  'POST /grants/revoke',
  'POST /measurements/withdraw',
];

describe('a review service that never comes up, where people sign in with its passkeys', () => {
  let of: Awaited<ReturnType<typeof consoleOf>>;
  openedFor(
    async () =>
      (of = await consoleOf({
        signIn: (hil, clock) => passkeyMode({ tenant: 'acme', hil, key: Buffer.alloc(32, 9), clock, limits: SOON }),
      })),
    () => of.fixture.close(),
  );

  it('is named in time by each step of it', async () => {
    const routes = of.routes.filter(({ url }) => url.startsWith('/auth/passkey/'));
    const { asked, faults } = await faultsOf({ ...of, routes }, () => Promise.resolve('x'));
    expect(faults).toEqual([]);
    expect(asked).toEqual(routes.map(({ method, url }) => `${method} ${url}`));
    expect(asked).toHaveLength(4);
  });
});

describe('a review service that takes what it is told and says nothing', () => {
  it('keeps nobody who signs in longer than the console’s own limit', async () => {
    const admin = { user: 'root', passwordHash: hashSync('staple', 4), tenant: 'acme', decideToken: 'x'.repeat(32) };
    const fixture = await openConsole(undefined, { limits: SOON, signIn: () => basicAdminMode(admin) });
    try {
      fixture.hanging.add('hil');
      const asked = fixture.stranger().post('/auth/basic-login', { name: 'root', password: 'staple' });
      // The limit of a console whose settings say nothing else is longer.
      const { status } = await within(ASK_LIMITS.readMs - 1_000, asked, () => new Error('nobody was let in'));
      expect(status).toBe(303);
      expect(fixture.reached).toContain('POST /people/standing');
    } finally {
      await fixture.close();
    }
  });
});

describe('a question to a neighbour', () => {
  /** What a service is asked with. */
  const questions: { url: string; headers: Readonly<Record<string, string>> }[] = [];
  const over = (answer: () => Promise<string>) =>
    Promise.resolve({
      url: 'https://other.test',
      fetch: (url: string, { headers }: { headers: Readonly<Record<string, string>> }) => {
        questions.push({ url, headers });
        return answer().then((text) => ({ status: 200, text: () => Promise.resolve(text) }));
      },
    } as never);
  const acme = { tenant: 'acme', limits: ASK_LIMITS };
  const ok = () => Promise.resolve('{}');

  it('says whose rows are meant, whatever its query says', async () => {
    questions.length = 0;
    const asked = { method: 'GET', path: '/rows', query: { tenant: 'globex', limit: 1, from: undefined } } as const;
    await neighbourOf('ledger', over(ok), acme).ask(null, asked);
    await neighbourOf('ledger', over(ok), acme).pass(asked, 1_000);
    await neighbourOf('hil', over(ok), acme).ask(null, { method: 'GET', path: '/pending' });
    const headers = { 'x-gate-tenant-scope': 'acme' };
    expect(questions).toEqual([
      { url: 'https://other.test/rows?tenant=acme&limit=1', headers },
      { url: 'https://other.test/rows?tenant=acme&limit=1', headers },
      { url: 'https://other.test/pending', headers },
    ]);
  });

  it.each(['/rows/..', '/rows/../x', '//evil.test/x'])('leads nowhere else: %s', async (path) => {
    for (const asked of [
      neighbourOf('ledger', over(ok), acme).ask(null, { method: 'GET', path }),
      neighbourOf('ledger', over(ok), acme).pass({ method: 'GET', path }, 1_000),
      neighbourOf('ledger', over(ok), acme).stream(
        { method: 'GET', path },
        { signal: new AbortController().signal, answerMs: 1_000 },
      ),
    ])
      await expect(asked).rejects.toMatchObject({ code: 'not_found' });
  });

  it('of which no answer came says what may have been done; one that was never asked does not', async () => {
    const asked = { method: 'POST', path: '/decide', doubt: 'It may be done.' } as const;
    const lost = () => Promise.reject(new Error('cut off'));
    for (const question of [
      neighbourOf('hil', over(lost), acme).ask(null, asked),
      neighbourOf('hil', over(lost), acme).pass(asked, 1_000),
    ])
      await expect(question).rejects.toMatchObject({
        code: 'console_neighbour_away',
        message: 'the review service cannot be reached: cut off. It may be done.',
      });
    const absent = Promise.reject<Over>(new Error('it did not start'));
    await expect(neighbourOf('hil', absent, acme).ask(null, asked)).rejects.toMatchObject({
      code: 'console_neighbour_away',
      message: 'the review service cannot be reached: it did not start',
    });
  });

  it.each([
    ['ledger', 'the ledger'],
    ['policy', 'the policy engine'],
  ] as const)(
    'that %s refuses with a 503 of its own is told of as its refusal, whatever its sentence says',
    async (asked, words) => {
      const refusing = Promise.resolve({
        url: 'https://other.test',
        fetch: () =>
          Promise.resolve({
            status: 503,
            text: () => Promise.resolve('{"error":"store_unavailable","reason":"the disk is full"}'),
          }),
      } as never);
      const neighbour = neighbourOf(asked, refusing, acme);
      const answer = { status: 503, text: () => Promise.resolve('{"error":"store_unavailable"}') };
      for (const question of [
        neighbour.ask(null, get('/rows')),
        neighbour.refusal(answer).then((error) => Promise.reject(error)),
      ])
        expect(await settled(['ledger', 'policy'], question)).toMatchObject({ ok: false, service: words });
      expect(await settled(['ledger', 'policy'], neighbour.ask(null, get('/rows')))).toMatchObject({
        why: 'the disk is full',
      });
      const nowhere = neighbourOf(asked, undefined, acme);
      const cutOff = neighbourOf(
        asked,
        over(() => Promise.reject(new Error('cut off'))),
        acme,
      );
      const how = { signal: new AbortController().signal, answerMs: 1_000 };
      const questions: Promise<unknown>[] = [
        ...[nowhere, cutOff].flatMap((away) => [away.ask(null, get('/')), away.pass(get('/'), 1_000)]),
        nowhere.stream(get('/'), how),
      ];
      for (const question of await Promise.allSettled(questions))
        expect(question).toMatchObject({ status: 'rejected', reason: { service: asked } });
    },
  );

  it('is refused in time by one that sends how it refuses and then nothing', async () => {
    const limits = { readMs: 50 };
    const refused = neighbourOf('hil', over(ok), { ...acme, limits }).refusal({
      status: 503,
      text: () => new Promise(() => undefined),
    });
    expect(await refused).toMatchObject({
      code: 'console_neighbour_away',
      message: expect.stringContaining('the review service answered 503'),
    });
  });
});

describe('what was asked of a service of which no answer came', () => {
  it('is in doubt, unless no connection was made', async () => {
    const over = (connect: ReturnType<typeof connectorThatTells>) => {
      const agent = new Agent({ connect });
      const fetch = async (url: string) => {
        const { origin, pathname: path } = new URL(url);
        const { statusCode, body } = await agent.request({ origin, path, method: 'POST' });
        return { status: statusCode, text: () => body.text() };
      };
      return Promise.resolve({ url: 'http://127.0.0.1:1', fetch } as unknown as Over);
    };
    const told = async (connect: ReturnType<typeof connectorThatTells>) => {
      const hil = neighbourOf('hil', over(connect), { tenant: 'acme', limits: ASK_LIMITS });
      const question = { method: 'POST', path: '/decide/1', doubt: MAY_BE_DECIDED } as const;
      const asked = [() => hil.ask(null, question), () => hil.pass(question, 1_000)];
      return Promise.all(
        asked.map((ask) =>
          ask().then(
            () => null,
            ({ code, message, fields }: GateError) => [code, message.includes(MAY_BE_DECIDED), fields],
          ),
        ),
      );
    };
    const sure = ['console_neighbour_away', false, {}];
    expect(await told(connectorThatTells({}))).toEqual([sure, sure]);
    const doubted = ['console_neighbour_away', true, { in_doubt: true }];
    expect(await told(buildConnector({}))).toEqual([doubted, doubted]);
  });
});
