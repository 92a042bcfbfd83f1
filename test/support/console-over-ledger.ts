import { operatorTokenMode } from '../../api/console/sign-in/operator-token.js';
import { Readable } from 'node:stream';
import type { Assets } from '../../api/console/assets.js';
import { createConsoleService } from '../../api/console/app.js';
import type { Role } from '../../console/roles.js';
import type { Over } from '../../api/plugins/declaration.js';
import { ABOUT } from './about-console.js';
import { CONSOLE_HOST, CONSOLE_ORIGIN, consoleOptions, NO_ASSETS } from './console-options.js';
import { fixture } from './fixture.js';
import { identityThatTells } from './identity-answers.js';
import { ledgerService, type TestLedgerService } from './ledger-service.js';

/** Operators of two tenants, and what each is known by. */
export const OPERATORS = [
  { name: 'dev', tenant: 'acme', token: 'acme-operator-token-0123456789-0123456789', reviewer: true },
  { name: 'other', tenant: 'globex', token: 'globex-operator-token-0123456789-012345678', reviewer: true },
] as const;

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface ConsoleOverLedger {
  /** A page or an answer for the operator of this tenant, whose name is also his token at the command line; `null`: nobody. */
  get(
    path: string,
    options?: { as?: 'acme' | 'globex' | null; headers?: Record<string, string> },
  ): Promise<ConsoleAnswer>;
  /** Sends a form of a page, as the operator of this tenant. */
  post(
    path: string,
    fields?: Readonly<Record<string, string | readonly string[]>>,
    options?: { as?: 'acme' | 'globex' },
  ): Promise<ConsoleAnswer & { readonly bytes: Buffer }>;
  /** The role of who is signed in. */
  role: Role;
  /** What was asked of the ledger, in order. */
  readonly asked: string[];
  /** What the review service answers with, instead of nothing. */
  review: { readonly status: number; readonly body: object } | null;
  /** What the policy engine says of an input; `null`: it does not answer. */
  policy: ((input: unknown) => object) | null;
  /** What Brain answers, by what it was asked; `null`: it does not answer. */
  brain: ((path: string) => object) | null;
  /** How a file of the ledger is read; by default at once. */
  reading: ((parts: readonly Buffer[]) => AsyncIterable<Uint8Array>) | null;
  /** `true`: the ledger does not answer. */
  ledgerIsAway: boolean;
  /** `true`: the ledger does what it is told, and its answer is lost. */
  losesAnswers: boolean;
  /** What the ledger's stream says. */
  streamed: AsyncIterable<Uint8Array> | null;
  /** The headers with which each stream was asked for. */
  readonly streamsAsked: Readonly<Record<string, string>>[];
  endSession(): void;
  /** Its address for browsers, which show the tenant's name as their session. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** The console over a real ledger service, without a port; the other services are what the test says, policy also a real one. */
export function consoleOverLedger(
  ledger: () => TestLedgerService,
  clock: () => number = Date.now,
  about = ABOUT,
  assets: Assets = NO_ASSETS,
  policyEngine?: Over,
): ConsoleOverLedger {
  let isSignedIn = true;
  interface Question {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  const over = (
    answer: (path: string, question: Question) => Promise<{ status: number; text: string }>,
  ): Promise<Over> =>
    Promise.resolve({
      url: 'https://neighbour.test',
      fetch: Object.assign(
        async (url: string, question: Question) => {
          const { pathname, search } = new URL(url);
          const { status, text } = await answer(pathname + search, question);
          return { status, text: () => Promise.resolve(text) };
        },
        {
          stream: async (url: string, { method, headers, body }: Question) => {
            const path = url.slice('https://neighbour.test'.length);
            state.asked.push(path);
            if (method === 'POST') {
              if (state.ledgerIsAway) throw new Error('nobody there');
              const { status, bytes } = await ledger().call(`POST ${path}`, body, { ...(headers && { headers }) });
              return {
                status,
                body: (state.reading ?? Readable.from)([bytes]),
                text: () => Promise.resolve(bytes.toString()),
              };
            }
            state.streamsAsked.push(headers ?? {});
            if (state.streamed === null) return Promise.reject(new Error('nobody there'));
            return Promise.resolve({ status: 200, body: state.streamed, text: () => Promise.resolve('') });
          },
        },
      ),
    });
  const sessionOf = (tenant: string) => {
    const operator = OPERATORS.find((one) => one.tenant === tenant);
    if (!isSignedIn || !operator) return null;
    const who = { subject: `operator:${operator.name}`, tenant, mode: 'operator-token', role: state.role };
    return {
      ...who,
      id: tenant,
      openedMs: 0,
      csrf: 'csrf',
      kind: 'command-line',
      askedFrom: null,
      seenMs: 0,
      untilMs: 60_000,
    } as const;
  };
  const tellsStanding = identityThatTells('a reason');
  const service = createConsoleService(
    consoleOptions({
      sessions: {
        open: () => Promise.resolve(''),
        enter: () => Promise.resolve(''),
        of: (cookie) => Promise.resolve(sessionOf(cookie)),
        end: () => Promise.resolve(),
        endAllOf: () => Promise.resolve(),
        endElsewhere: () => Promise.resolve([]),
        ofToken: (token) => Promise.resolve(sessionOf(token)),
        everything: () => Promise.resolve([]),
        openOf: () => Promise.resolve([]),
        endOf: () => Promise.resolve(false),
        endToken: () => Promise.resolve(),
        grants: {
          begin: () => Promise.resolve(null),
          asking: () => Promise.resolve(null),
          answer: () => Promise.resolve(false),
          collect: () => Promise.resolve({ is: 'unknown' }),
        },
        ready: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
      assets,
      signIn: operatorTokenMode({ operators: OPERATORS as never, clock }),
      sessionSeconds: 60,
      about,
      clock,
      neighbours: {
        over: {
          ledger: over(async (path, { method = 'GET', headers, body }) => {
            state.asked.push(path);
            if (state.ledgerIsAway) throw new Error('nobody there');
            const { status, bytes } = await ledger().call(`${method} ${path}`, body, { ...(headers && { headers }) });
            if (state.losesAnswers && method !== 'GET') throw new Error('nothing came');
            return { status, text: bytes.toString('utf8') };
          }),
          hil: over((path) => {
            const none = path.startsWith('/pending?')
              ? { status: 200, body: [] }
              : { status: 404, body: { error: 'not_found', reason: 'none' } };
            const { status, body } = state.review ?? none;
            return Promise.resolve({ status, text: JSON.stringify(body) });
          }),
          identity: over((path, { method = 'GET' }) => {
            const [of = '', search = ''] = path.split('?');
            const { status, body } = tellsStanding(of, search, method);
            return Promise.resolve({ status, text: JSON.stringify(body) });
          }),
          policy: policyEngine
            ? Promise.resolve(policyEngine)
            : over((_path, { body }) =>
                Promise.resolve(
                  state.policy === null
                    ? { status: 503, text: '' }
                    : { status: 200, text: JSON.stringify(state.policy(JSON.parse(body ?? 'null'))) },
                ),
              ),
          brain: over((path) => {
            state.asked.push(path);
            if (state.brain === null) return Promise.reject(new Error('nobody there'));
            return Promise.resolve({ status: 200, text: JSON.stringify(state.brain(path)) });
          }),
        },
        readiness: {},
      },
    }),
  );
  const state: ConsoleOverLedger = {
    asked: [],
    role: 'admin',
    reading: null,
    policy: null,
    brain: null,
    review: null,
    ledgerIsAway: false,
    losesAnswers: false,
    streamed: null,
    streamsAsked: [],
    async get(path, { as = 'acme', headers = {} } = {}) {
      const response = await service.app.inject({
        method: 'GET',
        url: path,
        headers: {
          host: CONSOLE_HOST,
          accept: 'text/html',
          ...(as !== null && { cookie: `gate_console_session=${as}` }),
          ...headers,
        },
      });
      return { status: response.statusCode, headers: response.headers, text: response.body };
    },
    async post(path, fields = {}, { as = 'acme' } = {}) {
      const form = new URLSearchParams(
        Object.entries({ csrf: 'csrf', ...fields }).flatMap(([name, value]) =>
          [value].flat().map((one) => [name, one]),
        ),
      );
      const response = await service.app.inject({
        method: 'POST',
        url: path,
        headers: {
          host: CONSOLE_HOST,
          origin: CONSOLE_ORIGIN,
          accept: 'text/html',
          cookie: `gate_console_session=${as}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        payload: form.toString(),
      });
      return {
        status: response.statusCode,
        headers: response.headers,
        text: response.body,
        bytes: response.rawPayload,
      };
    },
    listen: async () => (await service.app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', 'localhost'),
    endSession: () => void (isSignedIn = false),
    close: () => service.close(),
  };
  return state;
}

/** The console over a ledger of its own, for each test anew. */
export function consoleHere(): {
  readonly gate: TestLedgerService;
  readonly page: ConsoleOverLedger;
  /** Starts the console anew. */
  readonly reopen: () => Promise<void>;
} {
  let gate: TestLedgerService;
  let page: ConsoleOverLedger;
  const open = () => consoleOverLedger(() => gate);
  fixture(
    async () => {
      gate = await ledgerService('sqlite');
      page = open();
    },
    async () => {
      await page.close();
      await gate.close();
    },
  );
  return {
    get gate() {
      return gate;
    },
    get page() {
      return page;
    },
    async reopen() {
      await page.close();
      page = open();
    },
  };
}
