import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { CONSOLE } from '../api/console/service.js';
import { HIL } from '../api/hil/service.js';
import { LEDGER } from '../api/ledger/service.js';
import type { EngineParts, Ports, ServiceDeclaration } from '../api/plugins/declaration.js';
import { needed } from '../api/plugins/start.js';
import { PROXY } from '../api/proxy/service.js';
import { WORKER } from '../api/worker/service.js';
import { signInMode } from '../config/console-sign-in.js';
import type { Config, Env } from '../config/env.js';
import { upstreamsShown } from '../config/upstreams.js';
import type { ENGINE_SETTINGS } from '../config/shared.js';
import type { UPSTREAM_SETTINGS } from '../config/worker.js';
import type { Credential } from '../adapters/identity/certificate-authority.js';
import { replaceFile, tightenFile } from '../adapters/store/durable-file.js';
import { logStream } from '../adapters/store/log-stream.js';
import { writeIn } from '../adapters/store/writable.js';
import { connectClient, connectNative, type EngineClient } from '../workers/client.js';
import { errorText } from '../domain/errors.js';
import { type DevPki, issueBootstraps, publishTrust } from './certificates/dev-pki.js';
import { createWorkload, type Workload } from './certificates/workload.js';
import type { DevelopmentFile, ServiceAddresses, Stack } from './development-file.js';
import { addressName } from './address-name.js';
import { engineAddress } from './engine-address.js';
import { type Engine, type EngineStart, mendable, QUICK_STOP_LIMIT_MS } from './engine-process.js';
import { LOG_REDACTION } from './log-redaction.js';
import { openServices } from './open-services.js';
import type { readStartConfig } from './process-settings.js';
import { portTaken } from './port-taken.js';
import { presentOpa } from './programs/find-program.js';
import { storeTarget } from './proxy-store.js';
import { keyOf, LISTENING_SERVICES, SERVICES, workloadOf } from './services.js';
import { once, sharedParts } from './shared-parts.js';
import { Undo } from './undo.js';
import { terminalLog } from './terminal-log.js';
import type { Voice } from './voice.js';

/** The tools that a start runs where the operator has none of his own. Whoever composes the start brings them. */
export interface Demonstration {
  /** How it is found out what became of a call of theirs. */
  readonly probesFile: string;
  /** `port` 0: any free one. Not loaded before it is called. */
  start(at: {
    readonly dataDir: string;
    readonly host: string;
    readonly port: number;
  }): Promise<{ readonly url: string; close(): Promise<void> }>;
}

