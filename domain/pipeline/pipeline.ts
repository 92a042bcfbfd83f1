import type { CallInput, CallSummary } from '../../contracts/call.js';
import { type CallRecord, NotAsStaged } from '../call-record/record.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';

/** Brain's answer, or that there is none. An outage does not stop policy: deterministic rules can still deny. */
export type Inspected =
  | { readonly available: true; readonly inspection: InspectionResponse }
  | { readonly available: false; readonly reason: string };

/**
 * Policy's answer, or why there is none, with the facts it was given, without the arguments: those stay in the record (histories carry no
 * bodies).
 */
export type Evaluated = { readonly facts: Omit<PolicyInput, 'arguments'> } & (
  | { readonly decision: PolicyDecision }
  | { readonly decision: null; readonly reason: string }
);

/** The layer of a call that its agent's own backlog keeps from being parked. */
export const REVIEW_BACKLOG = 'review_backlog';

/**
 * Thrown by a step when a dependency is down before a verdict could stand: 503, no record, and the same id may start again. The layer
 * `review_backlog` is no outage: the agent has as much waiting for people as it may, 429.
 */
export class PipelineUnavailable extends Error {
  readonly layer: 'brain' | 'policy' | 'hil' | 'proxy' | typeof REVIEW_BACKLOG;
  constructor(layer: PipelineUnavailable['layer'], reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'PipelineUnavailable';
    this.layer = layer;
  }
}

/** What a verdict is made with. Each may be met twice after a crash. */
export interface JudgeSteps {
  /** The runner's clock, epoch milliseconds. */
  now(): number;
  inspect(call: CallInput): Promise<Inspected>;
  evaluate(call: CallInput, inspected: Inspected): Promise<Evaluated>;
  /** Inserts the record or returns the one that is there: the first verdict stands, whatever a second look would say. */
  commitVerdict(call: CallInput, inspected: Inspected, evaluated: Evaluated): Promise<CallSummary>;
  /** Records that the call came too late to begin. */
  abandonCall(call: CallInput): Promise<CallSummary>;
  /** Closes the call: what is to be judged is not what was staged. */
  closeTampered(call: CallInput, why: string): Promise<CallSummary>;
}

/**
 * What a runner gives the pipeline. Temporal's answers with activities, timers and updates; the in-process runner with direct calls
 * behind a journal. Each step may be met twice after a crash and then gives the first answer.
 */
export interface PipelineSteps {
  /** The runner's clock, epoch milliseconds; the same at every replay. */
  now(): number;
  /** `judgeCall`, as one step or as its two halves: nothing of it but the committed verdict is remembered. */
  judge(call: CallInput): Promise<CallSummary>;
  /** Stores the review row and moves the record to parked. Throws PipelineUnavailable('hil') with the row withdrawn. */
  openReview(call: CallInput, verdict: CallSummary): Promise<CallSummary>;
  /** Waits for the first valid decision or the deadline; comes back approved, denied or expired (or aborted by reconciliation). */
  awaitDecision(call: CallInput, parked: CallSummary): Promise<CallSummary>;
  /** Claims, sends once, stores the outcome; whatever fails, comes back with what the record says. A call found `intended` is settled, not sent. */
  execute(call: CallInput, permitted: CallSummary, claimNotAfterMs: number): Promise<CallSummary>;
  /** Appends every ledger row the record implies by now. Never throws and never blocks for long: what the ledger does not take now is appended later. */
  appendRows(call: CallInput, reached: CallSummary): Promise<void>;
  /** Sends the decision or expiry to the caller's callback address, on its own time. */
  notify(call: CallInput, settled: CallSummary): Promise<void>;
  /** Gives the waiting caller its answer. Only the first one counts. */
  answer(summary: CallSummary): void;
  /** Resolves when every row handed to `appendRows` is in the ledger. */
  appended(): Promise<void>;
}

/** An approved call must have begun within this time after its decision; later the claim is refused and nothing runs. */
export const APPROVED_CLAIM_LIMIT_MS = 60_000;

/**
 * The life of one call, the only place where the order of the steps stands:
 * inspect, evaluate, commit the verdict, park and decide where policy asks for it, execute once, record.
 * `resumed` is what the record says of a call that was under way before: the verdict then stands, and the story goes on from there.
 * Throws PipelineUnavailable before a verdict stands; afterwards every end is a state of the record.
 */
export async function runCall(
  call: CallInput,
  steps: PipelineSteps,
  resumed: CallSummary | null = null,
): Promise<CallSummary> {
  let record = resumed ?? (await steps.judge(call));

  if (record.state === 'decided') record = await steps.openReview(call, record);
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
    // Counted from the decision itself: a call that a restart finds approved since yesterday is not run today.
    const claimNotAfterMs =
      record.state === 'approved' ? (record.decided_ms ?? steps.now()) + APPROVED_CLAIM_LIMIT_MS : call.not_after_ms;
    record = await steps.execute(call, record, claimNotAfterMs);
    await steps.appendRows(call, record);
  }
  steps.answer(record);
  await steps.appended();
  return record;
}

/**
 * Until when the attempt of a call may begin, by its record: an allowed one for as long as its caller waits, an approved one for a time of
 * its own, counted from the decision.
 */
export const claimLimitOf = ({ decision, evidence }: CallRecord): number =>
  decision?.status === 'approved'
    ? Date.parse(decision.decided_at) + APPROVED_CLAIM_LIMIT_MS
    : evidence.call.not_after_ms;

/**
 * Whether nobody waits for the call any more. A clock that stands before the call came, by more than the call may take, was put back
 * meanwhile: how long ago it came is not known, and its own deadline would come an hour late.
 */
export const outOfTime = (
  { received_ms, not_after_ms }: Pick<CallInput, 'received_ms' | 'not_after_ms'>,
  nowMs: number,
): boolean => nowMs > not_after_ms || nowMs < received_ms - (not_after_ms - received_ms);

/**
 * From the request to a verdict that stands in the record: inspect, evaluate, commit. Safe to run again from its start, because the first
 * verdict stands. Throws PipelineUnavailable where no verdict can be had.
 */
export async function judgeCall(call: CallInput, steps: JudgeSteps): Promise<CallSummary> {
  const looked = await inspectCall(call, steps);
  return 'closed' in looked ? looked.closed : evaluateCall(call, looked.inspected, steps);
}

/** What inspection found; or how a call was closed that cannot be judged any more. */
export type Looked = { readonly inspected: Inspected } | { readonly closed: CallSummary };

/** The first half of `judgeCall`, for a runner that takes it as a step of its own. It changes nothing of the record of a call that can be judged. */
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

/** The second half: policy is heard, and the verdict of both committed. */
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
 * Without policy nothing is decided; without Brain only policy's deny counts, and anything it would let through fails closed. Observe forwards and
 * counts.
 */
function refuseUnheard(call: CallInput, inspected: Inspected, evaluated: Evaluated): void {
  if (call.mode === 'observe') return;
  if (!evaluated.decision) throw new PipelineUnavailable('policy', evaluated.reason);
  if (inspected.available) return;
  if (evaluated.decision.reasons.length === 0) throw new PipelineUnavailable('brain', inspected.reason);
}
