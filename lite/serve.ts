import { createPublicKey } from 'node:crypto';
import { resolve } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { Kysely } from 'kysely';
import pino, { type Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LiteConfig } from '../config/lite.js';
import { isLoopback } from '../domain/egress/loopback.js';
import { agentLimitsOf } from '../config/shared.js';
import { createRefusals } from '../api/proxy/refusals.js';
import { callStoreInFile } from '../adapters/call-record/call-store.js';
import { purgeTimes } from '../domain/call-record/purge-times.js';
import { ledgerRowId } from '../domain/call-record/rows.js';
import { sealCalls } from '../adapters/call-record/seal-calls.js';
import { checkCallbackUrl, parseCallbackAllowlist } from '../domain/egress/callback-url.js';
import { errorText, GateError } from '../domain/errors.js';
import { createSigner } from '../domain/identity/signer.js';
import { inspectLargeInThreads } from '../adapters/inspection/inspection-threads.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { CHAIN_VERSION } from '../domain/ledger/canonical-bytes.js';
import { ledgerInFile, type LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { callCount } from '../domain/mcp/batch.js';
import { noUpstream } from '../domain/pipeline/no-upstream.js';
import type { Upstream } from '../domain/pipeline/upstream.js';
import { createLocalEvaluator } from '../adapters/policy/local-evaluator.js';
import { decisionVerifierFor } from '../domain/review/decision-signature.js';
import { createDecisions } from '../domain/review/decisions.js';
import { sealReviews } from '../adapters/review/seal-reviews.js';
import { reviewsOf, reviewStoreOver } from '../adapters/review/review-store.js';
import { adoptPins, adoptSeen, toolPinStoreOver, type ToolPinTables } from '../adapters/tools/pin-store.js';
import { pinsLog, toolWatchLog, watchToolDefinitions } from '../domain/tool-definitions/watch.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { adoptClasses, toolClassStoreOver, type ToolClassTables } from '../adapters/tools/class-store.js';
import { operatorsClasses, toolClassing } from '../domain/tool-classes/tool-classes.js';
import { upstreamName } from '../domain/tool-classes/upstream-name.js';
import type { Store } from '../adapters/store/database.js';
import { openLocalFile } from '../adapters/store/local-file.js';
import { logStream } from '../adapters/store/log-stream.js';
import { sqliteFault, storeFaultText } from '../domain/store-faults.js';
import type { Found } from '../activities/clients/detected-upstream.js';
import type { AlarmKind } from '../activities/ledger.js';
import { createReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { type ActivityPorts, createActivities, type GateActivities } from '../workers/activities.js';
import { alarmsTold } from '../workers/alarms.js';
import { createAccess, type Access, type LiteOperator } from './access.js';
import { ownDecideToken, type OwnDecideToken } from './decide-token.js';
import { createSignInLinks } from '../api/pages/sign-in-links.js';
import { createLiteApp } from './app.js';
import { decidedOnDisk } from './decided-on-disk.js';
import { createInProcessRunner } from './in-process-runner.js';
import { liteKeys } from './keys.js';
import { loadLedgerReads } from './ledger-routes.js';
import { logText } from './log-text.js';
import { liteMigrations } from './migrations.js';
import { liteMetrics } from './metrics.js';
import { createNotices } from './notices.js';
import { policyFolder } from './policy-folder.js';
import { createRateLimit } from './rate-limit.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { loadPersonas } from '../adapters/inspection/persona-files.js';
import type { CallTables } from '../adapters/call-record/tables.js';
import type { ReviewTables } from '../adapters/review/tables.js';
import { type Clock, machineClock } from './clock.js';

export interface LiteOptions {
  readonly config: LiteConfig;
  /** An MCP server to run as a child instead of calling one by its address. */
  readonly child?:
    | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }
    | undefined;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** For tests of a full disk. */
  readonly maxPages?: number;
  /** Runs inside each transaction right before it is committed; for tests of a commit that fails. */
  readonly beforeCommit?: () => void;
  /** A call must have begun within this time; later it is abandoned without an effect. */
  readonly callDeadlineMs?: number;
  /** The activities over their ports; a test of what a crash leaves puts itself between them. */
  readonly compose?: (ports: ActivityPorts, durable: () => Promise<void>) => GateActivities;
}

export interface Lite {
  readonly url: string;
  readonly access: Access;
  /** The operator's token that Gate made itself; `null` where settings name operators. */
  readonly ownDecideToken: OwnDecideToken | null;
  /** An address that signs an operator in at the page, once. `null` where each operator has a tenant of his own. */
  readonly signInLink: () => string | null;
  readonly policies: { readonly directory: string; readonly builtIn: boolean; readonly version: string };
  /** What stands at the address of the tools, where Gate was to find out itself. */
  readonly found: Found | null;
  /** How many calls an earlier life of the process left open. */
  readonly resumed: number;
  /** Takes no more requests, finishes those under way, closes the file. Parked calls stay parked. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
const CALL_DEADLINE_MS = 10_000;
/** From being ready to starting the threads for large requests. */
const WARM_AFTER_MS = 2_000;
/** How long a stop waits for a client that sends nothing more. */
const IDLE_CLIENT_MS = 5_000;
const MAX_IN_FLIGHT = 2_000;
const CLEANING_EVERY_MS = 10 * 60_000;

/** The lite edition: the pipeline on the in-process runner over one file, behind one plain listener. Rejects with one clear line. */
export async function startLite({
  config,
  child,
  clock = machineClock,
  maxPages,
  beforeCommit,
  callDeadlineMs = CALL_DEADLINE_MS,
  compose = createActivities,
  ...options
}: LiteOptions): Promise<Lite> {
  const logger = options.logger ?? liteLogger(config);
  const { now } = clock;
  const ledgerFile = config.ledger === ':memory:' ? config.ledger : resolve(config.ledger);
  const { directory, builtIn } = policyFolder(config.policies);
  const [policies, personas] = await Promise.all([loadPolicySet({ directory }), loadPersonas()]);
  const keys = liteKeys(ledgerFile, config.keys);
  const toolsName = upstreamName({
    name: config.upstreamName,
    url: config.upstreamUrl,
    command: child && [child.command, ...child.args],
  });
  const file = await openLocalFile({
    file: ledgerFile,
    migrations: liteMigrations,
    async prepare(store) {
      await sealCalls(store as unknown as Store<CallTables>, keys.ring, now, (transaction) =>
        adoptPins(transaction as unknown as Kysely<ToolPinTables>, keys.ring, pinsLog(logger).onAdopted),
      );
      await adoptSeen(store as unknown as Store<ToolPinTables>, { keys: keys.ring, upstream: toolsName });
      await adoptClasses(store as unknown as Store<ToolClassTables>, keys.ring);
      await sealReviews(store as unknown as Store<ReviewTables>, keys.ring, now);
    },
    ...(maxPages !== undefined && { maxPages }),
  });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = liteMetrics(registry);
  if (beforeCommit) file.beforeCommit(beforeCommit);
  const own = config.decideToken || config.deciders ? null : ownDecideToken(ledgerFile);
  const access = createAccess(config, config.decideToken ?? own?.token ?? '', keys.fingerprintKey);
  const links = createSignInLinks<LiteOperator>(now);
  const ledger = ledgerInFile(file, { sidecarKeys: keys.ring, clock: now });
  const calls = callStoreInFile(file, { keys: keys.ring, now, ledger });
  const refusals = createRefusals({ ledger, now });
  const rateLimit = createRateLimit({ config, refusals, onLimited: metrics.limited, now });
  const reviews = reviewStoreOver(file.store<ReviewTables>(), {
    payloadKeys: keys.ring,
    clock: now,
    perAgent: { rows: config.maxParkedCalls, bytes: config.maxParkedBytes },
    alone: (forget) =>
      file.onUndone(() => {
        forget();
        // What was read before the undo may be remembered after it, before the turn is over.
        setImmediate(forget);
      }),
  });
  let stopping = false;
  const tools = await upstreamOf(config, child, logger, () => stopping);
  const pins = toolPinStoreOver(file.store<ToolPinTables>(), { keys: keys.ring, upstream: toolsName, now });
  const classes = boundToLedger(toolClassStoreOver(file.store<ToolClassTables>(), keys.ring), ledger, { graceMs: 0 });
  const unreadable = (error: unknown) =>
    logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read: every tool waits');
  const upstream =
    tools &&
    watchToolDefinitions(tools, {
      pins,
      ledger,
      block: config.blockPoisonedDefinitions,
      ...toolWatchLog(logger),
    });
  const allowlist = parseCallbackAllowlist(config.callbackAllowlist);
  // Here and for the upstream: what a start does not need is loaded by what needs it.
  const sender = async () =>
    (await import('../activities/clients/callback-sender.js')).createCallbackSender({
      allowlist,
      allowPrivate: config.callbackAllowPrivate,
      ...(config.callbackSecret && { secret: config.callbackSecret }),
    });
  let deliver: ReturnType<typeof sender> | undefined;
  const evaluator = createLocalEvaluator(policies);
  const inspector = inspectLargeInThreads(createInspector({ personas }), { personas });
  const tellAlarm = alarmsTold(logger, registry);
  const ports: ActivityPorts = {
    calls,
    inspector: {
      inspect(request) {
        metrics.inspected();
        return inspector.inspect(request);
      },
      inspectAll(requests) {
        for (const _ of requests) metrics.inspected();
        return inspector.inspectAll(requests);
      },
    },
    policies: evaluator,
    tools: operatorsClasses({ store: classes, pins, upstream: toolsName, onFault: unreadable }),
    reviews: reviewsOf(reviews),
    ledger,
    onLedgerUndone: (listener) => file.onUndone(listener),
    // An alarm about what the file holds rests on it; any other has been heard, whatever becomes of its row.
    onAlarm(...alarm) {
      const [, , kind] = alarm;
      if (ABOUT_WHAT_IS_STORED.has(kind)) told(() => tellAlarm(...alarm));
      else tellAlarm(...alarm);
    },
    durableFromHere: () => file.durableFromHere(),
    upstream: upstream ?? noUpstream,
    ...(tools && { definitions: createReviewGuard(tools, pins) }),
    deliver: async (callback) => {
      deliver ??= sender().catch((error: unknown) => {
        // The next callback tries again.
        deliver = undefined;
        throw error;
      });
      await (await deliver)(callback);
    },
    runs: { status: () => Promise.resolve('running'), end: () => Promise.resolve() },
    verifyDecision: decisionVerifierFor(createPublicKey(keys.decisionKey)),
    reconcile: { graceMs: 60_000, retentionMs: 30 * DAY_MS, windowMs: config.velocityWindowSecs * 1000 },
    now,
  };
  const activities = compose(ports, () => file.durable());
  const runner = createInProcessRunner({
    calls,
    activities,
    logger,
    clock,
    onResumed: metrics.reconciled,
    durableFromHere: () => file.durableFromHere(),
  });
  /** Answers of calls that stand although something else was undone while they ran: the wait for the disk that is left to each. */
  const answers = new Map<string, () => Promise<void>>();
  let undone: { readonly count: number; readonly why: GateError } | null = null;
  let serving = false;
  file.onUndone((why) => {
    if (!serving) return;
    undone = { count: (undone?.count ?? 0) + 1, why };
    logger.error({ reason: why.message }, 'the file did not take a transaction; calls go on from what it holds');
    runner.lookAgain();
  });
  const notices =
    config.webhookUrl || config.slackWebhookUrl
      ? createNotices({
          webhookUrl: config.webhookUrl,
          slackWebhookUrl: config.slackWebhookUrl,
          logger,
          noticed: metrics.noticed,
          endpoint: () => addressOf(app.server.address() as AddressInfo),
          now,
        })
      : null;
  const decideRow = createDecisions({
    reviews,
    sender: runner,
    decisionKey: keys.decisionKey,
    clock: now,
    decisionLifeMs: 10_000,
    observe: () => undefined,
  });
  const decideDurably = decidedOnDisk(decideRow, { reviews, durableFromHere: () => file.durableFromHere() });
  const decide: typeof decideRow = async (decision) => {
    const row = await decideDurably(decision);
    if (notices) told(() => notices.decided(row, config.mode));
    return row;
  };
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
    policies,
    decide,
    durableFromHere() {
      const onDisk = file.durableFromHere();
      return (correlationId) => {
        const answered = answers.get(correlationId);
        answers.delete(correlationId);
        return metrics.queued((answered ?? onDisk)());
      };
    },
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
    now,
    proxy: {
      calls,
      runner: { start: startSaying },
      signer: createSigner(keys.signingKey),
      verifyDecision: ports.verifyDecision,
      ledger,
      upstream: upstream ?? noUpstream,
      velocity: { limit: config.velocityLimit, windowMs: config.velocityWindowSecs * 1000 },
      callDeadlineMs,
      upstreamTimeoutMs: config.upstreamTimeoutSecs * 1000,
      ttlSecs: { auto: config.pendingTtlSecs, standard: config.pendingTtlSecs, strict: config.pendingTtlSecs },
      maxInFlight: MAX_IN_FLIGHT,
      agentLimits: agentLimitsOf(config),
      demoAgents: new Set(config.demoAgents),
      verboseVerdicts: config.verboseVerdicts,
      onFirstAnswer(record) {
        metrics.answered(record);
        if (notices) told(() => notices.answered(record));
      },
      now,
      checkCallback: (url) => checkCallbackUrl(url, allowlist, { allowPrivate: config.callbackAllowPrivate }).href,
      // Without tools an execution is refused before anything of it is stored.
      admitNew({ caller, contract, mcp }, correlationId) {
        // The ledger remembers what the record was taken away from, by its retention or by somebody's hand.
        if (ledger.holds(ledgerRowId(correlationId, 'proxy.verdict'))) throw new GateError('call_purged');
        if (contract === 'gate.server-execution/v1' && !upstream)
          throw new GateError(
            'upstream_not_configured',
            'Gate knows no tools: start it with --upstream URL, or with `gate lite -- <mcp server>`. Nothing was executed.',
            { fields: { contract, executable: false } },
          );
        return rateLimit(caller, mcp.tool, correlationId, callCount(mcp.method, mcp.body));
      },
      admitControl: rateLimit,
    },
  });

  let resumed: number;
  let found: Found | null;
  try {
    await checkNewestRow(ledger);
    await classes.settle();
    await file.durable();
    await startChild();
    found = (await tools?.look?.()) ?? null;
    serving = true;
    resumed = await runner.resume();
    await listen();
  } catch (error) {
    serving = false;
    await runner.close();
    await inspector.close();
    await evaluator.close();
    await upstream?.close();
    await file.close();
    throw sqliteFault(error) > 0
      ? new GateError('store_unavailable', `${ledgerFile}: ${storeFaultText(error)}`, { cause: error })
      : error;
  }
  const clean = () =>
    calls
      .purge(purgeTimes(now(), ports.reconcile))
      .catch((error: unknown) => logger.warn({ err: error }, 'old rows stay for now'));
  const cleaning = setInterval(() => void clean(), CLEANING_EVERY_MS);
  cleaning.unref();
  // For the first large request, the first reader of the ledger and the first callback. Later, because a start that is over soon needs none
  // of them.
  let loading: Promise<unknown> = Promise.resolve();
  const warming = setTimeout(() => {
    inspector.warm();
    evaluator.warm();
    loading = Promise.all([loadLedgerReads(), import('../activities/clients/callback-sender.js')]).then(
      () => logger.debug('what later requests need is loaded'),
      (error: unknown) => logger.warn({ err: error }, 'what later requests need could not be loaded'),
    );
  }, WARM_AFTER_MS);
  warming.unref();

  const url = addressOf(app.server.address() as AddressInfo);
  if (config.verboseVerdicts) logger.warn('verbose verdicts are on: denials tell a caller what each detector saw');
  logger.info(
    {
      url,
      profile: config.profile,
      mode: config.mode,
      upstream: child?.command ?? (config.upstreamUrl ? new URL(config.upstreamUrl).origin : null),
      adapter: config.upstreamAdapter,
      ...(found && { found: found.words }),
      upstream_timeout_secs: config.upstreamTimeoutSecs,
      policies: directory,
      ledger: config.ledger,
      agents: access.agents,
      operators: access.operators,
      webhook: config.webhookUrl !== undefined,
      chat: config.slackWebhookUrl !== undefined,
      resumed,
    },
    'ready',
  );
  return {
    url,
    access,
    ownDecideToken: own,
    signInLink() {
      const operator = config.deciders ? null : access.operatorByToken(config.decideToken ?? own?.token ?? '');
      return operator && `${url}/login?link=${links.issue(operator)}`;
    },
    policies: { directory, builtIn, version: policies.bundle.version },
    found,
    resumed,
    async close() {
      stopping = true;
      clearInterval(cleaning);
      clearTimeout(warming);
      await loading;
      // Answers under way drain; then the calls they belong to; then what is written of them.
      await drain();
      await runner.close();
      await inspector.close();
      await evaluator.close();
      await notices?.close();
      await calls.close();
      await upstream?.close();
      serving = false;
      const left = await file.close();
      if (left !== null)
        logger.error(
          `${config.ledger}: ${left}. Part of what it holds stands in ${config.ledger}-wal: the next start goes on from both`,
        );
    },
  };

  /** Others are told only what is on disk. */
  function told(tell: () => void): void {
    file.durable().then(tell, () => undefined);
  }

  /** Calls under way get the time their tools may take; a client that does not finish its request holds nobody up. */
  async function drain(): Promise<void> {
    const began = Date.now();
    const closing = app.close();
    const watch = setInterval(() => {
      const waitedMs = Date.now() - began;
      if (waitedMs > (runner.busy() === 0 ? IDLE_CLIENT_MS : config.upstreamTimeoutSecs * 1000 + IDLE_CLIENT_MS))
        app.server.closeAllConnections();
    }, 100);
    await closing.finally(() => clearInterval(watch));
  }

  async function startChild(): Promise<void> {
    try {
      await upstream?.start?.();
    } catch (error) {
      throw new GateError(
        'upstream_not_configured',
        `${child?.command} does not start as an MCP server: ${errorText(error)}`,
      );
    }
  }

  async function listen(): Promise<void> {
    try {
      await app.listen({ host: config.host, port: config.port });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new GateError(
        'invalid_request',
        code === 'EADDRINUSE'
          ? `port ${config.port} is in use; stop what uses it or set --port`
          : `cannot listen on ${config.host}:${config.port}: ${errorText(error)}`,
      );
    }
  }

  /** A call of which something was undone is answered with the cause, not with the error that followed from it, nor with what was undone. */
  async function startSaying(...asked: Parameters<typeof runner.start>): ReturnType<typeof runner.start> {
    const before = undone?.count ?? 0;
    const undoneMeanwhile = () => (undone && undone.count > before ? undone.why : null);
    try {
      const summary = await runner.start(...asked);
      const onDisk = file.durableFromHere();
      const why = undoneMeanwhile();
      const { correlation_id: id } = asked[0];
      const stands = why && (await calls.find(id));
      if (why && (!stands || stands.state !== summary?.state || stands.version !== summary.version)) throw why;
      // What else was undone while its tool worked is nothing to this call.
      if (why) answers.set(id, onDisk);
      return summary;
    } catch (error) {
      throw undoneMeanwhile() ?? error;
    }
  }
}

