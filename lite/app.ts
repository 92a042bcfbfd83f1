import type { KeyObject } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { formOfRefusal } from '../api/plugins/errors.js';
import { bearerOf } from '../api/plugins/bearer.js';
import { registerProbes } from '../api/plugins/health.js';
import { rpcAnswer } from '../api/proxy/rpc-answers.js';
import { errorAnswer } from '../api/proxy/answers.js';
import type { ServiceApp } from '../api/plugins/app.js';
import { pinRoutes } from '../api/proxy/routes/pins.js';
import { toolRoutes } from '../api/proxy/routes/tools.js';
import { uncertainRoutes } from '../api/proxy/routes/uncertain.js';
import { operatorRoutes } from '../api/hil/app.js';
import { decisionOf, mayDecide } from '../api/hil/routes/decide.js';
import { ById, PendingRow } from '../api/hil/routes/schemas.js';
import { namedTenant } from '../api/hil/scope.js';
import { upstreamReadiness, upstreamsSeen } from '../api/proxy/upstream-readiness.js';
import { createProxyService, type ProxyOptions } from '../api/proxy/app.js';
import type { Mode } from '../contracts/call.js';
import { LONGEST_DECISION_REASON, type PendingRequest } from '../contracts/review.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { GateError } from '../domain/errors.js';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import type { NamedStanding } from '../domain/upstream/upstream.js';
import type { Decision } from '../domain/review/decisions.js';
import type { Operator } from '../domain/operator.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import type { UncertainCalls } from '../domain/probes/uncertain-calls.js';
import type { ToolClassing } from '../domain/tool-classes/tool-classes.js';
import type { ToolPinning } from '../domain/tool-definitions/pinning.js';
import type { Access } from './access.js';
import { isAllowedAddress } from '../api/pages/allowed-address.js';
import { consoleRoutes } from './console.js';
import { ledgerRoutes } from './ledger-routes.js';
import { reviewScopeOf } from './review-scope.js';
import type { SignInLinks } from '../api/pages/sign-in-links.js';
import type { TokenHolder } from '../api/console/sign-in/operator-token.js';
import type { ReviewsWithNotices } from '../domain/notification/ports.js';

export interface LiteAppOptions {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly mode: Mode;
  readonly access: Access;
  /** Each signs somebody in at the console, once. */
  readonly links: SignInLinks<TokenHolder>;
  readonly reviews: Pick<ReviewsWithNotices, 'reads' | 'lists' | 'notes' | 'feed' | 'retention' | 'notices' | 'ready'>;
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  /** Opens what rows committed to. */
  readonly sidecarKeys: KeyRing;
  /** Signs checkpoints of the ledger. */
  readonly checkpointKey: KeyObject;
  /** Sessions of the console are bound to it. */
  readonly sessionKey: Uint8Array;
  readonly policies: PolicySet;
  /** Resolves when the row it returns is on disk. */
  readonly decide: (decision: Decision) => Promise<PendingRequest>;
  /** Called when a request comes. What it returns waits until everything the answer rests on is on disk, and rejects when that was undone. */
  readonly durableFromHere: () => (correlationId: string) => Promise<void>;
  readonly allowedHosts: readonly string[];
  readonly loopback: boolean;
  readonly classing: ToolClassing;
  readonly uncertain: UncertainCalls;
  readonly pinning: ToolPinning;
  /** How the upstream stands, where it is the only one. */
  readonly upstreamStanding?: () => NamedStanding;
  readonly proxy: Omit<
    ProxyOptions,
    'logger' | 'registry' | 'trustDomain' | 'tls' | 'resolveCaller' | 'readiness' | 'mode'
  >;
  readonly now: () => number;
}

const LiteDecide = z.strictObject({
  decision: z.enum(['allow', 'deny']),
  note: z.string().max(LONGEST_DECISION_REASON).nullish(),
});

