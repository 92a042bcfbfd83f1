import { Readable } from 'node:stream';
import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { render } from 'preact-render-to-string';
import type { Registry } from 'prom-client';
import type { Download } from '../../console/download.js';
import { ACTIONS, PAGES } from '../../console/routes.js';
import { isAtLeast, type Role } from '../../console/roles.js';
import { Document, Problem } from '../../console/ui/document.js';
import type { AboutConsole, Form, OwnSessions, Part, Person, Shown, Visit } from '../../console/visit.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { PasskeyRequired } from '../../domain/review/passkeys.js';
import { countedAddress } from '../../domain/limits/counted-address.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { SavedSearches } from '../../adapters/console/saved-searches.js';
import type { OpenSession, Session, SessionStore } from '../../adapters/console/session-store.js';
import { type AddressRules, isAllowedAddress } from '../pages/allowed-address.js';
import { bearerOf } from '../plugins/bearer.js';
import { plainErrorBody, retryAfterSecs, toGateError } from '../plugins/errors.js';
import { createService, type Service, type ServiceApp } from '../plugins/service.js';
import type { Assets } from './assets.js';
import type { Entered } from './entered.js';
import type { ConsoleMetrics } from './metrics.js';
import { oneAtATime } from './one-at-a-time.js';
import { relayPasskeys } from './passkeys.js';
import { answerCases } from './case-files.js';
import { answerLedger } from './ledger-answers.js';
import { keptAnswers } from './kept.js';
import { chainHealth } from './chain-health.js';
import { regulatoryBundles } from './regulatory.js';
import { deviceFlow } from './command-line/device-flow.js';
import { relayCommandLine } from './command-line/relay.js';
import { ownSessions } from './own-sessions.js';
import { relayReviewEvents } from './review-events.js';
import { type NeighboursOver, servicesFor, tellStanding } from './services-over-http.js';
import type { Door, ReviewProof, SignInMode } from './sign-in/mode.js';
import { nothingMore } from './sign-in/vouching.js';
import { ANSWERS_PAGES } from '../plugins/openapi.js';

export interface ConsoleOptions {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  /** What browsers see; `null`: HTTP, on loopback alone. With `operatorCa` they are asked for a certificate of it, which code looks at. */
  readonly tls: { readonly cert: string; readonly key: string; readonly operatorCa?: string } | null;
  readonly sessions: SessionStore;
  readonly searches: SavedSearches;
  readonly assets: Assets;
  /** How people sign in. */
  readonly signIn: SignInMode;
  /** What proves to the review service that the console vouches for somebody. */
  readonly decideToken?: string | undefined;
  readonly url: string | undefined;
  /** How the listener is known, where that is not the console's own: `url` is not looked at. */
  readonly address?: AddressRules;
  /** What this Gate has not; nothing when absent. */
  readonly without?: readonly Part[];
  /** What everybody who is signed in has to know on every page. */
  readonly standing?: readonly string[];
  readonly sessionSeconds: number;
  /** Tells the cookie from that of another console of the same host; the ports of one share their cookies. Without it the host is its own. */
  readonly instance?: string | undefined;
  /** Who may say for whom it asks. */
  readonly trustedProxies?: readonly string[];
  readonly passkeyRequired: PasskeyRequired;
  readonly metrics: ConsoleMetrics;
  readonly neighbours: NeighboursOver;
  readonly about: AboutConsole;
  readonly clock?: () => number;
}

/** The session's cookie, or how its name begins where the host has several consoles. */
const SESSION_COOKIE = 'gate_console_session';
/** Failed attempts to sign in, of one address. */
const ATTEMPTS = { count: 10, windowMs: 60_000 };
/** What the largest form holds: every changed argument of a call. */
const BODY_LIMIT = 1_048_576;
/** How old a report over all agents may be. */
const REPORT_FRESH_MS = 30_000;

