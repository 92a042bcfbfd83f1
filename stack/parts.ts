import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createHilService } from '../api/hil/app.js';
import { principalOf, scopeReader } from '../api/hil/scope.js';
import { createProxyService } from '../api/proxy/app.js';
import type { Service, TlsMaterial } from '../api/plugins/service.js';
import type { ReadinessChecks } from '../api/plugins/health.js';
import { createCallbackSender } from '../activities/callback.js';
import { createMcpUpstream } from '../activities/clients/mcp-upstream.js';
import { storedSessions, type UpstreamSessionTables } from '../activities/clients/stored-sessions.js';
import type { UpstreamSessions } from '../activities/clients/upstream-sessions.js';
import { createEgressActivities, type EgressActivities } from '../activities/egress.js';
import type { CallRunner } from '../workers/call-runner.js';
import type { EngineAddress, EngineClient } from '../workers/client.js';
import type { GateWorker } from '../workers/both-queues.js';
import { runWorker } from '../workers/worker.js';
import { ensureStreams } from '../workers/streams.js';
import { egressMetrics } from '../workers/egress-metrics.js';
import type { BRAIN_SETTINGS } from '../config/brain.js';
import { type EGRESS_SETTINGS, egressFault, sinksOf } from '../config/egress.js';
import type { Config } from '../config/env.js';
import type { HIL_SETTINGS, Operator } from '../config/hil.js';
import type { LEDGER_SETTINGS } from '../config/ledger.js';
import type { POLICY_SETTINGS } from '../config/policy.js';
import type { PROXY_SETTINGS } from '../config/proxy.js';
import { agentLimitsOf, type ENGINE_SETTINGS, type SHARED_SETTINGS } from '../config/shared.js';
import type { UPSTREAM_SETTINGS, WORKER_SETTINGS } from '../config/worker.js';
import type { EgressSource } from '../contracts/ledger-egress.js';
import type { HeldRows, Ledger } from '../contracts/ledger.js';
import { type CallStore, callStoreOver, type CallTables } from '../domain/call-record/call-store.js';
import { sealCalls } from '../domain/call-record/seal-calls.js';
import { checkCallbackUrl, parseCallbackAllowlist } from '../domain/egress/callback-url.js';
import type { DeliverCallback } from '../domain/egress/ports.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { errorText } from '../domain/errors.js';
import { serviceSpiffe } from '../domain/identity/spiffe.js';
import { createSigner, type Signer } from '../domain/identity/signer.js';
import type { ColdPlace } from '../domain/evidence/cold-tier/cold-place.js';
import type { EvidenceOptions } from '../domain/evidence/evidence.js';
import type { LedgerOptions } from '../domain/ledger/ledger-store.js';
import { readTrust } from '../domain/ledger/anchors/time-stamp.js';
import { keyFileSigner } from '../domain/ledger/signatures/blob-signer.js';
import { keySetFile } from '../domain/ledger/signatures/key-set-file.js';
import type { CheckpointKeys } from '../domain/ledger/tlog/transparency-log.js';
import { inspectLargeInThreads, type InspectionThreads } from '../domain/inspection/inspection-threads.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { loadPersonas } from '../domain/inspection/personas.js';
import type { Upstream } from '../domain/pipeline/upstream.js';
import { loadPolicySet, type PolicySet } from '../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../domain/policy/policy-sources.js';
import { decisionVerifierFor, readDecisionKey, readDecisionPublicKey } from '../domain/review/decision-signature.js';
import type { VerifyDecision } from '../domain/review/approval.js';
import type { DecisionSender } from '../domain/review/ports.js';
import type { ReviewStore } from '../domain/review/review-store.js';
import { openStore, type Store, type StoreTarget } from '../domain/store/database.js';
import type { BoundClasses } from '../domain/tool-classes/bound-to-ledger.js';
import {
  adoptClasses,
  type ToolClassStore,
  toolClassStoreOver,
  type ToolClassTables,
} from '../domain/tool-classes/class-store.js';
import { toolClassing } from '../domain/tool-classes/tool-classes.js';
import {
  adoptPins,
  adoptSeen,
  type ToolPinStore,
  type ToolPinTables,
  toolPinStoreOver,
} from '../domain/tool-definitions/pin-store.js';
import { toolPinning } from '../domain/tool-definitions/pinning.js';
import { pinsLog, toolWatchLog, watchToolDefinitions } from '../domain/tool-definitions/watch.js';
import { callMigrations } from '../migrations/calls.js';
import { toolClassMigrations } from '../migrations/tool-classes.js';
import { toolPinMigrations } from '../migrations/tool-pins.js';
import { upstreamSessionMigrations } from '../migrations/upstream-sessions.js';
import { StartError } from '../config/start-error.js';
import { supervise, type Supervised, type SupervisedOptions } from '../workers/supervisor.js';

