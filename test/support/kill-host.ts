import { AsyncLocalStorage } from 'node:async_hooks';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { APPROVERS } from './approvers.js';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import pino from 'pino';
import type { Reconciled, Runs } from '../../activities/reconcile.js';
import type { CallMove } from '../../domain/call/transitions.js';
import { createAgentLimits } from '../../api/proxy/agent-limits.js';
import type { Answer } from '../../api/proxy/answers.js';
import { correlationIdOf, createCallHandler } from '../../api/proxy/calls.js';
import { type CallInput, type CallSummary, REVIEW_CONTRACT, type Tier } from '../../contracts/call.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { Ledger } from '../../contracts/ledger.js';
import type { PendingRequest, SignedDecision } from '../../contracts/review.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { Verifier } from '../../domain/ledger/verifier.js';
import type { Probing } from '../../domain/probes/ports.js';
import { parseProbes } from '../../domain/probes/probes.js';
import type { Upstream, UpstreamOutcome } from '../../domain/upstream/upstream.js';
import { decisionVerifierFor, signDecision } from '../../domain/review/decision-signature.js';
import { createRuleDecisions } from '../../domain/review/rule-decision.js';
import { createDecisions } from '../../domain/review/decisions.js';
import { escalationTimes } from '../../domain/decision/transitions.js';
import { type CallRecord, escalatedMs } from '../../domain/call/record.js';
import type { DecisionSender, ReviewStarter } from '../../domain/review/ports.js';
import { createAskForReview } from '../../domain/review/asked-review.js';
import { reviewsOf } from '../../adapters/review/review-store.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { noToolClasses } from '../../domain/tool-classes/port.js';
import { type ActivityPorts, createActivities, type GateActivities } from '../../workers/activities.js';
import { PROBES_FILE } from './kill-host-tools.js';
import { decisionOf, inspectionOf } from './judgements.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';
import type { CallRunner } from '../../domain/call/call-runner.js';
import { timePasses } from './waiting.js';
import type { WholeReviews } from './whole-reviews.js';

/** The steps a host can be killed at. */
export type Step =
  | 'inspect'
  | 'evaluate'
  | 'commitVerdict'
  | 'analyzeCall'
  | 'takeIn'
  | 'openReview'
  | 'decideByRule'
  | 'applyDecision'
  | 'escalateReview'
  | 'expireReview'
  | 'callUpstream'
  | 'probeCall'
  | 'tryAppendRows'
  | 'settleReviewRow'
  | 'deliver';

/**
 * When: at the step's first line; with its effect stored and its return lost; or with its return in the host's hands and nothing else
 * begun. The others lie inside a step: review row stored and record not moved, record moved and review row not, claim held and no byte sent,
 * the rules asked once more before the attempt, Brain asked, bytes taken by the tool; and for the host that shares one sync among many: all
 * done in memory, nothing of it on disk.
 */
export type Moment =
  | 'before'
  | 'during'
  | 'after'
  | 'row stored'
  | 'record moved'
  | 'claimed'
  | 'rules asked'
  | 'model asked'
  | 'bytes sent'
  | 'unsynced';

export interface KillPoint {
  readonly step: Step;
  readonly when: Moment;
  /** The how many-th time the step comes there; the first by default. */
  readonly nth?: number;
  /** The call that comes there; any by default. */
  readonly key?: string;
}

/** What the scripted neighbours answer. */
export interface HostScript {
  readonly tier: Tier;
  /** Tiers of single calls, by their keys. */
  readonly tiers: Readonly<Record<string, Tier>>;
  readonly ledger: 'up' | 'down';
  readonly policy: 'up' | 'down';
  readonly inspectMs: number;
}

