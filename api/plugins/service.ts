import { randomUUID, type X509Certificate } from 'node:crypto';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import Fastify, { type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { isSignedBy } from '../../adapters/identity/svid-signer.js';
import { GateError } from '../../domain/errors.js';
import { countsSoon, hasEnded, type TlsMaterial } from '../../domain/identity/live-tls.js';
import {
  fingerprintOf,
  hostsOf,
  isBootstrapCertificate,
  parseSpiffe,
  spiffeOfCertificate,
} from '../../domain/identity/spiffe.js';
import type { CertificateStanding, RevokedNow } from '../../domain/identity/revocation-mirror.js';
import { parseServiceJson } from '../../domain/mcp/strict-json.js';
import { isAmong } from '../../domain/limits/counted-address.js';
import { hasUuidForm } from '../../domain/uuid.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Caller, ServiceApp } from './app.js';
import { enforceRouteAuthority, type GovernedService } from './caller-authority.js';
import {
  answerErrors,
  answerOnSocket,
  answerUnreadable,
  answerUnroutable,
  type ErrorBody,
  plainErrorBody,
} from './errors.js';
import { healthApp, type ReadinessChecks, type ReadinessDetails } from './health.js';
import { noteRoutes, openApiOf } from './openapi.js';
import { connectionIsOf, holdConnections } from './held-connections.js';
import { connectionMetrics } from './connection-metrics.js';
import { paceConnections } from './paced-connections.js';
import { closeStalled } from './stalled-connections.js';
import { readJsonBodies } from './json-bodies.js';
import { ownCompilersOnly } from './own-compilers.js';

export type { Caller, ServiceApp };

export type { TlsMaterial };

export interface ServiceOptions {
  readonly name: string;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  /**
   * Without it the service speaks plain HTTP: in tests, and to browsers on this machine. `required` refuses strangers in the handshake, `asked`
   * leaves that to code, `none` asks for no certificate.
   */
  readonly tls?:
    | (TlsMaterial & { readonly clientCertificate: 'required' | 'asked' })
    | (Pick<TlsMaterial, 'cert' | 'key' | 'live'> & { readonly clientCertificate: 'none' });
  /** Governed services check every route against the route authority table before the body is read. */
  readonly governed?: GovernedService;
  readonly bodyLimit?: number;
  /** Milliseconds within which a whole request must arrive. Default: 30,000. */
  readonly requestLimitMs?: number;
  /** Milliseconds in which somebody must take a byte of an answer that waits for him. Default: 300,000. */
  readonly stalledLimitMs?: number;
  /** Connections that are open at a time. Default: 10,000. */
  readonly mostConnections?: number;
  /** Added to every answer, including refusals of the HTTP parser. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The form of refusals that no route makes. */
  readonly errorBody?: ErrorBody;
  /** Says how errors and unknown paths are answered, for a service whose answers are pages. */
  readonly answers?: (app: ServiceApp) => void;
  readonly readiness?: ReadinessChecks;
  /** Shown by /readyz beside the checks. */
  readonly details?: ReadinessDetails;
  /** Addresses and ranges of proxies that say for whom they ask, in `X-Forwarded-For`. From anybody else it is ignored. */
  readonly trustedProxies?: readonly string[];
  /** Whether the certificate of an agent counts here; without it, every one that the CA signed and that has not ended. */
  readonly standing?: CertificateStanding;
  /** PEM of CAs by which bootstrap certificates count, whether or not they are trusted otherwise: of identity. */
  readonly bootstrapCas?: string;
  /** For unit tests with `inject`, where there is no TLS socket. */
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
}

export interface Service {
  readonly name: string;
  readonly app: ServiceApp;
  /** The plain listener: /health, /readyz, /metrics, /openapi.json. */
  readonly health: FastifyInstance;
  /** Its OpenAPI document. */
  readonly openApi: () => Promise<JsonObject>;
  listen(address: {
    host: string;
    port: number;
    healthHost: string;
    healthPort: number;
  }): Promise<{ port: number; healthPort: number }>;
  close(): Promise<void>;
}

/** How long a service that ends waits for the first request on a connection; what comes by then is answered that Gate ends. */
const UNUSED_MS = 250;
/** A whole request must arrive within this time, so that slow senders do not hold connections forever. */
const REQUEST_LIMIT_MS = 30_000;
const HANDSHAKE_LIMIT_MS = 10_000;
/** Long enough for who takes a thousand bytes in a second: his side tells of room only after some hundred thousand. */
const STALLED_LIMIT_MS = 300_000;
/** Its headers within this, so that nobody holds a connection on which he asks nothing. */
const HEADERS_LIMIT_MS = 10_000;
/** Connections of a listener whose callers each keep some open: ten thousand idle streams of agents, and room for calls beside them. */
const MOST_CONNECTIONS = 12_000;
/** How often it is logged that there are as many as may be. */
const FULL_LOG_MS = 10_000;

/** A Gate service without its routes: TLS, caller, correlation id, route authority, errors, health. Every service starts from this. */
export function createService(options: ServiceOptions): Service {
  const { tls, headers = {}, errorBody = plainErrorBody, requestLimitMs = REQUEST_LIMIT_MS } = options;
  const slowSenders = {
    requestTimeout: requestLimitMs,
    // If headers may take longer than the whole request, Node never ends a request whose body stops in the middle.
    headersTimeout: Math.min(requestLimitMs, HEADERS_LIMIT_MS),
    // How often Node checks; its default of 30 s would double the limit.
    connectionsCheckingInterval: Math.min(requestLimitMs, 2_000),
    // Refused below, in the service's own form.
    requireHostHeader: false,
  };
  const contextOf = (given: Pick<TlsMaterial, 'cert' | 'key'> & { readonly ca?: string }) => ({
    ...(tls?.clientCertificate !== 'none' && { ca: [given.ca ?? [], options.bootstrapCas ?? []].flat() }),
    cert: given.cert,
    key: given.key,
    minVersion: 'TLSv1.3' as const,
  });
  const app = Fastify({
    loggerInstance: options.logger.child({ service: options.name }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimit ?? 2_097_152,
    forceCloseConnections: 'idle',
    requestTimeout: requestLimitMs,
    clientErrorHandler: answerUnreadable(errorBody, headers),
    frameworkErrors: answerUnroutable(errorBody, headers),
    schemaController: ownCompilersOnly,
    // A route answers only the method it is registered for, and an encoded SPIFFE id fits into a path segment.
    exposeHeadRoutes: false,
    ...(options.trustedProxies && options.trustedProxies.length > 0 && { trustProxy: isAmong(options.trustedProxies) }),
    routerOptions: { maxParamLength: 1_024 },
    ...(!tls && { http: slowSenders }),
    ...(tls && {
      https: {
        ...slowSenders,
        ...contextOf(tls.live?.now() ?? tls),
        ...(tls.clientCertificate !== 'none' && { requestCert: true }),
        rejectUnauthorized: tls.clientCertificate === 'required',
        handshakeTimeout: HANDSHAKE_LIMIT_MS,
      },
    }),
  }).withTypeProvider<ZodTypeProvider>() as unknown as ServiceApp;
  const live = tls?.live;
  if (tls) paceConnections(app.server, () => !live || !hasEnded(live) || countsSoon(live));
  if (live) {
    // Connections that are open keep the certificate that they were made with.
    const forget = live.onRenewed((next) => (app.server as TlsServer).setSecureContext(contextOf(next)));
    app.addHook('onClose', (_app, done) => {
      forget();
      done();
    });
  }
  readWhole(app, errorBody, headers);
  const most = options.mostConnections ?? MOST_CONNECTIONS;
  const { full, stalled } = connectionMetrics(options.registry);
  let fullLoggedMs = Number.NEGATIVE_INFINITY;
  const connections = holdConnections(app.server, {
    most,
    onFull(what) {
      full.inc({ service: options.name, what });
      if (performance.now() - fullLoggedMs < FULL_LOG_MS) return;
      fullLoggedMs = performance.now();
      app.log.warn(
        { event: 'connections_full', most },
        'as many connections are open as may be: new ones take the place of others',
      );
    },
  });
  app.addHook('preClose', (done) => {
    // One that never listened has no connections, and no end of its own.
    if (!app.server.listening) return done();
    const unused = setInterval(connections.closeUnused, UNUSED_MS).unref();
    app.server.once('close', () => clearInterval(unused));
    done();
  });
  const stalls = closeStalled(app.server, {
    limitMs: options.stalledLimitMs ?? STALLED_LIMIT_MS,
    onClosed() {
      stalled.inc({ service: options.name });
      app.log.warn(
        { event: 'connection_stalled' },
        'a connection was closed whose other side took nothing of its answer',
      );
    },
  });
  readJsonBodies(app, parseServiceJson);
  const routes = noteRoutes(app);
  app.setValidatorCompiler(boundedValidator);
  app.setSerializerCompiler(serializerCompiler);
  app.decorateRequest('caller', null);
  app.decorateRequest('certificateFault', null);
  app.decorateRequest('correlationId', '');
  const { standing, bootstrapCas } = options;
  /** Of a certificate that the connection takes for one of a CA. */
  const doubted = (certificate: X509Certificate): boolean =>
    bootstrapCas !== undefined &&
    live !== undefined &&
    !isBootstrapCertificate(certificate) &&
    !isSignedBy(certificate, live.trusted());
  const shown = createShownCertificates(options.trustDomain, doubted);
  standing?.onRevoked(shown.close);
  const seenBy = options.resolveCaller ? resolvedBy(options.resolveCaller) : shown.seenBy;
  app.addHook('onRequest', (request, reply, done) => {
    const seen = seenBy(request);
    // The certificates of services come from elsewhere than those of agents.
    const fault = (seen.caller?.kind === 'agent' ? standing?.faultOf(seen.caller.fingerprint) : null) ?? null;
    const isBootstrap = seen.caller?.bootstrap === true && request.routeOptions.config.bootstrap !== true;
    request.caller = fault === null && !isBootstrap ? seen.caller : null;
    request.certificateFault = isBootstrap ? BOOTSTRAP_ONLY() : (fault ?? seen.fault);
    noteCaller(request);
    // Only services may pass on the id of a call; nobody else may set one (docs/architecture/requests-and-answers.md#error-envelope).
    const offered = request.caller?.kind === 'service' ? request.headers['x-gate-correlation-id'] : undefined;
    request.correlationId = typeof offered === 'string' && hasUuidForm(offered) ? offered : randomUUID();
    void reply.headers(headers).header('X-Gate-Correlation-Id', request.correlationId);
    const unreadable = unreadableHead(request);
    if (unreadable || !live || !hasEnded(live)) return done(unreadable);
    // A connection that was open before: it shows a certificate that counts no more. New ones are not taken.
    void countsSoon(live).then((counts) => {
      if (counts) return done();
      void reply.header('connection', 'close');
      done(new GateError('workload_certificate_ended'));
    });
  });
  // A token is read after the certificate.
  app.addHook('preHandler', (request, _reply, done) => {
    noteCaller(request);
    done();
  });
  // A connection whose last answer leaves during the close would be kept alive, and the close would wait for it.
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    stalls.stop();
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onResponse', (request, _reply, done) => {
    // Its header was sent before. A request from within the process has no connection.
    if (closing && 'destroySoon' in request.raw.socket) request.raw.socket.destroySoon();
    done();
  });
  (options.answers ?? ((to: ServiceApp) => answerErrors(to, errorBody)))(app);
  if (options.governed) enforceRouteAuthority(app, options.governed);
  const readiness = {
    ...options.readiness,
    ...(live && { workload_identity: () => live.ready() ?? null }),
    connections: () => `${connections.open()} of ${most}`,
  };
  const health = healthApp(options.name, options.registry, readiness, options.details);
  let described: Promise<JsonObject> | undefined;
  const openApi = () =>
    (described ??= openApiOf(options.name, routes, {
      certificates: tls !== undefined && tls.clientCertificate !== 'none',
    }));
  health.get('/openapi.json', openApi);
  return {
    name: options.name,
    app,
    health,
    openApi,
    async listen({ host, port, healthHost, healthPort }) {
      await app.listen({ host, port });
      await health.listen({ host: healthHost, port: healthPort });
      return { port: portOf(app), healthPort: portOf(health as unknown as ServiceApp) };
    },
    async close() {
      await app.close();
      await health.close();
    },
  };
}

