import { createIdentityClient, type IdentityClient } from '../../activities/clients/identity-client.js';
import type { StillAttested } from '../../domain/identity/attestation.js';
import type { Client } from '@temporalio/client';
import type { Registry } from 'prom-client';
import { createCallbackSender } from '../../activities/clients/callback-sender.js';
import { createStepTaker, createTenantOperationsClient } from '../../activities/clients/tenant-steps.js';
import { createProbeUrl } from '../../activities/clients/probe-url.js';
import { loadTraitsReader } from '../../adapters/inspection/traits-reader.js';
import { insist } from '../../activities/insisting.js';
import { createEgressActivities, type EgressActivities } from '../../activities/egress.js';
import { createTenantActivities } from '../../activities/tenants.js';
import { type EGRESS_SETTINGS, sinksOf } from '../../config/egress.js';
import type { Config } from '../../config/env.js';
import type { PROBE_SETTINGS } from '../../config/probes.js';
import type { RESPONSE_SETTINGS } from '../../config/responses.js';
import type { CALL_STORE_SETTINGS } from '../../config/shared.js';
import type {
  CALL_LIMIT_SETTINGS,
  UPSTREAM_SETTINGS,
  WORKER_HEALTH_SETTINGS,
  WORKER_SETTINGS,
} from '../../config/worker.js';
import type { EgressSource } from '../../contracts/ledger-egress.js';
import { parseCallbackAllowlist } from '../../domain/outbound/callback-url.js';
import type { DeliverCallback } from '../../domain/outbound/ports.js';
import { errorText } from '../../domain/errors.js';
import { unlessAborted } from '../../domain/unless-aborted.js';
import { checkedProbes } from '../../domain/probes/named.js';
import { createResponseJudge, unjudgedLog } from '../../domain/inspection/response-judge.js';
import { operatorsClasses } from '../../domain/tool-classes/tool-classes.js';
import { createNameWatch, nameWatchLog } from '../../domain/tool-definitions/name-watch.js';
import { createQuarantine } from '../../domain/tool-definitions/quarantine.js';
import { createReviewGuard } from '../../domain/tool-definitions/review-guard.js';
import { toolWatchLog } from '../../domain/tool-definitions/watch.js';
import { createActivities } from '../../workers/activities.js';
import { alarmsTold } from '../../workers/alarms.js';
import type { GateWorker } from '../../workers/worker-group.js';
import { bundleWorkflows } from '../../workers/bundle.js';
import { createRuns } from '../../workers/call-runner.js';
import { egressMetrics } from '../../workers/egress-metrics.js';
import { engineAnswers, NoWorker, workerRuns } from '../../workers/readiness.js';
import { closeEngineRuntime, installEngineRuntime } from '../../workers/runtime.js';
import { createProbing } from '../../workers/probing.js';
import { ensureReconcileSchedule } from '../../workers/schedules.js';
import { ensureStreams } from '../../workers/streams.js';
import { driveTenantOperations } from '../../workers/tenant-operations.js';
import { supervise, type Supervised } from '../../workers/supervisor.js';
import { talkMetrics } from '../../workers/talk-metrics.js';
import { warmUp } from '../../workers/warm-up.js';
import { createWorker, runWorker } from '../../workers/worker.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { IDENTITY } from '../identity/service.js';
import { LEDGER } from '../ledger/service.js';
import type { EngineParts, Listener, Opened, Opening } from '../plugins/declaration.js';
import { healthApp, type ReadinessChecks } from '../plugins/health.js';
import { decisionVerifier, needed } from '../plugins/start.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { toolNames } from '../policy/tool-names.js';
import { SANDBOX } from '../sandbox/service.js';
import { clockHolds } from '../plugins/clock-check.js';

interface Settings {
  readonly own: Config<typeof WORKER_SETTINGS>;
  readonly callStore: Config<typeof CALL_STORE_SETTINGS>;
  readonly upstream: Config<typeof UPSTREAM_SETTINGS>;
  readonly limits: Config<typeof CALL_LIMIT_SETTINGS>;
  readonly responses: Config<typeof RESPONSE_SETTINGS>;
  readonly egress: Config<typeof EGRESS_SETTINGS>;
  readonly probes: Config<typeof PROBE_SETTINGS>;
  readonly health?: Config<typeof WORKER_HEALTH_SETTINGS>;
}