/** What a host process opens: the JSON of a file. */
export interface KillHostConfig {
  readonly folder: string;
  /** Where it dies: once, when each of these calls is at its point. */
  readonly kills: readonly KillPoint[];
  readonly script: HostScript;
  readonly toolsUrl: string;
  readonly ttlSecs: number;
  readonly escalateShares: readonly number[];
  readonly callDeadlineMs: number;
  readonly upstreamTimeoutMs: number;
  /** As where models judge; null where rules do. */
  readonly inspectionTimeoutMs: number | null;
  readonly decisionLifeMs: number;
  readonly reconcileGraceMs: number;
  /** PEM of the key HIL signs decisions with. */
  readonly decisionKey: string;
  /** The Temporal host's; the in-process host has no engine. */
  readonly engine: {
    readonly address: string;
    readonly namespace: string;
    readonly taskQueue: string;
    readonly bundleFile: string;
    /** Without one nothing runs: the proxy is up and its worker is not. */
    readonly worker: boolean;
    readonly reconcileEverySecs: number | null;
  } | null;
}

export interface CallRequest {
  /** The caller's idempotency id; the tool server counts executions by it. */
  readonly key: string;
  readonly tool?: string;
  readonly arguments?: JsonObject;
  readonly callback?: boolean;
}

/** What a caller or an operator is told: an answer, or the code of an error. */
export type Told =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
  | { readonly error: string; readonly message: string; readonly status: number };

export interface CallState {
  readonly state: string | null;
  readonly tier: Tier | null;
  readonly decision: string | null;
  readonly pendingId: string | null;
  /** It is a review that no call asked for, which ends with its decision. */
  readonly asked: boolean;
  readonly deadlineMs: number | null;
  readonly due: boolean;
  readonly review: { readonly status: string; readonly decided_by: string | null } | null;
  /** When it was escalated, as the call's record says, and as its review row does, of which people are told. */
  readonly escalated: { readonly record: readonly string[]; readonly row: readonly string[] };
  readonly kinds: readonly (string | null)[];
  readonly verdictAuthorized: boolean | null;
  readonly error: string | null;
}

/** An argument that an approval changes. */
interface ArgumentChange {
  readonly path: string;
  readonly value: number;
}

/** The body of a decision. */
export const decisionBody = (decision: 'approve' | 'deny', change: ArgumentChange | undefined) =>
  change === undefined
    ? { decision }
    : {
        decision: 'modify' as const,
        modification_diff: {
          contract: 'gate.hil.modification-diff/v1' as const,
          replacements: [{ path: [change.path], value: change.value }],
        },
      };

/** What a test can ask of a host process. Everything is JSON. */
export interface HostCommands {
  call(request: CallRequest): Promise<Told>;
  /** Asks for a review without a call, as the simulator does. */
  ask(request: { key: string }): Promise<Told>;
  /** Starts the pipeline under the id of a known call, past the look at the record. */
  startAnew(request: CallRequest): Promise<CallSummary | null>;
  decide(decision: {
    key: string;
    decision: 'approve' | 'deny';
    requestId: string;
    operator?: string;
    change?: ArgumentChange;
  }): Promise<Told>;
  /** A decision as HIL signs it, to be sent by the test itself. */
  sign(decision: {
    key: string;
    decision: 'approve' | 'deny';
    requestId: string;
    lifeMs: number;
  }): Promise<SignedDecision>;
  state(request: { key: string }): Promise<CallState>;
  script(script: Partial<HostScript>): Promise<void>;
  reconcile(): Promise<Reconciled>;
  verify(): Promise<{ valid: boolean; entries: number }>;
  rowsDue(): Promise<boolean>;
}

export const KILL_PROBES = parseProbes(PROBES_FILE);

export const escalatedOf = (
  record: CallRecord | null | undefined,
  row: PendingRequest | null,
): CallState['escalated'] => ({
  record: record ? escalatedMs(record.evidence).map((atMs) => new Date(atMs).toISOString()) : [],
  row: row ? escalationTimes(row) : [],
});

/** A call with the argument `approval_tier: strict` needs two people. */
export const TWO_FOR_STRICT = { strict: 2, risky: 1, destructive: 1 };

const AGENT = {
  kind: 'agent',
  callerId: 'agent-workload',
  spiffe: 'spiffe://gate.local/tenant/acme/agent/support-bot/instance/0190b8d0-0000-7000-8000-000000000000',
  tenant: 'acme',
  agent: 'support-bot',
  fingerprint: 'ab'.repeat(32),
} as const;