/**
 * Node drops, without a word, headers behind the thousandth: what they would have refused is then done. Their bytes are limited anyway, so all
 * are read, and too many are refused. What Node refuses by itself with no body, an expectation and CONNECT, is answered like everything else.
 */
function readWhole(app: ServiceApp, errorBody: ErrorBody, headers: Readonly<Record<string, string>>): void {
  app.server.maxHeadersCount = 0;
  app.server.on('checkExpectation', (request, reply) => app.server.emit('request', request, reply));
  app.server.on('connect', (_request, socket) =>
    answerOnSocket(new GateError('method_not_allowed', 'Gate is no forward proxy'), socket, errorBody, headers),
  );
}

/** More than any client or proxy sends. */
const MOST_HEADERS = 200;

/** Why a request is refused by its headers alone, whatever it asks for. */
function unreadableHead({ raw }: FastifyRequest): GateError | undefined {
  if (raw.rawHeaders.length > 2 * MOST_HEADERS)
    return new GateError('request_headers_too_large', `more than ${MOST_HEADERS} headers`);
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    return new GateError('invalid_request', 'there is no Host header');
  const { expect } = raw.headers;
  return expect === undefined || expect.toLowerCase() === '100-continue'
    ? undefined
    : new GateError('invalid_request', 'no expectation but 100-continue is met');
}

