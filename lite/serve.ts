import { resolve } from 'node:path';
import type { AddressInfo } from 'node:net';
import pino, { type Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Found } from '../activities/detected-upstream.js';
import { loadPersonas } from '../adapters/inspection/persona-files.js';
import { loadTraitsReader } from '../adapters/inspection/traits-reader.js';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { loadAnalyzer } from '../adapters/sandbox/analyzer.js';
import { logStream } from '../adapters/store/log-stream.js';
import type { ThreadLimits } from '../adapters/threads/threads.js';
import type { TokenHolder } from '../api/console/sign-in/operator-token.js';
import { createSignInLinks } from '../api/pages/sign-in-links.js';
import { createRefusals } from '../api/proxy/refusals.js';
import { accessTokenRules } from '../config/access-tokens.js';
import type { Env } from '../config/env.js';
import { flowSettingsOf } from '../config/shared.js';
import type { LiteConfig } from '../config/lite.js';
import { upstreamsShown } from '../config/upstreams.js';
import { purgeTimes } from '../domain/call/purge-times.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { errorText, GateError } from '../domain/errors.js';
import { CHAIN_VERSION } from '../domain/ledger/canonical-bytes.js';
import { createDecisions } from '../domain/review/decisions.js';
import { sqliteFault, storeFaultText } from '../domain/store-faults.js';
import { uncertainCalls } from '../domain/probes/uncertain-calls.js';
import { toolClassing } from '../domain/tool-classes/tool-classes.js';
import { toolPinning } from '../domain/tool-definitions/pinning.js';
import { notedUpstream } from '../domain/upstream/noted-upstream.js';
import { upstreamName } from '../domain/tool-classes/upstream-name.js';
import type { ServiceApp } from '../api/plugins/app.js';
import { type ActivityPorts, createActivities, type GateActivities } from '../workers/activities.js';
import { alarmsTold } from '../workers/alarms.js';
import { createAccess, type Access } from './access.js';
import { createLiteApp } from './app.js';
import { startChores } from './chores.js';
import { type Clock, machineClock } from './clock.js';
import { ownDecideToken, type OwnDecideToken } from './decide-token.js';
import { decidedOnDisk } from './decided-on-disk.js';
import { createWithdrawals } from '../domain/review/withdrawal.js';
import { createInProcessRunner } from './in-process-runner.js';
import { liteKeys } from './keys.js';
import { listenOn } from './listen.js';
import { logText } from './log-text.js';
import { liteMetrics } from './metrics.js';
import { createNotices } from './notices.js';
import { createOnDisk } from './on-disk.js';
import { policyFolder } from './policy-folder.js';
import { litePorts } from './ports.js';
import { liteProbes } from './probes.js';
import { liteProxyOptions } from './proxy-options.js';
import { createRateLimit } from './rate-limit.js';
import { openLiteStores } from './stores.js';
import { type LiteTools, type ToolsChild, upstreamOf } from './tools-upstream.js';

export interface LiteOptions {
  readonly config: LiteConfig;
  /** An MCP server to run as a child instead of calling one by its address. */
  readonly child?: ToolsChild | undefined;
  /** Where the secrets of several upstreams are. */
  readonly env?: Env;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** For tests of a full disk. */
  readonly maxPages?: number;
  /** Runs inside each transaction right before it is committed; for tests of a commit that fails. */
  readonly beforeCommit?: () => void;
  /** A call must have begun within this time; later it is abandoned without an effect. */
  readonly callDeadlineMs?: number;
  /** Of the threads that look at large requests; for tests that are to depend on no machine's speed. */
  readonly largeRequests?: ThreadLimits;
  /** Composes the activities over their ports; crash tests replace it. */
  readonly compose?: (ports: ActivityPorts, durable: () => Promise<void>) => GateActivities;
}

export interface Lite {
  readonly url: string;
  readonly access: Access;
  /** The operator's token that Gate made itself; `null` where settings name operators. */
  readonly ownDecideToken: OwnDecideToken | null;
  /** An address that signs an operator in at the console, once. `null` where each operator has a tenant of his own. */
  readonly signInLink: () => string | null;
  readonly policies: { readonly directory: string; readonly builtIn: boolean; readonly version: string };
  /** What was found at the tools' address, if Gate had to find out. */
  readonly found: Found | null;
  /** How many calls an earlier process left open. */
  readonly resumed: number;
  /** Takes no more requests, finishes those under way, closes the file. Parked calls stay parked. */
  close(): Promise<void>;
}

const CALL_DEADLINE_MS = 10_000;
/** How long a stop waits for a client that has not finished its request. */
const IDLE_CLIENT_MS = 5_000;