export const correlationIdFor = (key: string): string => correlationIdOf({ caller: AGENT, idempotencyId: key });

export const storeKeys = (name: string): KeyRing => keyRing(new Map([[name, Buffer.alloc(32, name)]]));

/** Moves that resolve when they are on disk, and the step that makes them: `unsynced` lies within it. */
const DURABLE_MOVES: Partial<Record<CallMove, Step>> = {
  approve: 'applyDecision',
  deny: 'applyDecision',
  expire: 'expireReview',
};

/** A call on its way to its point. */
interface Way {
  readonly kill: KillPoint;
  /** What an activity is given of the call; `null` where any call will do. */
  readonly ids: ReadonlySet<unknown> | null;
  seen: number;
  /** On `after`: what its step returned travels to the host. */
  armed: boolean;
}

/**
 * Kill -9 at a point, from within: nothing runs after it, no handler, no flush. Several calls can be on their way to a point each. Who is there
 * is held, and the last one to come ends the process; those that are not there soon after the first are on their way when it ends. The keys of
 * the others stand in the file `reached` of the folder.
 */
export function killSwitch({ kills, folder }: Pick<KillHostConfig, 'kills' | 'folder'>, durable: () => Promise<void>) {
  const ways = kills.map(
    (kill): Way => ({ kill, ids: kill.key === undefined ? null : idsOf(kill.key), seen: 0, armed: false }),
  );
  const reached = new Set<Way>();
  const under = new AsyncLocalStorage<{ readonly way: Way; readonly running: Step }>();
  let moving = false;
  let gathered: () => void = () => undefined;
  const allThere = new Promise<void>((resolve) => (gathered = resolve));
  let dying = false;
  /** Returns that travel. */
  let travelling = 0;
  const die = (): void => void process.kill(process.pid, 'SIGKILL');
  const held = () => new Promise<never>(() => undefined);
  function gatheredNow(): void {
    if (dying) return;
    dying = true;
    // What steps returned travels to the host first; the next step, or a moment in which there is none, ends the process.
    travelling = [...reached].filter(({ kill }) => kill.when === 'after').length;
    if (travelling > 0) setTimeout(die, AFTER_MS);
    else die();
    gathered();
  }
  function isThere(way: Way): void {
    if (dying) return;
    if (way.kill.key !== undefined) appendFileSync(join(folder, REACHED), `${way.kill.key}\n`);
    reached.add(way);
    if (reached.size === ways.length) gatheredNow();
    else if (reached.size === 1) setTimeout(gatheredNow, GATHER_MS);
  }
  return {
    /** Runs a step; what comes to a point within it is the call that the step is given. */
    run<T>(running: Step, args: readonly unknown[], step: () => Promise<T>): Promise<T> {
      const way = ways.find(({ ids }) => ids === null || names(args, ids));
      return way ? under.run({ way, running }, step) : under.exit(step);
    },
    /** A move of this step is made, which waits for the disk before its step goes on: the next commit is not reached. */
    moves(step: Step): void {
      const kill = under.getStore()?.way.kill;
      moving ||= kill?.step === step && kill.when === 'unsynced';
    },
    /** Brain is asked something. */
    asked: (): void => appendFileSync(join(folder, QUESTIONS), '?\n'),
    commits(): void {
      if (moving) die();
    },
    async at(step: Step, when: Moment): Promise<void> {
      const here = under.getStore();
      if (!here) return;
      const { way, running } = here;
      const { kill } = way;
      if (way.armed && when === 'before') {
        travelling -= 1;
        if (travelling === 0) die();
        await held();
      }
      // A step that is waited for only so long is held all the same, and its call does not go on without it.
      if (reached.has(way) && when === 'before') await held();
      // A port is asked in several steps, and a slow machine may run one of them again.
      if (kill.step !== step || running !== step || kill.when !== when) return;
      way.seen += 1;
      if (way.seen !== (kill.nth ?? 1)) return;
      if (when !== 'unsynced') await durable();
      isThere(way);
      await allThere;
      if (when !== 'after' || !reached.has(way)) await held();
      way.armed = true;
    },
  };
}
export type KillSwitch = ReturnType<typeof killSwitch>;
const AFTER_MS = 60;
/** Shorter than the time after which the engine is told that a step is still under way. */
const GATHER_MS = 2_000;
export const REACHED = 'reached';
/** A line for each question to Brain, of all hosts over a folder. */
export const QUESTIONS = 'questions';

