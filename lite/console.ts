import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceApp } from '../api/plugins/app.js';
import { ANSWERS_PAGES } from '../api/plugins/openapi.js';
import { SESSION_COOKIE } from '../contracts/console.js';
import { isLedgers } from './ledger-routes.js';
import type { ConsoleServiceOptions, LiteConsole } from './console-service.js';

/**
 * The routes of the console that lite has. They stand here because a start that loaded the console to ask it would be slower;
 * `test/spec/lite-console.test.ts` compares the two.
 */
export const CONSOLE_ROUTES = [
  'GET /',
  'GET /login',
  'POST /login',
  'POST /logout',
  'POST /auth/links',
  'GET /auth/me',
  'GET /static/*',
  'GET /hil',
  'GET /hil/:id',
  'GET /hil/:id/modify',
  'GET /hil/:id/note',
  'POST /hil/:id/approve',
  'POST /hil/:id/deny',
  'POST /hil/:id/modify/more',
  'POST /hil/:id/modify/preview',
  'POST /hil/:id/note',
  'POST /hil/:id/modify',
  'POST /hil/:id/assign',
  'POST /hil/bulk',
  'POST /hil/bulk/approve',
  'POST /hil/bulk/deny',
  'GET /stream/hil',
  'GET /stream/audit',
  'GET /audit',
  'GET /audit/hunt',
  'POST /audit/searches',
  'POST /audit/searches/forget',
  'GET /audit/export',
  'GET /audit/agents/:agent/narrative',
  'GET /audit/correlation',
  'GET /audit/correlation/:cid',
  'GET /audit/correlation/:cid/proof',
  'GET /api/audit/correlation/:cid',
  'GET /api/chain-status',
  'GET /agents',
  'GET /agents/:agent',
  'GET /policies',
  'GET /policies/:name',
  'GET /health-of-services',
  'GET /me',
  'POST /me/end',
] as const;

/** Whoever asks with a token is a program. A browser has a session, or wants a page. */
const isBrowser = ({ headers: { authorization, accept = '', cookie = '' } }: Pick<IncomingMessage, 'headers'>) =>
  authorization === undefined && (accept.includes('text/html') || cookie.includes(SESSION_COOKIE));

type Strategy = Parameters<ServiceApp['addConstraintStrategy']>[0];

/** Routes for browsers alone: a program gets whatever else is at the path. */
const reader: Strategy = {
  name: 'reader',
  mustMatchWhenDerived: false,
  storage() {
    type Kept = Parameters<ReturnType<Strategy['storage']>['set']>[1];
    const handlers = new Map<unknown, Kept>();
    return { get: (key) => handlers.get(key) ?? null, set: (key, handler) => void handlers.set(key, handler) };
  },
  deriveConstraint: (request: Pick<IncomingMessage, 'headers'>) => (isBrowser(request) ? 'browser' : undefined),
};

/** To be called when there is time for it, as `loadLedgerReads`. */
export const loadConsole = () => import('./console-service.js');

/**
 * The console on lite's own listener, loaded by the first request for it. Where the ledger has a route of the same path, programs, which
 * show a token, get the rows, and browsers get the page.
 */
export function consoleRoutes(app: ServiceApp, options: ConsoleServiceOptions): void {
  let opened: Promise<LiteConsole> | undefined;
  app.addHook('preClose', async () => (await opened?.catch(() => undefined))?.close());
  const handed = async (request: FastifyRequest, reply: FastifyReply) => {
    opened ??= loadConsole()
      .then(({ openLiteConsole }) => openLiteConsole(options))
      .catch((error: unknown) => {
        // The next request tries again.
        opened = undefined;
        throw error;
      });
    const { app: pages } = await opened;
    reply.hijack();
    pages.routing(request.raw, reply.raw);
  };
  const handler = () => {
    throw new Error('the console answers');
  };
  app.addConstraintStrategy(reader);
  for (const route of CONSOLE_ROUTES) {
    const [method, url] = route.split(' ') as ['GET' | 'POST', string];
    // Before anything of the request is read: the console reads all of it.
    app.route({
      method,
      url,
      onRequest: handed,
      handler,
      config: ANSWERS_PAGES,
      ...(isLedgers(url) && { constraints: { reader: 'browser' } }),
    });
  }
  // Whoever looks at pages is told on one that there is none; a program gets the refusal as JSON, from whatever else is at the path.
  app.route({
    method: 'GET',
    url: '/*',
    onRequest: handed,
    handler,
    config: ANSWERS_PAGES,
    constraints: { reader: 'browser' },
  });
}