/** Parts that more than one composition puts together: `gate start`, `gate serve <service>`, `gate worker`. */

/** Where one authority keeps its state: its schema of the deployment's Postgres, or its file under the state folder. */
export const storeTarget = (
  { databaseUrl, stateDir }: Config<typeof SHARED_SETTINGS>,
  authority: 'calls' | 'ledger' | 'hil',
): StoreTarget =>
  databaseUrl ? { url: databaseUrl, schema: `gate_${authority}` } : { file: join(stateDir, 'data', `${authority}.db`) };

/** A registry of its own for each service: what its /metrics shows is its own. */
export function newRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** What the ledger signs bundles with, and the keys it verifies signatures with (docs/decisions/bundle-signer.md). */
export async function ledgerSignatures(
  config: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
): Promise<
  Pick<LedgerOptions, 'keySet' | 'requireCryptography' | 'timeStamps' | 'legalHold'> & Pick<EvidenceOptions, 'signer'>
> {
  const { exportKeyFile, exportKeyId, keySetFile: keySetPath, requireCrypto, anchorTsaCaFile, anchorTsaUrl } = config;
  const signer =
    exportKeyFile === undefined
      ? null
      : keyFileSigner({
          privateKey: createPrivateKey(await readFile(exportKeyFile, 'utf8')),
          keyId: exportKeyId,
          issuer: serviceSpiffe(trustDomain, 'ledger'),
        });
  const keySet = keySetPath === undefined ? signer?.keySet : keySetFile(keySetPath);
  const trust = anchorTsaCaFile === undefined ? null : readTrust(await readFile(anchorTsaCaFile, 'utf8'));
  const timeStamps = { trust, required: requireCrypto && anchorTsaUrl !== undefined };
  return {
    requireCryptography: requireCrypto,
    legalHold: config.legalHold,
    timeStamps,
    ...(signer && { signer }),
    ...(keySet && { keySet }),
  };
}

type EngineTls = Pick<Config<typeof ENGINE_SETTINGS>, 'tlsCaFile' | 'tlsCertFile' | 'tlsKeyFile'>;
type EngineSettings = EngineTls & Pick<Config<typeof ENGINE_SETTINGS>, 'namespace' | 'tlsServerName'>;

/** Half of a mutual TLS set-up must not quietly become none. */
export const engineTlsFault = ({ tlsCaFile, tlsCertFile, tlsKeyFile }: EngineTls): string | null =>
  [tlsCaFile, tlsCertFile, tlsKeyFile].some(Boolean) && !(tlsCaFile && tlsCertFile && tlsKeyFile)
    ? 'GATE_TEMPORAL_TLS_CA_FILE, GATE_TEMPORAL_TLS_CERT_FILE, GATE_TEMPORAL_TLS_KEY_FILE: set all three or none'
    : null;

/** Where and how the engine is reached. Throws StartError when its TLS files are named in part. */
export function engineAddress(config: EngineSettings, address: string): EngineAddress {
  const { tlsCaFile: caFile, tlsCertFile: certFile, tlsKeyFile: keyFile, tlsServerName: serverName } = config;
  const fault = engineTlsFault(config);
  if (fault) throw new StartError(fault);
  if (!caFile || !certFile || !keyFile) return { address, namespace: config.namespace };
  return {
    address,
    namespace: config.namespace,
    tls: { caFile, certFile, keyFile, ...(serverName && { serverName }) },
  };
}

/** What the ledger signs checkpoints with; nothing where no key is configured. */
export async function checkpointKeys(
  { checkpointKeyFile, checkpointOrigin, witnesses }: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
): Promise<{ checkpoints?: CheckpointKeys }> {
  if (checkpointKeyFile === undefined) return {};
  const privateKey = createPrivateKey(await readFile(checkpointKeyFile, 'utf8'));
  if (privateKey.asymmetricKeyType !== 'ed25519')
    throw new StartError('GATE_LEDGER_CHECKPOINT_KEY_FILE: is not an Ed25519 key');
  return { checkpoints: { origin: checkpointOrigin ?? `${trustDomain}/ledger`, privateKey, witnesses } };
}

