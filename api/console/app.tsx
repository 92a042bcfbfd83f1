import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { render } from 'preact-render-to-string';
import type { Registry } from 'prom-client';
import { ACTIONS, PAGES } from '../../console/routes.js';
import { isAtLeast, type Role } from '../../console/roles.js';
import { Document, Problem, SignIn } from '../../console/ui/document.js';
import type { Form, Person, Shown, Visit } from '../../console/visit.js';
import type { Operator } from '../../config/hil.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { GateError } from '../../domain/errors.js';
import type { PasskeyRequired } from '../../domain/review/passkeys.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { Session, SessionStore } from '../../adapters/console/session-store.js';
import { isAllowedAddress } from '../pages/allowed-address.js';
import { createSignInLinks, LINK_LIFE_MS } from '../pages/sign-in-links.js';
import { bearerOf, knownToken, lookUpToken } from '../plugins/bearer.js';
import { plainErrorBody, toGateError } from '../plugins/errors.js';
import { createService, type Service, type ServiceApp } from '../plugins/service.js';
import type { Assets } from './assets.js';
import type { ConsoleMetrics } from './metrics.js';
import { relayPasskeys } from './passkeys.js';
import { answerLedger } from './ledger-answers.js';
import { chainHealth } from './chain-health.js';
import { relayReviewEvents } from './review-events.js';
import { type NeighboursOver, servicesFor } from './services-over-http.js';

