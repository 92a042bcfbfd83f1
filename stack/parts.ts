import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createProxyService } from '../api/proxy/app.js';
import type { Service, TlsMaterial } from '../api/plugins/service.js';
import type { ReadinessChecks } from '../api/plugins/health.js';
import { createCallbackSender } from '../activities/callback.js';
import { createMcpUpstream } from '../activities/clients/mcp-upstream.js';
import type { CallRunner } from '../engine/call-runner.js';
import type { EngineAddress } from '../engine/connect.js';
import type { Config } from '../config/env.js';
import type { PROXY_SETTINGS } from '../config/proxy.js';
import type { ENGINE_SETTINGS, SHARED_SETTINGS } from '../config/shared.js';
import type { WORKER_SETTINGS } from '../config/worker.js';
import type { Ledger } from '../contracts/ledger.js';
import { openCallStore, type CallStore } from '../domain/call-record/call-store.js';
import { checkCallbackUrl, parseCallbackAllowlist } from '../domain/egress/callback-url.js';
import type { DeliverCallback } from '../domain/egress/ports.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import type { Upstream } from '../domain/pipeline/upstream.js';
import { decisionVerifierFor, readDecisionKey, readDecisionPublicKey } from '../domain/review/decision-signature.js';
import type { StoreTarget } from '../domain/store/database.js';

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

export function engineAddress(config: Config<typeof ENGINE_SETTINGS>, address: string): EngineAddress {
  const { tlsCaFile: caFile, tlsCertFile: certFile, tlsKeyFile: keyFile, tlsServerName: serverName } = config;
  if (!caFile || !certFile || !keyFile) return { address, namespace: config.namespace };
  return {
    address,
    namespace: config.namespace,
    tls: { caFile, certFile, keyFile, ...(serverName && { serverName }) },
  };
}

export const openCalls = (shared: Config<typeof SHARED_SETTINGS>, keys: KeyRing): Promise<CallStore> =>
  openCallStore({ target: storeTarget(shared, 'calls'), keys });

/** The tools of the configured MCP server, or a stand-in that says that none is configured. */
export function createUpstream(config: Config<typeof WORKER_SETTINGS>, url: string | undefined): Upstream {
  if (url) return createMcpUpstream({ url, ...(config.upstreamApiKey && { apiKey: config.upstreamApiKey }) });
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

export const callbackDelivery = (
  proxy: Config<typeof PROXY_SETTINGS>,
  worker: Config<typeof WORKER_SETTINGS>,
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
  readonly runner: CallRunner;
  readonly ledger: Ledger;
  readonly upstream: Upstream;
  readonly logger: Logger;
  readonly readiness: ReadinessChecks;
}

export function buildProxy({ config, ...parts }: ProxyParts): Service {
  const allowlist = parseCallbackAllowlist(config.callbackAllowlist);
  return createProxyService({
    ...parts,
    registry: newRegistry(),
    mode: config.mode,
    velocity: { limit: config.velocityLimit, windowMs: config.velocityWindowSecs * 1000 },
    callDeadlineMs: config.callDeadlineSecs * 1000,
    upstreamTimeoutMs: config.upstreamTimeoutSecs * 1000,
    ttlSecs: { auto: config.ttlAutoSecs, standard: config.ttlStandardSecs, strict: config.ttlStrictSecs },
    maxInFlight: config.maxInFlight,
    checkCallback: (url) => checkCallbackUrl(url, allowlist, { allowPrivate: config.callbackAllowPrivate }).href,
  });
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

/** A start that failed for a reason the operator can mend: printed as one line, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
