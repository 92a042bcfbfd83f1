import { APPROVERS } from './approvers.js';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Runs } from '../../activities/reconcile.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { HeldRows, Ledger, LedgerEntry } from '../../contracts/ledger.js';
import type { ApprovalTier, ToolClassFact } from '../../contracts/policy.js';
import type { SignedDecision } from '../../contracts/review.js';
import { openCallStore } from '../../adapters/call/call-store.js';
import { canonicalDigest } from '../../domain/crypto/digest.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import type { Callback } from '../../domain/outbound/ports.js';
import { GateError } from '../../domain/errors.js';
import type { Inspector } from '../../domain/inspection/port.js';
import { type WholeLedger, openLedger } from './whole-ledger.js';
import type { Upstream, UpstreamOutcome } from '../../domain/upstream/upstream.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import { decisionVerifierFor, signDecision } from '../../domain/review/decision-signature.js';
import { createRuleDecisions } from '../../domain/review/rule-decision.js';
import type { QuorumRule } from '../../domain/decision/quorum.js';
import { createClockWatch } from '../../domain/review/clock-watch.js';
import { createDecisions } from '../../domain/review/decisions.js';
import type { Sandbox } from '../../domain/sandbox/port.js';
import type { ToolClasses } from '../../domain/tool-classes/port.js';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { createInProcessRunner, type InProcessRunner } from '../../lite/in-process-runner.js';
import { type ActivityPorts, createActivities, type GateActivities } from '../../workers/activities.js';
import { callInput } from './call-input.js';
import { decisionOf, inspectionOf } from './judgements.js';
import { callMigrations } from '../../migrations/calls.js';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { writeMigrated } from './migrated-file.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { Passkeys } from '../../domain/review/passkeys.js';
import type { PasskeyStore } from '../../domain/review/passkey-store.js';
import { type Clock, machineClock } from '../../lite/clock.js';
import { openReviewStore, type WholeReviews } from './whole-reviews.js';

/**
 * The real stores, activities and host over a folder, with scripted neighbours: what Brain, policy and the tools say is the test's to
 * choose. Opening a second fixture over the same folder is a restart.
 */
export interface PipelineFixture {
  readonly folder: string;
  readonly calls: CallStore;
  readonly ledger: WholeLedger;
  readonly reviews: WholeReviews;
  readonly activities: GateActivities;
  readonly ports: Pick<ActivityPorts, 'calls' | 'policies' | 'tools'>;
  readonly host: InProcessRunner;
  readonly verifyDecision: ActivityPorts['verifyDecision'];
  /** HIL's side of a decision, as its route and lite's page call it. */
  readonly decide: ReturnType<typeof createDecisions>;
  readonly script: Script;
  /** Every request the tools took. */
  readonly executed: JsonObject[];
  readonly callbacks: Callback[];
  call(overrides?: Partial<CallInput> & { arguments?: JsonObject; callback_url?: string | null }): Promise<CallInput>;
  /** The same, of which the store knows nothing yet. */
  unstaged(overrides?: Partial<CallInput> & { arguments?: JsonObject }): { body: JsonObject; call: CallInput };
  run(call: CallInput): Promise<CallSummary | null>;
  decision(call: CallInput, decision: 'approve' | 'deny', overrides?: Partial<SignedDecision>): Promise<SignedDecision>;
  rows(correlationId: string): Promise<LedgerEntry[]>;
  kinds(correlationId: string): Promise<(string | null)[]>;
  close(): Promise<void>;
}