/**
 * What the proxy keeps, and its worker with it: its calls, which the ledger knows more of than this store does, and in the same place the tools
 * its agents saw first, what operators said of them, and the sessions of both with the upstream. `upstream` is the name under which the tools are
 * seen and classed. `calls.close` closes all of them.
 */
export async function openProxyStore(
  shared: Config<typeof SHARED_SETTINGS>,
  {
    keys,
    upstream,
    ledger,
    logger,
  }: { readonly keys: KeyRing; readonly upstream: string; readonly ledger?: HeldRows; readonly logger?: Logger },
): Promise<{
  readonly calls: CallStore;
  readonly pins: ToolPinStore;
  readonly classes: ToolClassStore;
  readonly sessionsWith: (url: string) => UpstreamSessions;
}> {
  const store = await openStore<CallTables & ToolPinTables & UpstreamSessionTables>(
    storeTarget(shared, 'calls'),
    callMigrations,
    { pins: toolPinMigrations, sessions: upstreamSessionMigrations, tool_classes: toolClassMigrations },
  );
  try {
    await sealCalls(store as unknown as Store<CallTables>, keys, Date.now, (transaction) =>
      adoptPins(transaction as unknown as Kysely<ToolPinTables>, keys, logger && pinsLog(logger).onAdopted),
    );
    await adoptClasses(store as unknown as Store<ToolClassTables>, keys);
    await adoptSeen(store as unknown as Store<ToolPinTables>, { keys, upstream });
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    calls: callStoreOver(store as unknown as Store<CallTables>, { keys, ledger }),
    pins: toolPinStoreOver(store as unknown as Store<ToolPinTables>, { keys, upstream }),
    classes: toolClassStoreOver(store as unknown as Store<ToolClassTables>, keys),
    sessionsWith: (url) => storedSessions(store as unknown as Store<UpstreamSessionTables>, { url, keys }),
  };
}

export async function openInspector(
  { injectionLevel: level, personasDir }: Config<typeof BRAIN_SETTINGS>,
  limits: { readonly limitMs?: number } = {},
): Promise<InspectionThreads> {
  const personas = await loadPersonas(personasDir ? { directory: personasDir } : {});
  return inspectLargeInThreads(createInspector({ level, personas }), { level, personas, ...limits });
}

export const openPolicies = ({ directory }: Config<typeof POLICY_SETTINGS>): Promise<PolicySet> =>
  loadPolicySet({ directory: directory ?? shippedPolicyDirectory() });

/** Readiness: the engine answers. What is known of it is said without asking it once more. */
export const engineAnswers =
  ({ client, circuit }: Pick<EngineClient, 'client' | 'circuit'>) =>
  async (): Promise<void> => {
    circuit.assertUp();
    await client.workflowService.getSystemInfo({});
  };

/** A worker that fails, or stops without being told to, is made anew once the engine answers. */
export const superviseWorker = (
  { circuit }: Pick<EngineClient, 'circuit'>,
  { create, ...more }: { create: () => Promise<GateWorker> } & Pick<SupervisedOptions<never>, 'say' | 'limits'>,
): Promise<Supervised<GateWorker>> =>
  supervise({
    name: 'the worker',
    ready: () => circuit.up(),
    async start() {
      const worker = await create();
      const { finished, stop } = runWorker(worker);
      return { handle: worker, ended: finished.then(() => 'it stopped by itself'), stop };
    },
    ...more,
  });

/** Readiness: a worker runs in this process. */
export const workerRuns = (worker: Supervised<GateWorker>) => (): void => {
  worker.assertUp();
  const state = worker.current()?.getState();
  if (state !== 'RUNNING') throw new Error(`the worker is ${state}`);
};

/** Undoes what a start has done, backwards: what was opened last depends on what was opened before it. No step may hold up the stop. */
export class Undo {
  readonly #steps: { readonly what: string; readonly step: () => Promise<unknown>; readonly limitMs: number }[] = [];

  push(what: string, step: () => Promise<unknown>, limitMs = STOP_STEP_LIMIT_MS): void {
    this.#steps.push({ what, step, limitMs });
  }

  async all(logger: Logger): Promise<void> {
    for (const { what, step, limitMs } of this.#steps.splice(0).reverse()) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not within ${limitMs / 1000} s`)), limitMs);
      });
      await Promise.race([Promise.resolve().then(step), late]).catch((error: unknown) =>
        logger.warn({ err: error, part: what }, `${what} did not stop cleanly`),
      );
      clearTimeout(timer);
    }
  }
}

/** What holds no call under way closes at once, unless what it speaks to is away. */
const STOP_STEP_LIMIT_MS = 5_000;