const idsOf = (key: string): ReadonlySet<unknown> =>
  new Set([correlationIdFor(key), reviewIdOf(correlationIdFor(key)), key]);

/** Whether one of the ids is somewhere in what a step is given, which is an id, or a call or decision with one. */
function names(given: unknown, ids: ReadonlySet<unknown>, depth = 3): boolean {
  if (given === null || typeof given !== 'object') return ids.has(given);
  return depth > 0 && !ArrayBuffer.isView(given) && Object.values(given).some((part) => names(part, ids, depth - 1));
}

export interface KillHostParts {
  readonly calls: CallStore;
  readonly activities: GateActivities;
}

/** The stores as the host's own composition has them. */
export interface HostStores {
  readonly calls: CallStore;
  readonly ledger: Ledger & LedgerReader & Verifier;
  readonly reviews: WholeReviews;
  /** Resolves when what was stored until now survives a kill. */
  readonly durable: () => Promise<void>;
  /** Where a call's move resolves only when it is on disk: what happens before each commit. */
  readonly beforeCommit?: (hook: () => void) => void;
}

/** The host's own half of the composition: how calls run and decisions reach them. */
export interface HostHalf {
  readonly runner: CallRunner;
  readonly sender: DecisionSender;
  /** Absent where there are no reviews without a call. */
  readonly starter?: ReviewStarter;
}

