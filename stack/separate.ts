import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pino, { type Logger } from 'pino';
import type { EngineParts, Opening, Ports, ServiceDeclaration } from '../api/plugins/declaration.js';
import { LEDGER } from '../api/ledger/service.js';
import { needed } from '../api/plugins/start.js';
import type { TlsMaterial } from '../api/plugins/service.js';
import { ConfigError, type Config, type Env, type GroupConfig } from '../config/env.js';
import type { CALL_STORE_SETTINGS, ENGINE_SETTINGS, SHARED_SETTINGS, TLS_SETTINGS } from '../config/shared.js';
import type { UPSTREAM_SETTINGS } from '../config/worker.js';
import { isBootstrapCertificate, serviceSpiffe } from '../domain/identity/spiffe.js';
import { logStream } from '../adapters/store/log-stream.js';
import { connectClient, connectNative } from '../workers/client.js';
import { createWorkload, type Workload } from './certificates/workload.js';
import { readTls } from './certificates/process-tls.js';
import { engineAddress, engineTlsFault } from './engine-address.js';
import { engineNews } from './engine-news.js';
import { LOG_REDACTION } from './log-redaction.js';
import { openServices } from './open-services.js';
import { faultsOf, readApartConfig } from './process-settings.js';
import { presentOpa } from './programs/find-program.js';
import { storeTarget } from './proxy-store.js';
import { CERTIFIER, commandOf, type ProcessName, serviceNamed, workloadOf } from './services.js';
import { once, sharedParts } from './shared-parts.js';
import { Undo } from './undo.js';

/** One process of a deployment in which every service runs separately (docs/decisions/processes-apart.md). */
export interface ApartProcess {
  readonly name: ProcessName;
  readonly ports: Ports;
  readonly logger: Logger;
  /** Resolves when the process has stopped; rejects when a part of it failed by itself. */
  readonly stopped: Promise<void>;
  /** Ordered: new requests are refused, answers under way drain, then connections close. May be called again. */
  stop(): Promise<void>;
}

/** The settings that a separate process may have, by what its service declares. */
type ApartConfig = GroupConfig<{
  readonly shared: Pick<typeof SHARED_SETTINGS, 'trustDomain' | 'logLevel'>;
  readonly tls: typeof TLS_SETTINGS;
}> &
  Partial<
    GroupConfig<{
      readonly engine: typeof ENGINE_SETTINGS;
      readonly callStore: typeof CALL_STORE_SETTINGS;
      readonly upstream: typeof UPSTREAM_SETTINGS;
    }>
  > & { readonly addresses: Readonly<Record<string, string>> };

const STANDARD_OUTPUT = 1;

/**
 * Starts one process from its settings alone. Throws ConfigError with every fault of the settings and of the files they name, and
 * StartError in one line for a dependency that is needed from the beginning and does not answer (store, engine), or a port in use.
 */
export async function startApart(name: ProcessName, env: Env): Promise<ApartProcess> {
  const service = serviceNamed(name);
  const { config, tls } = loadSettings(name, env);
  const { trustDomain, logLevel } = config.shared;
  const logger = pino({ level: logLevel, base: { service: name }, redact: LOG_REDACTION }, logStream(STANDARD_OUTPUT));
  const undo = new Undo();
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const stopped = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  stopped.catch(() => undefined);
  const workload = workloadOfProcess(service, config, tls, logger);
  const place = (store: string) => storeTarget(config.shared as Config<typeof SHARED_SETTINGS>, store);
  const onStop: Opening<unknown>['onStop'] = (...step) => undo.push(...step);
  try {
    if (workload) {
      undo.push('sweeps', 'the certificate of this process', () => workload.close());
      // Who issues them gives itself its own, as soon as its store is open.
      if (!service.certifies) await workload.startAt(config.addresses[CERTIFIER.name] ?? '');
    }
    const { ports, begin } = await openServices({
      services: [service],
      together: false,
      trustDomain,
      logger,
      undo,
      configOf: () => config,
      tlsOf: () => workload?.tls ?? tls,
      workloadOf: () => workload,
      addressOf: (neighbour) => config.addresses[neighbour.name] ?? '',
      opa: () => presentOpa(env),
      storeTarget: place,
      shared: (neighbour) =>
        sharedParts({
          together: false,
          engine: once(() => connect(given(config.engine, name), { logger, onStop })),
          ledger: () => neighbour(LEDGER),
          callStore: () => ({ target: place('calls'), ...given(config.callStore, name) }),
          upstream: config.upstream,
          env,
          logger,
          onStop,
        }),
      say: (line) => logger.warn(line),
      failed: (error) => settle?.reject(error),
    });
    begin();
    let stopping: Promise<void> | null = null;
    const stop = () => {
      stopping ??= undo.all(logger).then(() => settle?.resolve());
      return stopping;
    };
    return { name, ports: ports.get(name) as Ports, logger, stopped, stop };
  } catch (error) {
    await undo.all(logger);
    throw error;
  }
}

/** Settings and the files they name, all faults of both in one error. */
export function loadSettings(name: ProcessName, env: Env): { config: ApartConfig; tls: TlsMaterial } {
  const service = serviceNamed(name);
  const config = readApartConfig(name, env) as ApartConfig;
  const engine = config.engine ? engineTlsFault(config.engine) : null;
  const tls = readTls(config.tls, serviceSpiffe(config.shared.trustDomain, workloadOf(service)), !service.certifies);
  const faults = [
    ...(engine === null ? [] : [engine]),
    ...faultsOf(service, config),
    ...('faults' in tls ? tls.faults : []),
  ];
  if (faults.length > 0 || 'faults' in tls) throw new ConfigError(`gate ${commandOf(service)}`, faults);
  return { config, tls };
}

/** Where its certificate is good for the first one of identity alone; otherwise `null`. */
function workloadOfProcess(
  service: ServiceDeclaration,
  { tls: files, shared }: ApartConfig,
  { ca, cert }: TlsMaterial,
  logger: Logger,
): Workload | null {
  if (!isBootstrapCertificate(new X509Certificate(cert))) return null;
  const readFirst = async () => ({
    cert: await readFile(files.certFile, 'utf8'),
    key: await readFile(files.keyFile, 'utf8'),
  });
  return createWorkload({
    name: service.name,
    service: workloadOf(service),
    trustDomain: shared.trustDomain,
    ca,
    bootstrap: readFirst,
    folder: service.certifies ? null : (files.workloadDir ?? null),
    logger,
  });
}

/** A service may use only what it declares. */
function given<Settings>(settings: Settings | undefined, name: string): Settings {
  if (settings === undefined) throw new Error(`${name} uses what it does not declare`);
  return settings;
}

async function connect(
  settings: Config<typeof ENGINE_SETTINGS>,
  { logger, onStop }: { readonly logger: Logger; readonly onStop: Opening<unknown>['onStop'] },
): Promise<EngineParts> {
  const at = settings.address ?? '';
  const address = engineAddress(settings, at);
  const connected = await needed(
    `the workflow engine at ${at} (GATE_TEMPORAL_ADDRESS)`,
    connectClient(address, settings.payloadKeys, engineNews({ say: (line) => logger.warn(line) }).onChange),
  );
  onStop('connections', 'the client of the engine', () => connected.close());
  const native = once(async () => {
    const connection = await needed(`the workflow engine at ${at}`, connectNative(address));
    onStop('connections', 'the connection of the worker', () => connection.close());
    return connection;
  });
  return { ...connected, settings, native };
}
