import type { Config } from '../../config/env.js';
import type { Operator } from '../../config/hil.js';
import type { PROXY_SETTINGS } from '../../config/proxy.js';
import { callUpstreamOf } from '../../domain/identity/vouched-upstreams.js';
import { addressesOf, pricesOf } from '../../config/upstreams.js';
import type { UPSTREAM_SETTINGS } from '../../config/worker.js';
import { askedSpend, NO_BUDGETS } from '../../domain/spend/spend.js';
import { accessTokenRules } from '../../config/access-tokens.js';
import { agentLimitsOf } from '../../config/shared.js';
import { checkCallbackUrl, parseCallbackAllowlist } from '../../domain/outbound/callback-url.js';
import { isLoopback } from '../../domain/outbound/loopback.js';
import { errorText } from '../../domain/errors.js';
import { openAccessTokens } from '../../adapters/identity/access-tokens.js';
import { createGrantTokens } from '../../adapters/identity/grant-tokens.js';
import { createIdentityClient, type IdentityClient } from '../../activities/clients/identity-client.js';
import { uncertainCalls } from '../../domain/probes/uncertain-calls.js';
import { rulesNowOf } from '../../activities/rules-now.js';
import { createLedgerActivities } from '../../activities/ledger.js';
import { withJudgedTalk } from '../../domain/inspection/judged-talk.js';
import { operatorsClasses, toolClassing } from '../../domain/tool-classes/tool-classes.js';
import { createReviewGuard } from '../../domain/tool-definitions/review-guard.js';
import { createQuarantine } from '../../domain/tool-definitions/quarantine.js';
import { toolParams } from '../../domain/tool-definitions/tool-params.js';
import { toolPinning } from '../../domain/tool-definitions/pinning.js';
import { decoyNamesakes } from '../../domain/tool-definitions/decoy-namesakes.js';
import { withDecoys } from '../../domain/tool-definitions/decoys.js';
import { toolWatchLog, watchToolDefinitions } from '../../domain/tool-definitions/watch.js';
import { createCallRunner } from '../../workers/call-runner.js';
import { engineAnswers } from '../../workers/readiness.js';
import { principalOf, scopeReader } from '../hil/scope.js';
import { BRAIN } from '../brain/service.js';
import { IDENTITY } from '../identity/service.js';
import { HIL } from '../hil/service.js';
import { LEDGER } from '../ledger/service.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { publicJwkOf } from '../../domain/identity/signer.js';
import { openWatchedKeys } from '../plugins/listed-keys.js';
import { decisionVerifier, needed, openKeyStores, readOtherKeys } from '../plugins/start.js';
import { authorizationKeys } from './authorization-keys.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { toolNames } from '../policy/tool-names.js';
import { WORKER } from '../worker/service.js';
import type { AddressRules } from '../pages/allowed-address.js';
import { createProxyService } from './app.js';
import { createActorRedeemer } from './actor-tokens.js';
import { attestationsKnown } from './attestations.js';
import { createDecoyReporter } from './decoy-reporter.js';
import { createGrantUseReporter } from './grant-use-reporter.js';
import { createPinReporter } from './pin-reporter.js';
import { createStopReporter } from './stop-reporter.js';

interface Settings {
  readonly own: Config<typeof PROXY_SETTINGS>;
  readonly upstream: Config<typeof UPSTREAM_SETTINGS>;
  readonly operators: { readonly operators?: readonly Operator[] | undefined };
}