/** What a start has before anything is opened: settings, certificates, the state folder, and an engine that is starting. */
export interface BringUp {
  readonly config: ReturnType<typeof readStartConfig>;
  readonly stateDir: string;
  readonly pki: DevPki;
  readonly operatorToken: string;
  readonly secondOperatorToken: string;
  readonly tokenIssuer?: DevelopmentFile['token_issuer'];
  readonly starting: EngineStart;
  readonly voice: Voice;
  readonly demonstration: Demonstration;
  readonly env: Env;
  /** Releases the state folder. */
  readonly release: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Starts everything but the engine, which it waits for. When it throws, everything it did is undone. */
export async function bringUp(start: BringUp): Promise<Stack> {
  const logger = stackLogger(start.stateDir, start.config.shared.logLevel);
  start.voice.writeTo(logger);
  const undo = new Undo();
  undo.push('folder', 'the state folder', () => Promise.resolve(start.release()));
  undo.push('engine', 'the engine', () => start.starting.up.then(({ own }) => own?.stop()), ENGINE_STOP_LIMIT_MS);
  try {
    return await open(start, logger, undo);
  } catch (error) {
    start.starting.giveUp(error);
    await undo.all(logger);
    throw error;
  }
}

async function open(start: BringUp, logger: Logger, undo: Undo): Promise<Stack> {
  const { config, stateDir, pki, starting, voice, release, signal } = start;
  let failed: (error: unknown) => void = () => undefined;
  const failure = new Promise<never>((_, reject) => (failed = reject));
  failure.catch(() => undefined);
  const connecting = once(() => connect(config.engine, starting, undo));
  const { callStore, upstream } = config.of(WORKER);
  const tools = once(() =>
    upstream.upstreams
      ? Promise.resolve(upstreamsShown(upstream.upstreams))
      : upstream.upstreamUrl === undefined
        ? startTools(start, undo)
        : Promise.resolve(upstream.upstreamUrl),
  );
  const looking = lookAt(upstream);
  const pages = starting.up.then(({ uiUrl }) => (uiUrl === null ? null : showWorkflows(start, uiUrl, logger, undo)));
  pages.catch((error: unknown) => starting.giveUp(error));
  const workloads = developmentWorkloads(pki, logger, undo);
  const place = (store: string) => storeTarget(config.shared, store);
  const { ports, begin } = await openServices({
    services: SERVICES,
    together: true,
    trustDomain: config.shared.trustDomain,
    logger,
    undo,
    configOf: config.of,
    tlsOf: (service) => workloads.of(service).tls,
    workloadOf: workloads.of,
    addressOf: ({ name }) => {
      throw new Error(`${name} stands in this process`);
    },
    opa: () => presentOpa(start.env),
    storeTarget: place,
    shared: (neighbour) =>
      sharedParts({
        together: true,
        engine: connecting,
        ledger: () => neighbour(LEDGER),
        callStore: () => ({ target: place('calls'), ...callStore }),
        upstream,
        env: start.env,
        demonstration: tools,
        logger,
        onStop: (...step) => undo.push(...step),
      }),
    say: voice.say,
    failed,
    givingUp: starting.giveUp,
    signal,
  });
  const engine = await starting.up;
  const engineClient = await connecting();
  const development = developmentFile(start, engine, { toolsUrl: await tools(), pagesUrl: await pages, ports });
  replaceFile(join(stateDir, 'dev.json'), `${JSON.stringify(development, null, 2)}\n`, 0o600);
  begin();
  let stopping: Promise<void> | null = null;
  const endIfItHangs = async () => {
    if (engine.own && !(await answersAtOnce(engineClient)))
      await engine.own.stop(QUICK_STOP_LIMIT_MS).catch(() => undefined);
  };
  const stop = () => {
    voice.hush();
    // A probe that hangs would delay the worker, and then its own end.
    if (!stopping) void endIfItHangs();
    stopping ??= undo.all(logger);
    return stopping;
  };
  const stopNow = async () => {
    await engine.stopNow();
    release();
  };
  return {
    development,
    toolsFound: await looking,
    isOperatorKnown: config.of(HIL).own.operators.some(({ token }) => token === development.operator_token),
    stop,
    stopNow,
    stopped: Promise.race([engine.finished, failure]),
  };
}

/**
 * The certificates of the services of this process. Whoever starts it has the key of the CA, and is the operator who lets a service in whose
 * certificate ended, as while the machine slept: by a new bootstrap certificate, which lies nowhere.
 */
function developmentWorkloads(pki: DevPki, logger: Logger, undo: Undo) {
  const known = new Map<string, Workload>();
  const waiting = new Set<string>();
  let making: ReturnType<typeof issueBootstraps<string>> | null = null;
  /** For all that ask in one turn. */
  async function bootstrapOf(name: string): Promise<Credential> {
    waiting.add(name);
    making ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      const all = [...waiting].map((each) => ({ name: each, service: each }));
      waiting.clear();
      making = null;
      return issueBootstraps(pki, all, { forMs: BOOTSTRAP_LIFE_MS });
    });
    return (await making)[name] as Credential;
  }
  undo.push('sweeps', 'the certificates of services', () =>
    Promise.all([...known.values()].map((workload) => workload.close())),
  );
  return {
    of(service: ServiceDeclaration): Workload {
      const name = workloadOf(service);
      const made = known.get(name);
      if (made) return made;
      const workload = createWorkload({
        name,
        service: name,
        trustDomain: pki.trustDomain,
        ca: service.certifies ? pki.ca : pki.trusted,
        bootstrap: () => bootstrapOf(name),
        folder: service.certifies ? null : join(pki.stateDir, 'workloads', name),
        logger,
      });
      known.set(name, workload);
      // Agents and the operator's commands read it from there.
      if (service.certifies)
        workload.tls.live?.onRenewed(({ ca }) => {
          publishTrust(pki, ca).catch((error: unknown) =>
            logger.error(
              { event: 'trust_not_written', file: pki.caFile, reason: errorText(error) },
              'the CAs that count could not be written where agents and commands read them',
            ),
          );
        });
      return workload;
    },
  };
}

/** Used at once. */
const BOOTSTRAP_LIFE_MS = 600_000;

/** Client and connection of the engine, as soon as it answers. */
async function connect(
  settings: Config<typeof ENGINE_SETTINGS>,
  starting: EngineStart,
  undo: Undo,
): Promise<EngineParts> {
  const engine = await starting.up;
  const address = engineAddress(settings, engine.address);
  const engineClient = await needed(
    `the workflow engine at ${engine.address}`,
    connectClient(address, settings.payloadKeys, starting.news.onChange),
  );
  undo.push('connections', 'the client of the engine', () => engineClient.close());
  engine.onLost((how) => engineClient.circuit.lost(`it ended: ${how}; it is being started again`));
  const native = once(async () => {
    const connection = await connectNative(address);
    undo.push('connections', 'the connection of the worker', () => connection.close());
    return connection;
  });
  return { ...engineClient, settings, native };
}

/** What answers at the address of the operator's own tools, asked while everything else starts; nothing waits for a good answer. */
async function lookAt({ upstreamUrl: url, upstreamApiKey: apiKey }: Config<typeof UPSTREAM_SETTINGS>) {
  if (url === undefined) return null;
  const { detectUpstream } = await import('../activities/detected-upstream.js');
  const tools = detectUpstream({ url, ...(apiKey && { apiKey }) });
  try {
    return await tools.look();
  } finally {
    await tools.close();
  }
}