/** The lite edition: the pipeline on the in-process runner over one file, behind one plain listener. Rejects with one clear line. */
export async function startLite({
  config,
  child,
  clock = machineClock,
  callDeadlineMs = CALL_DEADLINE_MS,
  compose = createActivities,
  ...options
}: LiteOptions): Promise<Lite> {
  const logger = options.logger ?? liteLogger(config);
  const { now } = clock;
  const ledgerFile = config.ledger === ':memory:' ? config.ledger : resolve(config.ledger);
  const { directory, builtIn } = policyFolder(config.policies);
  const [policies, personas, analyze, readTraits] = await Promise.all([
    loadPolicySet({ directory }),
    loadPersonas(),
    loadAnalyzer(),
    loadTraitsReader(),
  ]);
  const rules = accessTokenRules(config);
  // Most have none, and start without what reads them.
  const tokens =
    rules && (await (await import('../adapters/identity/access-tokens.js')).openAccessTokens(rules, { now }));
  const keys = liteKeys(ledgerFile, config.keys);
  const toolsName = upstreamName({
    name: config.upstreamName,
    several: config.upstreams !== undefined,
    url: config.upstreamUrl,
    command: child && [child.command, ...child.args],
  });
  const probes = liteProbes(config, policies, toolsName);
  const { maxPages, beforeCommit, largeRequests } = options;
  const stores = await openLiteStores({
    file: ledgerFile,
    keys: keys.ring,
    toolsName,
    limits: config,
    flows: flowSettingsOf(config),
    maxPages,
    beforeCommit,
    logger,
    now,
  });
  const { file, ledger, calls, reviews, pins, classes } = stores;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = liteMetrics(registry);
  reviews.settling.onEscalated(metrics.escalated);
  const disk = createOnDisk({ file, calls, queued: metrics.queued });
  const { told } = disk;
  const own = config.decideToken || config.deciders ? null : ownDecideToken(ledgerFile);
  const access = createAccess(config, config.decideToken ?? own?.token ?? '', keys.fingerprintKey, rules);
  const links = createSignInLinks<TokenHolder>(now);

  // Tools, and the activities over their ports.
  let stopping = false;
  const reached = await upstreamOf(config, child, logger, () => stopping, options.env ?? process.env).catch(
    async (error: unknown) => {
      await file.close();
      throw error;
    },
  );
  // Of several each stands for itself.
  const noted = reached && !reached.standings ? notedUpstream(toolsName, reached, now) : null;
  const tools = noted?.upstream ?? reached;
  const { ports, upstream, judging } = litePorts({
    config,
    stores,
    keys,
    policies,
    personas,
    readTraits,
    analyze,
    probes,
    tools,
    toolsName,
    mayCall: access.mayCall,
    told,
    logger,
    now,
    inspected: metrics.inspected,
    largeRequests,
    tellAlarm: alarmsTold(logger, registry),
  });
  const runner = createInProcessRunner({
    calls,
    activities: compose(ports, () => file.durable()),
    logger,
    clock,
    onResumed: metrics.reconciled,
    ...(probes && { probed: (tool: string) => probes.of.has(tool) }),
    durableFromHere: () => file.durableFromHere(),
  });
  let serving = false;
  file.onUndone((why) => {
    if (!serving) return;
    disk.undone(why);
    logger.error({ reason: why.message }, 'the file did not take a transaction; calls go on from what it holds');
    runner.lookAgain();
  });

  // The HTTP side.
  const { webhookUrl, slackWebhookUrl } = config;
  const endpoint = () => addressOf(app.server.address() as AddressInfo);
  const notices =
    webhookUrl || slackWebhookUrl
      ? createNotices({ webhookUrl, slackWebhookUrl, logger, noticed: metrics.noticed, endpoint, now })
      : null;
  const decideRow = createDecisions({
    reviews,
    sender: runner,
    decisionKey: keys.decisionKey,
    clock: now,
    decisionLifeMs: 10_000,
    // One approval is enough here, so there is no earlier one to ask about.
    approvers: () => [],
    observe: () => undefined,
  });
  const decideDurably = decidedOnDisk(decideRow, {
    reviews: reviews.reads,
    durableFromHere: () => file.durableFromHere(),
  });
  const app = createLiteApp({
    logger,
    registry,
    mode: config.mode,
    access,
    links,
    reviews,
    file,
    ledger,
    sidecarKeys: keys.ring,
    checkpointKey: keys.checkpointKey,
    sessionKey: keys.sessionKey,
    policies,
    now,
    async decide(decision) {
      const row = await decideDurably(decision);
      if (notices) told(() => notices.decided(row, config.mode));
      return row;
    },
    durableFromHere: disk.durableFromHere,
    allowedHosts: config.allowedHosts,
    loopback: isLoopback(config.host),
    classing: toolClassing({
      store: classes,
      pins,
      upstream: toolsName,
      byName: (tool) => policies.classOf(toolsName, tool),
      ruleOn: (tool) => policies.ruleOn(tool),
      now,
    }),
    // Its row is appended by whoever runs the calls.
    uncertain: uncertainCalls({ calls, appendRows: () => Promise.resolve(), now }),
    ...(noted && { upstreamStanding: noted.standing }),
    pinning: toolPinning({ pins, ledger }),
    proxy: liteProxyOptions({
      config,
      stores,
      keys,
      ports,
      callDeadlineMs,
      now,
      hasTools: upstream !== null,
      ...(tokens && { byToken: { tokens, sharesHeader: true } }),
      runner: disk.starting(runner),
      withdrawCall: createWithdrawals({
        reviews,
        sender: runner,
        decisionKey: keys.decisionKey,
        clock: now,
        decisionLifeMs: 10_000,
      }),
      rateLimit: createRateLimit({
        config,
        refusals: createRefusals({ ledger, now }),
        onLimited: metrics.limited,
        now,
      }),
      onFirstAnswer(record) {
        metrics.answered(record);
        if (notices) told(() => notices.answered(record));
      },
    }),
  });

  let resumed: number;
  let found: Found | null;
  try {
    await checkNewestRow(ledger);
    await classes.settle();
    await file.durable();
    if (child) await startChild(child, upstream);
    found = (await tools?.look?.()) ?? null;
    serving = true;
    resumed = await runner.resume();
    await listenOn(app, config);
  } catch (error) {
    serving = false;
    await runner.close();
    await judging.close();
    await upstream?.close();
    await tokens?.close();
    await file.close();
    throw sqliteFault(error) > 0
      ? new GateError('store_unavailable', `${ledgerFile}: ${storeFaultText(error)}`, { cause: error })
      : error;
  }
  const endChores = startChores({
    reviews: reviews.sweeping,
    calls,
    until: () => purgeTimes(now(), ports.reconcile),
    warm: judging.warm,
    logger,
  });

  const url = addressOf(app.server.address() as AddressInfo);
  const started = {
    url,
    access,
    ownDecideToken: own,
    signInLink() {
      const [operator] = config.deciders ? [] : access.people;
      return operator === undefined ? null : `${url}/login?link=${links.issue(operator)}`;
    },
    policies: { directory, builtIn, version: policies.bundle.version },
    found,
    resumed,
  };
  const shownUpstream =
    child?.command ??
    (config.upstreams && upstreamsShown(config.upstreams)) ??
    (config.upstreamUrl ? new URL(config.upstreamUrl).origin : null);
  sayReady(logger, config, { ...started, upstream: shownUpstream });
  return {
    ...started,
    async close() {
      stopping = true;
      await endChores();
      // First answers in progress finish, then their calls, then their writes.
      await drain({ app, busy: runner.busy, toolMs: config.upstreamTimeoutSecs * 1000 });
      await runner.close();
      await judging.close();
      await notices?.close();
      await calls.close();
      await upstream?.close();
      await tokens?.close();
      serving = false;
      const left = await file.close();
      if (left !== null)
        logger.error(
          `${config.ledger}: ${left}. Part of what it holds stands in ${config.ledger}-wal: the next start goes on from both`,
        );
    },
  };
}