/** How long calls under way may hold up a stop: their own limits, and what it takes to write down how they ended. */
export const drainLimitMs = (
  proxy: Pick<Config<typeof PROXY_SETTINGS>, 'upstreamTimeoutSecs'> & { readonly callDeadlineSecs?: number },
): number => (proxy.upstreamTimeoutSecs + (proxy.callDeadlineSecs ?? 0) + 10) * 1000;

export const reconcileTimes = (
  worker: Pick<Config<typeof WORKER_SETTINGS>, 'reconcileGraceSecs' | 'retentionDays'>,
  proxy: Pick<Config<typeof PROXY_SETTINGS>, 'velocityWindowSecs'>,
) => ({
  graceMs: worker.reconcileGraceSecs * 1000,
  retentionMs: worker.retentionDays * 86_400_000,
  windowMs: proxy.velocityWindowSecs * 1000,
});

/** Where the ledger's cold copies go, if anywhere. Throws StartError when an object store is named in part. */
export function coldPlace(config: Config<typeof LEDGER_SETTINGS>): ColdPlace | undefined {
  const { exportDir: directory, exportUri: uri, exportRetentionSecs } = config;
  const { exportS3Endpoint: endpoint, exportS3Bucket: bucket, exportS3Prefix: prefix, exportS3Region: region } = config;
  const { exportS3AccessKeyId: accessKeyId, exportS3SecretAccessKey: secretAccessKey } = config;
  const kept = { uri, retentionMs: exportRetentionSecs * 1000 };
  if (endpoint && bucket && accessKeyId && secretAccessKey)
    return { at: { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey }, ...kept };
  if (endpoint || bucket || accessKeyId || secretAccessKey)
    throw new StartError(
      'GATE_LEDGER_EXPORT_S3_ENDPOINT, _BUCKET, _ACCESS_KEY_ID, _SECRET_ACCESS_KEY: set all four or none',
    );
  return directory === undefined ? undefined : { at: { directory }, ...kept };
}

/** The streams of a worker: their activities, and how they are started once the worker runs; nothing where no sink is configured. */
export function egressParts(
  config: Config<typeof EGRESS_SETTINGS>,
  source: EgressSource,
  registry: Registry,
): { readonly egress: EgressActivities; start(client: Client, taskQueue: string): Promise<void> } {
  const fault = egressFault(config);
  if (fault) throw new StartError(fault);
  const sinks = config.intervalSecs === 0 ? [] : sinksOf(config);
  const settings = { interval_ms: config.intervalSecs * 1000, batch_size: config.batchSize };
  const start = (client: Client, taskQueue: string) =>
    ensureStreams(client, { taskQueue, sinks: sinks.map(({ kind }) => kind), settings });
  // Also without a sink: a stream that was started before and is not configured any more must find its activity.
  return { egress: createEgressActivities({ source, sinks, onSweep: egressMetrics(registry) }), start };
}

/**
 * The tools of the configured MCP server, or a stand-in that says that none is configured. Where several processes talk to it, they share
 * the sessions that `sessionsWith` gives.
 */
export function createUpstream(
  { upstreamApiKey: apiKey }: Config<typeof UPSTREAM_SETTINGS>,
  url: string | undefined,
  sessionsWith?: (url: string) => UpstreamSessions,
): Upstream {
  if (url)
    return createMcpUpstream({ url, ...(apiKey && { apiKey }), ...(sessionsWith && { sessions: sessionsWith(url) }) });
  const refused = async () => ({
    kind: 'not_sent' as const,
    reason: 'no upstream is configured; set GATE_UPSTREAM_URL',
  });
  return { callTool: refused, control: refused, close: () => Promise.resolve() };
}

/** Checks decisions with HIL's public key alone: whoever reaches the engine still cannot approve. */
export const decisionVerifier = async (publicKeyFile: string) =>
  decisionVerifierFor(readDecisionPublicKey(await readFile(publicKeyFile, 'utf8')));

export const readSigningKey = async (file: string) => readDecisionKey(await readFile(file, 'utf8'));

/** The key behind authorizations: an Ed25519 PEM file. */
export const readSigner = async (file: string): Promise<Signer> =>
  createSigner(createPrivateKey(await readFile(file, 'utf8')));

export const callbackDelivery = (
  proxy: Pick<Config<typeof PROXY_SETTINGS>, 'callbackAllowlist' | 'callbackAllowPrivate'>,
  worker: Pick<Config<typeof WORKER_SETTINGS>, 'callbackSecret'>,
): DeliverCallback =>
  createCallbackSender({
    allowlist: parseCallbackAllowlist(proxy.callbackAllowlist),
    allowPrivate: proxy.callbackAllowPrivate,
    ...(worker.callbackSecret && { secret: worker.callbackSecret }),
  });