async function startTools({ demonstration, config, stateDir }: BringUp, undo: Undo): Promise<string> {
  const port = config.development.demoUpstreamPort;
  const tools = await mendable('set GATE_DEMO_UPSTREAM_PORT to move the demonstration tools', () =>
    demonstration.start({ dataDir: join(stateDir, 'demo'), host: '127.0.0.1', port }),
  );
  undo.push('upstream', 'the demonstration tools', () => tools.close());
  return tools.url;
}

/** The engine's pages in clear text, on loopback, if this stack runs an engine with pages. */
async function showWorkflows(
  { config, operatorToken }: BringUp,
  uiUrl: string,
  logger: Logger,
  undo: Undo,
): Promise<string> {
  const { createWorkflowPages } = await import('./workflow-pages.js');
  const { payloadKeys: keys, namespace } = config.engine;
  const pages = createWorkflowPages({ uiUrl, namespace, keys, operatorToken, logger });
  try {
    const url = await pages.listen({ host: '127.0.0.1', port: config.development.workflowPagesPort });
    // Only now: where the start was undone meanwhile this closes it at once, and a close before would be followed by the listening.
    undo.push('listeners', 'the workflow pages', () => pages.close().then(() => undefined));
    return url;
  } catch (error) {
    throw portTaken(error, 'the workflow pages', 'GATE_WORKFLOW_PAGES_PORT') ?? error;
  }
}

/** The engine is asked to end, and killed after ten seconds; its end is then awaited for as long again. */
const ENGINE_STOP_LIMIT_MS = 25_000;
/** A healthy process answers within milliseconds. */
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

function developmentFile(
  { config, pki, operatorToken, secondOperatorToken, tokenIssuer }: BringUp,
  engine: Pick<Engine, 'address' | 'uiUrl'>,
  at: {
    readonly toolsUrl: string;
    readonly pagesUrl: string | null;
    readonly ports: ReadonlyMap<string, Ports>;
  },
): DevelopmentFile {
  const { own, upstream } = config.of(PROXY);
  const console = config.of(CONSOLE);
  const agent = pki.agents['support-bot'];
  const listening = LISTENING_SERVICES.flatMap((service) => {
    const { port, healthPort } = at.ports.get(service.name) ?? {};
    const { host, healthHost } = config.of(service).own;
    return port === undefined
      ? []
      : [
          {
            key: keyOf(service),
            url: `${schemeOf(service, config)}://${addressName(host)}:${port}`,
            health: `http://${addressName(healthHost)}:${healthPort}`,
          },
        ];
  });
  const addresses = Object.fromEntries(listening.map(({ key, url }) => [key, { url }])) as ServiceAddresses;
  return {
    mode: own.mode,
    ...addresses,
    proxy: {
      ...addresses.proxy,
      ca: pki.caFile,
      cert: agent.certFile,
      key: agent.keyFile,
      agent_spiffe: agent.spiffe,
    },
    console: {
      ...addresses.console,
      ...(console.own.url !== undefined && { opened_at: new URL(console.own.url).origin }),
      sign_in: signInMode(console.signIn),
    },
    ...(tokenIssuer && { token_issuer: tokenIssuer }),
    console_workload: { cert: pki.console.certFile, key: pki.console.keyFile },
    operator_token: operatorToken,
    other_operators: { second: secondOperatorToken },
    temporal: {
      address: engine.address,
      namespace: config.engine.namespace,
      ui_url: engine.uiUrl,
      pages_url: at.pagesUrl,
    },
    upstream: { url: at.toolsUrl, demonstration: upstream.upstreamUrl === undefined && !upstream.upstreams },
    health: Object.fromEntries(listening.map(({ key, health }) => [key, health])),
    agents: Object.fromEntries(
      Object.entries(pki.agents).map(([name, leaf]) => [
        name,
        { cert: leaf.certFile, key: leaf.keyFile, spiffe: leaf.spiffe },
      ]),
    ),
  };
}

/** Browsers on this machine come without TLS, unless the console has a certificate that they may trust. */
const schemeOf = (service: ServiceDeclaration, config: BringUp['config']): 'http' | 'https' =>
  service.name === CONSOLE.name && config.of(CONSOLE).own.certFile === undefined ? 'http' : 'https';

/** Logs go to a file, so that the terminal keeps the ready page; warnings and errors appear there too. */
export function stackLogger(stateDir: string, level: string): Logger {
  mkdirSync(join(stateDir, 'logs'), { recursive: true, mode: 0o700 });
  tightenFile(join(stateDir, 'logs', 'gate.log'));
  const logger: Logger = pino(
    {
      level,
      redact: LOG_REDACTION,
    },
    pino.multistream([
      {
        level: level as pino.Level,
        // A full disk accepts no log line. What cannot be recorded is refused elsewhere, and the process continues until there is room.
        stream: logStream(join(stateDir, 'logs', 'gate.log')),
      },
      {
        level: 'error',
        stream: terminalLog({
          write: (text) => process.stderr.write(text),
          free: async () => {
            const { bavail, bsize } = await statfs(stateDir);
            return bavail * bsize;
          },
          tryDisk: () => writeIn(join(stateDir, 'data')),
          log: (line) => logger.warn(line),
        }),
      },
    ]),
  );
  return logger;
}
