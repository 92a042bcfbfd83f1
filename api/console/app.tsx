import cookies from '@fastify/cookie';
import forms from '@fastify/formbody';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { ACTIONS, mayPost, PAGES } from '../../console/routes.js';
import { isAtLeast, type Role, ROLES } from '../../console/roles.js';
import { serviceHead, type ServiceName } from '../../console/services.js';
import type { AboutConsole, Part, Person, Visit } from '../../console/visit.js';
import { GateError, roleTooLow } from '../../domain/errors.js';
import { parseStrictJson } from '../../domain/mcp/strict-json.js';
import { everybodySigns, holdersSign, type PasskeyRequired } from '../../domain/review/passkey-required.js';
import type { SavedSearches } from '../../adapters/console/saved-searches.js';
import type { SessionStore } from '../../adapters/console/session-store.js';
import type { AddressRules } from '../pages/allowed-address.js';
import { bearerOf } from '../plugins/bearer.js';
import type { ReadinessChecks } from '../plugins/health.js';
import { connectionIsOf } from '../plugins/held-connections.js';
import { readJsonBodies } from '../plugins/json-bodies.js';
import { takesForm, takesOfBrowser } from '../plugins/openapi.js';
import { type TlsMaterial, withCa } from '../../domain/identity/live-tls.js';
import { createService, type Service } from '../plugins/service.js';
import type { Assets } from './assets.js';
import { ANYBODYS_BODY, largeOf } from './body-limits.js';
import { answerCases } from './case-files.js';
import { relayChatClicks } from './chat-clicks.js';
import { chainHealth } from './chain-health.js';
import { deviceFlow } from './command-line/device-flow.js';
import { relayCommandLine } from './command-line/relay.js';
import { documents, headersWith } from './documents.js';
import { doorOf } from './door.js';
import type { Entered } from './entered.js';
import { keptAnswers } from './kept.js';
import { answerLedger } from './ledger-answers.js';
import type { ConsoleMetrics } from './metrics.js';
import { oneAtATime } from './one-at-a-time.js';
import { leadToOwnName } from './own-name.js';
import { ownRequests } from './own-requests.js';
import { ownSessions } from './own-sessions.js';
import { servePages } from './pages-and-forms.js';
import { relayPasskeys } from './passkeys.js';
import { peopleOf, whoIs } from './people.js';
import { regulatoryBundles } from './regulatory.js';
import { answerStopReports } from './stop-reports.js';
import { requestsInTurn } from './requests-in-turn.js';
import { relayReviewEvents } from './review-events.js';
import { ASK_LIMITS } from './ask-limits.js';
import { type NeighboursOver, type ServiceChecks, servicesFor } from './services-over-http.js';
import { signInAgain } from './sign-in-again.js';
import { twiceIn } from './asked-once.js';
import { stoppedTenants } from './stopped-tenants.js';
import type { SignInMode } from './sign-in/mode.js';

/** Who is signed in, for a program. */
const signedIn = z.object({
  authenticated: z.literal(true),
  name: z.string(),
  role: z.enum(ROLES),
  tenant: z.string().nullable(),
  mode: z.string(),
  expires_at: z.iso.datetime(),
});