/** Calls in progress get the time that their tools may take. A client that does not finish its request delays nobody. */
async function drain({
  app,
  busy,
  toolMs,
}: {
  readonly app: ServiceApp;
  readonly busy: () => number;
  readonly toolMs: number;
}): Promise<void> {
  const began = Date.now();
  const closing = app.close();
  const watch = setInterval(() => {
    const waitedMs = Date.now() - began;
    if (waitedMs > (busy() === 0 ? IDLE_CLIENT_MS : toolMs + IDLE_CLIENT_MS)) app.server.closeAllConnections();
  }, 100);
  await closing.finally(() => clearInterval(watch));
}

async function startChild({ command }: ToolsChild, tools: LiteTools | null): Promise<void> {
  try {
    await tools?.start?.();
  } catch (error) {
    throw new GateError('upstream_not_configured', `${command} does not start as an MCP server: ${errorText(error)}`);
  }
}

/** The line of a start. What it leaves out of the settings is secret, or is printed on the first page. */
function sayReady(
  logger: Logger,
  config: LiteConfig,
  { url, upstream, found, ...known }: Omit<Lite, 'close'> & { readonly upstream: string | null },
): void {
  if (config.verboseVerdicts) logger.warn('verbose verdicts are on: denials tell a caller what each detector saw');
  logger.info(
    {
      url,
      profile: config.profile,
      mode: config.mode,
      upstream,
      adapter: config.upstreamAdapter,
      ...(found && { found: found.words }),
      upstream_timeout_secs: config.upstreamTimeoutSecs,
      policies: known.policies.directory,
      ledger: config.ledger,
      agents: known.access.agents,
      operators: known.access.operators,
      webhook: config.webhookUrl !== undefined,
      chat: config.slackWebhookUrl !== undefined,
      resumed: known.resumed,
    },
    'ready',
  );
}

const STANDARD_ERROR = 2;

function liteLogger({ logLevel, logFormat }: LiteConfig): Logger {
  const stderr = logStream(STANDARD_ERROR);
  return pino({ level: logLevel }, logFormat === 'json' ? stderr : { write: (line) => stderr.write(logText(line)) });
}

const addressOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;

/** Finds, before the first call, a tail that somebody changed outside Gate and a chain that this version cannot extend. */
async function checkNewestRow(ledger: LedgerInFile): Promise<void> {
  const [newest] = await ledger.newest(1);
  if (newest && newest.chain_version !== CHAIN_VERSION)
    throw new GateError(
      'ledger_store_unavailable',
      `the newest row has chain version ${newest.chain_version}, this Gate writes ${CHAIN_VERSION}: upgrade Gate, or use another file`,
    );
  await ledger.ready();
}
