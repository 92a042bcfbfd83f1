import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { createBrainService } from '../api/brain/app.js';
import { createLedgerService } from '../api/ledger/app.js';
import type { Service } from '../api/plugins/service.js';
import { createPolicyService } from '../api/policy/app.js';
import type { Config, GroupConfig } from '../config/env.js';
import type { Mode } from '../contracts/call.js';
import { vacuumFault } from '../config/ledger.js';
import type { START_SETTINGS } from '../config/processes.js';
import type { ENGINE_SETTINGS } from '../config/shared.js';
import { errorText } from '../domain/errors.js';
import { egressSource } from '../domain/evidence/egress/source.js';
import { openLedgerWithEvidenceThread } from '../domain/evidence/evidence.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import { createLocalEvaluator } from '../domain/policy/local-evaluator.js';
import { openReviewStore, reviewsOf } from '../domain/review/review-store.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { operatorsClasses } from '../domain/tool-classes/tool-classes.js';
import { DEMO_UPSTREAM, upstreamName } from '../domain/tool-classes/upstream-name.js';
import { bundleWorkflows } from '../workers/bundle.js';
import { createCallRunner, createDecisionSender, createRuns } from '../workers/call-runner.js';
import { connectClient, connectNative, type EngineClient } from '../workers/client.js';
import { ensureReconcileSchedule } from '../workers/schedules.js';
import { closeEngineRuntime, installEngineRuntime } from '../workers/runtime.js';
import { warmUp } from '../workers/warm-up.js';
import { createWorker } from '../workers/worker.js';
import type { DevPki } from './certificates/dev-pki.js';
import { replaceFile, tightenFile } from '../domain/store/durable-file.js';
import { logStream } from '../domain/store/log-stream.js';
import { createReviewGuard } from '../domain/tool-definitions/review-guard.js';
import type { DevelopmentFile, Stack } from './development.js';
import { type Engine, type EngineStart, mendable, QUICK_STOP_LIMIT_MS } from './engine-process.js';
import { LOG_REDACTION } from './log-redaction.js';
import { startLedgerSweeps } from '../api/ledger/sweeps.js';
import { createActivities } from '../workers/activities.js';
import { alarmsTold } from '../workers/alarms.js';
import {
  buildHil,
  buildProxy,
  callbackDelivery,
  checkpointKeys,
  coldPlace,
  createUpstream,
  decisionVerifier,
  drainLimitMs,
  egressParts,
  engineAddress,
  engineAnswers,
  ledgerSignatures,
  listen,
  needed,
  newRegistry,
  openProxyStore,
  openInspector,
  openPolicies,
  readSigner,
  readSigningKey,
  reconcileTimes,
  storeTarget,
  superviseWorker,
  Undo,
  workerRuns,
} from './parts.js';
import { StartError } from '../config/start-error.js';
import type { Voice } from './voice.js';