export interface ConsoleOptions {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  /** What browsers see; `null`: HTTP, on loopback alone. With `operatorCa` they are asked for a certificate of it, which code looks at. */
  readonly tls: (Pick<TlsMaterial, 'cert' | 'key' | 'live'> & { readonly operatorCa?: string }) | null;
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

/** Connections that the console takes at a time. Each page of somebody who is signed in holds one or two. */
const MOST_CONNECTIONS = 1_000;
/** How old a report over all agents may be. */
const REPORT_FRESH_MS = 30_000;

/** The console (docs/architecture/console.md): pages for people over the other services. Every page and form is a row of `console/routes.ts`. */
export function createConsoleService(options: ConsoleOptions): Service {
  const { sessions, assets, signIn, url, metrics, neighbours, without = [], standing = [], clock = Date.now } = options;
  const { over, limits = ASK_LIMITS } = neighbours;
  const { hil, ledger } = over;
  const has = (part: Part): boolean => !without.includes(part);
  const pages = PAGES.filter(({ of }) => of === undefined || has(of));
  const actions = ACTIONS.filter(({ of }) => of === undefined || has(of));
  const stopped = stoppedTenants(has('stops') ? over.identity : undefined, { limits, clock });
  const reached = {
    ...neighbours,
    limits,
    chain: chainHealth(ledger, clock, limits),
    regulatory: regulatoryBundles(ledger, limits),
    counting: oneAtATime('A register of your tenant is being counted already: ask again in a moment.'),
    copying: oneAtATime(
      (secs) =>
        `Somebody began to copy rows ${secs} s ago, and the ledger has not answered yet: it may copy them still, or its answer may be lost, which is known after two minutes. Look at the list before you copy again.`,
    ),
    searches: options.searches,
    stoppedTenants: stopped,
    kept: keptAnswers(REPORT_FRESH_MS, clock),
    clock,
  };
  const { send, answers } = documents({
    assets,
    pages,
    actions,
    standing,
    isStopped: stopped.isStopped,
    entered: (request) => (isSentAway(request) ? Promise.resolve(null) : people.enteredOf(request)),
    stands: (request) => people.standsFor(request),
    drainMs: limits.drainMs,
    signInAgain: signInAgain({ own: () => own, pages, actions }),
    clock,
  });
  const service = createService({
    name: 'console',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    headers: headersWith(signIn.leave?.origin),
    bodyLimit: ANYBODYS_BODY,
    mostConnections: MOST_CONNECTIONS,
    trustedProxies: options.trustedProxies ?? [],
    readiness: { sessions: () => sessions.ready(), ...signIn.readiness, ...byHead(neighbours.readiness) },
    answers,
    resolveCaller: () => null,
    ...(options.tls && { tls: listenerTls(options.tls) }),
  });
  const { app } = service;
  if (signIn.close) app.addHook('onClose', () => signIn.close?.());
  void app.register(cookies);
  void app.register(forms, { bodyLimit: ANYBODYS_BODY });
  // What it passes on is written anew, so HIL no longer sees what a strict reader would refuse.
  readJsonBodies(app, parseStrictJson);

  const name = url === undefined ? null : new URL(url);
  const isTls = options.tls !== null;
  const own = ownRequests(app, { name, isTls, address: options.address, answersAt: signIn.answersAt });
  if (name !== null && signIn.beginsAt) leadToOwnName(app, name, signIn.beginsAt);
  const { instance, sessionSeconds } = options;
  const isSecure = isTls || name?.protocol === 'https:';
  const people = peopleOf(app, { sessions, signIn, instance, isSecure, sessionSeconds });
  const { enteredOf, standsFor, entitledBy } = people;
  const isSentAway = requestsInTurn(app, people.keyOf);
  const large = largeOf(standsFor, own.assertOrigin);
  const assertRole = (person: Person, needed: Role): void => {
    if (isAtLeast(person.role, needed)) return;
    metrics.roleDenied(needed, person.role);
    throw roleTooLow(needed, person.role);
  };
  const services = ({ person, proof }: Pick<Entered, 'person' | 'proof'>) => servicesFor(person, proof, reached);

  for (const { path, type, body } of [assets.style, assets.script])
    app.get(path, (_request, reply) =>
      reply.type(type).header('Cache-Control', 'public, max-age=31536000, immutable').send(body),
    );

  const { decideToken, logger } = options;
  const door = doorOf({
    sessions,
    signIn,
    decideToken,
    hil,
    limits,
    people,
    own,
    chain: reached.chain,
    send,
    metrics,
    logger,
    clock,
  });
  signIn.routes(app, door);
  app.addHook('onListen', (done) => {
    void door.reopened();
    done();
  });
  app.get('/auth/me', { config: { described: { response: { 200: signedIn } } } }, async (request) => {
    const entered = await enteredOf(request);
    if (entered === null)
      throw new GateError('unauthenticated', 'Nobody is signed in here: sign in on the console’s own page.');
    const { subject, tenant, role, mode } = entered.person;
    const { untilMs, endsMs } = entered.session;
    const expires_at = new Date(Math.min(untilMs, endsMs ?? untilMs)).toISOString();
    return { authenticated: true, name: subject, role, tenant, mode, expires_at };
  });
  app.post('/logout', takesOfBrowser({ form: takesForm(['csrf']) }), async (request, reply) => {
    const entered = await enteredOf(request);
    if (entered !== null) {
      own.assertForm(request, entered);
      await sessions.end(entered.session.id);
      signIn.left?.(entered.session);
    }
    const to = entered === null ? '/login' : (signIn.leave?.address() ?? '/login');
    // What the browser keeps of this console, to go back to.
    void reply.header('Clear-Site-Data', '"cache"');
    return people.forget(reply).redirect(to, 303);
  });

  if (has('passkeys'))
    relayPasskeys(app, { entered: enteredOf, assertOwn: own.assertForm, assertRole, hil, large, limits });
  if (has('chat-clicks')) relayChatClicks(app, { hil, limits, clock });
  relayReviewEvents(app, { entered: enteredOf, stands: standsFor, stopped, hil, limits });
  answerLedger(app, {
    entered: enteredOf,
    stands: standsFor,
    stopped,
    ledger,
    limits,
    services,
    bearerOf(request) {
      door.assertOwnAttempt(request);
      const token = bearerOf(request);
      const who = token === null ? null : (signIn.personByToken?.(token) ?? null);
      if (who !== null) return who;
      door.throttle(request);
      door.failed(request);
      return null;
    },
    clock,
  });
  if (has('cases')) answerCases(app, { entered: enteredOf, services, clock });
  if (has('stops')) answerStopReports(app, { entered: enteredOf, services });
  if (has('command-line')) {
    deviceFlow(app, {
      sessions,
      issuer: ({ headers: { host } }) => name?.origin ?? `${isTls ? 'https' : 'http'}://${host}`,
      stands: async (session) => (await entitledBy(session)) !== null,
      metrics,
      clock,
    });
    relayCommandLine(app, {
      async holder(request) {
        const token = bearerOf(request);
        const session = token === null ? null : await sessions.ofToken(token);
        const found = session && (await entitledBy(session));
        if (!session || !found) return null;
        connectionIsOf(request, whoIs(found.person));
        return { session, ...found };
      },
      assertRole,
      hil,
      ledger,
      limits,
    });
  }

  const sessionsOf = ownSessions({ sessions, signIn, metrics, clock });
  /** Whether this person signs whatever he approves, because he has a passkey. Where the review service does not say, he is asked to. */
  const signsAll = async (entered: Entered): Promise<boolean> => {
    if (!holdersSign(options.passkeyRequired)) return false;
    try {
      return (await services(entered).hil.passkeys()).length > 0;
    } catch (error) {
      return !(error instanceof GateError && error.status < 500);
    }
  };
  const visitOf = (request: FastifyRequest, entered: Entered): Visit => {
    let signs: Promise<boolean> | undefined;
    return {
      person: entered.person,
      csrf: entered.session.csrf,
      nowMs: clock(),
      params: request.params as Record<string, string>,
      query: firstOf(request.query as Record<string, string | string[]>),
      twice: twiceIn(request),
      async signing() {
        const all = await (signs ??= signsAll(entered));
        return (tier) => all || everybodySigns(options.passkeyRequired, tier);
      },
      has,
      services: services(entered),
      sessions: sessionsOf(entered.session, request),
      stands: () => standsFor(request),
      about: options.about,
      mayPost: (path) => mayPost(actions, path, entered.person.role),
      may: actions,
    };
  };
  servePages(app, {
    pages,
    actions,
    entered: enteredOf,
    assertForm: own.assertForm,
    assertRole,
    visitOf,
    hear: stopped.hear,
    isStopped: stopped.isStopped,
    send,
    watching: { stands: standsFor, drainMs: limits.drainMs },
    large,
  });
  return service;
}

/** As whoever looks at the probes reads them, under the same names as on the pages. */
const byHead = (checks: ServiceChecks): ReadinessChecks =>
  Object.fromEntries(Object.entries(checks).map(([name, check]) => [serviceHead(name as ServiceName), check]));

const listenerTls = ({ operatorCa, live, ...shown }: NonNullable<ConsoleOptions['tls']>) =>
  operatorCa === undefined
    ? ({ ...shown, ...(live && { live }), clientCertificate: 'none' } as const)
    : ({
        ...shown,
        ca: operatorCa,
        ...(live && { live: withCa(live, operatorCa) }),
        clientCertificate: 'asked',
      } as const);

const firstOf = (fields: Readonly<Record<string, string | readonly string[]>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const first = typeof value === 'string' ? value : value[0];
      return first === undefined ? [] : [[field, first]];
    }),
  );