/** What the neighbours answer; a test changes it as it goes. */
export interface Script {
  tier: 'green' | 'yellow' | 'red';
  approvalTier: ApprovalTier;
  /** What a rule says of a call that is denied or reviewed, besides what the tier has. */
  quotes?: string;
  /** The digest of the rules that policy judges by. */
  rules: string;
  /** What operators said of tools; each counts where a call has the tool. */
  classes: Readonly<Record<string, ToolClassFact>>;
  brain: 'up' | 'down' | 'rejects';
  policy: 'up' | 'down';
  hil: 'up' | 'down' | 'stores_then_fails';
  ledger: 'up' | 'down';
  sandbox: 'up' | 'down' | 'silent';
  /** What happens to each request of a row on its way to HIL, and to its answer on the way back. */
  hilTakes: () => Promise<void>;
  hilAnswers: () => Promise<void>;
  upstream: (request: JsonObject, limits: Parameters<Upstream['callTool']>[2]) => Promise<UpstreamOutcome>;
  /** `fails_once` answers the next one with a fault that passes, then is up. */
  receiver: 'up' | 'down' | 'refuses' | 'fails_once';
}

export const replyOk = async (request: JsonObject): Promise<UpstreamOutcome> => ({
  kind: 'reply',
  statusCode: 200,
  text: JSON.stringify({
    jsonrpc: '2.0',
    id: request.id ?? null,
    result: { content: [{ type: 'text', text: 'done' }] },
  }),
  failed: false,
});

const TEST_KEYS = (name: string): KeyRing => keyRing(new Map([[name, Buffer.alloc(32, name)]]));
export const DECISION_KEYS = generateKeyPairSync('ed25519');

export const fixtureFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'gate-pipeline-'));

export interface FixtureOptions {
  readonly folder?: string;
  readonly clock?: Clock;
  /** HIL's own clock where it is not that of the rest. */
  readonly hilNow?: () => number;
  /** What the database of the calls says of the time; without an answer of its own when absent, as a file. */
  readonly storeClockMs?: () => number | null;
  readonly script?: Partial<Script>;
  readonly runs?: Runs;
  readonly reconcile?: Partial<ActivityPorts['reconcile']>;
  readonly onAlarm?: ActivityPorts['onAlarm'];
  /** One person decides everything when absent. */
  readonly quorum?: QuorumRule;
  /** The shares of its time after which a review is escalated; never when absent. */
  readonly escalateShares?: readonly number[];
  /** Who may approve at the moment; everybody when absent. */
  readonly approvers?: () => readonly string[];
  /** Approvers without passkeys when absent. */
  readonly passkeys?: (store: PasskeyStore) => Passkeys;
  readonly compose?: typeof createActivities;
  /** How to find out what became of a call whose answer was lost; no tool has a probe when absent. */
  readonly probes?: ActivityPorts['probes'];
}

