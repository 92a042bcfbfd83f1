import { stillAttestedBy } from './attestations.js';
import type { FastifyError, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { CallRecord } from '../../domain/call/record.js';
import { GateError } from '../../domain/errors.js';
import type { RevocationMirror } from '../../domain/identity/revocation-mirror.js';
import type { PublicJwk, Signer } from '../../domain/identity/signer.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { type AddressRules, isAllowedAddress } from '../pages/allowed-address.js';
import { enforceRouteAuthority } from '../plugins/caller-authority.js';
import type { VerifyDecision } from '../../domain/review/approval.js';
import { isStopped } from '../../domain/identity/standing.js';
import { type ErrorBody, refusedAs } from '../plugins/errors.js';
import type { ReadinessChecks } from '../plugins/health.js';
import { createService, type Service, type ServiceOptions, type TlsMaterial } from '../plugins/service.js';
import type { RedeemActor } from './actor-tokens.js';
import { type AgentLimits, createAgentLimits } from './agent-limits.js';
import { errorAnswer } from './answers.js';
import { type AuthorizerOptions, createAuthorizer } from './authorizer.js';
import { createCallHandler, type CallHandlerOptions, type Decoys } from './calls.js';
import { createControlLog } from './clients/control-log.js';
import { createEventStreams } from './clients/event-streams.js';
import type { GrantTokens } from '../../adapters/identity/grant-tokens.js';
import { isGrantRefusal } from '../../domain/identity/grant-terms.js';
import { judgeGrants } from './grants.js';
import { proxyMetrics } from './metrics.js';
import { createRefusals } from './refusals.js';
import { rpcAnswer } from './rpc-answers.js';
import { oldestRowSecs, rowsReadiness } from './rows-readiness.js';
import { registerExecutionReceipts } from './routes/execution-receipts.js';
import { type AskGrant, registerGrant } from './routes/grant.js';
import { registerKeySet } from './routes/key-set.js';
import { registerManual } from './routes/manual.js';
import { MAX_BODY_BYTES, registerMcp, send, type McpRouteOptions } from './mcp.js';
import { registerAuthorizations } from './routes/authorizations.js';
import { type PendingRouteOptions, registerPending } from './routes/pending.js';
import { registerSvidRenewal, type RenewSvid } from './routes/svid-renewal.js';
import { registerResourceMetadata } from './routes/resource-metadata.js';
import { type PinRouteOptions, pinRoutes } from './routes/pins.js';
import { upstreamReadiness, upstreamsTold } from './upstream-readiness.js';
import { standingRoutes } from './routes/standing.js';
import { type ToolRouteOptions, toolRoutes } from './routes/tools.js';
import { challengeOf, identifyByToken, type TokenCallersOptions } from './token-callers.js';
import { type UncertainRouteOptions, uncertainRoutes } from './routes/uncertain.js';
import { type SpendRouteOptions, spendRoutes } from './routes/spend.js';
import { clockHolds } from '../plugins/clock-check.js';

export interface ProxyOptions
  extends Omit<CallHandlerOptions, 'onAnswered' | 'onLimited' | 'refusals' | 'limits' | 'forcesReview' | 'decoys'>,
    Omit<
      McpRouteOptions,
      'handler' | 'authorizer' | 'limits' | 'controlLog' | 'decoys' | 'streams' | 'onDropped' | 'asGateError'
    >,
    Pick<PendingRouteOptions, 'lookUp' | 'pendingPaths'>,
    Pick<AuthorizerOptions, 'reviews' | 'rulesNow' | 'definitions'> {
  /** What one agent may do besides tool calls. */
  readonly agentLimits: AgentLimits;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  /** Whether the certificates of agents count, and what agents may do. */
  readonly standing?: Omit<RevocationMirror, 'position' | 'take'> | undefined;
  /** By which names it may be called, and from pages of whom; any where absent. */
  readonly address?: AddressRules | undefined;
  /** Asks identity for the next certificate of an agent. */
  readonly renewSvid?: RenewSvid | undefined;
  /** Verifies grants, where identity issues them. */
  readonly grantTokens?: GrantTokens | undefined;
  /** Uses up tokens of other Gates; nobody comes with one without it. */
  readonly redeemActor?: RedeemActor | undefined;
  /** Asks identity for a grant of an agent. */
  readonly askGrant?: AskGrant | undefined;
  readonly resolveCaller?: ServiceOptions['resolveCaller'];
  readonly readiness?: ReadinessChecks;
  /** Called with each record when its first answer leaves, not at replays. */
  readonly onFirstAnswer?: (record: CallRecord) => void;
  /** The routes for operators, unless the composition registers its own. */
  readonly tools?: ToolRouteOptions & PinRouteOptions & UncertainRouteOptions & SpendRouteOptions;
  /** Signs authorizations of `gate.decision/v1`. */
  readonly signer: Signer;
  /** Public keys that signed such before, or will. */
  readonly otherKeys?: () => readonly PublicJwk[];
  /** Checks HIL's signature before an authorization is signed because of it. */
  readonly verifyDecision: VerifyDecision;
  /** Agents may come with access tokens of an issuer. */
  readonly byToken?: Omit<TokenCallersOptions, 'trustDomain'> | undefined;
  /** Whether `Authorization` of this request means something to somebody, where no issuer is configured. */
  readonly readsAuthorization?: (request: FastifyRequest) => boolean;
}

const envelope: ErrorBody = (error, correlationId) => errorAnswer(error, correlationId).body;

/** The ingress: the only public entry of the data plane. It asks for a client certificate and checks it in code, after 400, 413 and 426. */
export function createProxyService(options: ProxyOptions): Service {
  const oldestSecs = async () => oldestRowSecs(await options.calls.oldestRowsDueMs(), (options.now ?? Date.now)());
  const service = createService({
    name: 'proxy',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    bodyLimit: MAX_BODY_BYTES,
    headers: { 'X-Gate-Mode': options.mode },
    errorBody: envelope,
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'asked' as const } }),
    ...(options.standing && { standing: options.standing }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
    details: { mode: options.mode },
    readiness: {
      ...options.readiness,
      ...upstreamReadiness(options.upstream),
      ...(options.standing && { revocations: revocationsKnown(options.standing) }),
      call_store: () => options.calls.ready(),
      clock: () => clockHolds('this proxy', options.calls),
      ...rowsReadiness(oldestSecs, options.logger),
      // Reported, but no reason to refuse other calls: each of these calls has its alarm row and is tried again.
      stuck_calls: async () => {
        const { calls, since_ms } = await options.calls.setbacks.stuck();
        return since_ms === null
          ? null
          : `${calls} calls cannot be helped, the first since ${new Date(since_ms).toISOString()}`;
      },
    },
  });
  const metrics = proxyMetrics(options.registry);
  const now = options.now ?? Date.now;
  const refusals = createRefusals({ ledger: options.ledger, now });
  const limits = createAgentLimits({ limits: options.agentLimits, refusals, onLimited: metrics.limited, now });
  const controlLog = createControlLog({ ledger: options.ledger, now });
  service.app.addHook('onClose', () => controlLog.close());
  const { standing } = options;
  const toolFault = standing?.toolFault;
  const authorizer = createAuthorizer({
    ...options,
    toolFault,
    decoysOf: standing?.decoysOf,
    grantFault: standing?.grantFault,
    ...(options.attestationOf && { stillAttested: stillAttestedBy(options.attestationOf) }),
    limits,
  });
  const decoys: Decoys | undefined = standing && {
    of: standing.decoysOf,
    async touched({ tenant, agent }, correlationId, decoy) {
      const { calls, mode } = options;
      await calls.decoyTouched({ tenant, agent, correlation_id: correlationId, received_ms: now(), mode }, decoy);
      metrics.decoyTouched(decoy);
    },
  };
  const handler = createCallHandler({
    ...options,
    assertStands: authorizer.assertStands,
    toolFault,
    ...(standing && { forcesReview: standing.forcesReview }),
    decoys,
    nameFault: options.upstream.nameFault,
    refusals,
    limits,
    onAnswered(record) {
      metrics.answered(record);
      options.onFirstAnswer?.(record);
    },
    onLimited: metrics.limited,
    onOverBudget: metrics.overBudget,
  });
  metrics.watchInFlight(handler.inFlight);
  if (standing) metrics.watchRevocations(standing.ageMs);
  if (options.judgedAtOnce) metrics.watchWaiting(handler.waiting);
  const streams = createEventStreams(options.agentLimits.streams, standing);
  metrics.watchStreams(streams.count);
  let dropped = 0;
  metrics.watchDropped(() => dropped + (options.talks?.dropped?.() ?? 0));
  const { standings } = options.upstream;
  if (standings) metrics.watchUpstreams(standings);
  service.app.decorateRequest('rpc', null);
  service.app.decorateRequest('streamed', false);
  metrics.watchRows(oldestSecs);
  metrics.watchStuck(async () => (await options.calls.setbacks.stuck()).calls);

  /** One row per agent and minute. Nobody waits for it. */
  const tellStopped = ({ caller, correlationId, asksFor, url }: FastifyRequest, { code, message }: GateError): void => {
    if (!isStopped(code) && !isGrantRefusal(code)) return;
    const { tenant = '', agent = '', spiffe = '', namespace } = caller ?? {};
    void refusals({
      caller: { tenant, agent, spiffe, ...(namespace && { namespace }) },
      correlationId,
      name: asksFor ?? url.split('?', 1)[0] ?? '',
      limit: code,
      reason: message,
      limits: {},
    });
  };

  // A scope of its own: the proxy's errors have their own envelope, and its bodies are read as bytes.
  const { byToken, trustDomain } = options;
  void service.app.register((scope, _options, done) => {
    identifyByToken(
      scope as unknown as Service['app'],
      byToken && { ...byToken, trustDomain },
      options.readsAuthorization,
    );
    const { address } = options;
    if (address)
      scope.addHook('onRequest', (request, _reply, next) =>
        next(isAllowedAddress(request, address) ? undefined : new GateError('host_not_allowed')),
      );
    noteStopped(scope as unknown as Service['app'], standing);
    scope.decorateRequest('judgesActors', options.redeemActor !== undefined);
    const { grantTokens: tokens } = options;
    judgeGrants(scope as unknown as Service['app'], tokens && standing && { tokens, standing, trustDomain, now });
    scope.setErrorHandler((error: FastifyError | GateError, request, reply) => {
      refusedAs(request, envelope);
      const known = toGateError(error);
      if (known.status >= 500)
        request.log.warn(
          {
            correlation_id: request.correlationId,
            code: known.code,
            reason: known.message,
            // An outage is logged with its reason.
            ...(ERROR_CODES[known.code].retry !== 'after_wait' && { err: known.cause }),
          },
          'refused',
        );
      if (known === request.agentFault || known === request.grantFault) tellStopped(request, known);
      if (known === request.certificateFault) metrics.certificateRefused(known.code);
      if (known.code === 'pipeline_unavailable')
        metrics.unavailable(typeof known.fields.layer === 'string' ? known.fields.layer : 'proxy');
      const challenge = byToken ? challengeOf(known, byToken.tokens) : null;
      if (challenge !== null) void reply.header('WWW-Authenticate', challenge);
      const refusal = errorAnswer(known, request.correlationId);
      return send(reply, request.rpc ? rpcAnswer(request.rpc, refusal) : refusal);
    });
    scope.addHook('onSend', (request, reply, payload, next) => {
      void reply.header('X-Gate-Correlation-Id', request.correlationId);
      next(null, payload);
    });
    scope.addHook('onResponse', (request, reply, next) => {
      if (!request.streamed)
        metrics.responded(request.routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime / 1000);
      const { caller } = request;
      request.log.info(
        {
          correlation_id: request.correlationId,
          route: request.routeOptions.url,
          tenant: caller?.tenant,
          agent: caller?.agent,
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
        },
        'answered',
      );
      next();
    });
    registerMcp(scope as unknown as Service['app'], {
      ...options,
      handler,
      authorizer,
      limits,
      controlLog,
      decoys,
      streams,
      onDropped: () => void (dropped += 1),
      asGateError: (error) => toGateError(error as FastifyError | GateError),
    });
    registerManual(scope as unknown as Service['app']);
    registerKeySet(scope as unknown as Service['app'], options.signer, options.otherKeys);
    registerResourceMetadata(scope as unknown as Service['app'], byToken?.tokens.rules);
    registerPending(scope as unknown as Service['app'], { ...options, limits, assertStands: authorizer.assertStands });
    registerAuthorizations(scope as unknown as Service['app'], { limits, authorizer });
    if (options.renewSvid)
      registerSvidRenewal(scope as unknown as Service['app'], { limits, renewSvid: options.renewSvid });
    if (options.askGrant) registerGrant(scope as unknown as Service['app'], { limits, askGrant: options.askGrant });
    registerExecutionReceipts(scope as unknown as Service['app'], { ...options, limits });
    done();
  });
  const { tools } = options;
  // The operators' routes of the proxy, in a scope of their own: here the table checks the certificate before a body is read.
  if (tools)
    void service.app.register((scope, _options, done) => {
      enforceRouteAuthority(scope as unknown as Service['app'], 'proxy');
      toolRoutes(scope as unknown as Service['app'], tools);
      pinRoutes(scope as unknown as Service['app'], tools);
      uncertainRoutes(scope as unknown as Service['app'], tools);
      spendRoutes(scope as unknown as Service['app'], tools);
      standingRoutes(scope as unknown as Service['app'], {
        worker: options.readiness?.['worker'] ?? (() => undefined),
        upstreams: () => upstreamsTold(options.upstream),
      });
      done();
    });
  return service;
}

