import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pino, { type Logger } from 'pino';
import { createBrainService } from '../api/brain/app.js';
import { createLedgerService } from '../api/ledger/app.js';
import type { Service } from '../api/plugins/service.js';
import { createPolicyService } from '../api/policy/app.js';
import { readConfig, readGroups, type Env } from '../config/env.js';
import { vacuumFault } from '../config/ledger.js';
import { START_SETTINGS } from '../config/processes.js';
import { SHARED_SETTINGS } from '../config/shared.js';
import { PRIVATE_FILE, tightenFile } from '../domain/store/durable-file.js';
import { errorText } from '../domain/errors.js';
import { egressSource } from '../domain/evidence/egress/source.js';
import { openLedgerWithEvidence } from '../domain/evidence/evidence.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import { createLocalEvaluator } from '../domain/policy/local-evaluator.js';
import { openReviewStore, reviewsOf } from '../domain/review/review-store.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { operatorsClasses } from '../domain/tool-classes/tool-classes.js';
import { DEMO_UPSTREAM, upstreamName } from '../domain/tool-classes/upstream-name.js';
import { bundleWorkflows } from '../engine/bundle.js';
import { createCallRunner, createDecisionSender, createRuns, parkedQueueOf } from '../engine/call-runner.js';
import { connectClient, connectNative, type EngineClient } from '../engine/connect.js';
import { ensureReconcileSchedule } from '../engine/schedule.js';
import { closeEngineRuntime, installEngineRuntime } from '../engine/runtime.js';
import { warmUp } from '../engine/warm-up.js';
import { createWorker } from '../engine/worker.js';
import { freePort } from '../scripts/free-port.js';
import { startDemoUpstream } from '../scripts/demo-upstream/server.js';
import { DEMO_AGENTS, ensureDevelopmentPki, ensureDevelopmentSecrets, type DevPki } from '../scripts/dev-pki.js';
import { replaceFile } from '../domain/store/durable-file.js';
import { createReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { findTemporal } from '../scripts/find-program.js';
import { startTemporal, type TemporalServer } from '../scripts/temporal-server.js';
import { engineNews } from './engine-news.js';
import { startLedgerSweeps } from './ledger-sweeps.js';
import { claimStateFolder } from './single-instance.js';
import { createActivities } from '../workers/activities.js';
import { alarmsTold } from '../workers/alarms.js';
import {
  buildHil,
  buildProxy,
  callbackDelivery,
  checkpointKeys,
  coldSink,
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
  StartError,
  storeTarget,
  superviseWorker,
  Undo,
  workerRuns,
} from './parts.js';
import { supervise, type Supervised } from './supervisor.js';

/** What scripts, tests and the command line read of a running stack: `.gate/dev.json`. Certificate fields are file paths. */
export interface DevelopmentFile {
  readonly proxy: {
    readonly url: string;
    readonly ca: string;
    readonly cert: string;
    readonly key: string;
    readonly agent_spiffe: string;
  };
  readonly brain: { readonly url: string };
  readonly policy: { readonly url: string };
  readonly hil: { readonly url: string };
  readonly ledger: { readonly url: string };
  readonly console_workload: { readonly cert: string; readonly key: string };
  readonly proxy_workload: { readonly cert: string; readonly key: string };
  readonly operator_token: string;
  readonly temporal: { readonly address: string; readonly namespace: string; readonly ui_url: string | null };
  /** `demonstration`: the tools are Gate's own, not those of `GATE_UPSTREAM_URL`. */
  readonly upstream: { readonly url: string; readonly demonstration: boolean };
  readonly health: Readonly<Record<string, string>>;
  readonly agents: Readonly<Record<string, { readonly cert: string; readonly key: string; readonly spiffe: string }>>;
}

export interface Stack {
  readonly development: DevelopmentFile;
  /** Resolves when the stack has stopped, also when a part of it failed: then it rejects. */
  readonly stopped: Promise<void>;
  /** Ordered: the proxy refuses, answers drain, the worker finishes, services close, the engine ends last. Bounded in time. */
  stop(): Promise<void>;
  /** Ends what this stack started and waits for no call. */
  stopNow(): Promise<void>;
}

export interface StackOptions {
  readonly env: Env;
  /** Lines for a person who waits: what is being done. */
  readonly progress: (line: string) => void;
  /** Gives the start up: what it did is undone, and it throws. */
  readonly signal?: AbortSignal;
}

/** Brings up the whole stack on this machine (DESIGN sections 3, 5, 9). Throws StartError or ConfigError with one clear message. */
export async function startDevelopment({ env, progress, signal }: StackOptions): Promise<Stack> {
  const shared = readConfig('gate', SHARED_SETTINGS, env);
  const stateDir = resolve(shared.stateDir);
  for (const folder of ['data', 'keys', 'secrets', 'pki', 'logs', 'run', 'demo']) {
    mkdirSync(join(stateDir, folder), { recursive: true, mode: 0o700 });
    // Also those that an earlier Gate left open to others.
    tightenFile(join(stateDir, folder), 0o700);
  }
  const pki = await ensureDevelopmentPki({ stateDir, trustDomain: shared.trustDomain });
  const secrets = await ensureDevelopmentSecrets({ stateDir });
  const config = readGroups('gate start', START_SETTINGS, {
    GATE_PAYLOAD_KEYS: secrets.payloadKeys,
    GATE_RECORD_KEYS: secrets.recordKeys,
    GATE_HIL_PAYLOAD_KEYS: secrets.hilPayloadKeys,
    GATE_LEDGER_SIDECAR_KEYS: secrets.ledgerSidecarKeys,
    GATE_LEDGER_EXPORT_DIR: join(stateDir, 'data', 'cold'),
    GATE_LEDGER_CHECKPOINT_KEY_FILE: secrets.checkpointKey.keyFile,
    GATE_LEDGER_EXPORT_KEY_FILE: secrets.exportKey.keyFile,
    GATE_CALLBACK_SECRET: secrets.callbackSecret,
    GATE_SIGNING_KEY_FILE: secrets.ledgerKey.keyFile,
    GATE_HIL_DECISION_KEY_FILE: secrets.hilDecisionKey.keyFile,
    GATE_HIL_DECISION_PUBLIC_KEY_FILE: secrets.hilDecisionKey.pubFile,
    GATE_HIL_OPERATORS: `dev@acme:${secrets.operatorToken}`,
    // Whoever brings tools of his own brings calls of his own.
    ...(env.GATE_UPSTREAM_URL === undefined && { GATE_DEMO_AGENTS: DEMO_AGENTS.join(',') }),
    ...env,
    GATE_STATE_DIR: stateDir,
  });
  const release = claimStateFolder(join(stateDir, 'run', 'gate.pid'), stateDir);
  const logger = stackLogger(stateDir, config.shared.logLevel);
  /** One line for each thing that happens to a part, on the terminal and in the log. */
  const say = (line: string) => {
    logger.warn(line);
    // What a part does while it is being stopped is nobody's news.
    if (!ending) progress(line);
  };
  let ending = false;
  /** The engine of this stack's own, from when it is up. */
  let own: Supervised<TemporalServer> | null = null;
  const news = engineNews({
    say,
    log: (line) => logger.warn(line),
    ...(!config.engine.address && { engine: () => own }),
  });
  const undo = new Undo();
  const givenUp = new AbortController();
  undo.push('the state folder', () => Promise.resolve(release()));
  undo.push('the engine runtime', closeEngineRuntime);
  try {
    return await bringUp();
  } catch (error) {
    givenUp.abort(error);
    await undo.all(logger);
    throw error;
  }

  async function bringUp(): Promise<Stack> {
    // A program of its own takes its time to come up; what does not need it is brought up meanwhile.
    const starting = startEngine();
    undo.push('the engine', () => starting.then((started) => started.own?.stop()), ENGINE_STOP_LIMIT_MS);
    const bundling = bundleWorkflows();
    for (const begun of [starting, bundling]) begun.catch(() => undefined);
    const fault = vacuumFault(config.ledger);
    if (fault) throw new StartError(fault);
    const signatures = await ledgerSignatures(config.ledger, config.shared.trustDomain);
    const { ledger, evidence } = await openLedgerWithEvidence({
      target: storeTarget(config.shared, 'ledger'),
      sidecarKeys: config.ledger.sidecarKeys,
      verifyThreads: { threads: config.ledger.verifyThreads },
      coldSink: coldSink(config.ledger),
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
    const classes = boundToLedger(stored, ledger);
    const sweeps = startLedgerSweeps({ ledger, evidence }, config.ledger, logger, signatures.timeStamps?.trust ?? null);
    undo.push('the sweeps of the ledger', () => sweeps.stop());
    const reviews = await openReviewStore({
      target: storeTarget(config.shared, 'hil'),
      payloadKeys: config.hil.payloadKeys,
      perAgent: { rows: config.hil.maxParkedCalls, bytes: config.hil.maxParkedBytes },
    });
    undo.push('the review store', () => reviews.close());
    const policies = await openPolicies(config.policy);
    const inspector = await openInspector(config.brain);
    undo.push('the threads of inspection', () => inspector.close());
    const evaluator = createLocalEvaluator(policies);
    undo.push('the threads of policy evaluation', () => evaluator.close());

    const upstreamUrl = config.worker.upstreamUrl ?? (await startTools());
    const upstream = createUpstream(config.worker, upstreamUrl);
    undo.push('the connections to tools', () => upstream.close());

    const engine = await starting;
    const address = engineAddress(config.engine, engine.address);
    const engineClient = await needed(
      `the workflow engine at ${engine.address}`,
      connectClient(address, config.engine.payloadKeys, news.onChange),
    );
    undo.push('the connection to the engine', () => engineClient.close());
    const { client, circuit } = engineClient;
    engine.onLost((how) => circuit.lost(`it ended: ${how}; it is being started again`));
    const native = await connectNative(address);
    undo.push('the worker’s connection to the engine', () => native.close());
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
    const worker = await superviseWorker(engineClient, {
      say,
      create: () =>
        createWorker({
          connection: native,
          namespace: address.namespace,
          taskQueue: config.engine.taskQueue,
          keys: config.engine.payloadKeys,
          activities,
          egress: streams.egress,
          bundle,
          shutdownGraceMs: config.proxy.upstreamTimeoutSecs * 1000,
        }),
    });
    undo.push('the worker', () => worker.stop(), drainLimitMs(config.proxy));
    const warm = Promise.all([
      warmUp(client, [config.engine.taskQueue, parkedQueueOf(config.engine.taskQueue)]),
      judgedOnce(inspector, evaluator),
    ]);
    warm.catch(() => undefined);
    await ensureReconcileSchedule(client, {
      taskQueue: config.engine.taskQueue,
      everySecs: config.worker.reconcileEverySecs,
    });
    await streams.start(client, config.engine.taskQueue);
    signal?.throwIfAborted();

    const { services } = pki;
    const common = { logger, trustDomain: config.shared.trustDomain };
    const orchestrator = engineAnswers(engineClient);
    const listening = {
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
    const development = developmentFile(
      pki,
      secrets.operatorToken,
      engine,
      { url: upstreamUrl, demonstration: config.worker.upstreamUrl === undefined },
      address.namespace,
      listening,
    );
    await needed('the worker takes no work', warm);
    replaceFile(join(stateDir, 'dev.json'), `${JSON.stringify(development, null, 2)}\n`, 0o600);
    let stopping: Promise<void> | null = null;
    const endIfItHangs = async () => {
      if (engine.own && !(await answersAtOnce(engineClient)))
        await engine.own.stop(QUICK_STOP_LIMIT_MS).catch(() => undefined);
    };
    const stop = () => {
      ending = true;
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

  async function startEngine(): Promise<Engine> {
    if (config.engine.address) return foreignEngine(config.engine.address);
    let lost: (how: string) => void = () => undefined;
    own = await mendable('set GATE_TEMPORAL_PORT / GATE_TEMPORAL_UI_PORT to move the engine', async () => {
      const binary = await unlessAborted(findTemporal({ onProgress: progress }), signal);
      progress('engine: starting the Temporal server');
      const where = {
        port: config.development.temporalPort || (await freePort()),
        uiPort: config.development.temporalUiPort || (await freePort()),
      };
      let first = true;
      return supervise({
        name: 'the workflow engine',
        say: news.supervisor,
        onLost: (how) => lost(how),
        async start(given) {
          const server = await startTemporal({
            binary,
            stateDir,
            ...where,
            namespace: config.engine.namespace,
            // A start that a person waits for is told step by step; later ones in one line.
            ...(first && { onProgress: progress }),
            signal: AbortSignal.any([given, givenUp.signal, ...(signal ? [signal] : [])]),
          });
          first = false;
          return { handle: server, ended: server.exited, stop: (limitMs) => server.stop(limitMs) };
        },
      });
    });
    const engine = own;
    const server = engine.current();
    if (!server) throw new StartError('the workflow engine ended as soon as it was up');
    return {
      address: server.address,
      uiUrl: server.uiUrl,
      own: engine,
      finished: engine.finished,
      onLost: (listener) => (lost = listener),
      stopNow: async () => {
        await engine.current()?.stop(QUICK_STOP_LIMIT_MS);
      },
    };
  }

  async function startTools(): Promise<string> {
    const tools = await mendable('set GATE_DEMO_UPSTREAM_PORT to move the demonstration tools', () =>
      startDemoUpstream({
        dataDir: join(stateDir, 'demo'),
        host: '127.0.0.1',
        port: config.development.demoUpstreamPort,
      }),
    );
    undo.push('the demonstration tools', () => tools.close());
    return tools.url;
  }

  async function serve(
    service: Service,
    address: { host: string; port: number; healthHost: string; healthPort: number },
    variable: string,
  ) {
    const ports = await listen(service, address, variable);
    undo.push(`the ${service.name}`, () => service.close(), drainLimitMs(config.proxy));
    return {
      url: `https://${nameOf(address.host)}:${ports.port}`,
      health: `http://${nameOf(address.healthHost)}:${ports.healthPort}`,
    };
  }
}

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

/** The engine behind the calls: one of this stack's own, which it keeps up, or somebody else's. */
interface Engine {
  readonly address: string;
  readonly uiUrl: string | null;
  readonly own: Supervised<TemporalServer> | null;
  readonly finished: Promise<void>;
  onLost(listener: (how: string) => void): void;
  stopNow(): Promise<void>;
}

const foreignEngine = (address: string): Engine => ({
  address,
  uiUrl: null,
  own: null,
  finished: new Promise(() => undefined),
  onLost: () => undefined,
  stopNow: () => Promise.resolve(),
});

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

/** For an engine that does not answer when the stop begins, and for a stop that was asked for twice. */
const QUICK_STOP_LIMIT_MS = 1_000;

/** Building or loading a program takes minutes, and ends by itself when this process does. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  work.catch(() => undefined);
  signal.throwIfAborted();
  return Promise.race([
    work,
    new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    ),
  ]);
}

/** What an operator can mend is said in one line, without a stack; a port that is taken with the setting that names another one. */
async function mendable<Started>(hint: string, start: () => Promise<Started>): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    const text = errorText(error);
    throw new StartError(/another program/.test(text) ? `${text} (${hint})` : text, { cause: error });
  }
}

/** An address to print and to call: wildcards are reached as localhost. */
const nameOf = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;

function developmentFile(
  pki: DevPki,
  operatorToken: string,
  engine: Pick<Engine, 'address' | 'uiUrl'>,
  upstream: DevelopmentFile['upstream'],
  namespace: string,
  listening: Record<'proxy' | 'brain' | 'policy' | 'hil' | 'ledger', { url: string; health: string }>,
): DevelopmentFile {
  const agent = pki.agents['support-bot'];
  return {
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
  const file = pino.destination({ dest: join(stateDir, 'logs', 'gate.log'), sync: false, mode: PRIVATE_FILE });
  // A full disk takes no line of a log. What cannot be recorded is refused elsewhere, and the process goes on for when there is room.
  file.on('error', () => undefined);
  const logger = pino(
    {
      level,
      redact: {
        paths: ['req.headers.authorization', 'headers.authorization', '*.token', '*.grant', 'req.headers.cookie'],
        censor: '[redacted]',
      },
    },
    pino.multistream([
      {
        level: level as pino.Level,
        stream: file,
      },
      { level: 'error', stream: process.stderr },
    ]),
  );
  installEngineRuntime(logger);
  return logger;
}

export { StartError };
