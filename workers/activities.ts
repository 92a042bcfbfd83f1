import type { StillAttested } from '../domain/identity/attestation.js';
import { createRecordActivities, type RecordActivities } from '../activities/call-record.js';
import { createCallbackActivities, type CallbackActivities } from '../activities/callback.js';
import { createInspectionActivities, type InspectionActivities } from '../activities/inspection.js';
import {
  alarmRow,
  createLedgerActivities,
  type LedgerActivities,
  type OnAlarm,
  raise,
  tamperedReview,
  tenantOf,
} from '../activities/ledger.js';
import { judgeChangedBy } from '../activities/changed-call.js';
import { observedCalls } from '../activities/observed-call.js';
import { openedCalls } from '../activities/opened-call.js';
import { createPolicyActivities, type PolicyActivities } from '../activities/policy.js';
import {
  createReconcileActivities,
  type ReconcileActivities,
  type ReconcileOptions,
  type Runs,
} from '../activities/reconcile.js';
import { createProbeActivities, type ProbeActivities } from '../activities/probe.js';
import { createReviewActivities, type ReviewActivities, type ReviewActivityOptions } from '../activities/review.js';
import { createSandboxActivities, predictBy, type SandboxActivities } from '../activities/sandbox.js';
import { rulesNowOf } from '../activities/rules-now.js';
import { createTakeInActivities, type TakeInActivities } from '../activities/take-in.js';
import { createUpstreamActivities, type MayCall, type UpstreamActivities } from '../activities/upstream.js';
import type { HeldRows, Ledger } from '../contracts/ledger.js';
import type { SignedDecision } from '../contracts/review.js';
import type { VerdictEvidence } from '../domain/call/record.js';
import type { DeliverCallback } from '../domain/outbound/ports.js';
import type { TraitsReader } from '../domain/inspection/behaviour/traits.js';
import type { AgentStanding, GrantStanding } from '../domain/identity/revocation-mirror.js';
import type { Inspector } from '../domain/inspection/port.js';
import type { CallTalks } from '../domain/upstream/call-talks.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import type { ResponseJudge } from '../domain/inspection/response-judge.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import type { AskUrl, Probing } from '../domain/probes/ports.js';
import type { Probes } from '../domain/probes/probes.js';
import type { Reviews } from '../domain/review/ports.js';
import type { Sandbox } from '../domain/sandbox/port.js';
import { reviewIdOf } from '../domain/review/sealed-review.js';
import type { NameWatch } from '../domain/tool-definitions/name-watch.js';
import type { Quarantine } from '../domain/tool-definitions/quarantine.js';
import type { ReviewGuard } from '../domain/tool-definitions/review-guard.js';
import type { ToolClasses } from '../domain/tool-classes/port.js';
import type { CallStore } from '../domain/call/ports.js';

/** The ports behind a worker: in process in `npm start` and lite, over mutual TLS when services run separately. */
export interface ActivityPorts {
  readonly calls: CallStore;
  readonly inspector: Inspector;
  /** Reads what a call does; without it calls are not compared with their agent's history. */
  readonly readTraits?: TraitsReader | undefined;
  readonly policies: PolicyEvaluator;
  readonly tools: ToolClasses;
  readonly reviews: Reviews;
  readonly sandbox: Sandbox;
  readonly ledger: Ledger & HeldRows;
  readonly upstream: Upstream;
  /** Whoever holds the requests of agents. */
  readonly talks?: CallTalks | undefined;
  /** Judges what tools answer. */
  readonly responses?: ResponseJudge;
  /** Binds reviews to the tool definitions at the time they were opened. */
  readonly definitions?: ReviewGuard;
  /** Compares called names that no list has with those that one has. */
  readonly names?: NameWatch;
  /** Absent where definitions are not quarantined. */
  readonly quarantine?: Quarantine;
  /** Absent where agents prove themselves by certificate and no list names them. */
  readonly mayCall?: MayCall;
  /** Absent where nobody keeps whom an operator stopped. */
  readonly standing?: (AgentStanding & GrantStanding) | undefined;
  /** Absent where no identity verifies platforms. */
  readonly stillAttested?: StillAttested | undefined;
  readonly deliver: DeliverCallback;
  /** How to find out what became of a call whose answer was lost; absent where no tool has a probe. */
  readonly probes?: { readonly of: Probes; readonly askUrl: AskUrl; readonly probing?: Probing } | undefined;
  /** For stores that may roll back committed state: called before something is read of them, it returns the wait for that to be on disk. */
  readonly durableFromHere?: () => () => Promise<void>;
  readonly runs: Runs;
  readonly verifyDecision: (decision: SignedDecision) => Promise<void>;
  readonly reconcile: Pick<ReconcileOptions, 'graceMs' | 'retentionMs' | 'windowMs' | 'callLimitMs' | 'partMs'>;
  readonly now?: () => number;
  /** Milliseconds that a call waits for the ledger before its rows are left to the retrying activity. */
  readonly waitForLedgerMs?: number;
  /** For a ledger that may roll back rows it accepted: the listener must be called when it does. */
  readonly onLedgerUndone?: (listener: () => void) => void;
  readonly onCommitted?: (evidence: VerdictEvidence) => void;
  readonly onAlarm?: OnAlarm;
}

