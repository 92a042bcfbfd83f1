import type { CallInput, CallSummary } from '../../contracts/call.js';
import { type CallRecord, NotAsStaged, takenMs } from './record.js';
import { APPROVED_CLAIM_LIMIT_MS } from './transitions.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';

/** Brain's answer, or that there is none. An outage does not stop policy: deterministic rules can still deny. */
export type Inspected =
  | { readonly available: true; readonly inspection: InspectionResponse }
  | { readonly available: false; readonly reason: string };

/**
 * Policy's answer, or why there is none, with the input it was given, without the arguments: those stay in the record, because histories
 * contain no bodies.
 */
export type Evaluated = { readonly facts: Omit<PolicyInput, 'arguments'> } & (
  | { readonly decision: PolicyDecision }
  | { readonly decision: null; readonly reason: string }
);

/** The layer of a call that cannot be parked because of its agent's own backlog. */
export const REVIEW_BACKLOG = 'review_backlog';
/** The layer of a call that cannot be parked because its tenant has left. */
export const TENANT_OFFBOARDED = 'tenant_offboarded';
/** The layer of a review without a call whose id belongs to something else. */
export const ID_TAKEN = 'id_taken';

/**
 * Thrown by a step when a dependency is down before a verdict was committed: 503, no record, and the same id may start again. The layer
 * `review_backlog` is no outage: the agent has as much waiting for people as it may, 429. Nor is `tenant_offboarded`: nobody decides about its
 * calls any more, 409; nor `id_taken`, 409.
 */
export class PipelineUnavailable extends Error {
  readonly layer:
    | 'brain'
    | 'policy'
    | 'hil'
    | 'proxy'
    | typeof REVIEW_BACKLOG
    | typeof TENANT_OFFBOARDED
    | typeof ID_TAKEN;
  constructor(layer: PipelineUnavailable['layer'], reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'PipelineUnavailable';
    this.layer = layer;
  }
}

/** The steps that lead to a verdict. Each may run twice after a crash. */
export interface JudgeSteps {
  /** The runner's clock, epoch milliseconds. */
  now(): number;
  inspect(call: CallInput): Promise<Inspected>;
  evaluate(call: CallInput, inspected: Inspected): Promise<Evaluated>;
  /** Inserts the record or returns the existing one: the first verdict stands, whatever a second run would say. */
  commitVerdict(call: CallInput, inspected: Inspected, evaluated: Evaluated): Promise<CallSummary>;
  /** Records that the call came too late to begin. */
  abandonCall(call: CallInput): Promise<CallSummary>;
  /** Closes the call: what would be judged is not what was staged. */
  closeTampered(call: CallInput, why: string): Promise<CallSummary>;
}

/**
 * What a runner provides to the pipeline. Temporal's uses activities, timers and updates; the in-process runner uses direct calls behind a
 * journal. Each step may run twice after a crash and then gives the first answer.
 */
export interface PipelineSteps {
  /** The runner's clock, epoch milliseconds; the same at every replay. */
  now(): number;
  /** `judgeCall`, as one step or as its two halves. Only the committed verdict is remembered. */
  judge(call: CallInput): Promise<CallSummary>;
  /**
   * Asks the sandbox what a call that needs review would do; `openReview` shows it with the row. Never throws: down or slow, the row has no
   * report.
   */
  analyze(call: CallInput): Promise<void>;
  /**
   * Stores the review row and moves the record to parked, or to approved where a rule decides it (tier `auto`). After a crash it may find the
   * review over. Throws PipelineUnavailable('hil') with the row withdrawn.
   */
  openReview(call: CallInput, verdict: CallSummary): Promise<CallSummary>;
  /**
   * Asks the rule about a call of tier `auto` that was found parked: whoever parked it may have died before the rule's decision was stored.
   * Returns approved, or what else stands by now; still parked where a person must decide. Never throws.
   */
  askRule(call: CallInput, parked: CallSummary): Promise<CallSummary>;
  /** Waits for the first valid decision or the deadline; returns approved, denied or expired (or aborted by reconciliation). */
  awaitDecision(call: CallInput, parked: CallSummary): Promise<CallSummary>;
  /**
   * Claims, sends once, stores the outcome; if anything fails, returns what the record says. A call found `intended` is settled, not sent.
   */
  execute(call: CallInput, permitted: CallSummary, claimNotAfterMs: number): Promise<CallSummary>;
  /**
   * Appends every ledger row that the record implies by now. Never throws and never blocks for long: what the ledger does not accept now is
   * appended later.
   */
  appendRows(call: CallInput, reached: CallSummary): Promise<void>;
  /** Sends the decision or expiry to the caller's callback address, without delaying the call. */
  notify(call: CallInput, settled: CallSummary): Promise<void>;
  /** Gives the waiting caller its answer. Only the first one counts. */
  answer(summary: CallSummary): void;
  /** Resolves when every row handed to `appendRows` is in the ledger. */
  appended(): Promise<void>;
}

/**
 * The life of one call, and the only place that defines the order of the steps: inspect, evaluate, commit the verdict, analyse,
 * park and decide when policy asks for it, execute once, record. `resumed` is the record of a call that was in progress before: its verdict stands, and the
 * pipeline continues from there. Throws PipelineUnavailable before there is a verdict; afterwards every end is a state of the record.
 */