/** The real stores and activities over a folder, with scripted neighbours and a switch that kills the process at a named point. */
export async function composeKillHost(
  config: KillHostConfig,
  { calls, ledger, reviews, durable, beforeCommit }: HostStores,
  runs: Runs,
  probing: Probing | undefined,
  host: (parts: KillHostParts) => Promise<HostHalf>,
): Promise<HostCommands> {
  const script = { ...config.script };
  const points = killSwitch(config, durable);
  beforeCommit?.(points.commits);
  const decisionKey = createPrivateKey(config.decisionKey);

  const activities = watched(
    createActivities(
      killable(
        {
          calls,
          runs,
          inspector: { inspect: () => Promise.reject(new Error('scripted')) },
          policies: { evaluate: () => Promise.reject(new Error('scripted')) },
          tools: noToolClasses('demo'),
          sandbox: { analyze: () => Promise.reject(new Error('scripted')) },
          reviews: reviewsOf(reviews, createRuleDecisions({ reviews, decisionKey })),
          ledger,
          upstream: toolsAt(config.toolsUrl, points, durable),
          async deliver({ url, body, correlationId }) {
            await durable();
            const response = await fetch(url, {
              method: 'POST',
              headers: { 'x-gate-correlation-id': correlationId },
              body,
            });
            if (!response.ok) throw new Error(`the callback's receiver answered ${response.status}`);
          },
          verifyDecision: decisionVerifierFor(createPublicKey(decisionKey)),
          probes: {
            of: KILL_PROBES,
            askUrl: () => Promise.reject(new Error('no address is asked here')),
            ...(probing && { probing }),
          },
          reconcile: { graceMs: config.reconcileGraceMs, retentionMs: 30 * 86_400_000, windowMs: 60_000 },
        },
        script,
        points,
      ),
    ),
    points,
  );
  const { runner, sender, starter } = await host({ calls, activities });
  const askForReview = starter && createAskForReview({ reviews, starter, clock: Date.now });
  const handler = createCallHandler({
    calls,
    runner,
    ledger,
    mode: 'enforce',
    velocity: { limit: 0, windowMs: 60_000 },
    callDeadlineMs: config.callDeadlineMs,
    upstreamTimeoutMs: config.upstreamTimeoutMs,
    ...(config.inspectionTimeoutMs !== null && { inspectionTimeoutMs: config.inspectionTimeoutMs }),
    ttlSecs: { auto: config.ttlSecs, standard: config.ttlSecs, strict: config.ttlSecs },
    maxInFlight: 1_000,
    limits: createAgentLimits({
      limits: { controls: 0, replays: 0, replayedBytes: 0, streams: 0 },
      refusals: () => Promise.resolve(),
      onLimited: () => undefined,
      now: Date.now,
    }),
    refusals: () => Promise.resolve(),
  });
  const decide = createDecisions({
    reviews,
    sender,
    decisionKey,
    clock: Date.now,
    decisionLifeMs: config.decisionLifeMs,
    approvers: () => APPROVERS,
    observe: () => undefined,
  });
  const bodyOf = ({ key, tool = 'read_file', arguments: given = {} }: CallRequest): JsonObject => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool, arguments: { ...given, key } },
  });
  const answered = (work: () => Promise<Answer>) => told(work, durable);
  const reviewOf = (key: string) => reviews.byCorrelation(correlationIdFor(key));

  return {
    call(request) {
      const body = bodyOf(request);
      const tool = request.tool ?? 'read_file';
      return answered(() =>
        handler.handle(
          {
            caller: AGENT,
            mcp: { kind: 'tool', method: 'tools/call', tool, body },
            contract: 'gate.server-execution/v1',
            idempotencyId: request.key,
            callbackUrl: request.callback ? `${config.toolsUrl}/callback` : null,
          },
          correlationIdFor(request.key),
        ),
      );
    },
    ask({ key }) {
      if (!askForReview) return Promise.reject(new Error('this host has no reviews without a call'));
      return answered(async () => {
        const { row } = await askForReview(
          {
            agent_id: AGENT.agent,
            correlation_id: correlationIdFor(key),
            method: 'tools/call',
            request_payload: bodyOf({ key }),
            risk_summary: 'a rehearsal',
            state_namespace: 'operator',
            ttl_seconds: config.ttlSecs,
            review_reasons: ['a rehearsal'],
            tenant: AGENT.tenant,
          },
          { spiffe: 'spiffe://gate.local/service/simulator', fingerprint: 'cd'.repeat(32) },
        );
        return { status: 200, headers: {}, body: row as unknown as JsonObject };
      });
    },
    async startAnew({ key }) {
      const record = await calls.find(correlationIdFor(key));
      if (!record) throw new Error(`no record of ${key}`);
      const now = Date.now();
      const call: CallInput = {
        ...record.evidence.call,
        received_ms: now,
        not_after_ms: now + config.callDeadlineMs,
      };
      return runner.start(call, call.not_after_ms);
    },
    decide: ({ key, decision, requestId, operator, change }) =>
      answered(async () => {
        const row = await reviewOf(key);
        if (!row) throw new GateError('not_found');
        const settled = await decide({
          id: row.id,
          tenant: 'acme',
          ...decisionBody(decision, change),
          reason: null,
          decided_via: 'console',
          principal: () => ({ ...OPERATOR, ...(operator !== undefined && { subject: operator }) }),
          request_id: requestId,
        });
        return { status: 200, headers: {}, body: settled as unknown as JsonObject };
      }),
    async sign({ key, decision, requestId, lifeMs }) {
      const row = await reviewOf(key);
      if (!row) throw new Error(`no review row of ${key}`);
      const now = Date.now();
      return signDecision(
        {
          pending_id: row.id,
          correlation_id: row.correlation_id,
          action_digest: row.original_payload_digest,
          decision,
          reason: null,
          decided_via: 'console',
          principal: OPERATOR,
          decided_at: new Date(now).toISOString(),
          not_after: new Date(now + lifeMs).toISOString(),
          request_id: requestId,
        },
        decisionKey,
      );
    },
    async state({ key }) {
      const record = await calls.find(correlationIdFor(key));
      const rows = await ledger.byCorrelation(correlationIdFor(key));
      const review = await reviewOf(key);
      return {
        state: record?.state ?? null,
        tier: record?.tier ?? null,
        decision: record?.decision?.status ?? null,
        pendingId: record?.pending_id ?? null,
        asked: record?.evidence.call.contract === REVIEW_CONTRACT,
        deadlineMs: record?.deadline_ms ?? null,
        due: (await calls.rowsDue(Date.now() + 60_000, 10_000)).some(
          ({ correlation_id }) => correlation_id === correlationIdFor(key),
        ),
        review: review && { status: review.status, decided_by: review.decided_by },
        escalated: escalatedOf(record, review),
        kinds: rows.map((row) => row.event_kind),
        verdictAuthorized: rows.find((row) => row.event_kind === 'proxy.verdict')?.authorized ?? null,
        error: record?.outcome?.error ?? null,
      };
    },
    script: (change) => Promise.resolve(void Object.assign(script, change)),
    reconcile: () => activities.reconcileCalls(),
    async verify() {
      const { valid, entries_checked } = await ledger.verify();
      return { valid, entries: entries_checked };
    },
    rowsDue: async () => (await calls.oldestRowsDueMs()) !== null,
  };
}