export interface ProxyParts {
  readonly config: Config<typeof PROXY_SETTINGS>;
  readonly trustDomain: string;
  readonly tls: TlsMaterial;
  readonly calls: CallStore;
  readonly pins: ToolPinStore;
  readonly classes: BoundClasses;
  /** The name under which its tools are classed. */
  readonly toolsName: string;
  readonly operators: readonly Operator[];
  /** What names and shipped data say of a tool; the list of the tools shows it. */
  readonly policies: Pick<PolicySet, 'classOf'>;
  readonly runner: CallRunner;
  readonly ledger: Ledger;
  readonly upstream: Upstream;
  readonly logger: Logger;
  readonly readiness: ReadinessChecks;
  readonly signer: Signer;
  readonly verifyDecision: VerifyDecision;
}

export function buildProxy({ config, pins, classes, toolsName, operators, policies, ...parts }: ProxyParts): Service {
  const readScope = scopeReader({ operators });
  const { logger } = parts;
  const allowlist = parseCallbackAllowlist(config.callbackAllowlist);
  if (config.verboseVerdicts)
    logger.warn('GATE_PROXY_VERBOSE_VERDICTS is on: denials tell a caller what each detector saw');
  return createProxyService({
    ...parts,
    upstream: watchToolDefinitions(parts.upstream, {
      pins,
      ledger: parts.ledger,
      block: config.blockPoisonedDefinitions,
      ...toolWatchLog(logger),
    }),
    tools: {
      classing: toolClassing({
        store: classes,
        pins,
        upstream: toolsName,
        byName: (tool) => policies.classOf(toolsName, tool),
      }),
      pinning: toolPinning({ pins, ledger: parts.ledger }),
      operatorOf(request) {
        const scope = readScope(request);
        return { tenant: scope.tenant, subject: principalOf(scope).subject };
      },
    },
    registry: newRegistry(),
    mode: config.mode,
    ...(config.publicUrl !== undefined && { publicUrl: config.publicUrl }),
    velocity: { limit: config.velocityLimit, windowMs: config.velocityWindowSecs * 1000 },
    callDeadlineMs: config.callDeadlineSecs * 1000,
    upstreamTimeoutMs: config.upstreamTimeoutSecs * 1000,
    ttlSecs: { auto: config.ttlAutoSecs, standard: config.ttlStandardSecs, strict: config.ttlStrictSecs },
    maxInFlight: config.maxInFlight,
    agentLimits: agentLimitsOf(config),
    demoAgents: new Set(config.demoAgents),
    verboseVerdicts: config.verboseVerdicts,
    checkCallback: (url) => checkCallbackUrl(url, allowlist, { allowPrivate: config.callbackAllowPrivate }).href,
  });
}

export interface HilParts {
  readonly config: Config<typeof HIL_SETTINGS>;
  readonly trustDomain: string;
  readonly tls: TlsMaterial;
  readonly reviews: ReviewStore;
  readonly sender: DecisionSender;
  readonly decisionKey: KeyObject;
  readonly logger: Logger;
  readonly readiness: ReadinessChecks;
}

export const buildHil = ({ config, ...parts }: HilParts): Service =>
  createHilService({
    ...parts,
    registry: newRegistry(),
    operators: config.operators,
    simulatorTenant: config.simulatorTenant,
    decisionLifeSeconds: config.decisionLifeSeconds,
    bodyLimit: config.bodyLimitBytes,
    ttlSeconds: {
      auto: config.ttlAutoSeconds,
      standard: config.ttlStandardSeconds,
      strict: config.ttlStrictSeconds,
    },
  });

/** What cannot be had at the start ends it in one line that names the neighbour. */
export async function needed<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(`${what}: ${errorText(error)}`, { cause: error });
  }
}

/** Listens, or says in one line which setting holds the port that is taken. */
export async function listen(
  service: Service,
  address: Parameters<Service['listen']>[0],
  variable: string,
): Promise<{ port: number; healthPort: number }> {
  try {
    return await service.listen(address);
  } catch (error) {
    const { code, port } = error as { code?: string; port?: number };
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const why = code === 'EADDRINUSE' ? 'is in use by another process' : 'may not be opened by this user';
    throw new StartError(
      `port ${port ?? address.port} of the ${service.name} ${why}; free it or set ${variable}_PORT / ${variable}_HEALTH_PORT`,
    );
  }
}
