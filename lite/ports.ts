import { createPublicKey } from 'node:crypto';
import type { Logger } from 'pino';
import type { AlarmKind, OnAlarm } from '../activities/ledger.js';
import type { MayCall } from '../activities/upstream.js';
import { inspectLargeInThreads } from '../adapters/inspection/inspection-threads.js';
import { scanInThreads } from '../adapters/inspection/scan-threads.js';
import { createLocalEvaluator } from '../adapters/policy/local-evaluator.js';
import { createRuleDecisions } from '../domain/review/rule-decision.js';
import { createLocalSandbox } from '../adapters/sandbox/local-sandbox.js';
import { reviewsOf } from '../adapters/review/review-store.js';
import type { ThreadLimits } from '../adapters/threads/threads.js';
import type { LiteConfig } from '../config/lite.js';
import { parseCallbackAllowlist } from '../domain/outbound/callback-url.js';
import { errorText } from '../domain/errors.js';
import { createInspector } from '../domain/inspection/inspector.js';
import type { TraitsReader } from '../domain/inspection/behaviour/traits.js';
import type { Personas } from '../domain/inspection/personas.js';
import { createCallTalks } from '../domain/upstream/call-talks.js';
import { noUpstream } from '../domain/upstream/no-upstream.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import type { Analyzer } from '../domain/sandbox/analyze.js';
import { decisionVerifierFor } from '../domain/review/decision-signature.js';
import { operatorsClasses } from '../domain/tool-classes/tool-classes.js';
import { createNameWatch, nameWatchLog } from '../domain/tool-definitions/name-watch.js';
import { createQuarantine } from '../domain/tool-definitions/quarantine.js';
import { createReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { withJudgedTalk } from '../domain/inspection/judged-talk.js';
import { createResponseJudge, unjudgedLog } from '../domain/inspection/response-judge.js';
import type { ResponsePolicy } from '../domain/inspection/response-port.js';
import { toolWatchLog, watchToolDefinitions } from '../domain/tool-definitions/watch.js';
import type { ActivityPorts } from '../workers/activities.js';
import type { LiteKeys } from './keys.js';
import type { LiteMetrics } from './metrics.js';
import type { OnDisk } from './on-disk.js';
import type { LiteStores } from './stores.js';
import type { LiteTools } from './tools-upstream.js';

export interface LitePortsOptions {
  readonly config: LiteConfig;
  readonly stores: LiteStores;
  readonly keys: LiteKeys;
  readonly policies: PolicySet;
  readonly personas: Personas;
  readonly readTraits: TraitsReader;
  readonly analyze: Analyzer;
  readonly probes: ActivityPorts['probes'];
  readonly tools: LiteTools | null;
  readonly toolsName: string;
  readonly mayCall: MayCall;
  readonly inspected: LiteMetrics['inspected'];
  readonly largeRequests: ThreadLimits | undefined;
  readonly tellAlarm: OnAlarm;
  readonly told: OnDisk['told'];
  readonly logger: Logger;
  readonly now: () => number;
}

const DAY_MS = 86_400_000;

/** Alarms about the file's own content: if the file is rolled back, they are found again. */
const ABOUT_WHAT_IS_STORED: ReadonlySet<AlarmKind> = new Set<AlarmKind>([
  'alarm.record_tampered',
  'alarm.review_tampered',
]);

/** The ports of the activities, all in this process, with what has to be warmed up and closed. */
export function litePorts(options: LitePortsOptions) {
  const {
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
    mayCall,
    inspected,
    largeRequests,
    tellAlarm,
    told,
    logger,
    now,
  } = options;
  const { file, ledger, calls, reviews, pins, classes } = stores;
  const scanner = scanInThreads(largeRequests);
  const { blockPoisonedDefinitions: block, quarantineDefinitions: quarantine, maskedParams } = config;
  const responsePolicy: ResponsePolicy = { judgeResponse: async (question) => policies.judgeResponse(question) };
  const observed = config.mode === 'observe' || config.responseMode === 'observe';
  const watch = {
    pins,
    ledger,
    scanner,
    block,
    quarantine,
    responsePolicy: observed ? null : responsePolicy,
    ...toolWatchLog(logger),
  };
  const upstream = tools && watchToolDefinitions(withJudgedTalk(tools, observed), watch);
  const unreadable = (error: unknown) =>
    logger.error({ reason: errorText(error) }, 'the classes of the tools cannot be read: every tool waits');
  const evaluator = createLocalEvaluator(policies, undefined, largeRequests);
  const sandbox = createLocalSandbox(analyze, largeRequests);
  const inspector = inspectLargeInThreads(createInspector({ personas, maskedParams }), {
    personas,
    maskedParams,
    ...largeRequests,
  });
  const ports: ActivityPorts = {
    calls,
    inspector: {
      inspect(request) {
        inspected();
        return inspector.inspect(request);
      },
      inspectAll(requests) {
        for (const _ of requests) inspected();
        return inspector.inspectAll(requests);
      },
    },
    readTraits,
    policies: evaluator,
    tools: operatorsClasses({ store: classes, pins, upstream: toolsName, onFault: unreadable }),
    sandbox,
    reviews: reviewsOf(reviews, createRuleDecisions({ reviews, decisionKey: keys.decisionKey, clock: now })),
    ledger,
    onLedgerUndone: (listener) => file.onUndone(listener),
    // An alarm about the file's content depends on the file. Any other alarm counts even if its row is rolled back.
    onAlarm(...alarm) {
      const [, , kind] = alarm;
      if (ABOUT_WHAT_IS_STORED.has(kind)) told(() => tellAlarm(...alarm));
      else tellAlarm(...alarm);
    },
    durableFromHere: () => file.durableFromHere(),
    upstream: upstream ?? noUpstream,
    talks: createCallTalks(),
    responses: createResponseJudge({
      scanner,
      policy: responsePolicy,
      mode: config.responseMode,
      dataTools: config.responseScanTools,
      onUnjudged: unjudgedLog(logger),
    }),
    names: createNameWatch({ pins, scanner, onDegraded: nameWatchLog(logger) }),
    ...(tools && { definitions: createReviewGuard(tools, pins, toolsName) }),
    ...(tools && quarantine && { quarantine: createQuarantine(tools, watch) }),
    mayCall,
    deliver: callbacks(config),
    probes,
    runs: { status: () => Promise.resolve('running'), end: () => Promise.resolve() },
    verifyDecision: decisionVerifierFor(createPublicKey(keys.decisionKey)),
    reconcile: { graceMs: 60_000, retentionMs: 30 * DAY_MS, windowMs: config.velocityWindowSecs * 1000 },
    now,
  };
  return {
    ports,
    /** `null` where Gate knows no tools. */
    upstream,
    judging: {
      warm() {
        inspector.warm();
        scanner.warm();
        evaluator.warm();
      },
      async close() {
        await inspector.close();
        await scanner.close();
        await evaluator.close();
        await sandbox.close();
      },
    },
  };
}

/** Loaded at first use, because a start does not need it. */
function callbacks(config: LiteConfig): ActivityPorts['deliver'] {
  const sender = async () =>
    (await import('../activities/clients/callback-sender.js')).createCallbackSender({
      allowlist: parseCallbackAllowlist(config.callbackAllowlist),
      allowPrivate: config.callbackAllowPrivate,
      ...(config.callbackSecret && { secret: config.callbackSecret }),
    });
  let loading: ReturnType<typeof sender> | undefined;
  return async (callback) => {
    loading ??= sender().catch((error: unknown) => {
      // The next callback tries again.
      loading = undefined;
      throw error;
    });
    await (await loading)(callback);
  };
}
