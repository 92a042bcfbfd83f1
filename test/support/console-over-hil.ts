import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { openSessionStore, type SessionStore, type SignedIn } from '../../adapters/console/session-store.js';
import type { Assets } from '../../api/console/assets.js';
import { createConsoleService } from '../../api/console/app.js';
import { ASK_LIMITS, type AskLimits } from '../../api/console/ask-limits.js';
import type { NeighbourName } from '../../api/console/neighbour.js';
import type { HilTestOptions } from './hil-service.js';
import type { Over } from '../../api/plugins/declaration.js';
import type { SignInMode } from '../../api/console/sign-in/mode.js';
import { operatorTokenMode } from '../../api/console/sign-in/operator-token.js';
import type { Service } from '../../api/plugins/service.js';
import type { ReadinessChecks } from '../../api/plugins/health.js';
import type { AboutConsole } from '../../console/visit.js';
import type { CarriedSettlement, SignedDecision } from '../../contracts/review.js';
import type { DecisionOutcome } from '../../domain/review/ports.js';
import type { TenantSpend } from '../../contracts/spend.js';
import type { ProxyStanding } from '../../contracts/proxy-standing.js';
import { consoleMigrations } from '../../migrations/console.js';
import { type HilFixture, OPERATOR, openHil, OTHER_OPERATOR } from './hil.js';
import { writeMigrated } from './migrated-file.js';
import { CONSOLE_HOST, CONSOLE_ORIGIN, consoleOptions, NO_ASSETS } from './console-options.js';
import { identityThatTells } from './identity-answers.js';
import { RULES_ALONE } from './model-snapshot.js';

export { CONSOLE_HOST, CONSOLE_ORIGIN };
export const CONSOLE_OPERATORS = [
  { name: 'dev', tenant: 'acme', token: OPERATOR },
  { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR },
];

export interface ConsoleAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Somebody's browser: keeps its cookie, and sends forms as browsers do. */
export interface TestBrowser {
  readonly cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<ConsoleAnswer>;
  /** Sends a form of the page: with its `csrf`, from the console's own origin, unless `headers` or `fields` say otherwise. */
  post(path: string, fields?: Fields, headers?: Record<string, string | undefined>): Promise<ConsoleAnswer>;
  csrf(): Promise<string>;
}
export interface PolicyAnswer {
  readonly status: number;
  readonly body: unknown;
}
export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What each page asks of stops, once in some seconds: whether its tenant is stopped. */
const isOfEachPage = (method: string, { pathname, searchParams }: URL): boolean =>
  method === 'GET' && pathname === '/stops' && searchParams.get('state') === 'suspended';

export interface ConsoleFixture {
  readonly hil: HilFixture;
  /** What the proxy counted of the tenant. */
  spend: TenantSpend;
  readonly sessions: SessionStore;
  readonly service: Service;
  /** The metrics of the console, as they are scraped. */
  counted(): Promise<string>;
  /** `GET /pending`, without what was asked for: each question that reached a service, but for `isOfEachPage`. */
  readonly reached: string[];
  /** What the ledger answers: an object as JSON with 200, or a whole answer. */
  ledger: (path: string, search: string, method: string) => unknown;
  /** What the policy engine answers, whatever it is asked, or by path and method. */
  policies: PolicyAnswer | ((path: string, method: string) => PolicyAnswer);
  /** What the proxy says of what runs calls for it. */
  proxy: ProxyStanding;
  /** Whether identity is ready, without which the console is. */
  identity: () => Promise<void>;
  /** What identity answers; by default that it did what it was asked for. */
  standings: (path: string, search: string, method: string) => PolicyAnswer;
  /** What Brain answers to a question; by default that rules judge alone. */
  brain: (path: string, asked: unknown) => PolicyAnswer;
  /** The stream of any service, by what it is asked with; `null` where there is none. */
  streamed: (
    signal: AbortSignal,
    headers: Readonly<Record<string, string>>,
  ) => Promise<{ status: number; body: AsyncIterable<Uint8Array> }> | null;
  /** The names of the services that do not answer. */
  readonly away: Set<Neighbour>;
  /** The names of those that take what is asked and say nothing. */
  readonly hanging: Set<Neighbour>;
  /** None of them does any more, and what was asked of them meanwhile is lost with its connection. */
  hangUp(): void;
  /** The one place that decides which decision is first; by default the first one stands. */
  sender: (decision: SignedDecision) => Promise<DecisionOutcome>;
  browser(as?: Partial<SignedIn>): Promise<TestBrowser>;
  /** A token of the command line, as `gate login` gets one, for whom `as` says. */
  token(as?: Partial<SignedIn>): Promise<string>;
  /** Of a cookie that the test chose, or of none. */
  stranger(cookie?: string): TestBrowser;
  /** Where the sessions are. */
  readonly sessionFile: string;
  /** Stops the console and starts it over the same store, `url` being where people open it from then on. */
  restart(over?: { key?: Uint8Array; operators?: typeof CONSOLE_OPERATORS; url?: string }): Promise<void>;
  close(): Promise<void>;
}

