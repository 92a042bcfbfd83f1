import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import type { MtlsStream } from '../../activities/clients/mtls-fetch.js';
import { openSessionStore } from '../../adapters/console/session-store.js';
import type { Assets } from '../../api/console/assets.js';
import { type ConsoleOptions, createConsoleService } from '../../api/console/app.js';
import { type ConsoleMetrics, consoleMetrics } from '../../api/console/metrics.js';
import type { SignInMode } from '../../api/console/sign-in/mode.js';
import { SESSION_SECONDS } from '../../contracts/console.js';
import { consoleMigrations } from '../../migrations/console.js';
import { consoleOptions, CONSOLE_ORIGIN, NO_ASSETS } from './console-options.js';
import { writeMigrated } from './migrated-file.js';
import { readVouching } from '../../domain/review/vouching.js';

/** What the console asked another service. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
}

export { CONSOLE_ORIGIN };

/** The console alone: its neighbours keep what they were asked, and answer 503. */
export async function openLoneConsole(options: {
  readonly signIn: SignInMode | ((metrics: ConsoleMetrics) => Promise<SignInMode>);
  readonly decideToken?: string;
  readonly clock?: () => number;
  readonly url?: string;
  readonly tls?: ConsoleOptions['tls'];
  /** The neighbours' streams of events begin, and say nothing; without it there are none. */
  readonly streams?: boolean;
  readonly trustedProxies?: readonly string[];
  /** What pages load; nothing by default. */
  readonly assets?: Assets;
  /** Where the console's log lines go; nowhere by default. */
  readonly logger?: ConsoleOptions['logger'];
}) {
  const directory = mkdtempSync(join(tmpdir(), 'gate-console-'));
  const {
    signIn,
    decideToken,
    clock = Date.now,
    url = CONSOLE_ORIGIN,
    tls = null,
    streams = false,
    trustedProxies = [],
    assets = NO_ASSETS,
    logger,
  } = options;
  const file = join(directory, 'console.db');
  await writeMigrated(file, consoleMigrations);
  const sessions = await openSessionStore({
    target: { file },
    key: Buffer.alloc(32, 9),
    idleMs: SESSION_SECONDS * 1_000,
    clock,
  });
  const asked = { hil: [] as Asked[], others: [] as Asked[] };
  const neighbour = (name: keyof typeof asked) => {
    const keep = (url: string, method: string, headers: Readonly<Record<string, string>> = {}) =>
      void asked[name].push({ method, path: new URL(url).pathname, query: new URL(url).search, headers });
    const fetch = (url: string, init: { readonly method: string; readonly headers?: Record<string, string> }) => {
      keep(url, init.method, init.headers);
      return Promise.resolve({ status: 503, text: () => Promise.resolve('') });
    };
    const stream: MtlsStream = (url, { headers, signal }) => {
      keep(url, 'GET', headers);
      return streams
        ? Promise.resolve({ status: 200, body: silence(signal), text: () => Promise.resolve('') })
        : Promise.reject(new Error('no stream here'));
    };
    return Promise.resolve({ url: `https://${name}.invalid`, fetch: Object.assign(fetch, { stream }) });
  };
  const registry = new Registry();
  const metrics = consoleMetrics(registry);
  const service = createConsoleService(
    consoleOptions({
      ...(logger && { logger }),
      registry,
      tls,
      sessions,
      searches: sessions.searches,
      assets,
      signIn: typeof signIn === 'function' ? await signIn(metrics) : signIn,
      decideToken,
      url,
      trustedProxies,
      metrics,
      neighbours: {
        over: { hil: neighbour('hil'), ledger: neighbour('others'), policy: neighbour('others') },
        readiness: {},
      },
      clock,
    }),
  );
  return {
    service,
    sessions,
    asked,
    registry,
    close: async () => {
      await service.close();
      await sessions.close();
      rmSync(directory, { recursive: true });
    },
  };
}

async function* silence(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield Buffer.from(': begun\n\n');
  await once(signal, 'abort');
}

/** A browser at the console, with the cookies that it was given. */
export function browserAt(
  { service }: { readonly service: ReturnType<typeof createConsoleService> },
  remoteAddress = '127.0.0.1',
) {
  const cookies = new Map<string, string>();
  async function go(
    method: 'GET' | 'POST',
    url: string,
    form?: Readonly<Record<string, string>>,
    origin = CONSOLE_ORIGIN,
  ) {
    const answer = await service.app.inject({
      method,
      url,
      remoteAddress,
      headers: {
        host: new URL(CONSOLE_ORIGIN).host,
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded', origin }),
      },
      ...(form && { payload: new URLSearchParams(form).toString() }),
    });
    for (const { name, value } of answer.cookies)
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    return { status: answer.statusCode, location: answer.headers.location, text: answer.body, headers: answer.headers };
  }
  return {
    cookies,
    get: (url: string) => go('GET', url),
    post: (url: string, form: Readonly<Record<string, string>>, origin?: string) => go('POST', url, form, origin),
    /** Who is signed in; `null` for nobody. */
    async me() {
      const { status, text } = await go('GET', '/auth/me');
      return status === 200 ? (JSON.parse(text) as Record<string, unknown>) : null;
    },
  };
}

type OpenedConsole = Awaited<ReturnType<typeof openLoneConsole>>;

/** What HIL was told of people, the newest first. */
export const toldOf = ({ asked }: Pick<OpenedConsole, 'asked'>) =>
  asked.hil
    .filter(({ path }) => path === '/people/standing')
    .map(({ headers }) => readVouching(headers['x-gate-decision-principal'] ?? ''))
    .reverse();

/** The token of a command line that whoever is signed in there let act for him. */
export async function commandLineOf(
  { sessions }: Pick<OpenedConsole, 'sessions'>,
  browser: ReturnType<typeof browserAt>,
) {
  const session = await sessions.of(browser.cookies.get('gate_console_session') ?? '');
  const begun = await sessions.grants.begin('127.0.0.1');
  if (session === null || begun === null) throw new Error('nothing began');
  await sessions.grants.answer(begun.userCode, { session: session.id });
  const came = await sessions.grants.collect(begun.deviceCode, () => Promise.resolve(true));
  if (came.is !== 'given' || (await sessions.ofToken(came.token)) === null) throw new Error(`no token: ${came.is}`);
  return came.token;
}
