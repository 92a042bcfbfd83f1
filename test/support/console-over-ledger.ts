import { operatorTokenMode } from '../../api/console/sign-in/operator-token.js';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createConsoleService } from '../../api/console/app.js';
import { consoleMetrics } from '../../api/console/metrics.js';
import type { Over } from '../../api/plugins/declaration.js';
import type { TestLedgerService } from './ledger-service.js';

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
  /** A page or an answer for the operator of this tenant; `null`: nobody. */
  get(
    path: string,
    options?: { as?: 'acme' | 'globex' | null; headers?: Record<string, string> },
  ): Promise<ConsoleAnswer>;
  /** What was asked of the ledger, in order. */
  readonly asked: string[];
  /** What the review service answers with, instead of `not_found`. */
  review: { readonly status: number; readonly body: object } | null;
  /** `true`: the ledger does not answer. */
  ledgerIsAway: boolean;
  /** What the ledger's stream says. */
  streamed: AsyncIterable<Uint8Array> | null;
  endSession(): void;
  close(): Promise<void>;
}

/** The console over a real ledger service, without a port; the other services are what the test says. */
export function consoleOverLedger(ledger: () => TestLedgerService, clock: () => number = Date.now): ConsoleOverLedger {
  let isSignedIn = true;
  const over = (answer: (path: string) => Promise<{ status: number; text: string }>): Promise<Over> =>
    Promise.resolve({
      url: 'https://neighbour.test',
      fetch: Object.assign(
        async (url: string) => {
          const { pathname, search } = new URL(url);
          const { status, text } = await answer(pathname + search);
          return { status, text: () => Promise.resolve(text) };
        },
        {
          stream: (url: string) => {
            state.asked.push(url.slice('https://neighbour.test'.length));
            if (state.streamed === null) return Promise.reject(new Error('nobody there'));
            return Promise.resolve({ status: 200, body: state.streamed, text: () => Promise.resolve('') });
          },
        },
      ),
    });
  const service = createConsoleService({
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    tls: null,
    sessions: {
      open: () => Promise.resolve(''),
      of: (cookie) => {
        const operator = OPERATORS.find(({ tenant }) => tenant === cookie);
        if (!isSignedIn || !operator) return Promise.resolve(null);
        const who = {
          subject: `operator:${operator.name}`,
          tenant: operator.tenant,
          mode: 'operator-token',
          role: 'admin',
        };
        return Promise.resolve({ ...who, id: cookie, openedMs: 0, csrf: 'csrf' });
      },
      end: () => Promise.resolve(),
      endAllOf: () => Promise.resolve(),
      ready: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
    assets: {
      style: { path: '/static/a/console.css', type: 'text/css', body: Buffer.from('') },
      script: { path: '/static/a/console.js', type: 'text/javascript', body: Buffer.from('') },
    },
    signIn: operatorTokenMode({ operators: OPERATORS as never, clock }),
    url: undefined,
    sessionSeconds: 60,
    passkeyRequired: 'none',
    metrics: consoleMetrics(new Registry()),
    clock,
    neighbours: {
      ledger: over(async (path) => {
        state.asked.push(path);
        if (state.ledgerIsAway) throw new Error('nobody there');
        const { status, bytes } = await ledger().call(`GET ${path}`);
        return { status, text: bytes.toString('utf8') };
      }),
      hil: over(() => {
        const { status, body } = state.review ?? { status: 404, body: { error: 'not_found', reason: 'none' } };
        return Promise.resolve({ status, text: JSON.stringify(body) });
      }),
      policy: over(() => Promise.resolve({ status: 503, text: '' })),
      readiness: {},
    },
  });
  const state: ConsoleOverLedger = {
    asked: [],
    review: null,
    ledgerIsAway: false,
    streamed: null,
    async get(path, { as = 'acme', headers = {} } = {}) {
      const response = await service.app.inject({
        method: 'GET',
        url: path,
        headers: {
          host: 'localhost:8085',
          accept: 'text/html',
          ...(as !== null && { cookie: `gate_console_session=${as}` }),
          ...headers,
        },
      });
      return { status: response.statusCode, headers: response.headers, text: response.body };
    },
    endSession: () => void (isSignedIn = false),
    close: () => service.close(),
  };
  return state;
}