/** The ports with scripted neighbours in the place of inspection and policy, and the points that lie at a port. */
export function killable(ports: ActivityPorts, script: HostScript, points: KillSwitch): ActivityPorts {
  return {
    ...ports,
    // Otherwise a call goes on without rows that are held on their way to the ledger.
    waitForLedgerMs: 4_000,
    calls: {
      ...ports.calls,
      move(id, move, patch) {
        const step = DURABLE_MOVES[move];
        if (step) points.moves(step);
        return ports.calls.move(id, move, patch);
      },
    },
    inspector: {
      inspect: async () => {
        points.asked();
        await points.at('inspect', 'model asked');
        if (script.inspectMs > 0) await timePasses(script.inspectMs, 'an inspection that takes long');
        return inspectionOf(true);
      },
    },
    // The product's own needs seconds for its first report on a machine that starts many hosts, and a call waits for none.
    sandbox: { analyze: () => Promise.resolve(HARMLESS) },
    // A call may bring its own tier along; the script's is for all others.
    policies: {
      async evaluate(input) {
        if (script.policy === 'down') throw new Error('policy is away');
        await points.at('callUpstream', 'rules asked');
        const given = input.arguments ?? {};
        const { key } = given;
        const own = typeof key === 'string' ? script.tiers[key] : undefined;
        const said = decisionOf(tierOf(given) ?? own ?? script.tier);
        const { approval_tier: tier } = given;
        return tier === 'strict' || tier === 'auto' ? { ...said, approval_tier: tier } : said;
      },
    },
    reviews: {
      ...ports.reviews,
      async createOnce(review) {
        const row = await ports.reviews.createOnce(review);
        await points.at('openReview', 'row stored');
        return row;
      },
      async escalated(id, times) {
        await points.at('escalateReview', 'record moved');
        await ports.reviews.escalated(id, times);
      },
    },
    ledger: {
      async append(rows) {
        if (script.ledger === 'down') throw new Error('the ledger is away');
        const receipts = await ports.ledger.append(rows);
        await points.at('tryAppendRows', 'during');
        return receipts;
      },
      async held(ids) {
        if (script.ledger === 'down') throw new GateError('ledger_store_unavailable', 'the ledger is away');
        return ports.ledger.held(ids);
      },
    },
    async deliver(callback) {
      await ports.deliver(callback);
      await points.at('deliver', 'during');
    },
  };
}

const HARMLESS: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'gate-sandbox/3',
  analyzed: true,
  operation_class: 'read',
  severity: 'safe',
  reversible: 'yes',
  summary: 'read a file',
  reasons: [],
  targets: [],
  predicted_changes: [],
  scope: { targets: 0, wildcards: false, recursive: false },
  money: null,
};

const WATCHED: readonly Step[] = [
  'inspect',
  'evaluate',
  'commitVerdict',
  'analyzeCall',
  'takeIn',
  'openReview',
  'decideByRule',
  'applyDecision',
  'escalateReview',
  'expireReview',
  'callUpstream',
  'probeCall',
  'tryAppendRows',
  'settleReviewRow',
  'deliver',
];
/** Their effect lies at a port, which has the point. */
const DURING_AT_PORT: ReadonlySet<Step> = new Set(['tryAppendRows', 'deliver']);