/** The console over the real review service, whose rows are in a file, and a ledger that answers what the test says. */
export async function openConsole(
  assets: Assets = NO_ASSETS,
  {
    about,
    limits = ASK_LIMITS,
    consoleUrl,
    signIn,
    hilOptions,
    others = {},
    logger,
    overOf = (_name, over) => over,
  }: {
    readonly about?: AboutConsole;
    readonly limits?: AskLimits;
    /** Where passkeys belong; without it there are none. */
    readonly consoleUrl?: string;
    /** Another way to sign in than by an operator's token. */
    readonly signIn?: (hil: Promise<Over>, clock: () => number) => SignInMode;
    readonly hilOptions?: Partial<HilTestOptions>;
    /** Services that no page is about, by their titles. */
    readonly others?: ReadinessChecks;
    readonly logger?: Logger;
    /** Where the console finds a neighbour, in place of where it is. */
    readonly overOf?: (name: Neighbour, over: Promise<Over>) => Promise<Over>;
  } = {},
): Promise<ConsoleFixture> {
  const hil = await openHil('sqlite', {
    sender: { decide: (decision) => fixture.sender(decision) },
    ...(consoleUrl !== undefined && { consoleUrl }),
    ...hilOptions,
  });
  const place = hil.place.target as { file: string };
  const target = { file: `${place.file}.console` };
  const idleMs = 3_600_000;
  const decided = new Map<string, CarriedSettlement>();
  const clock = () => hil.now;
  let key: Uint8Array = Buffer.alloc(32, 9);
  let operators = CONSOLE_OPERATORS;
  let url: string | undefined;
  const hung: ((why: Error) => void)[] = [];
  const silence = (signal: AbortSignal | undefined): Promise<never> =>
    new Promise((_, reject) => {
      hung.push(reject);
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const answering = (
    name: Neighbour,
    answer: (url: URL, init: Asked) => Promise<{ status: number; body: string; setCookies?: readonly string[] }>,
  ) => {
    const fetch = async (text: string, init: Asked) => {
      const url = new URL(text);
      if (!isOfEachPage(init.method, url)) fixture.reached.push(`${init.method} ${url.pathname}`);
      if (fixture.away.has(name)) throw new Error('connect ECONNREFUSED');
      if (fixture.hanging.has(name)) return silence(init.signal);
      const { body, ...head } = await Promise.race([answer(url, init), silence(init.signal)]);
      return { ...head, text: () => Promise.resolve(body) };
    };
    const stream = async (
      text: string,
      { method, headers, signal }: Partial<Asked> & { headers: Record<string, string>; signal: AbortSignal },
    ) => {
      if (fixture.away.has(name)) throw new Error('connect ECONNREFUSED');
      if (fixture.hanging.has(name)) return silence(signal);
      const streamed = fixture.streamed(signal, headers);
      if (streamed) return { ...(await streamed), text: () => Promise.resolve('') };
      if (method === 'POST') {
        const { status, text: body } = await fetch(text, { method });
        return { status, body: Readable.from([Buffer.from(await body())]), text: body };
      }
      if (name !== 'hil') throw new Error('no stream here');
      if (!hil.service.app.server.listening) await hil.service.app.listen({ host: '127.0.0.1', port: 0 });
      const { port } = hil.service.app.server.address() as AddressInfo;
      const { pathname, search } = new URL(text);
      const asked = { headers: { ...headers, 'x-test-caller': 'console' }, signal };
      // When fetch is ended by a signal it opens another connection, on which nothing is asked, and the close of the service waits for it.
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`http://127.0.0.1:${port}${pathname}${search}`, asked, resolve).on('error', reject);
      });
      return { status: answer.statusCode, body: answer, text: () => textOf(answer) };
    };
    return overOf(name, Promise.resolve({ url: `http://${name}`, fetch: Object.assign(fetch, { stream }) as never }));
  };
  const readyUnless = (name: Neighbour) => (): Promise<void> => {
    if (fixture.hanging.has(name)) return new Promise(() => undefined);
    return fixture.away.has(name) ? Promise.reject<void>(new Error('away')) : Promise.resolve();
  };
  const open = async () => {
    const registry = new Registry();
    const sessions = await openSessionStore({ target, key, idleMs, clock });
    const hilOver = answering('hil', async ({ pathname, search }, { method, headers, body }) => {
      const answer = await hil.service.app.inject({
        method: method as 'GET' | 'POST',
        url: pathname + search,
        headers: { ...headers, 'x-test-caller': 'console' },
        ...(body !== undefined && { payload: body }),
      });
      const setCookies = [answer.headers['set-cookie'] ?? []].flat();
      return { status: answer.statusCode, body: answer.body, setCookies };
    });
    const service = createConsoleService(
      consoleOptions({
        ...(logger && { logger }),
        registry,
        sessions,
        searches: sessions.searches,
        assets,
        ...(hilOptions?.passkeyRequired && { passkeyRequired: hilOptions.passkeyRequired }),
        ...(about && { about }),
        signIn: signIn?.(hilOver, clock) ?? operatorTokenMode({ operators, clock }),
        url,
        sessionSeconds: idleMs / 1_000,
        neighbours: {
          over: {
            hil: hilOver,
            ledger: answering('ledger', async ({ pathname, search }, { method }) => {
              const answer = await fixture.ledger(pathname, search, method);
              return answer instanceof WholeAnswer ? answer : { status: 200, body: JSON.stringify(answer) };
            }),
            policy: answering('policy', ({ pathname }, { method }) => {
              const { policies } = fixture;
              const { status, body } = typeof policies === 'function' ? policies(pathname, method) : policies;
              return Promise.resolve({ status, body: JSON.stringify(body) });
            }),
            brain: answering('brain', ({ pathname }, { body }) => {
              const { status, body: said } = fixture.brain(pathname, body === undefined ? null : JSON.parse(body));
              return Promise.resolve({ status, body: JSON.stringify(said) });
            }),
            identity: answering('identity', ({ pathname, search }, { method }) => {
              const { status, body } = fixture.standings(pathname, search, method);
              return Promise.resolve({ status, body: JSON.stringify(body) });
            }),
            proxy: answering('proxy', ({ pathname }) => {
              const body = pathname === '/spend' ? fixture.spend : fixture.proxy;
              return Promise.resolve({ status: 200, body: JSON.stringify(body) });
            }),
          },
          readiness: {
            hil: readyUnless('hil'),
            ledger: readyUnless('ledger'),
            brain: readyUnless('brain'),
            policy: readyUnless('policy'),
            sandbox: readyUnless('sandbox'),
          },
          seen: { identity: () => fixture.identity() },
          others,
          limits,
        },
        clock,
      }),
    );
    return { sessions, service, registry };
  };
  const stranger = (cookie = ''): TestBrowser => {
    const headers = {
      host: CONSOLE_HOST,
      accept: 'text/html',
      ...(cookie !== '' && { cookie: `gate_console_session=${cookie}` }),
    };
    const csrf = async () => (await current.sessions.of(cookie))?.csrf ?? '';
    return {
      cookie,
      csrf,
      get: async (url, more) =>
        answerOf(await current.service.app.inject({ method: 'GET', url, headers: { ...headers, ...more } })),
      async post(url, fields = {}, more = {}) {
        const form = new URLSearchParams(
          Object.entries({ csrf: await csrf(), ...fields }).flatMap(([name, value]) =>
            [value].flat().map((one) => [name, one]),
          ),
        );
        const sent = Object.entries({
          ...headers,
          origin: CONSOLE_ORIGIN,
          'content-type': 'application/x-www-form-urlencoded',
          ...more,
        });
        const given = Object.fromEntries(sent.filter(([, value]) => value !== undefined)) as Record<string, string>;
        return answerOf(
          await current.service.app.inject({ method: 'POST', url, headers: given, payload: form.toString() }),
        );
      },
    };
  };
  const fixture: ConsoleFixture = {
    hil,
    get sessions() {
      return current.sessions;
    },
    counted: () => current.registry.metrics(),
    get service() {
      return current.service;
    },
    reached: [],
    ledger: (path, _search, method) => (method === 'POST' ? done(path) : path === '/verify' ? HOLDS : []),
    brain: () => ({ status: 200, body: RULES_ALONE }),
    proxy: { worker: { ok: true, words: 'answers' }, upstreams: null },
    spend: { tenant: 'acme', month: '2026-11', spent_micros: 1_250_000, reserved_micros: 500_000, agents: [] },
    identity: () => Promise.resolve(),
    standings: identityThatTells('a reason'),
    policies: { status: 404, body: { error: 'not_found', reason: 'no' } },
    streamed: () => null,
    away: new Set(),
    hanging: new Set(),
    hangUp() {
      fixture.hanging.clear();
      for (const end of hung.splice(0)) end(new Error('read ECONNRESET'));
    },
    sender: ({ pending_id, decision, reason, decided_via, principal, decided_at, request_id, modification }) => {
      const first = decided.get(pending_id);
      if (first) return Promise.resolve({ outcome: 'refused', code: 'already_decided', settled: first });
      const settled: CarriedSettlement = {
        pending_id,
        status: decision === 'deny' ? 'denied' : 'approved',
        decided_at,
        decided_by: principal.subject,
        decision_reason: reason,
        decided_via,
        principal,
        request_id,
        ...(modification && { modification }),
      };
      decided.set(pending_id, settled);
      return Promise.resolve({ outcome: 'applied', settled });
    },
    async browser({ subject = 'operator:dev', tenant = 'acme', mode = 'operator-token', role = 'admin' } = {}) {
      return stranger(await current.sessions.open({ subject, tenant, mode, role }));
    },
    async token({ subject = 'operator:dev', tenant = 'acme', mode = 'operator-token', role = 'admin' } = {}) {
      const { grants } = current.sessions;
      const { deviceCode = '', userCode = '' } = (await grants.begin('192.0.2.7')) ?? {};
      const session = await current.sessions.of(await current.sessions.open({ subject, tenant, mode, role }));
      await grants.answer(userCode, { session: session?.id ?? '' });
      const came = await grants.collect(deviceCode, () => Promise.resolve(true));
      if (came.is !== 'given') throw new Error(`no token: ${came.is}`);
      return came.token;
    },
    stranger,
    sessionFile: target.file,
    async restart(over = {}) {
      await current.service.close();
      await current.sessions.close();
      key = over.key ?? key;
      operators = over.operators ?? operators;
      url = over.url ?? url;
      current = await open();
    },
    async close() {
      await current.service.close();
      await current.sessions.close();
      await hil.close();
    },
  };
  await writeMigrated(target.file, consoleMigrations);
  let current = await open();
  return fixture;
}

/** What a service answers, as it stands on the wire. */
export class WholeAnswer {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {}
}

export type Neighbour = NeighbourName | 'sandbox';

interface Asked {
  readonly method: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** No answer, until whoever asked gives up. */
const answerOf = ({
  statusCode,
  body,
  headers,
}: {
  statusCode: number;
  body: string;
  headers: object;
}): ConsoleAnswer => ({
  status: statusCode,
  text: body,
  headers: headers as Record<string, unknown>,
});
/** What the ledger says to a change that it made. */
function done(path: string): unknown {
  const at = '2026-11-02T10:00:00.000Z';
  if (path === '/export') return 'NothingToExport';
  if (path.endsWith('/classify')) return { severity: 'death', regulatory_deadline: at };
  return {
    id: '30000000-0000-4000-8000-000000000003',
    title: 'a case',
    status: 'open',
    created_at: at,
    updated_at: at,
    agent_ids: [],
    correlation_ids: [],
    timeline: [],
  };
}
const HOLDS = { valid: true, entries_checked: 3, first_invalid_seq: null };