export async function open({ config, shared, ...parts }: Opening<Settings>): Promise<Opened<null>> {
  const { own, limits, health } = config;
  const { logger, registry } = parts;
  // The engine's own library reads it at its first use.
  installEngineRuntime(logger);
  parts.onStop('runtime', 'the engine runtime', closeEngineRuntime);
  const bundling = bundleWorkflows();
  bundling.catch(() => undefined);
  const verifyDecision = await decisionVerifier(own.decisionPublicKeyFile);
  const [
    brain,
    policies,
    reviews,
    sandbox,
    { ledger, egress },
    { calls, pins, classes },
    upstream,
    engine,
    readTraits,
    talks,
  ] = await Promise.all([
    parts.neighbour(BRAIN),
    parts.neighbour(POLICY_ENGINE),
    parts.neighbour(HIL),
    parts.neighbour(SANDBOX),
    parts.neighbour(LEDGER),
    shared.callStores(),
    shared.upstream(() => parts.over(IDENTITY)),
    shared.engine(),
    loadTraitsReader(),
    shared.talks(),
  ]);
  talkMetrics(registry, talks.dropped);
  const connection = await engine.native();
  const { namespace, taskQueue, payloadKeys: keys } = engine.settings;
  const names = config.probes.probes && (await toolNames(parts));
  const reads = (tool: string) => names?.classOf(shared.toolsName, tool)?.class === 'read';
  const probes = await needed(
    'GATE_PROBES',
    Promise.resolve().then(() => checkedProbes({ ...config.probes, reads })),
  );
  const streams = streamsOf(config.egress, egress, registry);
  const known = limits.revocations === 'identity' ? shared.standing(() => parts.over(IDENTITY), parts) : undefined;
  const operations = createTenantOperationsClient(() => parts.over(IDENTITY));
  let identity: Promise<IdentityClient> | undefined;
  const stillAttested: StillAttested = async ({ spiffe, fingerprint }) => {
    const { attestation } = await (identity ??= parts.over(IDENTITY).then(createIdentityClient));
    return (await attestation({ agent_spiffe: spiffe, credential_fingerprint: fingerprint })) !== null;
  };
  let warmed: () => void = () => undefined;
  const options: Parameters<typeof createWorker>[0] = {
    connection,
    namespace,
    taskQueue,
    keys,
    activities: createActivities({
      calls,
      inspector: brain,
      readTraits,
      policies,
      tools: operatorsClasses({
        store: classes,
        pins,
        upstream: shared.toolsName,
        onFault: (error) => logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read'),
      }),
      reviews,
      sandbox,
      ledger,
      upstream,
      talks,
      responses: createResponseJudge({
        // The tool has run: a restart of Brain or policy costs nobody its answer.
        scanner: { scanResponse: (request) => insist(() => brain.scanResponse(request)) },
        policy: { judgeResponse: (question) => insist(() => policies.judgeResponse(question)) },
        mode: config.responses.responseMode,
        dataTools: config.responses.responseScanTools,
        onUnjudged: unjudgedLog(logger),
      }),
      names: createNameWatch({ pins, scanner: brain, onDegraded: nameWatchLog(logger) }),
      definitions: createReviewGuard(upstream, pins, shared.toolsName),
      ...(limits.quarantineDefinitions && {
        quarantine: createQuarantine(upstream, { pins, ledger, scanner: brain, ...toolWatchLog(logger) }),
      }),
      standing: known?.mirror,
      ...(known && { stillAttested }),
      deliver: callbackDelivery(limits, own),
      probes: probes && {
        of: probes.of,
        askUrl: createProbeUrl(probes.reach),
        probing: createProbing(engine.client, taskQueue),
      },
      runs: createRuns(engine.client),
      verifyDecision,
      reconcile: {
        graceMs: own.reconcileGraceSecs * 1000,
        retentionMs: own.retentionDays * 86_400_000,
        windowMs: limits.velocityWindowSecs * 1000,
      },
      onAlarm: alarmsTold(logger, registry),
    }),
    egress: streams.activities,
    tenants: createTenantActivities({
      identity: operations,
      takers: {
        'policy-engine': createStepTaker('the policy engine', () => parts.over(POLICY_ENGINE)),
        hil: createStepTaker('the review service', () => parts.over(HIL)),
        ledger: createStepTaker('the ledger', () => parts.over(LEDGER)),
      },
      heard: known?.mirror,
      calls,
    }),
    bundle: await bundling,
    parkedAfter: new Promise<void>((resolve) => (warmed = resolve)),
    shutdownGraceMs: limits.upstreamTimeoutSecs * 1000,
  };

  const driving = driveTenantOperations({
    client: engine.client,
    taskQueue,
    due: operations.due,
    onFault: (reason) =>
      reason === null
        ? logger.info({ event: 'tenant_operations_driven' }, 'operations on tenants are looked for again')
        : logger.error({ event: 'tenant_operations_wait', reason }, 'operations on tenants are not looked for'),
  });
  parts.onStop('worker', 'the look for operations on tenants', () => driving.stop());
  let worker: Supervised<GateWorker> | null = null;
  const runs = () => {
    if (!worker) throw new NoWorker('the worker is being started');
    workerRuns(worker);
  };
  return {
    port: null,
    ready: runs,
    async start() {
      // Before the first call: one that was approved would otherwise wait for it.
      await known?.start();
      const stopping = new AbortController();
      const working = superviseWorker(
        engine,
        () => unlessAborted(stopping.signal, createWorker(options), endedUnused),
        parts.say,
      );
      const drainMs = (limits.upstreamTimeoutSecs + WRITING_DOWN_SECS) * 1000;
      const stop = () => {
        stopping.abort(new Error('the stop has begun'));
        return working.then((running) => running.stop());
      };
      parts.onStop('worker', 'the worker', stop, drainMs);
      worker = await working;
      worker.finished.catch((error: unknown) => parts.failed(error));
      const callsInHand = () => worker?.current()?.callsInHand() ?? 0;
      const onBusy = (count: number) =>
        parts.say(`the worker is at calls of before (${count} in memory): new calls wait behind those that are due`);
      await Promise.all([
        needed('the worker takes no work', warmUp(engine.client, taskQueue, { callsInHand, onBusy })),
        ensureReconcileSchedule(engine.client, { taskQueue, everySecs: own.reconcileEverySecs }),
        streams.start(engine.client, taskQueue),
      ]).finally(warmed);
      driving.begin();
    },
    ...(health && {
      listener: () =>
        probesAt(
          health,
          healthApp('worker', registry, {
            orchestrator: engineAnswers(engine),
            worker: runs,
            call_store: () => calls.ready(),
            clock: () => clockHolds('this worker', calls),
            brain: parts.readinessOf(BRAIN),
            policy_engine: parts.readinessOf(POLICY_ENGINE),
            hil: parts.readinessOf(HIL),
            ledger: parts.readinessOf(LEDGER),
            // Not the sandbox: without it calls go on, and wait without a report.
          } as ReadinessChecks),
        ),
    }),
  };
}