export function watched(activities: GateActivities, points: KillSwitch): GateActivities {
  type AnyActivity = (...args: unknown[]) => Promise<unknown>;
  const all = activities as unknown as Record<string, AnyActivity>;
  const wrapped = WATCHED.map((step) => {
    const activity = all[step] as AnyActivity;
    return [
      step,
      (...args: unknown[]) =>
        points.run(step, args, async () => {
          await points.at(step, 'before');
          const result = await activity(...args);
          await points.at(step, 'unsynced');
          if (!DURING_AT_PORT.has(step)) await points.at(step, 'during');
          await points.at(step, 'after');
          return result;
        }),
    ];
  });
  return { ...activities, ...(Object.fromEntries(wrapped) as Partial<GateActivities>) };
}

/** Tools over plain HTTP: headers come when the tool has run, the body after them. */
function toolsAt(url: string, points: KillSwitch, durable: () => Promise<void>): Upstream {
  return {
    async callTool(_caller, request, { timeoutMs, signal }): Promise<UpstreamOutcome> {
      // As lite composes it: the claim is on disk before a byte leaves.
      await durable();
      await points.at('callUpstream', 'claimed');
      const limit = AbortSignal.timeout(timeoutMs);
      let response: Response;
      try {
        response = await fetch(`${url}/tool`, {
          method: 'POST',
          body: JSON.stringify(request),
          signal: signal ? AbortSignal.any([signal, limit]) : limit,
        });
        await points.at('callUpstream', 'bytes sent');
        return { kind: 'reply', statusCode: 200, text: await response.text(), failed: false };
      } catch (error) {
        return { kind: 'unknown', cause: limit.aborted ? 'timeout' : 'invalid_answer', reason: errorText(error) };
      }
    },
    control: () => Promise.resolve({ kind: 'accepted' }),
    close: () => Promise.resolve(),
  };
}

const tierOf = ({ tier }: JsonObject): Tier | null =>
  tier === 'green' || tier === 'yellow' || tier === 'red' ? tier : null;

async function told(work: () => Promise<Answer>, durable: () => Promise<void>): Promise<Told> {
  try {
    const { status, headers, body } = await work();
    // No answer leaves before what it says is on disk.
    await durable();
    return { status, headers, body: Buffer.isBuffer(body) ? body.toString('utf8') : JSON.stringify(body) };
  } catch (error) {
    if (error instanceof GateError) return { error: error.code, message: error.message, status: error.status };
    throw error;
  }
}

const OPERATOR = {
  subject: 'operator:dev',
  tenant: 'acme',
  method: 'console-bearer',
  credential: 'token',
  credential_kind: 'console-bearer',
} as const;

/**
 * A host process over IPC: it says `{loaded}`, is given the file of a configuration with `{open}`, says `{ready}`, and answers commands,
 * `{id, command, argument}` in, `{id, result}` or `{id, fault}` out. One that was not killed may be given another configuration.
 */
export function serveHost(open: (config: KillHostConfig) => Promise<HostCommands>): void {
  type Asked = { open: string } | { id: number; command: keyof HostCommands; argument: Json };
  let commands: HostCommands | null = null;
  process.on('message', (asked: Asked) => {
    if ('open' in asked) {
      // One that cannot be opened ends the process, which says why.
      void open(JSON.parse(readFileSync(asked.open, 'utf8')) as KillHostConfig).then((opened) => {
        commands = opened;
        process.send?.({ ready: true });
      });
      return;
    }
    const { id, command, argument } = asked;
    const run = commands?.[command] as (argument: Json) => Promise<unknown>;
    run(argument).then(
      (result) => process.send?.({ id, result: result ?? null }),
      (error: unknown) => process.send?.({ id, fault: errorText(error) }),
    );
  });
  // Whoever started this process is gone: nobody would end it.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.send?.({ loaded: true });
}

export const quietLogger = pino({ level: process.env['GATE_TEST_LOG'] ?? 'silent' });
