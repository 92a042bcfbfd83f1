import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  condition,
  patched,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { RecordActivities } from '../../activities/call-record.js';
import type { DecisionVerdict } from '../../activities/review.js';
import type { InspectionTold, StepActivities } from '../../activities/steps.js';
import type { UpstreamActivities } from '../../activities/upstream.js';
import type { CallInput, CallSummary, ReachedRecord } from '../../contracts/call.js';
import type { CarriedDecision } from '../../contracts/review.js';
import { PipelineUnavailable } from '../../domain/call/pipeline.js';
import { lineOf } from '../line.js';
import { inspectionQueueOf, owedQueueOf } from '../queues.js';
import { FAILURES } from './messages.js';

/**
 * Histories from before this patch have other names for the steps of a call (earlier.ts). It is asked at each step, not once, because a
 * call that an earlier Gate parked continues under these names.
 */
export const underOwnNames = (): boolean => patched('steps-under-their-own-names');

/** Histories from before this patch open a review without asking the sandbox. */
export const withReport = (): boolean => patched('sandbox-report');
/** Asked only where a call stands in line: one that moves at once is answered as ever. */
export const answersInLine = (): boolean => patched('answer-in-line');

/** Asked only where a call of tier `auto` is found parked: an earlier Gate let it wait for a person. */
export const ruleAskedAgain = (): boolean => patched('rule-asked-again');

/** Steps that complete within one workflow task: each takes a second or two, or fails. Readers of the history see the summary. */
const local = <Activities>(summary: string) =>
  proxyLocalActivities<Activities>({
    startToCloseTimeout: '5s',
    retry: { initialInterval: '20ms', maximumInterval: '200ms', maximumAttempts: 3 },
    summary,
  });
const reading = 'Brain reads the request';
const briefly = local<StepActivities>(reading);
/**
 * Brain reads the request. Where models do (`inspection_timeout_ms`), in an activity of its own and at most once: what it kept before its worker
 * was lost is found by `evaluate`, and nobody pays twice. `null` where it did not come to an end.
 */
export async function inspect(call: CallInput): Promise<InspectionTold | null> {
  const { inspection_timeout_ms: timeoutMs } = call;
  if (timeoutMs === undefined) return unwrapped(briefly.inspect(call));
  const byModels = proxyActivities<Pick<StepActivities, 'inspect'>>({
    taskQueue: inspectionQueueOf(workflowInfo().taskQueue),
    scheduleToStartTimeout: '10s',
    // Besides Brain's own time: reading the request, keeping the answer.
    startToCloseTimeout: timeoutMs + 5_000,
    heartbeatTimeout: '10s',
    retry: { maximumAttempts: 1 },
    summary: reading,
  });
  return byModels.inspect(call).catch((error: unknown) => {
    if (error instanceof ActivityFailure) return null;
    throw error;
  });
}
export const { evaluate } = local<StepActivities>('policy is asked, the verdict committed');
/** Nobody waits long for a report, and nobody asks twice: without one the call is parked all the same. */
export const { analyze } = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '3s',
  retry: { maximumAttempts: 1 },
  summary: 'the sandbox predicts what the call would do',
});
export const { park } = local<StepActivities>('a review is opened');
export const { askRule } = local<StepActivities>('the rule is asked once more');
export const { roomForParked } = local<StepActivities>('whether it may move to the parked queue');
const deciding = "a person's decision, under HIL's signature";
const atOnce = local<StepActivities>(deciding);
/** A changed call is judged again, and models take their time. */
export function applyDecision(call: CallInput, sent: CarriedDecision): Promise<DecisionVerdict> {
  const { inspection_timeout_ms: timeoutMs } = call;
  if (timeoutMs === undefined || sent.modification === undefined) return atOnce.applyDecision(sent);
  return proxyActivities<Pick<StepActivities, 'applyDecision'>>({
    scheduleToStartTimeout: '10s',
    startToCloseTimeout: timeoutMs + 10_000,
    retry: { maximumAttempts: 1 },
    summary: deciding,
  }).applyDecision(sent);
}
export const { escalate } = local<StepActivities>('nobody has decided yet, people are told again');
export const { expire } = local<StepActivities>('nobody decided in time');
export const { abortCall } = local<RecordActivities>('closed after an error, nothing runs');
const appendingNow = local<StepActivities>('rows of the call so far');
const settling = local<StepActivities>('the review row as the record says');