export async function open({ config, shared, ...parts }: Opening<Settings>): Promise<Opened<null>> {
  const { own } = config;
  const { logger } = parts;
  const { keyStores, assertSigns } = openKeyStores(parts);
  const watched = await openWatchedKeys(parts, {
    variable: 'GATE_SIGNING_KEY_FILE',
    setting: own.signingKeyFile,
    use: 'authorizations',
    agent: 'gate-proxy',
    idOf: (key) => publicJwkOf(key).kid,
    keyStores,
  });
  const { signer, others: otherKeys } = authorizationKeys(watched.keys, await readOtherKeys(own.otherSigningKeysFile));
  const verifyDecision = await decisionVerifier(own.decisionPublicKeyFile);
  const { ledger } = await parts.neighbour(LEDGER);
  watched.tell(ledger);
  const reviews = await parts.neighbour(HIL);
  const brain = await parts.neighbour(BRAIN);
  const policies = await parts.neighbour(POLICY_ENGINE);
  const stores = await shared.callStores();
  const { calls, pins, classes } = stores;
  if (!parts.together)
    // The ledger may start later than the proxy; until then the tool of an unfinished change has to wait.
    classes
      .settle()
      .catch((error: unknown) =>
        logger.warn(
          { reason: errorText(error) },
          'a change of a tool’s class that was left unfinished is not settled yet',
        ),
      );
  const engine = await shared.engine();
  const upstream = await shared.upstream(() => parts.over(IDENTITY));
  const talks = await shared.talks();
  const names = await toolNames(parts);
  const { toolsName } = shared;
  const classesNow = operatorsClasses({
    store: classes,
    pins,
    upstream: toolsName,
    onFault: (error) => logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read'),
  });
  const rows = createLedgerActivities({ calls, ledger });
  const inspectionSecs = own.inspectionTimeoutSecs ?? 0;
  const readScope = scopeReader({ operators: config.operators.operators ?? [] });
  const allowlist = parseCallbackAllowlist(own.callbackAllowlist);
  if (own.verboseVerdicts)
    logger.warn('GATE_PROXY_VERBOSE_VERDICTS is on: denials tell a caller what each detector saw');
  const rules = accessTokenRules(own);
  const tokens = rules && (await needed('the access tokens', openAccessTokens(rules)));
  if (tokens) parts.onStop('connections', 'the keys of access tokens', () => tokens.close());
  const known = own.revocations === 'identity' ? shared.standing(() => parts.over(IDENTITY), parts) : undefined;
  if (!known)
    logger.warn(
      'GATE_PROXY_REVOCATIONS is none: a certificate that identity takes back counts here until it ends, and an agent that it stops goes on',
    );
  let client: Promise<IdentityClient> | undefined;
  const identity = () => (client ??= parts.over(IDENTITY).then(createIdentityClient));
  const reporter =
    known &&
    createStopReporter({
      identity,
      calls,
      onFault: (reason) =>
        reason === null
          ? logger.info({ event: 'stops_reported' }, 'identity is told again what was running at a stop')
          : logger.warn({ event: 'stops_unreported', reason }, 'identity cannot be told what was running at a stop'),
    });
  if (reporter) parts.onStop('sweeps', 'what is told of stops', reporter.stop);
  const priceOf = config.upstream.upstreams ? pricesOf(config.upstream.upstreams) : () => 0;
  const upstreamOf =
    known &&
    callUpstreamOf(
      config.upstream.upstreams ? addressesOf(config.upstream.upstreams) : () => shared.toolsAt(),
      known.mirror,
      shared.introductions,
    );
  const budgetsOf = known ? known.mirror.budgetsOf : () => NO_BUDGETS;
  if (inspectionSecs > 0 && own.requestCostMicros === 0)
    logger.info(
      'models judge, and GATE_PROXY_REQUEST_COST_MICROS is 0: what they cost counts against budgets once it is known, and nothing is reserved for it before',
    );
  const useReporter =
    known &&
    createGrantUseReporter({
      identity,
      calls,
      onFault: (reason) =>
        reason === null
          ? logger.info({ event: 'grant_uses_told' }, 'identity is told again how often grants are used')
          : logger.warn({ event: 'grant_uses_untold', reason }, 'identity cannot be told how often grants are used'),
    });
  if (useReporter) parts.onStop('sweeps', 'what is told of grants', useReporter.stop);
  const hitReporter =
    known &&
    createDecoyReporter({
      identity,
      calls,
      isGone: (tenant) => known.mirror.agentFault({ tenant, agent: '' })?.code === 'tenant_decommissioned',
      onFault: (reason) =>
        reason === null
          ? logger.info({ event: 'decoy_hits_told' }, 'identity is told again who touches decoys')
          : logger.error(
              { event: 'decoy_hits_untold', reason },
              'identity cannot be told who touched decoys: what they do is denied, and they are not contained yet',
            ),
    });
  if (hitReporter) parts.onStop('sweeps', 'what is told of decoys', hitReporter.stop);
  const reportTools =
    known &&
    createPinReporter({
      identity,
      onFailed: (error) =>
        logger.warn(
          { event: 'tool_pins_untold', reason: errorText(error) },
          'identity could not be told what an agent sees of its tools',
        ),
    });
  const grantTokens = known && createGrantTokens({ ask: async () => (await identity()).grantKeys() });
  const observed = own.mode === 'observe' || own.responseMode === 'observe';
  const service = () =>
    createProxyService({
      ...parts,
      ...(tokens && { byToken: { tokens } }),
      standing: known?.mirror,
      address: addressOf(own),
      renewSvid: async (request) => (await identity()).renew(request),
      ...(grantTokens && { grantTokens, askGrant: async (request) => (await identity()).grant(request) }),
      ...(known && { redeemActor: createActorRedeemer({ identity, trustDomain: parts.trustDomain }) }),
      grantsRequired: own.grants === 'required',
      ...(own.attestation === 'required' && {
        attestationOf: attestationsKnown({ ask: async (leaf) => (await identity()).attestation(leaf) }),
      }),
      calls,
      sessions: stores.mcpSessions,
      states: stores.mcpStates,
      cursors: stores.mcpCursors,
      toolParams: toolParams(pins),
      tasks: stores.mcpTasks,
      subscriptions: stores.mcpSubscriptions,
      withdrawCall: reviews.withdrawCall,
      reviews,
      rulesNow: rulesNowOf({ calls, policies, tools: classesNow }),
      ...(own.consoleUrl !== undefined && { consoleOf: () => own.consoleUrl }),
      talks,
      ledger,
      signer,
      otherKeys,
      verifyDecision,
      definitions: createReviewGuard(upstream, pins, toolsName),
      ...(own.quarantineDefinitions && {
        quarantine: createQuarantine(upstream, { pins, ledger, scanner: brain, ...toolWatchLog(logger) }),
      }),
      runner: createCallRunner(engine, engine.settings.taskQueue, { park: engine.settings.park }),
      upstream: withDecoys(
        watchToolDefinitions(withJudgedTalk(upstream, observed), {
          pins,
          ledger,
          scanner: brain,
          block: own.blockPoisonedDefinitions,
          quarantine: own.quarantineDefinitions,
          report: reportTools,
          responsePolicy: observed ? null : policies,
          ...toolWatchLog(logger),
        }),
        (tenant) => known?.mirror.decoysOf(tenant).advertised ?? [],
        known &&
          decoyNamesakes({
            decoysOf: known.mirror.decoysOf,
            onNamesake: (tenant, tool, decoy) =>
              logger.warn(
                { event: 'decoy_named_as_tool', tenant, tool, decoy: decoy.id },
                'a tool has the name of a decoy: its calls are denied, and contain whoever calls it',
              ),
          }),
      ),
      tools: {
        classing: toolClassing({
          store: classes,
          pins,
          upstream: toolsName,
          byName: (tool) => names.classOf(toolsName, tool),
          ruleOn: (tool) => names.ruleOn(tool),
        }),
        pinning: toolPinning({ pins, ledger }),
        spend: calls.spend,
        uncertain: uncertainCalls({ calls, appendRows: (id) => rows.tryAppendRows(id) }),
        tenantOf: (request) => readScope(request).tenant,
        operatorOf(request) {
          const scope = readScope(request);
          return { tenant: scope.tenant, subject: principalOf(scope).subject };
        },
      },
      mode: own.mode,
      ...(own.publicUrl !== undefined && { publicUrl: own.publicUrl }),
      upstreamOf,
      spendOf: (caller, called) => askedSpend(called, priceOf, own.requestCostMicros, budgetsOf(caller)),
      velocity: { limit: own.velocityLimit, windowMs: own.velocityWindowSecs * 1000 },
      callDeadlineMs: (own.callDeadlineSecs + inspectionSecs) * 1000,
      ...(inspectionSecs > 0 && { inspectionTimeoutMs: inspectionSecs * 1000 }),
      upstreamTimeoutMs: own.upstreamTimeoutSecs * 1000,
      ttlSecs: { auto: own.ttlAutoSecs, standard: own.ttlStandardSecs, strict: own.ttlStrictSecs },
      maxInFlight: own.maxInFlight,
      judgedAtOnce: {
        together: own.judgedAtOnce,
        each: Math.min(own.judgedPerAgent, own.judgedAtOnce),
        waiting: Math.floor(own.maxInFlight * ONE_AGENTS_PART),
      },
      agentLimits: agentLimitsOf(own),
      demoAgents: new Set(own.demoAgents),
      verboseVerdicts: own.verboseVerdicts,
      checkCallback: (url) => checkCallbackUrl(url, allowlist, { allowPrivate: own.callbackAllowPrivate }).href,
      readiness: {
        signer: () => {
          watched.assertKnown();
          assertSigns();
        },
        orchestrator: engineAnswers(engine),
        worker: parts.readinessOf(WORKER),
        ledger: parts.readinessOf(LEDGER),
        hil: parts.readinessOf(HIL),
      },
    });
  const drainMs = (own.upstreamTimeoutSecs + own.callDeadlineSecs + inspectionSecs + WRITING_DOWN_SECS) * 1000;
  return {
    port: null,
    ...(known && {
      start: async () => {
        await known.start();
        reporter?.begin();
        useReporter?.begin();
        hitReporter?.begin();
      },
    }),
    listener: () => listenerOf(service(), own, { drainMs }),
  };
}

/** Of the calls that may be under way, those of one agent that wait for their turn. */
const ONE_AGENTS_PART = 0.8;

/** The time it takes to record how a call ended, beyond the limits of the call itself. */
const WRITING_DOWN_SECS = 10;

/** A listener for this machine alone is called by its names, and by the one of a proxy in front of it; one for others by any. */
function addressOf({ host, publicUrl }: Pick<Config<typeof PROXY_SETTINGS>, 'host' | 'publicUrl'>): AddressRules {
  const loopback = isLoopback(host);
  const known = publicUrl === undefined ? null : new URL(publicUrl);
  return { loopback, allowedHosts: loopback && known ? [known.hostname] : [], origins: known ? [known.origin] : [] };
}