export type GateActivities = InspectionActivities &
  PolicyActivities &
  RecordActivities &
  ReviewActivities &
  SandboxActivities &
  TakeInActivities &
  UpstreamActivities &
  LedgerActivities &
  CallbackActivities &
  ProbeActivities &
  ReconcileActivities;

/** Every activity of Gate over its ports; both runners of the pipeline call these. */
export function createActivities(ports: ActivityPorts): GateActivities {
  const { calls, ledger, now } = ports;
  const clock = now ? { now } : {};
  const observed = ports.readTraits && observedCalls(ports.readTraits);
  const record = createRecordActivities({
    calls,
    observed,
    quarantine: ports.quarantine,
    names: ports.names,
    hasProbe: (tool) => ports.probes?.of.has(tool) ?? false,
    ...clock,
    ...(ports.onCommitted && { onCommitted: ports.onCommitted }),
  });
  const rows = createLedgerActivities({
    calls,
    ledger,
    ...clock,
    waitForLedgerMs: ports.waitForLedgerMs,
    ...(ports.onLedgerUndone && { onUndone: ports.onLedgerUndone }),
    onAlarm: ports.onAlarm,
  });
  const alarm: ReviewActivityOptions['alarm'] = async (said) => {
    ports.onAlarm?.(said.correlation_id, said.reasoning, said.kind);
    await raise(ledger, alarmRow(said));
  };
  const review = createReviewActivities({
    calls,
    judgeChanged: judgeChangedBy({ ...ports, observed }),
    predict: predictBy(ports),
    reviews: ports.reviews,
    definitions: ports.definitions,
    verify: ports.verifyDecision,
    alarm,
    ...clock,
  });
  // At once if the store is in this process; in any case when its call ends, by whoever settles the row.
  ports.reviews.onTampered?.(({ id, correlation_id }) => {
    const named = reviewIdOf(correlation_id) === id ? correlation_id : id;
    tenantOf(calls, named)
      .then((tenant) => alarm(tamperedReview(id, named, tenant)))
      .catch(() => undefined);
  });
  // Records that the store closes because Gate did not write them are reported at once; what fails here stays due, for reconciliation or
  // the next start.
  calls.onTampered(({ correlation_id: correlationId, outcome }) => {
    ports.onAlarm?.(correlationId, outcome?.error ?? 'the record is not what Gate wrote', 'alarm.record_tampered');
    rows.appendRows(correlationId).catch(() => undefined);
    review.settleReviewRow(correlationId).catch(() => undefined);
  });
  const { probes } = ports;
  const probing = probes?.probing;
  // At once; what fails here stays due, for reconciliation.
  if (probing)
    calls.onMoved(({ correlation_id: id, state, evidence, outcome }) => {
      if (state === 'uncertain' && !outcome?.probes && probes.of.has(evidence.call.tool))
        probing.begin(id).catch(() => undefined);
    });
  const opened = openedCalls(calls);
  const callback = createCallbackActivities({
    calls,
    deliver: ports.deliver,
    durableFromHere: ports.durableFromHere,
    reportStuck: rows.reportStuck,
    reportDelivered: rows.reportDelivered,
  });
  return {
    ...createPolicyActivities({ calls, opened, policies: ports.policies, tools: ports.tools }),
    ...createInspectionActivities({ calls, opened, inspector: ports.inspector, observed }),
    ...record,
    ...rows,
    ...review,
    ...createSandboxActivities({ calls, sandbox: ports.sandbox }),
    ...createTakeInActivities({ calls, reviews: ports.reviews }),
    ...createUpstreamActivities({
      calls,
      upstream: ports.upstream,
      talks: ports.talks,
      responses: ports.responses,
      definitions: ports.definitions,
      quarantine: ports.quarantine,
      mayCall: ports.mayCall,
      standing: ports.standing,
      reviews: ports.reviews,
      rulesNow: rulesNowOf(ports),
      stillAttested: ports.stillAttested,
      verify: ports.verifyDecision,
      ...clock,
    }),
    ...callback,
    ...createProbeActivities({
      calls,
      upstream: ports.upstream,
      policies: ports.policies,
      tools: ports.tools,
      probes: probes?.of ?? new Map(),
      askUrl: probes?.askUrl ?? (() => Promise.reject(new Error('no address may be asked'))),
      quarantine: ports.quarantine,
      mayCall: ports.mayCall,
      ...clock,
    }),
    ...createReconcileActivities({
      calls,
      runs: ports.runs,
      ledger,
      record,
      review,
      rows,
      callback,
      probing,
      ...ports.reconcile,
      ...clock,
      ...(ports.onAlarm && { onAlarm: ports.onAlarm }),
    }),
  };
}