export interface ConsoleOptions {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  /** What browsers see; `null`: HTTP, on loopback alone. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly sessions: SessionStore;
  readonly assets: Assets;
  readonly operators: readonly Operator[];
  readonly url: string | undefined;
  readonly sessionSeconds: number;
  readonly passkeyRequired: PasskeyRequired;
  readonly metrics: ConsoleMetrics;
  readonly neighbours: NeighboursOver;
  readonly clock?: () => number;
}

/** How somebody signs in whose name and token the settings hold. */
const OPERATOR = 'operator-token';
const COOKIE = 'gate_console_session';
/** Failed attempts to sign in, of one address. */
const ATTEMPTS = { count: 10, windowMs: 60_000 };
/** What the largest form holds: every changed argument of a call. */
const BODY_LIMIT = 1_048_576;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'X-Content-Type-Options': 'nosniff',
  // Not `no-referrer`: with it a browser sends `Origin: null` with every form, and such a form is refused as one from another site.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const;

interface Entered {
  readonly session: Session;
  readonly person: Person;
  readonly bearer: string;
}

/** The console (docs/architecture/console.md): pages for people over the other services. Every page and form is a row of `console/routes.ts`. */
export function createConsoleService(options: ConsoleOptions): Service {
  const { sessions, assets, operators, url, metrics, neighbours, clock = Date.now } = options;
  const reached = { ...neighbours, chain: chainHealth(neighbours.ledger, clock) };
  const answers = (to: ServiceApp): void => {
  to.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    const refusal = toGateError(error);
    if (refusal.status >= 500) request.log.error({ err: error }, 'a page of the console failed');
    if (!wantsPage(request))
      return reply
        .code(refusal.status)
        .type('application/json')
        .send(JSON.stringify(plainErrorBody(refusal, request.correlationId)));
    const entered = await enteredBy(request).catch(() => null);
    const body = <Problem code={refusal.code} words={refusal.message} id={request.correlationId} />;
    return send(reply, { title: 'Not done', body }, entered, refusal.status);
  });
  to.setNotFoundHandler(async (request, reply) => {
    const entered = await enteredBy(request).catch(() => null);
    const words = `There is no page ${request.url.split('?')[0]}.`;
    const body = <Problem code="not_found" words={words} id={request.correlationId} />;
    return send(reply, { title: 'No such page', body }, entered, 404);
  });
  };

  const service = createService({
    name: 'console',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    headers: HEADERS,
    bodyLimit: BODY_LIMIT,
    readiness: { sessions: () => sessions.ready(), ...neighbours.readiness },
    answers,
    resolveCaller: () => null,
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'none' } }),
  });
  const { app } = service;
  const links = createSignInLinks<Operator>(clock);
  const known = operators.map((operator) => knownToken(operator.token, operator));
  const failures = slidingBudget(ATTEMPTS.count, ATTEMPTS.windowMs);
  const name = url === undefined ? null : new URL(url);
  const address = { allowedHosts: name === null ? [] : [name.hostname], loopback: name === null };
  const cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: options.tls !== null } as const;

  void app.register(cookies);
  void app.register(forms, { bodyLimit: BODY_LIMIT });

  const send = (reply: FastifyReply, shown: Shown, entered: Entered | null, status = 200) => {
    const page = render(
      <Document shown={shown} person={entered?.person ?? null} csrf={entered?.session.csrf ?? ''} assets={assets} pages={PAGES} />,
    );
    return reply
      .code(shown.status ?? status)
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${page}`);
  };

  /** The operator whom a session names, as the settings know him now: whoever is taken out of them is signed out by that. */
  const enteredBy = async (request: FastifyRequest): Promise<Entered | null> => {
    const session = await sessions.of(request.cookies[COOKIE] ?? '');
    if (session === null) return null;
    const operator = operators.find(
      ({ name: of, tenant }) => `operator:${of}` === session.subject && tenant === session.tenant,
    );
    if (operator === undefined || session.mode !== OPERATOR) return null;
    const { subject, tenant, mode } = session;
    return { session, person: { subject, tenant, mode, role: 'admin' }, bearer: operator.token };
  };

  const visitOf = (request: FastifyRequest, { person, session, bearer }: Entered): Visit => ({
    person,
    csrf: session.csrf,
    nowMs: clock(),
    params: request.params as Record<string, string>,
    query: firstOf(request.query as Record<string, string | string[]>),
    passkeyFor: (tier) =>
      options.passkeyRequired === 'all' || (options.passkeyRequired === 'strict' && tier === 'strict'),
    services: servicesFor(person, bearer, reached),
  });

  const assertRole = (person: Person, needed: Role): void => {
    if (isAtLeast(person.role, needed)) return;
    metrics.roleDenied(needed, person.role);
    throw new GateError('role_too_low', undefined, { fields: { required: needed, actual: person.role } });
  };

  /** Every form: from this console, of this session, by somebody who may. Checked before anything of it is used. */
  const assertOwnForm = (request: FastifyRequest, entered: Entered): void => {
    const { origin, referer } = request.headers;
    const from = origin ?? (referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : undefined);
    // The Host was checked: the console's own name, or this machine's.
    const own = new Set([name?.origin, `${options.tls === null ? 'http' : 'https'}://${request.headers.host}`]);
    const offered = (request.body as Record<string, unknown> | null)?.['csrf'] ?? request.headers['x-csrf-token'];
    if (from === undefined || !own.has(from) || offered !== entered.session.csrf) throw new GateError('csrf_failed');
  };

  app.addHook('onRequest', (request, _reply, done) => {
    done(isAllowedAddress(request, address) ? undefined : new GateError('host_not_allowed'));
  });

  for (const { path, type, body } of [assets.style, assets.script])
    app.get(path, (_request, reply) =>
      reply.type(type).header('Cache-Control', 'public, max-age=31536000, immutable').send(body),
    );

  // Signing in.
  const signIn = (reply: FastifyReply, status: number, words?: string) =>
    send(reply, { title: 'Sign in', body: <SignIn refused={words} /> }, null, status);
  const throttle = (request: FastifyRequest): void => {
    const wait = failures.look(request.ip, clock());
    if (wait === 0) return;
    metrics.attempt('throttled');
    throw new GateError('rate_limited', 'Too many attempts to sign in failed from this address.', {
      fields: { retry_after_secs: wait },
    });
  };
  const failed = (request: FastifyRequest): void => {
    failures.take(request.ip, 1, clock());
    metrics.attempt('refused');
  };
  const enter = async (reply: FastifyReply, operator: Operator): Promise<void> => {
    const who = { subject: `operator:${operator.name}`, tenant: operator.tenant, mode: OPERATOR, role: 'admin' };
    metrics.attempt('accepted');
    reply.setCookie(COOKIE, await sessions.open(who), { ...cookie, maxAge: options.sessionSeconds });
  };
  app.get('/login', async (request, reply) => {
    const { link } = firstOf(request.query as Record<string, string | string[]>);
    if (link === undefined) return signIn(reply, 200);
    throttle(request);
    const operator = links.redeem(link);
    if (operator) await enter(reply, operator);
    // Somebody who is signed in and opens the used link again wants the page.
    if (operator || (await enteredBy(request))) return reply.redirect('/', 303);
    failed(request);
    return signIn(reply, 401, 'This link was used already, or is too old: it signs in once. `gate console` prints a new one.');
  });
  app.post('/login', async (request, reply) => {
    throttle(request);
    const { token } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    const operator = typeof token === 'string' ? lookUpToken(known, token) : null;
    if (operator) {
      await enter(reply, operator);
      return reply.redirect('/', 303);
    }
    failed(request);
    return signIn(reply, 401, 'This is no operator token.');
  });
  /** A link that signs the holder of a token in, once, so that the token itself is typed into no browser. */
  app.post('/auth/links', async (request) => {
    throttle(request);
    const token = bearerOf(request);
    const operator = token === null ? null : lookUpToken(known, token);
    if (!operator) {
      failed(request);
      throw new GateError('unauthenticated');
    }
    return { path: `/login?link=${links.issue(operator)}`, expires_in_secs: LINK_LIFE_MS / 1_000 };
  });
  app.get('/auth/me', async (request) => {
    const entered = await enteredBy(request);
    if (entered === null) throw new GateError('unauthenticated');
    const { subject, tenant, role, mode } = entered.person;
    return { authenticated: true, name: subject, role, tenant, mode };
  });
  app.post('/logout', async (request, reply) => {
    const entered = await enteredBy(request);
    if (entered !== null) {
      assertOwnForm(request, entered);
      await sessions.end(entered.session.id);
    }
    return reply.clearCookie(COOKIE, cookie).redirect('/login', 303);
  });

  relayPasskeys(app, { entered: enteredBy, assertOwn: assertOwnForm, hil: neighbours.hil });
  relayReviewEvents(app, { entered: enteredBy, hil: neighbours.hil });
  answerLedger(app, {
    entered: enteredBy,
    ledger: neighbours.ledger,
    services: ({ person, bearer }) => servicesFor(person, bearer, reached),
    operatorOf: (request) => {
      const token = bearerOf(request);
      const operator = token === null ? null : lookUpToken(known, token);
      if (!operator) return null;
      const person: Person = { subject: `operator:${operator.name}`, tenant: operator.tenant, mode: OPERATOR, role: 'admin' };
      return { person, bearer: operator.token };
    },
    clock,
  });

  for (const page of PAGES)
    app.get(page.path, async (request, reply) => {
      const entered = await enteredBy(request);
      if (entered === null) return reply.redirect('/login', 303);
      assertRole(entered.person, page.role);
      return send(reply, await page.show(visitOf(request, entered)), entered);
    });
  for (const action of ACTIONS)
    app.post(action.path, async (request, reply) => {
      const entered = await enteredBy(request);
      if (entered === null) return reply.redirect('/login', 303);
      assertOwnForm(request, entered);
      assertRole(entered.person, action.role);
      const visit = visitOf(request, entered);
      const form = formOf(request.body);
      try {
        const came = await action.act(visit, form);
        return typeof came === 'string' ? reply.redirect(came, 303) : send(reply, came, entered);
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        const notice = { kind: 'bad', text: `${error.message} (${error.code})` } as const;
        return send(reply, { notice, ...(await action.refused(visit, form)) }, entered, ERROR_CODES[error.code].status);
      }
    });
  return service;
}

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false;

const firstOf = (fields: Readonly<Record<string, string | readonly string[]>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const first = typeof value === 'string' ? value : value[0];
      return first === undefined ? [] : [[field, first]];
    }),
  );

function formOf(body: unknown): Form {
  const fields = (body ?? {}) as Readonly<Record<string, string | readonly string[]>>;
  const all = (field: string): readonly string[] =>
    Object.hasOwn(fields, field) ? [fields[field] ?? []].flat() : [];
  return { all, get: (field) => all(field)[0] ?? '' };
}