export async function runCall(
  call: CallInput,
  steps: PipelineSteps,
  resumed: CallSummary | null = null,
): Promise<CallSummary> {
  let record = resumed ?? (await steps.judge(call));

  if (record.state === 'decided') {
    await steps.analyze(call);
    record = await steps.openReview(call, record);
    if (isReviewed(record) && call.has_callback) await steps.notify(call, record);
  } else if (record.state === 'parked' && record.approval_tier === 'auto') {
    record = await steps.askRule(call, record);
    if (isReviewed(record) && call.has_callback) await steps.notify(call, record);
  }
  await steps.appendRows(call, record);

  if (record.state === 'parked') {
    steps.answer(record);
    record = await steps.awaitDecision(call, record);
    await steps.appendRows(call, record);
    if (call.has_callback) await steps.notify(call, record);
  }
  if (
    call.contract === 'gate.server-execution/v1' &&
    (record.state === 'allowed' || record.state === 'approved' || record.state === 'intended')
  ) {
    // Counted from the decision itself, by the clock that the claim goes by, which may be a minute ahead of HIL's: a call that a restart finds
    // approved since yesterday is not run today.
    const { state, applied_ms, decided_ms } = record;
    const claimNotAfterMs =
      state === 'approved' ? (applied_ms ?? decided_ms ?? steps.now()) + APPROVED_CLAIM_LIMIT_MS : call.not_after_ms;
    record = await steps.execute(call, record, claimNotAfterMs);
    await steps.appendRows(call, record);
  }
  steps.answer(record);
  await steps.appended();
  return record;
}

/** Whether the call waited for a decision, and its review is over. */
export const isReviewed = ({ pending_id, state }: CallSummary): boolean =>
  pending_id !== null && (state === 'approved' || state === 'denied' || state === 'expired');

/**
 * Until when the attempt of a call may begin, by its record: an allowed one as long as its caller waits, an approved one for a fixed time
 * after the decision was taken.
 */
export const claimLimitOf = ({ decision, evidence }: CallRecord): number =>
  decision?.status === 'approved' ? takenMs(decision) + APPROVED_CLAIM_LIMIT_MS : evidence.call.not_after_ms;

/**
 * Whether nobody waits for the call any more. A clock that is earlier than the call's arrival, by more than the call may take, was set back
 * meanwhile: the call's age is then unknown, and its own deadline would come an hour late.
 */
export const outOfTime = (
  { received_ms, not_after_ms }: Pick<CallInput, 'received_ms' | 'not_after_ms'>,
  nowMs: number,
): boolean => nowMs > not_after_ms || nowMs < received_ms - (not_after_ms - received_ms);

/**
 * From the request to a committed verdict: inspect, evaluate, commit. Safe to run again from the start, because the first verdict stands.
 * Throws PipelineUnavailable when no verdict is possible.
 */
export async function judgeCall(call: CallInput, steps: JudgeSteps): Promise<CallSummary> {
  const looked = await inspectCall(call, steps);
  return 'closed' in looked ? looked.closed : evaluateCall(call, looked.inspected, steps);
}

/** The result of inspection; or how a call was closed that can no longer be judged. */
export type Looked = { readonly inspected: Inspected } | { readonly closed: CallSummary };

/**
 * The first half of `judgeCall`, for a runner that makes it a separate step. It does not change the record of a call that can be judged.
 */
export async function inspectCall(
  call: CallInput,
  steps: Pick<JudgeSteps, 'now' | 'inspect' | 'abandonCall' | 'closeTampered'>,
): Promise<Looked> {
  return unlessTampered<Looked>(
    async () =>
      outOfTime(call, steps.now())
        ? { closed: await steps.abandonCall(call) }
        : { inspected: await steps.inspect(call) },
    async (why) => ({ closed: await steps.closeTampered(call, why) }),
  );
}

/** The second half: asks policy, and commits the verdict of both. */
export async function evaluateCall(
  call: CallInput,
  inspected: Inspected,
  steps: Pick<JudgeSteps, 'evaluate' | 'commitVerdict' | 'closeTampered'>,
): Promise<CallSummary> {
  return unlessTampered(
    async () => {
      const evaluated = await steps.evaluate(call, inspected);
      refuseUnheard(call, inspected, evaluated);
      return steps.commitVerdict(call, inspected, evaluated);
    },
    (why) => steps.closeTampered(call, why),
  );
}

async function unlessTampered<Answer>(work: () => Promise<Answer>, close: (why: string) => Promise<Answer>) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotAsStaged) return close(error.message);
    throw error;
  }
}

/**
 * Without policy there is no decision. Without Brain only policy's deny counts, and anything it would allow fails closed. Observe mode
 * forwards and counts, except what touches a decoy.
 */
function refuseUnheard(call: CallInput, inspected: Inspected, evaluated: Evaluated): void {
  if (call.mode === 'observe' && !call.decoy) return;
  if (!evaluated.decision) throw new PipelineUnavailable('policy', evaluated.reason);
  // Whatever the rules say of it, what touches a decoy is denied.
  if (inspected.available || call.decoy) return;
  if (evaluated.decision.reasons.length === 0) throw new PipelineUnavailable('brain', inspected.reason);
}