/** What is nested deeper than a schema can be asked about is no fault of the service. */
const boundedValidator: typeof validatorCompiler = (route) => {
  const validate = validatorCompiler(route);
  return (value) => {
    try {
      return validate(value) as ReturnType<typeof validate>;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { error: new GateError('invalid_request', 'the request is nested too deeply', { cause: error }) };
    }
  };
};

function noteCaller(request: FastifyRequest): void {
  if (request.caller !== null) connectionIsOf(request, request.caller.spiffe ?? request.caller.callerId);
}

function portOf(app: ServiceApp): number {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Who asks by his certificate, or why nobody is known by it. */
type Seen =
  | { readonly caller: Caller; readonly fault: null; readonly validToMs: number }
  | { readonly caller: null; readonly fault: GateError; readonly validToMs?: undefined };

const nobody = (why: string): Seen => ({ caller: null, fault: new GateError('caller_spiffe_missing', why) });
const NO_CERTIFICATE = nobody('the connection shows no client certificate');
const BOOTSTRAP_ONLY = () =>
  new GateError('caller_not_allowed', 'a bootstrap certificate counts for POST /workload-svid of identity alone');
const OVER = nobody('the client certificate has ended; connect with the next one');

const resolvedBy =
  (resolve: (request: FastifyRequest) => Caller | null) =>
  (request: FastifyRequest): Seen => {
    const caller = resolve(request);
    return caller === null ? NO_CERTIFICATE : { caller, fault: null, validToMs: Number.POSITIVE_INFINITY };
  };

/** The certificates of open connections: each is read once, and a kept-alive connection keeps it until the certificate ends. */
function createShownCertificates(
  trustDomain: string,
  doubted: (certificate: X509Certificate) => boolean,
): {
  readonly seenBy: (request: FastifyRequest) => Seen;
  /** Ends the connections on which one of these certificates, or any of one of these agents or tenants, was shown. */
  readonly close: (revoked: RevokedNow) => void;
} {
  const known = new WeakMap<object, Seen>();
  /** By fingerprint, and by agent. */
  const sockets = new Map<string, Set<TLSSocket>>();
  const nameOf = ({ tenant, agent }: { readonly tenant?: string; readonly agent?: string }) => `${tenant}/${agent}`;

  function keep(socket: TLSSocket, by: string): void {
    const same = sockets.get(by) ?? new Set();
    sockets.set(by, same.add(socket));
    socket.once('close', () => {
      same.delete(socket);
      if (same.size === 0 && sockets.get(by) === same) sockets.delete(by);
    });
  }

  return {
    seenBy(request) {
      const socket = request.raw.socket as TLSSocket;
      let seen = known.get(socket);
      if (seen === undefined) {
        seen = readCaller(socket, trustDomain, doubted);
        known.set(socket, seen);
        if (seen.caller?.kind === 'agent')
          for (const by of [seen.caller.fingerprint, nameOf(seen.caller)]) keep(socket, by);
      }
      return seen.caller === null || Date.now() <= seen.validToMs ? seen : OVER;
    },
    close({ fingerprints, agents, tenants }) {
      const all = [...sockets.keys()].filter((by) => tenants.some((tenant) => by.startsWith(`${tenant}/`)));
      for (const by of [...fingerprints, ...agents.map(nameOf), ...all])
        for (const socket of sockets.get(by) ?? []) socket.destroy();
    },
  };
}

function readCaller(socket: TLSSocket, trustDomain: string, doubted: (certificate: X509Certificate) => boolean): Seen {
  if (!socket.encrypted) return NO_CERTIFICATE;
  const certificate = socket.getPeerX509Certificate();
  // Node counts a resumed session without a certificate as authorized.
  if (!certificate) return NO_CERTIFICATE;
  if (!socket.authorized) return nobody(`the client certificate is not trusted (${String(socket.authorizationError)})`);
  if (doubted(certificate)) return nobody('the client certificate is not trusted: its CA was withdrawn');
  const spiffe = spiffeOfCertificate(certificate);
  if (spiffe === null) return nobody('the client certificate carries no SPIFFE id, or several URIs');
  const identity = parseSpiffe(spiffe, trustDomain);
  if (!identity) return nobody(`the client certificate is of nobody in the trust domain ${trustDomain}`);
  const validToMs = Date.parse(certificate.validTo);
  const fingerprint = fingerprintOf(certificate);
  const caller: Caller =
    identity.kind === 'service'
      ? {
          kind: 'service',
          spiffe: identity.spiffe,
          callerId: `service-${identity.service}`,
          fingerprint,
          bootstrap: isBootstrapCertificate(certificate),
          hosts: hostsOf(certificate),
        }
      : {
          kind: 'agent',
          spiffe: identity.spiffe,
          callerId: 'agent-workload',
          fingerprint,
          tenant: identity.tenant,
          agent: identity.agent,
          validToMs,
        };
  return { caller, fault: null, validToMs };
}