/** `leave` is where the form for signing out leads in the end. */
const headersWith = (leave: string | undefined) => ({
  'Content-Security-Policy': `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'${leave === undefined ? '' : ` ${leave}`}; frame-ancestors 'none'; base-uri 'none'`,
  'X-Content-Type-Options': 'nosniff',
  // Not `no-referrer`: with it a browser sends `Origin: null` with every form, and such a form is refused as one from another site.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});

/** The console (docs/architecture/console.md): pages for people over the other services. Every page and form is a row of `console/routes.ts`. */
export function createConsoleService(options: ConsoleOptions): Service {
  const { sessions, assets, signIn, url, metrics, neighbours, without = [], standing = [], clock = Date.now } = options;
  const has = (part: Part): boolean => !without.includes(part);
  const pages = PAGES.filter(({ of }) => of === undefined || has(of));
  const actions = ACTIONS.filter(({ of }) => of === undefined || has(of));
  const reached = {
    ...neighbours,
    chain: chainHealth(neighbours.ledger, clock),
    regulatory: regulatoryBundles(neighbours.ledger),
    counting: oneAtATime('A register of your tenant is being counted already: ask again in a moment.'),
    copying: oneAtATime('Rows are being copied already: look at the list in a moment.'),
    searches: options.searches,
    kept: keptAnswers(REPORT_FRESH_MS, clock),
    clock,
  };
  const answers = (to: ServiceApp): void => {
    to.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
      const refusal = toGateError(error);
      const waitSecs = retryAfterSecs(refusal);
      if (waitSecs !== null) void reply.header('Retry-After', String(waitSecs));
      if (refusal.status >= 500) request.log.error({ err: error }, 'a page of the console failed');
      if (!wantsPage(request))
        return reply
          .code(refusal.status)
          .type('application/json')
          .send(JSON.stringify(plainErrorBody(refusal, request.correlationId)));
      const entered = await enteredOf(request).catch(() => null);
      // Nobody types a reason twice because a form was refused.
      const form = request.method === 'POST' ? formOf(request.body) : null;
      const body = <Problem code={refusal.code} words={refusal.message} id={request.correlationId} form={form} />;
      return send(reply, { title: 'Not done', body }, entered, refusal.status);
    });
    to.setNotFoundHandler(async (request, reply) => {
      const entered = await enteredOf(request).catch(() => null);
      const words = `There is no page ${request.url.split('?')[0]}.`;
      if (!wantsPage(request)) throw new GateError('not_found', words);
      const body = <Problem code="not_found" words={words} id={request.correlationId} />;
      return send(reply, { title: 'No such page', body }, entered, 404);
    });
  };

  const service = createService({
    name: 'console',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    headers: headersWith(signIn.leave?.origin),
    bodyLimit: BODY_LIMIT,
    trustedProxies: options.trustedProxies ?? [],
    readiness: { sessions: () => sessions.ready(), ...signIn.readiness, ...neighbours.readiness },
    answers,
    resolveCaller: () => null,
    ...(options.tls && { tls: listenerTls(options.tls) }),
  });
  const { app } = service;
  const failures = slidingBudget(ATTEMPTS.count, ATTEMPTS.windowMs);
  const name = url === undefined ? null : new URL(url);
  const address = options.address ?? { allowedHosts: name === null ? [] : [name.hostname], loopback: name === null };
  const cookieName = options.instance === undefined ? SESSION_COOKIE : `${SESSION_COOKIE}_${options.instance}`;
  const cookie = {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: options.tls !== null || name?.protocol === 'https:',
  } as const;

  if (signIn.close) app.addHook('onClose', () => signIn.close?.());
  void app.register(cookies);
  void app.register(forms, { bodyLimit: BODY_LIMIT });

  const send = (reply: FastifyReply, shown: Shown, entered: Entered | null, status = 200) => {
    const page = render(
      <Document
        here={reply.request.url.split('?')[0] ?? '/'}
        shown={shown}
        person={entered?.person ?? null}
        csrf={entered?.session.csrf ?? ''}
        assets={assets}
        pages={pages}
        standing={standing}
      />,
    );
    return reply
      .code(shown.status ?? status)
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${page}`);
  };

  /** Whom a session names, by what the way to sign in says of him now. */
  const enteredBy = async (
    kept: string,
    request: FastifyRequest,
    how?: { readonly renews: boolean },
  ): Promise<Entered | null> => {
    const session = await sessions.of(kept, how);
    const found = session === null ? null : signIn.personOf(session);
    if (session === null || found === null) return null;
    const isProved = signIn.isProvedBy === undefined || (await signIn.isProvedBy(request, session));
    return isProved ? { session, ...found } : null;
  };
  /** Whom a session that is no browser's names now. */
  const entitledBy = async (session: OpenSession) => {
    const found = signIn.personOf(session);
    return found !== null && ((await signIn.entitles?.(session)) ?? true) ? found : null;
  };
  const enteredOf = async (request: FastifyRequest): Promise<Entered | null> => {
    const kept = request.cookies[cookieName] ?? '';
    const entered = await enteredBy(kept, request);
    if (entered?.session.isRenewed) renewed.set(request, kept);
    return entered;
  };
  /** Whether the session of a request still stands; to look does not renew it. */
  const standsFor = async (request: FastifyRequest): Promise<boolean> =>
    (await enteredBy(request.cookies[cookieName] ?? '', request, { renews: false })) !== null;
  // What the browser keeps lives as long as the session.
  const renewed = new WeakMap<FastifyRequest, string>();
  app.addHook('onSend', (request, reply, payload, done) => {
    const kept = renewed.get(request);
    if (kept !== undefined && reply.getHeader('set-cookie') === undefined)
      void reply.header('set-cookie', app.serializeCookie(cookieName, kept, { ...cookie, maxAge: options.sessionSeconds }));
    done(null, payload);
  });

  /** Says to the review service what somebody may do now. Where it is away it goes by what it heard last, for as long as it keeps that. */
  const tell = async (proof: ReviewProof, tenant: string): Promise<void> => {
    if (proof['x-gate-decision-principal'] === undefined) return;
    try {
      await tellStanding(neighbours.hil, proof, tenant);
    } catch (error) {
      options.logger.warn({ reason: errorText(error) }, 'the review service was not told what somebody may do now');
    }
  };

  const tellNothingMore = async (who: { readonly subject: string; readonly tenant: string }): Promise<void> => {
    const proof = nothingMore(who, signIn.name, options.decideToken, clock());
    if (proof) await tell(proof, who.tenant);
  };

  const visitOf = (request: FastifyRequest, { person, session, proof }: Entered): Visit => ({
    person,
    csrf: session.csrf,
    nowMs: clock(),
    params: request.params as Record<string, string>,
    query: firstOf(request.query as Record<string, string | string[]>),
    passkeyFor: (tier) =>
      options.passkeyRequired === 'all' || (options.passkeyRequired === 'strict' && tier === 'strict'),
    has,
    services: servicesFor(person, proof, reached),
    sessions: sessionsOf(session),
    stands: () => standsFor(request),
    about: options.about,
    may: actions,
  });

  const sessionsOf: (session: Session) => OwnSessions = ownSessions({ sessions, signIn, metrics, clock });

  /** Where somebody signs in who wanted this page. */
  const signInFor = ({ url: wanted }: FastifyRequest): string =>
    wanted !== '/' ? `/login?${new URLSearchParams({ return_to: wanted }).toString()}` : '/login';

  const assertRole = (person: Person, needed: Role): void => {
    if (isAtLeast(person.role, needed)) return;
    metrics.roleDenied(needed, person.role);
    throw new GateError('role_too_low', undefined, { fields: { required: needed, actual: person.role } });
  };

  /** Every form: from this console, of this session, by somebody who may. Checked before anything of it is used. */
  const assertOwnForm = (request: FastifyRequest, entered: Entered): void => {
    assertOwnOrigin(request);
    const offered = (request.body as Record<string, unknown> | null)?.['csrf'] ?? request.headers['x-csrf-token'];
    if (offered !== entered.session.csrf) throw new GateError('csrf_failed');
  };
  const assertOwnOrigin = (request: FastifyRequest): void => {
    const { origin, referer } = request.headers;
    const from = origin ?? (referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : undefined);
    // The Host was checked: the console's own name, or this machine's. Before a listener that is not its own something may speak TLS.
    const schemes = options.address ? ['http', 'https'] : [options.tls === null ? 'http' : 'https'];
    const own = new Set([name?.origin, ...schemes.map((scheme) => `${scheme}://${request.headers.host}`)]);
    if (from === undefined || !own.has(from)) throw new GateError('csrf_failed');
  };

  app.addHook('onRequest', (request, _reply, done) => {
    const { host } = request.headers;
    // The provider's page sends its form here, from whatever site it is on.
    const isAnswer = request.method === 'POST' && request.url === signIn.answersAt;
    const isAllowed = isAllowedAddress(isAnswer ? { headers: { host } } : request, address);
    done(
      isAllowed
        ? undefined
        : new GateError(
            'host_not_allowed',
            'The console is not known by this address: open it at the one that GATE_CONSOLE_URL names.',
          ),
    );
  });

  for (const { path, type, body } of [assets.style, assets.script])
    app.get(path, (_request, reply) =>
      reply.type(type).header('Cache-Control', 'public, max-age=31536000, immutable').send(body),
    );

  const door: Door = {
    nowMs: clock,
    throttle(request) {
      // An image on any page could fail in the name of everybody at its reader's address. A browser says what it asks for.
      const { 'sec-fetch-site': site, 'sec-fetch-dest': dest } = request.headers;
      if (site === 'cross-site' && dest !== 'document') throw new GateError('csrf_failed');
      const wait = failures.look(countedAddress(request.ip), clock());
      if (wait === 0) return;
      metrics.attempt('throttled');
      throw new GateError('rate_limited', 'Too many attempts to sign in failed from this address.', {
        fields: { retry_after_secs: wait },
      });
    },
    failed(request) {
      failures.take(countedAddress(request.ip), 1, clock());
      metrics.attempt('refused');
    },
    providerAway: () => metrics.attempt('provider_away'),
    async accept(reply, who) {
      const kept = await sessions.open(who);
      // With two roles at once, the older one would be used where the newer one is not enough. After it was opened, because of two sign-ins
      // at once neither would find the other's session.
      await sessions.endAllOf(who, { role: who.role });
      const entered = await enteredBy(kept, reply.request);
      if (entered) await tell(entered.proof, who.tenant);
      metrics.attempt('accepted');
      // So that whoever decides now is told where the chain does not hold; nobody waits for it.
      reached.chain.health().catch(() => undefined);
      reply.setCookie(cookieName, kept, { ...cookie, maxAge: options.sessionSeconds });
    },
    page: (reply, status, words, wanted = '/') =>
      send(reply, { title: 'Sign in', body: signIn.body(words, wanted) }, null, status),
    show: (reply, shown) => send(reply, shown, null),
    isSecure: cookie.secure,
    isIn: async (request) => (await enteredOf(request)) !== null,
    assertOwnOrigin,
    async lost(who) {
      await sessions.endAllOf(who);
      await tellNothingMore(who);
    },
    async leftOthers(who) {
      const tenants = await sessions.endElsewhere(who);
      await Promise.all(tenants.map((tenant) => tellNothingMore({ subject: who.subject, tenant })));
    },
  };
  signIn.routes(app, door);
  app.get('/auth/me', async (request) => {
    const entered = await enteredOf(request);
    if (entered === null) throw new GateError('unauthenticated');
    const { subject, tenant, role, mode } = entered.person;
    const { untilMs, endsMs } = entered.session;
    const expires_at = new Date(Math.min(untilMs, endsMs ?? untilMs)).toISOString();
    return { authenticated: true, name: subject, role, tenant, mode, expires_at };
  });
  app.post('/logout', async (request, reply) => {
    const entered = await enteredOf(request);
    if (entered !== null) {
      assertOwnForm(request, entered);
      await sessions.end(entered.session.id);
    }
    const to = entered === null ? '/login' : (signIn.leave?.address() ?? '/login');
    return reply.clearCookie(cookieName, cookie).redirect(to, 303);
  });

  if (has('passkeys')) relayPasskeys(app, { entered: enteredOf, assertOwn: assertOwnForm, assertRole, hil: neighbours.hil });
  const { limits } = neighbours;
  relayReviewEvents(app, { entered: enteredOf, stands: standsFor, hil: neighbours.hil, limits });
  answerLedger(app, {
    entered: enteredOf,
    stands: standsFor,
    ledger: neighbours.ledger,
    limits,
    services: ({ person, proof }) => servicesFor(person, proof, reached),
    bearerOf(request) {
      door.throttle(request);
      const token = bearerOf(request);
      const who = token === null ? null : (signIn.personByToken?.(token) ?? null);
      if (who === null) door.failed(request);
      return who;
    },
    clock,
  });

  if (has('cases'))
    answerCases(app, {
      entered: enteredOf,
      services: ({ person, proof }) => servicesFor(person, proof, reached),
      clock,
    });
  if (has('command-line')) {
    deviceFlow(app, {
      sessions,
      issuer: ({ headers: { host } }) => name?.origin ?? `${options.tls === null ? 'http' : 'https'}://${host}`,
      stands: async (session) => (await entitledBy(session)) !== null,
      metrics,
      clock,
    });
    relayCommandLine(app, {
      async holder(request) {
        const token = bearerOf(request);
        const session = token === null ? null : await sessions.ofToken(token);
        const found = session && (await entitledBy(session));
        return session && found && { session, ...found };
      },
      assertRole,
      hil: neighbours.hil,
      ledger: neighbours.ledger,
    });
  }

  for (const page of pages)
    app.get(page.path, { config: ANSWERS_PAGES }, async (request, reply) => {
      const entered = await enteredOf(request);
      if (entered === null) return reply.redirect(signInFor(request), 303);
      assertRole(entered.person, page.role);
      return send(reply, await page.show(visitOf(request, entered)), entered);
    });
  for (const action of actions)
    app.post(action.path, { config: ANSWERS_PAGES }, async (request, reply) => {
      const entered = await enteredOf(request);
      if (entered === null) throw new GateError('unauthenticated', 'You are not signed in any more: nothing was done.');
      assertOwnForm(request, entered);
      assertRole(entered.person, action.role);
      const visit = visitOf(request, entered);
      const form = formOf(request.body);
      try {
        const came = await action.act(visit, form);
        if (typeof came === 'string') return await reply.redirect(came, 303);
        return 'filename' in came ? download(reply, came) : await send(reply, came, entered);
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        const notice = { kind: 'bad', text: `${error.message} (${error.code})` } as const;
        const shown = await action.refused(visit, form);
        return send(reply, { ...shown, notice: shown.notice ?? notice }, entered, ERROR_CODES[error.code].status);
      }
    });
  return service;
}

const listenerTls = ({ cert, key, operatorCa }: NonNullable<ConsoleOptions['tls']>) =>
  operatorCa === undefined
    ? ({ cert, key, clientCertificate: 'none' } as const)
    : ({ cert, key, ca: operatorCa, clientCertificate: 'asked' } as const);

/** A fault in the middle cuts the connection, so that the browser says that the file is not whole. */
const download = (reply: FastifyReply, { type, filename, headers, body }: Download): FastifyReply =>
  reply
    .type(type)
    .headers(headers)
    .header('content-disposition', `attachment; filename="${filename}"`)
    .send(Readable.from(body, { objectMode: false }));

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false;

const firstOf = (fields: Readonly<Record<string, string | readonly string[]>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const first = typeof value === 'string' ? value : value[0];
      return first === undefined ? [] : [[field, first]];
    }),
  );

function formOf(body: unknown): Form {
  const fields = (body ?? {}) as Readonly<Record<string, unknown>>;
  const all = (field: string): readonly string[] =>
    Object.hasOwn(fields, field) ? [fields[field]].flat().filter((value) => typeof value === 'string') : [];
  return { all, get: (field) => all(field)[0] ?? '', names: () => Object.keys(fields) };
}