/** What is known of who asks, by a certificate or a token, before the request is judged. */
function noteStopped(app: Service['app'], standing: ProxyOptions['standing']): void {
  app.decorateRequest('agentFault', null);
  app.decorateRequest('asksFor', null);
  if (!standing) return;
  app.addHook('preHandler', (request, _reply, done) => {
    const { tenant, agent } = request.caller ?? {};
    if (tenant !== undefined && agent !== undefined) request.agentFault = standing.agentFault({ tenant, agent });
    done();
  });
}

const revocationsKnown =
  ({ ageMs, otherHistoryAtMs }: Pick<RevocationMirror, 'ageMs' | 'otherHistoryAtMs'>) =>
  (): string => {
    const known = ageMs();
    if (known === null) throw new Error('which certificates were taken back is not known: none of an agent counts');
    const otherAtMs = otherHistoryAtMs();
    const anew = otherAtMs === null ? '' : `; at ${new Date(otherAtMs).toISOString()} by a store of another history`;
    return `heard ${Math.round(known / 1000)} s ago${anew}`;
  };

function toGateError(error: FastifyError | GateError): GateError {
  if (error instanceof GateError) return error;
  if (error.statusCode === 413) return new GateError('request_too_large');
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new GateError('invalid_mcp', `Invalid MCP request: ${error.message}`);
  // A store that cannot be reached is the likely cause. The call got no answer, so nothing about it can be assumed.
  return new GateError('pipeline_unavailable', 'the proxy could not finish the request', {
    fields: { layer: 'proxy' },
    cause: error,
  });
}