/** These answers do not depend on what was rolled back meanwhile. A full disk must not look like a process that is down. */
const PROBES: ReadonlySet<string> = new Set(['/health', '/readyz', '/metrics']);

const DECIDED_AT: ReadonlySet<string> = new Set(['/decide/:id', '/pending/:id/decide']);

/**
 * The whole of lite on one plain listener: the proxy's own routes, the operator's, the probes and the console
 * (docs/architecture/lite.md).
 */
export function createLiteApp(options: LiteAppOptions): ServiceApp {
  const { access, reviews, ledger, mode, upstreamStanding } = options;
  const scopeOf = reviewScopeOf(access, 'api');
  const { app, openApi } = createProxyService({
    ...options.proxy,
    mode,
    logger: options.logger,
    registry: options.registry,
    trustDomain: 'gate.local',
    resolveCaller: access.agentOf,
    // Where agents need no token, operators still have theirs.
    readsAuthorization: (request) =>
      access.agents !== 'open' || access.operatorByToken(bearerOf(request) ?? '') !== null,
    durableFromHere: options.durableFromHere,
    // In lite an id names a parked call whether it is the call's or its review's.
    lookUp: async (id) => {
      const found = await options.proxy.calls.find(id);
      if (found) return found;
      const row = z.uuid().safeParse(id).success ? await reviews.reads.get(id) : null;
      return row && options.proxy.calls.find(row.correlation_id);
    },
    pendingPaths: ['/pending/:correlation_id', '/pending/by-correlation/:correlation_id'],
  });
  // Whoever is told to say who he is is told how (RFC 9110, section 15.5.2). An issuer's challenge says more.
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (reply.statusCode === 401 && !reply.hasHeader('WWW-Authenticate'))
      void reply.header('WWW-Authenticate', 'Bearer');
    next(null, payload);
  });

  const begun = new WeakMap<object, (correlationId: string) => Promise<void>>();
  const begin = (request: FastifyRequest) =>
    begun.set(
      request,
      PROBES.has(request.routeOptions.url ?? '') ? () => Promise.resolve() : options.durableFromHere(),
    );
  app.addHook('onRequest', (request, reply, done) => {
    begin(request);
    void reply.header('X-Gate-Mode', mode);
    done(isAllowedAddress(request, options) ? undefined : new GateError('host_not_allowed'));
  });
  // A transaction undone while the body was still arriving does not concern this request.
  app.addHook('preHandler', (request, _reply, done) => {
    begin(request);
    done();
  });
  // `decide` returns a row that is on disk already, so an undo of other transactions does not concern its answer.
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    if (DECIDED_AT.has(request.routeOptions.url ?? '')) begun.set(request, () => Promise.resolve());
    done(null, payload);
  });
  // An error answer depends on nothing in the file, so it is sent at once, even while the file keeps failing.
  const refused = new WeakSet<object>();
  app.addHook('onError', (request, _reply, error, done) => {
    refused.add(request);
    if (!(error instanceof GateError) || error.status >= 500) begun.set(request, () => Promise.resolve());
    done();
  });
  // No answer leaves before what it says is on disk: the one place where requests wait for the shared sync.
  app.addHook('onSend', async (request, reply, payload) => {
    const onDisk = begun.get(request) ?? options.durableFromHere();
    // The answer that explains why this one is withheld depends on nothing in the file.
    begun.delete(request);
    try {
      await onDisk(request.correlationId);
      return payload;
    } catch (undone) {
      // The error handler runs once per request, so a refusal that must be withheld is replaced here.
      if (!refused.has(request) || !(undone instanceof GateError)) throw undone;
      return toldInstead(undone, request, reply);
    }
  });

  const ledgerState = () =>
    ledger.ready().then(
      () => 'ready' as const,
      () => 'unavailable' as const,
    );
  // The process is up even if its file is not usable; the answer says whether it is.
  const mayReadMetrics = (request: FastifyRequest): void => {
    if (access.agents !== 'open') access.operatorOf(request);
  };
  app.get('/openapi.json', (request) => {
    mayReadMetrics(request);
    return openApi();
  });
  app.get('/health', async () => ({ status: 'ok', mode, ledger: await ledgerState() }));
  registerProbes(
    app as never,
    options.registry,
    {
      ledger: () => ledger.ready(),
      calls: () => options.proxy.calls.ready(),
      policy: () => options.policies.ready(),
      ...upstreamReadiness(upstreamStanding ? { standings: () => [upstreamStanding()] } : options.proxy.upstream),
    },
    // Agents use this listener too. Everybody may know that something is wrong; only an operator may see what, and the metrics.
    {
      details: { mode },
      mayReadMetrics,
      showsDetails(request) {
        try {
          return access.operatorOf(request) !== null;
        } catch {
          return false;
        }
      },
    },
  );

  const standsFromHere = () => options.file.durableFromHere();
  operatorRoutes(app, { reviews, decide: options.decide, scopeOf, waiting: 'oldest', standsFromHere }, (scope) => {
    // Another form of the same decision.
    scope.post(
      '/pending/:id/decide',
      { schema: { params: ById, body: LiteDecide, response: { 200: PendingRow } }, onRequest: mayDecide(scopeOf) },
      (request) => {
        const { decision, note } = request.body;
        return options.decide(
          decisionOf(request, scopeOf(request), { decision: decision === 'allow' ? 'approve' : 'deny', reason: note }),
        );
      },
    );
  });

  const ledgerReads = ledgerRoutes(app, { ...options, headers: { 'X-Gate-Mode': mode } });

  void app.register((scope, _options, done) => {
    toolRoutes(scope as never, { classing: options.classing, operatorOf });
    pinRoutes(scope as never, { pinning: options.pinning, operatorOf });
    uncertainRoutes(scope as never, { uncertain: options.uncertain, operatorOf });
    done();
  });

  consoleRoutes(app, {
    ...options,
    ledger: ledgerReads.forConsole,
    address: options,
    readiness: {
      hil: () => reviews.ready(),
      ledger: () => ledger.ready(),
      policy: () => options.policies.ready(),
    },
    seen: upstreamsSeen(options.proxy.upstream),
  });
  return app;

  /** Whoever may decide may class a tool, settle a call, and accept what tools say of themselves. */
  function operatorOf(request: FastifyRequest): Operator {
    const operator = access.operatorOf(request);
    const named = namedTenant(request);
    const known = access.tenants.join(', ');
    const only = access.tenants.length === 1 ? access.tenants[0] : undefined;
    const tenant = operator.tenant ?? named ?? only;
    if (tenant === undefined)
      throw new GateError(
        'tenant_scope_required',
        `Agents of several tenants call this Gate: ${known}. Name one in X-Gate-Tenant-Scope; with the command, gate tools --tenant.`,
      );
    if (operator.tenant === null && !access.tenants.includes(tenant))
      throw new GateError(
        'invalid_request',
        `X-Gate-Tenant-Scope: no agent here is of the tenant ${tenant}, but of ${known}`,
      );
    if (named !== null && named !== tenant)
      throw new GateError('unauthenticated', `The operator token is bound to another tenant: ${tenant}.`);
    return { tenant, subject: operator.principal(tenant).subject };
  }
}

/** Replaces a refusal that depended on something rolled back; in the same form: an MCP client's, the proxy's envelope, or the plain one. */
function toldInstead(undone: GateError, request: FastifyRequest, reply: FastifyReply): string {
  const answer = errorAnswer(undone, request.correlationId);
  const { status, headers } = answer;
  void reply.code(status).headers(headers).removeHeader('content-length');
  if (request.rpc) {
    const told = rpcAnswer(request.rpc, answer);
    void reply.code(told.status);
    return told.body?.toString('utf8') ?? '';
  }
  return JSON.stringify(formOfRefusal(request)(undone, request.correlationId));
}