/** A worker that a stop did not wait for holds the connection to the engine until it has run. */
function endedUnused(worker: GateWorker): void {
  worker.run().catch(() => undefined);
  worker.shutdown();
}

/** The time it takes to record how an attempt ended, beyond the time of the attempt itself. */
const WRITING_DOWN_SECS = 10;

/** A worker that fails, or stops without being asked to, is created again once the engine answers. */
const superviseWorker = (
  { circuit }: Pick<EngineParts, 'circuit'>,
  create: () => Promise<GateWorker>,
  say: (line: string) => void,
): Promise<Supervised<GateWorker>> =>
  supervise({
    name: 'the worker',
    ready: () => circuit.up(),
    async start() {
      const worker = await create();
      const { finished, stop } = runWorker(worker);
      return { handle: worker, ended: finished.then(() => 'it stopped by itself'), stop };
    },
    say,
  });

const probesAt = (
  { healthHost: host, healthPort }: Config<typeof WORKER_HEALTH_SETTINGS>,
  probes: ReturnType<typeof healthApp>,
): Listener => ({
  service: { name: 'worker', close: () => probes.close().then(() => undefined) },
  async listen() {
    await needed('the health listener (GATE_WORKER_HEALTH_PORT)', probes.listen({ host, port: healthPort }));
    const listening = probes.server.address();
    return { healthPort: listening !== null && typeof listening === 'object' ? listening.port : healthPort };
  },
});

/** The streams of a worker: their activities, and how they are started once the worker runs; nothing when no sink is configured. */
function streamsOf(
  config: Config<typeof EGRESS_SETTINGS>,
  source: EgressSource,
  registry: Registry,
): { readonly activities: EgressActivities; start(client: Client, taskQueue: string): Promise<void> } {
  const sinks = config.intervalSecs === 0 ? [] : sinksOf(config);
  const settings = { interval_ms: config.intervalSecs * 1000, batch_size: config.batchSize };
  return {
    // Also without a sink: a stream that was started before and is no longer configured must still find its activity.
    activities: createEgressActivities({ source, sinks, onSweep: egressMetrics(registry) }),
    start: (client, taskQueue) => ensureStreams(client, { taskQueue, sinks: sinks.map(({ kind }) => kind), settings }),
  };
}

const callbackDelivery = (
  { callbackAllowlist, callbackAllowPrivate }: Config<typeof CALL_LIMIT_SETTINGS>,
  { callbackSecret: secret }: Config<typeof WORKER_SETTINGS>,
): DeliverCallback =>
  createCallbackSender({
    allowlist: parseCallbackAllowlist(callbackAllowlist),
    allowPrivate: callbackAllowPrivate,
    ...(secret && { secret }),
  });