export const { settleExecution } = proxyLocalActivities<UpstreamActivities>({
  startToCloseTimeout: '2s',
  retry: { initialInterval: '100ms', maximumInterval: '5s' },
  summary: 'what became of an attempt that gave no answer',
});

/** What must happen eventually, however long a service is down: ledger rows and review rows. */
const durable = <Activities>(summary: string, on: Pick<ActivityOptions, 'taskQueue'> = {}) =>
  proxyActivities<Activities>({
    startToCloseTimeout: '30s',
    scheduleToCloseTimeout: '1h',
    retry: { initialInterval: '500ms', maximumInterval: '15s' },
    summary,
    ...on,
  });
/** On a queue of their own. An activity's queue is no part of what a replay compares, so this needs no patch. */
const appendingLater = () =>
  durable<StepActivities>('rows that the ledger did not take at once', {
    taskQueue: owedQueueOf(workflowInfo().taskQueue),
  });
const settlingLater = durable<StepActivities>('a review row that could not be settled at once');

export interface Appending {
  /** Whether the ledger accepted the rows now. */
  atOnce(correlationId: string, reached: ReachedRecord): Promise<boolean>;
  /** Appends them when the ledger accepts them; `false` after an hour. */
  later(correlationId: string): Promise<boolean>;
}
export const appending: Appending = {
  atOnce: (correlationId, reached) => appendingNow.appendLedger(correlationId, 'at_once', reached).catch(() => false),
  later: (correlationId) => orReconciled(appendingLater().appendLedger(correlationId, 'until_taken')),
};

/** What runs beside a call: nothing waits for it before the end. */
export interface Settling {
  readonly settled: Promise<unknown>;
}

/** Brings the review row to what the record says, now or when HIL accepts it. */
export async function settleReview(correlationId: string, reached: ReachedRecord): Promise<Settling> {
  const atOnce = await settling.settleReview(correlationId, 'at_once', reached).catch(() => false);
  return {
    settled: atOnce ? Promise.resolve() : orReconciled(settlingLater.settleReview(correlationId, 'until_taken')),
  };
}

/** The upstream activity as the workflow sees it; the worker handles the abort signal. */
export interface Attempt {
  execute(call: CallInput, claimNotAfterMs: number, version?: number): Promise<CallSummary>;
}

// An effect is tried once: after a lost reply nobody knows whether the tool ran (docs/architecture/record-and-claim.md#the-claim). An
// attempt that did not start within 10 s certainly did not run.
export const attemptOf = (call: CallInput): Attempt =>
  proxyActivities<Attempt>({
    scheduleToStartTimeout: '10s',
    // Besides the call's own time: claim, a check of a refused session (5 s), outcome.
    startToCloseTimeout: call.upstream_timeout_ms + 15_000,
    heartbeatTimeout: '10s',
    retry: { maximumAttempts: 1 },
    summary: lineOf('the one attempt', call.tool),
  });

/**
 * Whether the retrying activity succeeded within its hour. If not, the record still says that it is due: reconciliation does it, or raises
 * an alarm if it cannot either.
 */
export const orReconciled = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!patched('owed-to-reconciliation')) throw error;
      return false;
    },
  );

/**
 * An activity throws an unavailable dependency as a typed failure; the pipeline knows it as PipelineUnavailable. The failure of a local
 * activity is not wrapped, any other is.
 */
export async function unwrapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error;
    if (cause instanceof ApplicationFailure && cause.type === FAILURES.unavailable) {
      throw new PipelineUnavailable(
        (cause.details?.[0] as PipelineUnavailable['layer'] | undefined) ?? 'proxy',
        cause.message,
      );
    }
    throw error;
  }
}

/** An expiry must not be lost because a store is down for a moment, so it is retried until it succeeds. */
export async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= 200) throw error;
      await condition(() => false, Math.min(30_000, 250 * 2 ** Math.min(attempt, 7)));
    }
  }
}
