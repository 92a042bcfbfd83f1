import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import pino, { type Logger } from 'pino';
import { createBrainClient } from '../activities/clients/brain-client.js';
import { createHilClient } from '../activities/clients/hil-client.js';
import { createLedgerClient } from '../activities/clients/ledger-client.js';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import type { ServiceFetch } from '../activities/clients/service-client.js';
import { createPolicyClient } from '../activities/clients/policy-client.js';
import { createBrainService } from '../api/brain/app.js';
import { createLedgerService } from '../api/ledger/app.js';
import { healthApp } from '../api/plugins/health.js';
import type { Service, TlsMaterial } from '../api/plugins/service.js';
import { createPolicyService } from '../api/policy/app.js';
import { ConfigError, type Config, type Env } from '../config/env.js';
import { type LEDGER_SETTINGS, vacuumFault } from '../config/ledger.js';
import { type ApartConfig, type ProcessName, readApartConfig } from '../config/processes.js';
import type { ENGINE_SETTINGS, TLS_SETTINGS } from '../config/shared.js';
import { readCredential } from '../domain/identity/certificate-authority.js';
import { errorText } from '../domain/errors.js';
import { serviceSpiffe, spiffeOfCertificate } from '../domain/identity/spiffe.js';
import { openLedgerWithEvidenceThread } from '../domain/evidence/evidence.js';
import { openReviewStore } from '../domain/review/review-store.js';
import { loadPolicySet } from '../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../domain/policy/policy-sources.js';
import { logStream } from '../domain/store/log-stream.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { operatorsClasses } from '../domain/tool-classes/tool-classes.js';
import { upstreamName } from '../domain/tool-classes/upstream-name.js';
import { createReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { bundleWorkflows } from '../workers/bundle.js';
import { createCallRunner, createDecisionSender, createRuns } from '../workers/call-runner.js';
import { connectClient, connectNative, type EngineClient } from '../workers/client.js';
import { closeEngineRuntime, installEngineRuntime } from '../workers/runtime.js';
import { ensureReconcileSchedule } from '../workers/schedules.js';
import { warmUp } from '../workers/warm-up.js';
import type { GateWorker } from '../workers/both-queues.js';
import { createWorker, type WorkerOptions } from '../workers/worker.js';
import { createActivities } from '../workers/activities.js';
import { alarmsTold } from '../workers/alarms.js';
import { engineNews } from './engine-news.js';
import { LOG_REDACTION } from './log-redaction.js';
import { startLedgerSweeps } from '../api/ledger/sweeps.js';
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
  engineTlsFault,
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
import type { Supervised } from '../workers/supervisor.js';

/** One process of a deployment where every service stands apart (docs/decisions/processes-apart.md). */
export interface ApartProcess {
  readonly name: ProcessName;
  /** `port` is absent for the worker, which answers nobody but probes. */
  readonly ports: { readonly port?: number; readonly healthPort: number };
  readonly logger: Logger;
  /** Resolves when the process has stopped; rejects when a part of it failed by itself. */
  readonly stopped: Promise<void>;
  /** Ordered: new requests are refused, answers under way drain, then connections close. May be called again. */
  stop(): Promise<void>;
}

const STANDARD_OUTPUT = 1;

/** What a composition is given: its settings, its certificate, and where to leave what must be undone. */
interface Apart<Name extends ProcessName> {
  readonly config: ApartConfig<Name>;
  readonly tls: TlsMaterial;
  readonly trustDomain: string;
  readonly logger: Logger;
  /** Undone in reverse order: what was opened last depends on what was opened before it. */
  onStop(step: () => Promise<unknown>, limitMs?: number): void;
  failed(error: unknown): void;
}
type Ports = ApartProcess['ports'];

const COMPOSITIONS: { readonly [Name in ProcessName]: (parts: Apart<Name>) => Promise<Ports> } = {
  proxy: startProxy,
  brain: startBrain,
  'policy-engine': startPolicyEngine,
  hil: startHil,
  ledger: startLedger,
  worker: startWorker,
};

/** The workload a process is to its peers. The worker runs the proxy's pipeline and carries the proxy's certificate. */
const workloadOf = (name: ProcessName): string => (name === 'worker' ? 'proxy' : name);

/**
 * Starts one process by its settings alone. Throws ConfigError with every fault of the settings and of the files they name, and StartError in
 * one line for a neighbour that is needed from the first moment and does not answer (store, engine) or a port that is taken.
 */
export async function startApart<Name extends ProcessName>(name: Name, env: Env): Promise<ApartProcess> {
  const { config, tls } = loadSettings(name, env);
  const { trustDomain, logLevel } = config.shared;
  const logger = pino({ level: logLevel, base: { service: name }, redact: LOG_REDACTION }, logStream(STANDARD_OUTPUT));
  const undo = new Undo();
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const stopped = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  stopped.catch(() => undefined);
  try {
    const ports = await COMPOSITIONS[name]({
      config,
      tls,
      trustDomain,
      logger,
      onStop: (step, limitMs) => undo.push(name, step, limitMs),
      failed: (error) => settle?.reject(error),
    });
    let stopping: Promise<void> | null = null;
    const stop = () => {
      stopping ??= undo.all(logger).then(() => settle?.resolve());
      return stopping;
    };
    return { name, ports, logger, stopped, stop };
  } catch (error) {
    await undo.all(logger);
    throw error;
  }
}

/** Settings and the files they name, all faults of both in one error. */
export function loadSettings<Name extends ProcessName>(
  name: Name,
  env: Env,
): { config: ApartConfig<Name>; tls: TlsMaterial } {
  const config = readApartConfig(name, env);
  const engine = 'engine' in config ? engineTlsFault(config.engine as Config<typeof ENGINE_SETTINGS>) : null;
  const vacuum = name === 'ledger' ? vacuumFault(config.own as Config<typeof LEDGER_SETTINGS>) : null;
  const tls = readTls(config.tls, serviceSpiffe(config.shared.trustDomain, workloadOf(name)));
  const faults = [engine, vacuum].filter((fault) => fault !== null).concat('faults' in tls ? tls.faults : []);
  if (faults.length > 0 || 'faults' in tls)
    throw new ConfigError(`gate ${name === 'worker' ? 'worker' : `serve ${name}`}`, faults);
  return { config, tls };
}

function readTls(files: Config<typeof TLS_SETTINGS>, spiffe: string): TlsMaterial | { readonly faults: string[] } {
  const faults: string[] = [];
  const read = (variable: string, file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      faults.push(`${variable}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
      return '';
    }
  };
  const ca = read('GATE_TLS_CA_FILE', files.caFile);
  const cert = read('GATE_TLS_CERT_FILE', files.certFile);
  const key = read('GATE_TLS_KEY_FILE', files.keyFile);
  if (faults.length > 0) return { faults };
  const certificate = readCredential({ cert, key });
  if (!certificate) return { faults: ['GATE_TLS_KEY_FILE: is not the private key of GATE_TLS_CERT_FILE'] };
  const found = spiffeOfCertificate(certificate);
  if (found !== spiffe) faults.push(`GATE_TLS_CERT_FILE: is the certificate of ${found ?? 'nobody'}, not of ${spiffe}`);
  if (Date.parse(certificate.validTo) <= Date.now())
    faults.push(`GATE_TLS_CERT_FILE: expired on ${certificate.validTo}`);
  if (!signedBy(certificate, ca)) faults.push('GATE_TLS_CERT_FILE: was not signed by the CA of GATE_TLS_CA_FILE');
  return faults.length > 0 ? { faults } : { ca, cert, key };
}

/** The CA file may hold several certificates while the CA is being replaced (docs/how-to/rotate-keys.md). */
function signedBy(leaf: X509Certificate, ca: string): boolean {
  const certificates = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.some((text) => {
    try {
      const authority = new X509Certificate(text);
      return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
    } catch {
      return false;
    }
  });
}

const SERVICE_LIMIT_MS = 10_000;

/** Calls to one neighbour, known by its SPIFFE id. */
function fetchOf({ tls, trustDomain, onStop }: Omit<Apart<ProcessName>, 'config'>, service: string): ServiceFetch {
  const fetch = createMtlsFetch({
    ...tls,
    expectedServerSpiffe: serviceSpiffe(trustDomain, service),
    timeoutMs: SERVICE_LIMIT_MS,
  });
  onStop(() => fetch.close());
  return fetch;
}

/** Readiness of a neighbour: it answers as itself over mutual TLS. What it answers is its own business, an outage of its own is not. */
const answers = (fetch: ServiceFetch, url: string) => async (): Promise<void> => {
  const { status } = await fetch(new URL('/health', url).href, { method: 'GET' });
  if (status >= 500) throw new Error(`answers ${status}`);
};

/** A real read that the proxy's workload may make: the service answers and so does its store. */
const NO_CALL = '00000000-0000-0000-0000-000000000000';

async function openEngine(
  { onStop, logger }: Pick<Apart<ProcessName>, 'onStop' | 'logger'>,
  engine: ApartConfig<'hil'>['engine'],
): Promise<EngineClient & { readonly address: ReturnType<typeof engineAddress> }> {
  const address = engineAddress(engine, engine.address);
  const connected = await needed(
    `the workflow engine at ${engine.address} (GATE_TEMPORAL_ADDRESS)`,
    connectClient(address, engine.payloadKeys, engineNews({ say: (line) => logger.warn(line) }).onChange),
  );
  onStop(() => connected.close());
  return { ...connected, address };
}

/** Listens; its part of the stop comes first of all: refuse, drain, close. */
async function open(
  { onStop }: Pick<Apart<ProcessName>, 'onStop'>,
  service: Service,
  address: Parameters<Service['listen']>[0],
  variable: string,
  drainMs = SERVICE_LIMIT_MS,
): Promise<Ports> {
  onStop(() => service.close(), drainMs);
  return listen(service, address, variable);
}

/** Below the two seconds that a worker gives Brain. */
const BRAIN_LIMIT_MS = 1_800;

async function startBrain(parts: Apart<'brain'>): Promise<Ports> {
  const inspector = await needed('personas', openInspector(parts.config.own, { limitMs: BRAIN_LIMIT_MS }));
  parts.onStop(() => inspector.close());
  inspector.warm();
  return open(
    parts,
    createBrainService({ ...parts, inspector, registry: newRegistry() }),
    parts.config.own,
    'GATE_BRAIN',
  );
}

async function startPolicyEngine(parts: Apart<'policy-engine'>): Promise<Ports> {
  const policies = await needed('policies', openPolicies(parts.config.own));
  return open(
    parts,
    createPolicyService({ ...parts, policies, registry: newRegistry() }),
    parts.config.own,
    'GATE_POLICY',
  );
}

async function startLedger(parts: Apart<'ledger'>): Promise<Ports> {
  const { config, logger, trustDomain } = parts;
  const checkpoints = await needed('GATE_LEDGER_CHECKPOINT_KEY_FILE', checkpointKeys(config.own, trustDomain));
  const signatures = await needed(
    'the keys of the ledger (GATE_LEDGER_EXPORT_KEY_FILE, GATE_LEDGER_ANCHOR_TSA_CA_FILE)',
    ledgerSignatures(config.own, trustDomain),
  );
  const { ledger, evidence } = await needed(
    'the ledger store',
    openLedgerWithEvidenceThread({
      target: storeTarget(config.shared, 'ledger'),
      sidecarKeys: config.own.sidecarKeys,
      verifyThreads: { threads: config.own.verifyThreads },
      coldPlace: coldPlace(config.own),
      logger,
      ...checkpoints,
      ...signatures,
    }),
  );
  parts.onStop(() => ledger.close());
  const sweeps = startLedgerSweeps({ ledger, evidence }, config.own, logger, signatures.timeStamps?.trust ?? null);
  parts.onStop(() => sweeps.stop());
  return open(
    parts,
    createLedgerService({ ...parts, ledger, evidence, registry: newRegistry() }),
    config.own,
    'GATE_LEDGER',
  );
}

async function startHil(parts: Apart<'hil'>): Promise<Ports> {
  const { config, tls, trustDomain, logger } = parts;
  const decisionKey = await needed('GATE_HIL_DECISION_KEY_FILE', readSigningKey(config.own.decisionKeyFile));
  const reviews = await needed(
    'the review store',
    openReviewStore({
      target: storeTarget(config.shared, 'hil'),
      payloadKeys: config.own.payloadKeys,
      perAgent: { rows: config.own.maxParkedCalls, bytes: config.own.maxParkedBytes },
    }),
  );
  parts.onStop(() => reviews.close());
  // Its row in the ledger is the worker's to write, when the call ends.
  reviews.onTampered(({ id }, reason) => logger.error({ pending_id: id, reason }, 'a review is not what Gate wrote'));
  const engine = await openEngine(parts, config.engine);
  const service = buildHil({
    config: config.own,
    trustDomain,
    tls,
    logger,
    reviews,
    sender: createDecisionSender(engine),
    decisionKey,
    readiness: { orchestrator: engineAnswers(engine) },
  });
  return open(parts, service, config.own, 'GATE_HIL');
}

async function startProxy(parts: Apart<'proxy'>): Promise<Ports> {
  const { config, tls, trustDomain, logger } = parts;
  const { ledgerUrl, hilUrl } = config.urls;
  const signer = await needed('GATE_SIGNING_KEY_FILE', readSigner(config.own.signingKeyFile));
  const verifyDecision = await needed(
    'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    decisionVerifier(config.own.decisionPublicKeyFile),
  );
  const toolsName = upstreamName({ name: config.upstream.upstreamName, url: config.upstream.upstreamUrl });
  const ledger = createLedgerClient({ url: ledgerUrl, fetch: fetchOf(parts, 'ledger') });
  const { calls, pins, classes, sessionsWith } = await needed(
    'the call store',
    openProxyStore(config.shared, { keys: config.callStore.recordKeys, upstream: toolsName, ledger, logger }),
  );
  parts.onStop(() => calls.close());
  const engine = await openEngine(parts, config.engine);
  const upstream = createUpstream(config.upstream, config.upstream.upstreamUrl, sessionsWith);
  parts.onStop(() => upstream.close());
  const bound = boundToLedger(classes, ledger);
  // The ledger may come up later than the proxy; until then a change that is not finished keeps its tool waiting.
  bound
    .settle()
    .catch((error: unknown) =>
      logger.warn(
        { reason: errorText(error) },
        'a change of a tool’s class that was left unfinished is not settled yet',
      ),
    );
  const service = buildProxy({
    config: config.own,
    trustDomain,
    tls,
    calls,
    pins,
    classes: bound,
    toolsName,
    operators: config.operators.operators ?? [],
    policies: await needed('the policies', loadPolicySet({ directory: shippedPolicyDirectory() })),
    runner: createCallRunner(engine, config.engine.taskQueue, { park: config.engine.park }),
    ledger,
    upstream,
    signer,
    verifyDecision,
    logger,
    readiness: {
      orchestrator: engineAnswers(engine),
      worker: () => someWorkerPolls(engine.client, config.engine),
      ledger: async () => void (await ledger.byCorrelation(NO_CALL)),
      hil: answers(fetchOf(parts, 'hil'), hilUrl),
    },
  });
  return open(parts, service, config.own, 'GATE_PROXY', drainLimitMs(config.own));
}

const TASK_QUEUE_TYPE_WORKFLOW = 1;
const POLLED_WITHIN_MS = 90_000;

/** A long poll lasts a minute; a queue nobody has asked for longer has no worker. */
async function someWorkerPolls(
  client: Client,
  { namespace, taskQueue }: Pick<Config<typeof ENGINE_SETTINGS>, 'namespace' | 'taskQueue'>,
): Promise<void> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
  });
  const since = Date.now() - POLLED_WITHIN_MS;
  if (!(pollers ?? []).some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since))
    throw new Error(`no worker polls the task queue ${taskQueue}`);
}

async function startWorker(parts: Apart<'worker'>): Promise<Ports> {
  const { config, logger } = parts;
  const { urls, engine, own, health } = config;
  installEngineRuntime(logger);
  parts.onStop(closeEngineRuntime);
  const verifyDecision = await needed('GATE_HIL_DECISION_PUBLIC_KEY_FILE', decisionVerifier(own.decisionPublicKeyFile));
  const toolsName = upstreamName({ name: own.upstreamName, url: own.upstreamUrl });
  const to = {
    brain: fetchOf(parts, 'brain'),
    policy: fetchOf(parts, 'policy-engine'),
    hil: fetchOf(parts, 'hil'),
    ledger: fetchOf(parts, 'ledger'),
  };
  const ledger = createLedgerClient({ url: urls.ledgerUrl, fetch: to.ledger });
  const { calls, classes, pins, sessionsWith } = await needed(
    'the call store',
    openProxyStore(config.shared, { keys: config.callStore.recordKeys, upstream: toolsName, ledger, logger }),
  );
  parts.onStop(() => calls.close());
  const engineClient = await openEngine(parts, engine);
  const { client, address } = engineClient;
  const native = await needed(`the workflow engine at ${engine.address}`, connectNative(address));
  parts.onStop(() => native.close());
  const upstream = createUpstream(own, own.upstreamUrl, sessionsWith);
  parts.onStop(() => upstream.close());
  const registry = newRegistry();
  const streams = egressParts(config.egress, ledger, registry);
  const options: WorkerOptions = {
    connection: native,
    namespace: engine.namespace,
    taskQueue: engine.taskQueue,
    keys: engine.payloadKeys,
    activities: createActivities({
      calls,
      inspector: createBrainClient({ url: urls.brainUrl, fetch: to.brain }),
      policies: createPolicyClient({ url: urls.policyUrl, fetch: to.policy }),
      tools: operatorsClasses({
        store: boundToLedger(classes, ledger),
        pins,
        upstream: toolsName,
        onFault: (error) => logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read'),
      }),
      reviews: createHilClient({ url: urls.hilUrl, fetch: to.hil }),
      ledger,
      upstream,
      definitions: createReviewGuard(upstream, pins),
      deliver: callbackDelivery(config.proxy, own),
      runs: createRuns(client),
      verifyDecision,
      reconcile: reconcileTimes(own, config.proxy),
      onAlarm: alarmsTold(logger, registry),
    }),
    egress: streams.egress,
    bundle: await bundleWorkflows(),
    shutdownGraceMs: config.proxy.upstreamTimeoutSecs * 1000,
  };
  let worker: Supervised<GateWorker> | null = null;
  const probes = healthApp('worker', registry, {
    orchestrator: engineAnswers(engineClient),
    worker: () => {
      if (!worker) throw new Error('the worker is being started');
      workerRuns(worker)();
    },
    call_store: () => calls.ready(),
    brain: answers(to.brain, urls.brainUrl),
    policy_engine: answers(to.policy, urls.policyUrl),
    hil: answers(to.hil, urls.hilUrl),
    ledger: async () => void (await ledger.byCorrelation(NO_CALL)),
  });
  // Before the worker stops, so that it answers probes until the last call is done.
  parts.onStop(() => probes.close());
  await needed(
    'the health listener (GATE_WORKER_HEALTH_PORT)',
    probes.listen({ host: health.healthHost, port: health.healthPort }),
  );
  const supervised = await superviseWorker(engineClient, {
    say: (line) => logger.warn(line),
    create: () => createWorker(options),
  });
  worker = supervised;
  supervised.finished.catch((error: unknown) => parts.failed(error));
  parts.onStop(() => supervised.stop(), drainLimitMs(config.proxy));
  await ensureReconcileSchedule(client, { taskQueue: engine.taskQueue, everySecs: own.reconcileEverySecs });
  await streams.start(client, engine.taskQueue);
  await needed('the worker takes no work', warmUp(client, engine.taskQueue));
  const listening = probes.server.address();
  return { healthPort: listening !== null && typeof listening === 'object' ? listening.port : health.healthPort };
}