/** What a start has before anything is opened: settings, certificates, the folder, and an engine on its way up. */
export interface BringUp {
  readonly config: GroupConfig<typeof START_SETTINGS>;
  readonly stateDir: string;
  readonly pki: DevPki;
  readonly operatorToken: string;
  readonly starting: EngineStart;
  readonly voice: Voice;
  /** Lets go of the state folder. */
  readonly release: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Brings up everything but the engine, which it waits for. What it did is undone when it throws. */
export async function bringUp(start: BringUp): Promise<Stack> {
  const logger = stackLogger(start.stateDir, start.config.shared.logLevel);
  start.voice.writeTo(logger);
  const undo = new Undo();
  undo.push('the state folder', () => Promise.resolve(start.release()));
  undo.push('the engine runtime', closeEngineRuntime);
  try {
    return await open(start, logger, undo);
  } catch (error) {
    start.starting.giveUp(error);
    await undo.all(logger);
    throw error;
  }
}

async function open(
  { config, stateDir, pki, operatorToken, starting, voice, release, signal }: BringUp,
  logger: Logger,
  undo: Undo,
): Promise<Stack> {
  // What takes its time without this thread is begun first, and is waited for where it is needed.
  undo.push('the engine', () => starting.up.then(({ own }) => own?.stop()), ENGINE_STOP_LIMIT_MS);
  const connecting = connect(config.engine, starting);
  undo.push('the connections to the engine', () => connecting.then(({ close }) => close()));
  const judging = openJudges(config);
  undo.push('the threads that judge', () => judging.then(({ close }) => close()));
  const bundling = bundleWorkflows();
  for (const begun of [connecting, judging, bundling]) begun.catch(() => undefined);

  const fault = vacuumFault(config.ledger);
  if (fault) throw new StartError(fault);
  const signatures = await ledgerSignatures(config.ledger, config.shared.trustDomain);
  const { ledger, evidence } = await openLedgerWithEvidenceThread({
    target: storeTarget(config.shared, 'ledger'),
    sidecarKeys: config.ledger.sidecarKeys,
    verifyThreads: { threads: config.ledger.verifyThreads },
    coldPlace: coldPlace(config.ledger),
    logger,
    ...(await checkpointKeys(config.ledger, config.shared.trustDomain)),
    ...signatures,
  });
  undo.push('the ledger', () => ledger.close());
  const { upstreamUrl: url, upstreamName: name } = config.worker;
  const toolsName = upstreamName({ name: name ?? (url ? undefined : DEMO_UPSTREAM), url });
  const opened = await openProxyStore(config.shared, {
    keys: config.callStore.recordKeys,
    upstream: toolsName,
    ledger,
    logger,
  });
  const { calls, pins, classes: stored } = opened;
  undo.push('the call store', () => calls.close());
  const classes = boundToLedger(stored, ledger, { graceMs: 0 });
  await needed('the classes of the tools', classes.settle());
  const sweeps = startLedgerSweeps({ ledger, evidence }, config.ledger, logger, signatures.timeStamps?.trust ?? null);
  undo.push('the sweeps of the ledger', () => sweeps.stop());
  const reviews = await openReviewStore({
    target: storeTarget(config.shared, 'hil'),
    payloadKeys: config.hil.payloadKeys,
    perAgent: { rows: config.hil.maxParkedCalls, bytes: config.hil.maxParkedBytes },
  });
  undo.push('the review store', () => reviews.close());
  const upstreamUrl = config.worker.upstreamUrl ?? (await startTools(config.development, stateDir, undo));
  const upstream = createUpstream(config.worker, upstreamUrl);
  undo.push('the connections to tools', () => upstream.close());

  const { policies, inspector, evaluator } = await judging;
  const { engine, address, engineClient, native } = await connecting;
  const { client } = engineClient;
  const ledgerRegistry = newRegistry();
  const activities = createActivities({
    calls,
    inspector,
    policies: evaluator,
    tools: operatorsClasses({
      store: classes,
      pins,
      upstream: toolsName,
      onFault: (error) => logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read'),
    }),
    reviews: reviewsOf(reviews),
    ledger,
    upstream,
    definitions: createReviewGuard(upstream, pins),
    deliver: callbackDelivery(config.proxy, config.worker),
    runs: createRuns(client),
    verifyDecision: await decisionVerifier(config.worker.decisionPublicKeyFile),
    reconcile: reconcileTimes(config.worker, config.proxy),
    onAlarm: alarmsTold(logger, ledgerRegistry),
  });
  const streams = egressParts(config.egress, egressSource(ledger), ledgerRegistry);
  const bundle = await bundling;
  let warmed: () => void = () => undefined;
  const warm = new Promise<void>((resolve) => (warmed = resolve));
  const working = superviseWorker(engineClient, {
    say: voice.say,
    create: () =>
      createWorker({
        connection: native,
        namespace: address.namespace,
        taskQueue: config.engine.taskQueue,
        keys: config.engine.payloadKeys,
        activities,
        egress: streams.egress,
        bundle,
        parkedAfter: warm,
        shutdownGraceMs: config.proxy.upstreamTimeoutSecs * 1000,
      }),
  });
  undo.push('the worker', () => working.then((worker) => worker.stop()), drainLimitMs(config.proxy));
  working.catch(() => undefined);

  // While the worker's threads load their code.
  const serve = serving(undo, drainLimitMs(config.proxy));
  const { services } = pki;
  const common = { logger, trustDomain: config.shared.trustDomain };
  const orchestrator = engineAnswers(engineClient);
  const neighbours = {
    ledger: await serve(
      createLedgerService({ ...common, ledger, evidence, registry: ledgerRegistry, tls: services.ledger }),
      config.ledger,
      'GATE_LEDGER',
    ),
    policy: await serve(
      createPolicyService({ ...common, policies, registry: newRegistry(), tls: services['policy-engine'] }),
      config.policy,
      'GATE_POLICY',
    ),
    brain: await serve(
      createBrainService({ ...common, inspector, registry: newRegistry(), tls: services.brain }),
      config.brain,
      'GATE_BRAIN',
    ),
    hil: await serve(
      buildHil({
        ...common,
        config: config.hil,
        reviews,
        sender: createDecisionSender(engineClient),
        decisionKey: await readSigningKey(config.hil.decisionKeyFile),
        tls: services.hil,
        readiness: { orchestrator },
      }),
      config.hil,
      'GATE_HIL',
    ),
  };
  await judgedOnce(inspector, evaluator);

  const worker = await working;
  signal?.throwIfAborted();
  const { taskQueue } = config.engine;
  const readying = Promise.all([
    needed('the worker takes no work', warmUp(client, taskQueue)),
    ensureReconcileSchedule(client, { taskQueue, everySecs: config.worker.reconcileEverySecs }),
    streams.start(client, taskQueue),
  ]);
  readying.catch(() => undefined);
  const listening = {
    ...neighbours,
    proxy: await serve(
      buildProxy({
        config: config.proxy,
        trustDomain: config.shared.trustDomain,
        tls: services.proxy,
        calls,
        pins,
        classes,
        toolsName,
        operators: config.hil.operators,
        policies,
        runner: createCallRunner(engineClient, config.engine.taskQueue, { park: config.engine.park }),
        ledger,
        upstream,
        logger,
        signer: await readSigner(config.proxy.signingKeyFile),
        verifyDecision: await decisionVerifier(config.worker.decisionPublicKeyFile),
        readiness: {
          orchestrator,
          worker: workerRuns(worker),
          ledger: () => ledger.ready(),
          hil: () => reviews.ready(),
        },
      }),
      config.proxy,
      'GATE_PROXY',
    ),
  };
  await readying.finally(warmed);
  const development = developmentFile(
    config.proxy.mode,
    pki,
    operatorToken,
    engine,
    { url: upstreamUrl, demonstration: config.worker.upstreamUrl === undefined },
    address.namespace,
    listening,
  );
  replaceFile(join(stateDir, 'dev.json'), `${JSON.stringify(development, null, 2)}\n`, 0o600);
  // For the first large request, and nobody waits for it here.
  inspector.warm();
  let stopping: Promise<void> | null = null;
  const endIfItHangs = async () => {
    if (engine.own && !(await answersAtOnce(engineClient)))
      await engine.own.stop(QUICK_STOP_LIMIT_MS).catch(() => undefined);
  };
  const stop = () => {
    voice.hush();
    // One that hangs would hold up the worker, and then its own end.
    if (!stopping) void endIfItHangs();
    stopping ??= undo.all(logger);
    return stopping;
  };
  const stopNow = async () => {
    await engine.stopNow();
    release();
  };
  return { development, stop, stopNow, stopped: Promise.race([engine.finished, worker.finished]) };
}

/** Client and worker of the engine, as soon as it answers. */
async function connect(settings: Config<typeof ENGINE_SETTINGS>, starting: EngineStart) {
  const engine = await starting.up;
  const address = engineAddress(settings, engine.address);
  const engineClient = await needed(
    `the workflow engine at ${engine.address}`,
    connectClient(address, settings.payloadKeys, starting.news.onChange),
  );
  try {
    engine.onLost((how) => engineClient.circuit.lost(`it ended: ${how}; it is being started again`));
    const native = await connectNative(address);
    const close = async () => {
      await native.close();
      await engineClient.close();
    };
    return { engine, address, engineClient, native, close };
  } catch (error) {
    await engineClient.close();
    throw error;
  }
}

/** Rules and detectors. */
async function openJudges(config: BringUp['config']) {
  const [policies, inspector] = await Promise.all([openPolicies(config.policy), openInspector(config.brain)]);
  const evaluator = createLocalEvaluator(policies);
  const close = async () => {
    await evaluator.close();
    await inspector.close();
  };
  return { policies, inspector, evaluator, close };
}

async function startTools(
  { demoUpstreamPort: port }: BringUp['config']['development'],
  stateDir: string,
  undo: Undo,
): Promise<string> {
  // Whoever brings tools of his own loads none of these.
  const { startDemoUpstream } = await import('../demo/upstream/server.js');
  const tools = await mendable('set GATE_DEMO_UPSTREAM_PORT to move the demonstration tools', () =>
    startDemoUpstream({ dataDir: join(stateDir, 'demo'), host: '127.0.0.1', port }),
  );
  undo.push('the demonstration tools', () => tools.close());
  return tools.url;
}

type Listener = Parameters<Service['listen']>[0];

const serving =
  (undo: Undo, closeLimitMs: number) =>
  async (service: Service, { host, port, healthHost, healthPort }: Listener, variable: string) => {
    const ports = await listen(service, { host, port, healthHost, healthPort }, variable);
    undo.push(`the ${service.name}`, () => service.close(), closeLimitMs);
    return {
      url: `https://${nameOf(host)}:${ports.port}`,
      health: `http://${nameOf(healthHost)}:${ports.healthPort}`,
    };
  };

/** Judges something harmless, which no store sees: rules and detectors are compiled, and read what they read once. */
const judgedOnce = (inspector: Inspector, policies: PolicyEvaluator) =>
  Promise.all([
    inspector.inspect({
      agent_id: 'warm-up',
      method: 'tools/call',
      params: { name: 'list_files' },
      prior_requests: [],
    }),
    policies.evaluate({
      tool_type: 'list_files',
      agent_history: { last_tool: null, recent_sequence: [] },
      intent_score: 0,
      arguments: {},
    }),
  ]);

/** The engine is asked to end and made to after ten seconds; then it is looked at for as long again. */
const ENGINE_STOP_LIMIT_MS = 25_000;
/** Whoever is well answers within milliseconds. */
const ANSWER_AT_STOP_LIMIT_MS = 1_500;
const answersAtOnce = ({ client, circuit }: Pick<EngineClient, 'client' | 'circuit'>): Promise<boolean> =>
  circuit.away()
    ? Promise.resolve(false)
    : client
        .withDeadline(Date.now() + ANSWER_AT_STOP_LIMIT_MS, () => client.workflowService.getSystemInfo({}))
        .then(
          () => true,
          () => false,
        );

/** An address to print and to call: wildcards are reached as localhost. */
const nameOf = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;

function developmentFile(
  mode: Mode,
  pki: DevPki,
  operatorToken: string,
  engine: Pick<Engine, 'address' | 'uiUrl'>,
  upstream: DevelopmentFile['upstream'],
  namespace: string,
  listening: Record<'proxy' | 'brain' | 'policy' | 'hil' | 'ledger', { url: string; health: string }>,
): DevelopmentFile {
  const agent = pki.agents['support-bot'];
  return {
    mode,
    proxy: {
      url: listening.proxy.url,
      ca: pki.caFile,
      cert: agent.certFile,
      key: agent.keyFile,
      agent_spiffe: agent.spiffe,
    },
    brain: { url: listening.brain.url },
    policy: { url: listening.policy.url },
    hil: { url: listening.hil.url },
    ledger: { url: listening.ledger.url },
    console_workload: { cert: pki.services.console.certFile, key: pki.services.console.keyFile },
    proxy_workload: { cert: pki.services.proxy.certFile, key: pki.services.proxy.keyFile },
    operator_token: operatorToken,
    temporal: { address: engine.address, namespace, ui_url: engine.uiUrl },
    upstream,
    health: Object.fromEntries(Object.entries(listening).map(([name, { health }]) => [name, health])),
    agents: Object.fromEntries(
      Object.entries(pki.agents).map(([name, leaf]) => [
        name,
        { cert: leaf.certFile, key: leaf.keyFile, spiffe: leaf.spiffe },
      ]),
    ),
  };
}

/** Logs go to a file, so that the terminal keeps the ready page; warnings and worse are seen there too. */
export function stackLogger(stateDir: string, level: string): Logger {
  mkdirSync(join(stateDir, 'logs'), { recursive: true, mode: 0o700 });
  tightenFile(join(stateDir, 'logs', 'gate.log'));
  const logger = pino(
    {
      level,
      redact: LOG_REDACTION,
    },
    pino.multistream([
      {
        level: level as pino.Level,
        // A full disk takes no line of a log. What cannot be recorded is refused elsewhere, and the process goes on for when there is room.
        stream: logStream(join(stateDir, 'logs', 'gate.log')),
      },
      { level: 'error', stream: process.stderr },
    ]),
  );
  installEngineRuntime(logger);
  return logger;
}