export async function openPipeline({
  folder,
  clock = machineClock,
  hilNow = clock.now,
  script: given = {},
  storeClockMs,
  runs,
  reconcile,
  onAlarm,
  quorum,
  escalateShares = [],
  approvers = () => APPROVERS,
  passkeys,
  compose = createActivities,
  probes,
}: FixtureOptions = {}): Promise<PipelineFixture> {
  const home = folder ?? (await fixtureFolder());
  const script: Script = {
    tier: 'green',
    approvalTier: 'standard',
    rules: 'sha256:test',
    classes: {},
    brain: 'up',
    policy: 'up',
    hil: 'up',
    ledger: 'up',
    sandbox: 'up',
    hilTakes: () => Promise.resolve(),
    hilAnswers: () => Promise.resolve(),
    upstream: replyOk,
    receiver: 'up',
    ...given,
  };
  const stores = { 'ledger.db': ledgerMigrations, 'calls.db': callMigrations, 'hil.db': hilMigrations };
  if (!existsSync(join(home, 'calls.db')))
    for (const [name, migrations] of Object.entries(stores)) await writeMigrated(join(home, name), migrations);
  const ledger = await openLedger({ target: { file: join(home, 'ledger.db') }, sidecarKeys: TEST_KEYS('sidecars') });
  const whileUp = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (script.ledger === 'down') throw new GateError('ledger_store_unavailable', 'the ledger is away');
    return ask();
  };
  const reached: Ledger & HeldRows = {
    append: (rows) => whileUp(() => ledger.append(rows)),
    held: (ids) => whileUp(() => ledger.held(ids)),
  };
  const opened = await openCallStore({
    target: { file: join(home, 'calls.db') },
    keys: TEST_KEYS('records'),
    now: clock.now,
    ledger: reached,
  });
  const calls: CallStore = storeClockMs ? { ...opened, clockMs: async () => storeClockMs() } : opened;
  const reviews = await openReviewStore({
    target: { file: join(home, 'hil.db') },
    payloadKeys: TEST_KEYS('payloads'),
    clock: hilNow,
    ...(quorum && { quorum }),
    escalateShares,
  });
  const ruled = createRuleDecisions({ reviews, decisionKey: DECISION_KEYS.privateKey, clock: hilNow });
  const executed: JsonObject[] = [];
  const callbacks: Callback[] = [];
  const upstream: Upstream = {
    callTool(_caller, request, limits) {
      executed.push(request);
      return script.upstream(request, limits);
    },
    control: () => Promise.resolve({ kind: 'accepted' }),
    close: () => Promise.resolve(),
  };
  const inspector: Inspector = {
    inspect: async () => {
      if (script.brain === 'down') throw new Error('brain is away');
      return inspectionOf(script.brain === 'up');
    },
  };
  const policies: PolicyEvaluator = {
    evaluate: async () => {
      if (script.policy === 'down') throw new Error('policy is away');
      const said = decisionOf(script.tier);
      const policy_bundle = { ...said.policy_bundle, hash_sha256: script.rules };
      const more = script.quotes === undefined ? [] : [script.quotes];
      const reasons = said.reasons.flatMap((reason) => [reason, ...more]);
      const review_reasons = said.review_reasons.flatMap((reason) => [reason, ...more]);
      return { ...said, reasons, review_reasons, approval_tier: script.approvalTier, policy_bundle };
    },
  };
  const tools: ToolClasses = {
    upstream: 'demo',
    of: async (_tenant, _agent, asked) =>
      Object.fromEntries(Object.entries(script.classes).filter(([tool]) => asked.includes(tool))),
  };
  const analyze = await loadAnalyzer();
  const sandbox: Sandbox = {
    analyze: async ({ method, params }) => {
      if (script.sandbox === 'down') throw new GateError('sandbox_unavailable', 'the sandbox is away');
      if (script.sandbox === 'silent') return new Promise(() => undefined);
      return analyze(method, params);
    },
  };
  const ports: ActivityPorts = {
    calls,
    sandbox,
    inspector,
    policies,
    tools,
    upstream,
    reviews: {
      async createOnce(review) {
        if (script.hil === 'down') throw new Error('hil is away');
        await script.hilTakes();
        const { row } = await reviews.createOnce(review);
        await script.hilAnswers();
        if (script.hil === 'stores_then_fails') throw new Error('the answer of hil was lost');
        return row;
      },
      async byCorrelation(correlationId, tenant) {
        if (script.hil === 'down') throw new GateError('pipeline_unavailable', 'hil is away');
        return reviews.byCorrelation(correlationId, tenant);
      },
      async decideByRule(pendingId) {
        if (script.hil === 'down') throw new Error('hil is away');
        return ruled(pendingId);
      },
      withdraw: (correlationId, attemptMs) => reviews.withdraw(correlationId, attemptMs),
      async settle(settled) {
        if (script.hil === 'down') throw new GateError('pipeline_unavailable', 'hil is away');
        return reviews.settle(settled);
      },
      async escalated(id, times) {
        if (script.hil === 'down') throw new GateError('pipeline_unavailable', 'hil is away');
        await reviews.escalated(id, times);
      },
      assertOpen: (tenant) => reviews.assertOpen(tenant),
      async undecided(after, limit) {
        if (script.hil === 'down') throw new GateError('pipeline_unavailable', 'hil is away');
        return reviews.undecided(after, limit);
      },
      openedChange(id, sealed) {
        if (script.hil === 'down') throw new GateError('pipeline_unavailable', 'hil is away');
        return reviews.changeSeal.opened(id, sealed);
      },
    },
    ledger: reached,
    async deliver(callback) {
      callbacks.push(callback);
      if (script.receiver === 'fails_once') {
        script.receiver = 'up';
        throw new Error('the receiver answered 500');
      }
      if (script.receiver === 'down') throw new Error('the receiver answered 503');
      if (script.receiver === 'refuses') throw Object.assign(new Error('the receiver answered 400'), { final: true });
    },
    probes,
    runs: runs ?? { status: () => Promise.resolve('missing'), end: () => Promise.resolve() },
    verifyDecision: decisionVerifierFor(DECISION_KEYS.publicKey),
    reconcile: { graceMs: 0, retentionMs: 30 * 86_400_000, windowMs: 60_000, ...reconcile },
    ...(onAlarm && { onAlarm }),
    now: clock.now,
    // A crowded machine must not look like a ledger that is away.
    waitForLedgerMs: 30_000,
  };
  const activities = compose(ports);
  const host = createInProcessRunner({
    calls,
    activities,
    logger: pino({ level: 'silent' }),
    clock,
    ...(probes && { probed: (tool: string) => probes.of.has(tool) }),
  });

  const unstaged: PipelineFixture['unstaged'] = ({ arguments: given = { path: 'a.txt' }, ...overrides } = {}) => {
    const body: JsonObject = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: overrides.tool ?? 'read_file', arguments: given },
    };
    const call = callInput(clock.now(), {
      agent: 'support-bot',
      agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/support-bot/instance/0190b8d0-0000-7000-8000-000000000000',
      credential_fingerprint: randomBytes(32).toString('hex'),
      digest: canonicalDigest({ route: '/mcp', body } as Json),
      upstream_timeout_ms: 5_000,
      ...overrides,
    });
    return { body, call };
  };
  return {
    folder: home,
    calls,
    ledger,
    reviews,
    activities,
    ports,
    host,
    verifyDecision: ports.verifyDecision,
    decide: createDecisions({
      reviews,
      sender: createClockWatch({
        decisionKey: DECISION_KEYS.privateKey,
        clock: hilNow,
        storeMs: () => Promise.resolve(null),
        logger: pino({ level: 'silent' }),
      }).over(host),
      decisionKey: DECISION_KEYS.privateKey,
      clock: hilNow,
      decisionLifeMs: 10_000,
      approvers,
      quorum,
      observe: () => undefined,
      passkeys: passkeys?.(reviews.passkeys),
    }),
    script,
    executed,
    callbacks,
    unstaged,
    async call({ callback_url = null, ...given } = {}) {
      const { body, call } = unstaged({ has_callback: callback_url !== null, ...given });
      await calls.admit(call, { body, callback_url }, { limit: 0, windowMs: 60_000 });
      return call;
    },
    run: (call) => host.start(call, clock.now() + 10_000),
    async decision(call, decision, overrides = {}) {
      const row = await reviews.byCorrelation(call.correlation_id);
      const now = clock.now();
      const { signature: _unsigned, ...unsigned }: SignedDecision = {
        pending_id: row?.id ?? randomUUID(),
        correlation_id: call.correlation_id,
        action_digest: row?.original_payload_digest ?? '',
        decision,
        reason: 'looked at it',
        decided_via: 'console',
        principal: {
          subject: 'operator:dev',
          tenant: 'acme',
          method: 'console-bearer',
          credential: 'token',
          credential_kind: 'console-bearer',
        },
        decided_at: new Date(now).toISOString(),
        not_after: new Date(now + 10_000).toISOString(),
        request_id: randomUUID(),
        signature: '',
        ...overrides,
      };
      return signDecision(unsigned, DECISION_KEYS.privateKey);
    },
    rows: (correlationId) => ledger.byCorrelation(correlationId),
    kinds: async (correlationId) => (await ledger.byCorrelation(correlationId)).map((row) => row.event_kind),
    async close() {
      await host.close();
      await calls.close();
      await reviews.close();
      await ledger.close();
      if (!folder) await rm(home, { recursive: true, force: true });
    },
  };
}