/** Found again where the file says so after all. */
const ABOUT_WHAT_IS_STORED: ReadonlySet<AlarmKind> = new Set<AlarmKind>([
  'alarm.record_tampered',
  'alarm.review_tampered',
]);

const STANDARD_ERROR = 2;

function liteLogger({ logLevel, logFormat }: LiteConfig): Logger {
  const stderr = logStream(STANDARD_ERROR);
  return pino({ level: logLevel }, logFormat === 'json' ? stderr : { write: (line) => stderr.write(logText(line)) });
}

const addressOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;

/** A tail that was changed behind Gate's back, or rows of a chain this version cannot extend, are found before the first call. */
async function checkNewestRow(ledger: LedgerInFile): Promise<void> {
  const [newest] = await ledger.newest(1);
  if (newest && newest.chain_version !== CHAIN_VERSION)
    throw new GateError(
      'ledger_store_unavailable',
      `the newest row has chain version ${newest.chain_version}, this Gate writes ${CHAIN_VERSION}: upgrade Gate, or use another file`,
    );
  await ledger.ready();
}

const CHILD_END_PAUSE_MS = 250;

async function upstreamOf(
  config: LiteConfig,
  child: LiteOptions['child'],
  logger: Logger,
  stopping: () => boolean,
): Promise<(Upstream & { start?(): Promise<void>; look?(): Promise<Found> }) | null> {
  if (child) {
    const { createStdioUpstream } = await import('../activities/clients/stdio-upstream.js');
    // Ctrl-C in a terminal ends the child too, at the same moment as it asks for the stop.
    const warn = (reason: string) => setTimeout(() => stopping() || logger.warn(reason), CHILD_END_PAUSE_MS).unref();
    return createStdioUpstream({ ...child, onRestart: warn });
  }
  const { upstreamUrl: url, upstreamApiKey: apiKey, upstreamAdapter } = config;
  if (!url) return null;
  const target = { url, ...(apiKey && { apiKey }) };
  if (upstreamAdapter === 'auto')
    return (await import('../activities/clients/detected-upstream.js')).detectUpstream(target);
  if (upstreamAdapter === 'raw-json')
    return (await import('../activities/clients/json-upstream.js')).createJsonUpstream(target);
  return (await import('../activities/clients/mcp-upstream.js')).createMcpUpstream(target);
}
