import type { Logger } from 'pino';
import { type DecisionVerdict, settledOf } from '../activities/review.js';
import { type Opened, reviewRow } from '../activities/review-row.js';
import type { CallInput, CallState, CallSummary } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { type CallRecord, summarize, summarizeFound } from '../domain/call/record.js';
import { isFinal, TAMPERED } from '../domain/call/transitions.js';
import { errorText, GateError } from '../domain/errors.js';
import { closeCall } from '../domain/call/close.js';
import { judgeCall, PipelineUnavailable, runCall, type PipelineSteps } from '../domain/call/pipeline.js';
import { rowAppender } from '../domain/call/row-appender.js';
import { endedBefore } from '../domain/review/backlog.js';
import { isDecidedBy } from '../domain/decision/transitions.js';
import type { DecisionOutcome, DecisionSender } from '../domain/review/ports.js';
import type { GateActivities } from '../workers/activities.js';
import { createDeadlines } from './deadlines.js';
import type { CallStore, FollowUp } from '../domain/call/ports.js';
import { type Clock, machineClock } from './clock.js';
import { type CallRunner, conflictCode } from '../domain/call/call-runner.js';

/** The pipeline in one process. The record is its journal: after a restart, a call continues from the state that its record has. */
export interface InProcessRunner extends CallRunner, DecisionSender {
  /**
   * Goes on with every open call that nothing runs and appends rows that are due; returns how many it found. Calls that wait although
   * their record does not say so are let go before. For the start.
   */
  resume(): Promise<number>;
  /**
   * The same soon, and again after growing pauses until no open call is without a run; as soon as something is stored again, without the
   * rest of the pause. For after the store undid a transaction.
   */
  lookAgain(): void;
  /** Calls that run and do not wait for a decision. */
  busy(): number;
  /** Resolves when nothing runs but calls that wait for a decision. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface InProcessOptions {
  readonly calls: CallStore;
  readonly activities: GateActivities;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Told of each open call that `resume` goes on with, and the state it was found in. */
  readonly onResumed?: (state: CallState) => void;
  /** Whether a tool has a probe: calls of it whose outcome is unknown are looked after. */
  readonly probed?: (tool: string) => boolean;
  /** Returns a wait for the disk; it rejects if anything was undone since. Absent where a step's writes are on disk when it resolves. */
  readonly durableFromHere?: () => () => Promise<void>;
}

/** An escalation, by the time when it is due, and when it is tried next. */
interface Escalation {
  readonly dueMs: number;
  readonly atMs: number;
}
const escalationAt = (dueMs = Infinity): Escalation => ({ dueMs, atMs: dueMs });

interface Run {
  readonly digest: string;
  readonly answer: Promise<CallSummary>;
  /** Wakes the call when it was decided; set from before its review row is visible. */
  decide: ((settled: CallSummary, rowSettled?: boolean) => void) | null;
  /** The call waits for a decision or its deadline. */
  waiting: boolean;
  /** Ends the wait of a call whose record does not say that it waits. */
  drop: () => void;
  /** Lets a waiting call see that the process stops. */
  wake: () => void;
  readonly done: Promise<void>;
}

export function createInProcessRunner({
  calls,
  activities,
  logger,
  clock = machineClock,
  onResumed,
  probed,
  durableFromHere = () => () => Promise.resolve(),
}: InProcessOptions): InProcessRunner {
  const runs = new Map<string, Run>();
  const background = new Set<Promise<void>>();
  const following = new Set<string>();
  const stopping = new AbortController();
  const deadlines = createDeadlines(clock);
  const row = reviewRow(activities);
  /** How many decisions are being applied to a call, each with its row: whoever does that wakes the call. */
  const deciding = new Map<string, number>();
  // Anything else that ends the wait wakes the call too: a read after its deadline, or a record that is closed as tampered.
  calls.onMoved((record) => {
    const { correlation_id: id, state } = record;
    if (state === 'uncertain' && probed?.(record.evidence.call.tool)) probe(id);
    // A person's word comes from outside of any run.
    if (record.outcome?.reconciled?.by === 'person') inBackground(() => appendDurably(id));
    const run = runs.get(id);
    if (state === TAMPERED || (run?.waiting && state !== 'parked' && !deciding.has(id)))
      run?.decide?.(summarize(record));
  });

  function launch(call: CallInput, resumed: CallSummary | null): Run {
    const answered = deferred<CallSummary>();
    // A resumed call has nobody waiting; its answer is in the record.
    answered.promise.catch(() => undefined);
    const run: Run = {
      digest: call.digest,
      answer: answered.promise,
      decide: null,
      waiting: false,
      drop: () => undefined,
      wake: () => undefined,
      done: finish(),
    };
    runs.set(call.correlation_id, run);
    return run;

    async function finish(): Promise<void> {
      await Promise.resolve();
      const steps = stepsOf(call, run, (summary) => {
        answered.resolve(summary);
        storedAgain();
      });
      let ended = true;
      try {
        await runCall(call, steps, resumed).catch((error: unknown) => closeAfter(error, call, steps));
      } catch (error) {
        answered.reject(
          error instanceof PipelineUnavailable
            ? endedBefore(call, error.layer, error.message, error.cause)
            : (error as GateError),
        );
        ended = false;
      } finally {
        runs.delete(call.correlation_id);
      }
      if (ended || stopping.signal.aborted) return;
      // Nobody else would end a call that was left open: its caller may never come back, and the process may not restart.
      const left = await calls.find(call.correlation_id).catch(() => undefined);
      if (left === undefined || (left && !isFinal(left.state, call.contract))) lookAgain();
    }
  }

  async function closeAfter(error: unknown, call: CallInput, steps: PipelineSteps): Promise<void> {
    if (error instanceof LeftOpen) throw error.cause;
    if (error === STOPPED)
      throw new GateError('pipeline_unavailable', 'Gate is stopping', { fields: { layer: 'proxy' } });
    if (!(error instanceof PipelineUnavailable))
      logger.error({ err: error, correlation_id: call.correlation_id }, 'pipeline error');
    await closeCall(call, error, steps, (id, reason) => activities.abortCall(id, reason));
  }

  function stepsOf(call: CallInput, run: Run, answer: (summary: CallSummary) => void): PipelineSteps {
    const rows = rowAppender({
      now: (reached) => activities.tryAppendRows(call.correlation_id, reached),
      later() {
        const appended = appendDurably(call.correlation_id);
        inBackground(() => appended);
        return appended.then(() => true);
      },
    });
    const undosBefore = undos;
    let decided: CallSummary | null = null;
    let decidable: AbortController | null = null;
    let report: SandboxReport | null = null;
    // From the first step on, so that a decision can come as soon as its review row is visible.
    let rowSettled = false;
    run.decide = (settled, withRow = false) => {
      decided ??= settled;
      rowSettled ||= withRow;
      run.waiting = false;
      decidable?.abort();
    };
    /** The escalation after this one; the same again, later, where it could not be said. */
    const escalated = async ({ dueMs }: Escalation): Promise<Escalation> => {
      try {
        const reached = await activities.escalateReview(call.correlation_id, dueMs);
        await rows.append(reached);
        // What the record did not take then, it does not take: its time is over there.
        return escalationAt((reached.escalates_ms ?? 0) > dueMs ? reached.escalates_ms : undefined);
      } catch {
        return { dueMs, atMs: clock.now() + LOOK_EVERY_MS };
      }
    };
    const reviewed = ({ row_owed = false, ...reached }: Opened): CallSummary => {
      if (row_owed) followUp('review', call.correlation_id);
      return reached;
    };
    let dropped = false;
    run.wake = () => decidable?.abort();
    run.drop = () => {
      dropped = true;
      decidable?.abort();
    };
    return {
      now: clock.now,
      judge: (input) => judgeCall(input, { ...activities, now: clock.now }),
      async analyze(input) {
        report = await activities.analyzeCall(input);
      },
      openReview: async (input, verdict) => reviewed(await row.opened(input, clock.now(), verdict, report)),
      askRule: async (input, parked) => reviewed(await row.askedAgain(input, clock.now()).catch(() => parked)),
      async awaitDecision(_input, parked) {
        decidable = new AbortController();
        let next = escalationAt(parked.escalates_ms);
        while (!decided && !dropped && !stopping.signal.aborted) {
          const nowMs = clock.now();
          const leftMs = (parked.deadline_ms ?? 0) - nowMs;
          if (leftMs <= 0) break;
          run.waiting = true;
          if (nowMs >= next.atMs) next = await escalated(next);
          else await clock.sleep(Math.min(leftMs, next.atMs - nowMs, LOOK_EVERY_MS), decidable.signal);
          run.waiting = false;
        }
        if (!decided && (dropped || stopping.signal.aborted)) throw STOPPED;
        decided ??= await activities.expireReview(call.correlation_id).catch(leftOpen);
        if (!rowSettled) followUp('review', call.correlation_id);
        return decided;
      },
      async execute(input, permitted, claimNotAfterMs) {
        let reason = 'the attempt was under way when the process ended';
        if (permitted.state !== 'intended') {
          try {
            // After an undo, the version seen before may never have existed, so the stored record is not an older one.
            const version = undos === undosBefore ? permitted.version : undefined;
            const reached = await activities.callUpstream(input, claimNotAfterMs, undefined, version);
            if (reached.state !== 'intended') return reached;
          } catch (error) {
            reason = `the attempt failed: ${errorText(error)}`;
          }
        }
        return activities.settleExecution(call.correlation_id, reason);
      },
      appendRows: (_input, reached) => rows.append(reached),
      notify(input) {
        followUp('callback', input.correlation_id);
        return Promise.resolve();
      },
      answer,
      appended: () => rows.drained(),
    };
  }

  /** The record; `undefined` if it cannot be opened. That is reported, and the other calls continue. */
  async function opened(correlationId: string): Promise<CallRecord | null | undefined> {
    try {
      return await calls.find(correlationId);
    } catch (error) {
      await activities.reportStuck(correlationId, 'open', errorText(error));
      return undefined;
    }
  }

  function inBackground(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => logger.error({ err: error }, 'background work failed'))
      .finally(() => background.delete(running));
    background.add(running);
  }

  /** Retries until it succeeds or the process stops; what is left is due at the next start. */
  async function retried(
    work: () => Promise<void>,
    inVain: (error: unknown, attempt: number) => boolean = () => false,
  ): Promise<void> {
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (inVain(error, attempt)) throw error;
        await clock.sleep(Math.min(RETRY_AT_MOST_MS, 250 * 2 ** Math.min(attempt, 6)), stopping.signal);
      }
    }
  }
  const appendDurably = (correlationId: string) =>
    retried(() => activities.appendRows(correlationId), toldOnce(correlationId, 'rows'));
  /** An error of one call is logged once. A store that is unavailable is reported elsewhere. */
  const toldOnce = (correlationId: string, duty: 'rows' | 'review') => {
    let told = false;
    return (error: unknown): boolean => {
      if (!told && !(error instanceof GateError && error.status >= 500)) {
        told = true;
        void activities.reportStuck(correlationId, duty, errorText(error));
      }
      return false;
    };
  };
  const deliverCallback = (correlationId: string) =>
    retried(
      () => activities.deliver(correlationId),
      (error, attempt) => attempt >= CALLBACK_ATTEMPTS || (error instanceof GateError && error.status < 500),
    ).catch((error: unknown) => retried(() => activities.giveUpCallback(correlationId, errorText(error))));
  /** Does in the background what remains after a review was settled, one at a time per call. The record keeps it until it is done. */
  function followUp(what: Exclude<FollowUp, 'probe'>, correlationId: string): void {
    const key = `${what}/${correlationId}`;
    if (following.has(key)) return;
    following.add(key);
    inBackground(async () => {
      try {
        if (what === 'callback') await deliverCallback(correlationId);
        else
          await retried(
            async () => void (await activities.settleReviewRow(correlationId)),
            toldOnce(correlationId, 'review'),
          );
      } finally {
        following.delete(key);
      }
    });
  }

  const probing = new Set<string>();
  /** Looks what became of a call, and again after growing pauses, which the record remembers over a restart. */
  function probe(correlationId: string): void {
    if (probing.has(correlationId) || stopping.signal.aborted) return;
    probing.add(correlationId);
    inBackground(async () => {
      const { wait_ms: waitMs } = await activities
        .probeCall(correlationId)
        .catch(() => ({ wait_ms: RETRY_AT_MOST_MS }));
      inBackground(() => appendDurably(correlationId));
      if (waitMs === null) return void probing.delete(correlationId);
      void clock.sleep(waitMs, stopping.signal).then(() => {
        probing.delete(correlationId);
        probe(correlationId);
      });
    });
  }

  /** Since when open calls are found that nothing runs; `null` while there are none. */
  let troubledMs: number | null = null;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let next: { readonly atMs: number; readonly earlier: AbortController } | null = null;
  let undos = 0;
  /** The store undid a transaction, and nothing has been stored since. */
  let undone = false;
  function lookAgain(): void {
    const sinceMs = (troubledMs ??= clock.now());
    if (!next) lookIn(Math.min(LOOK_AGAIN_AT_MOST_MS, Math.max(LOOK_AGAIN_MS, clock.now() - sinceMs)));
  }
  /** Runs once for each time the store was unavailable, and never twice within the shortest pause, so calls that keep failing cost little. */
  function storedAgain(): void {
    if (!undone) return;
    undone = false;
    const pauseMs = Math.max(0, lookedMs + LOOK_AGAIN_MS - clock.now());
    if (next && next.atMs - clock.now() > pauseMs) lookIn(pauseMs);
  }
  function lookIn(pauseMs: number): void {
    if (stopping.signal.aborted) return;
    next?.earlier.abort();
    const look = { atMs: clock.now() + pauseMs, earlier: new AbortController() };
    next = look;
    void clock.sleep(pauseMs, AbortSignal.any([stopping.signal, look.earlier.signal])).then(() => {
      if (next !== look) return;
      next = null;
      lookedMs = clock.now();
      if (!stopping.signal.aborted) inBackground(resumeAgain);
    });
  }
  async function resumeAgain(): Promise<void> {
    try {
      if ((await goOn()) === 0) troubledMs = null;
      else lookAgain();
      await goOnWithDues();
    } catch (error) {
      lookAgain();
      throw error;
    }
  }

  /** The run under this call's id. Another request may not use the id meanwhile. */
  function runOf(call: CallInput): Run | undefined {
    const run = runs.get(call.correlation_id);
    if (!run || run.digest === call.digest) return run;
    throw new GateError(conflictCode(call.contract));
  }

  /** Whether the call waits and no decision is being applied to it; a decision wakes it itself. */
  const waits = (correlationId: string, run: Run) => run.waiting && !deciding.has(correlationId);
  /** Ends the run of a call that waits for what was undone together with the transaction it was parked in. */
  async function letGo(correlationId: string, run: Run, record: CallRecord | null): Promise<void> {
    if (record?.state === 'parked' || !waits(correlationId, run)) return;
    run.drop();
    await run.done;
  }

  /** Goes on with every open call that nothing runs. */
  async function goOn(): Promise<number> {
    let found = 0;
    for (const [correlationId, run] of runs) {
      if (!waits(correlationId, run)) continue;
      const record = await opened(correlationId);
      if (record !== undefined) await letGo(correlationId, run, record);
    }
    for (const { correlation_id: correlationId } of await calls.openCalls(clock.now() + 1, 1_000_000)) {
      if (runs.has(correlationId)) continue;
      const record = await opened(correlationId);
      if (!record || runs.has(correlationId) || isFinal(record.state, record.evidence.call.contract)) continue;
      launch(record.evidence.call, summarizeFound(record));
      onResumed?.(record.state);
      found += 1;
    }
    return found;
  }

  /** Appends rows that are due, and does what remains for decided calls, which may be over themselves. */
  async function goOnWithDues(): Promise<number> {
    let found = 0;
    await activities.oweRowsAgain();
    for (const { correlation_id: correlationId } of await calls.rowsDue(clock.now() + 1, 1_000_000)) {
      if (runs.has(correlationId)) continue;
      inBackground(() => appendDurably(correlationId));
      found += 1;
    }
    for (const what of ['review', 'callback'] as const)
      for (const { correlation_id: correlationId } of await calls.followUpsDue(what, clock.now() + 1, 1_000_000))
        followUp(what, correlationId);
    if (probed)
      for (const { correlation_id: correlationId } of await calls.followUpsDue('probe', clock.now() + 1, 1_000_000)) {
        const record = await opened(correlationId);
        if (record && probed(record.evidence.call.tool)) probe(correlationId);
      }
    return found;
  }

  /**
   * Applies a decision and settles its row, in one transaction; the call that waits goes on when both are on disk, or when one of them
   * failed.
   */
  async function withItsRow(decision: SignedDecision, run: Run): Promise<DecisionVerdict> {
    const { correlation_id: correlationId } = decision;
    deciding.set(correlationId, (deciding.get(correlationId) ?? 0) + 1);
    try {
      const onDisk = durableFromHere();
      const verdict = await onceOnDisk(await row.decided(decision), decision, onDisk);
      if (verdict.applied && verdict.settled === null) inBackground(() => appendDurably(correlationId));
      else if (verdict.summary) run.decide?.(verdict.summary, verdict.applied && verdict.row_settled === true);
      return verdict;
    } catch (error) {
      const record = await opened(correlationId);
      if (record && record.state !== 'parked') run.decide?.(summarize(record));
      throw error;
    } finally {
      const others = (deciding.get(correlationId) ?? 1) - 1;
      if (others > 0) deciding.set(correlationId, others);
      else deciding.delete(correlationId);
    }
  }

  /** The result of a decision, once it is on disk. If something was undone meanwhile, the decision stands if its record says so. */
  async function onceOnDisk(
    verdict: DecisionVerdict,
    decision: SignedDecision,
    onDisk: () => Promise<void>,
  ): Promise<DecisionVerdict> {
    try {
      await onDisk();
      return verdict;
    } catch (undone) {
      const { summary } = verdict;
      const left = durableFromHere();
      const stands = summary && (await calls.find(summary.correlation_id));
      if (!stands || stands.state !== summary.state || stands.version !== summary.version) throw undone;
      if (verdict.applied && verdict.settled === null) {
        await left();
        return verdict;
      }
      const settled = settledOf(stands);
      // Another decision stands in its place.
      if (verdict.applied && (settled === null || !isDecidedBy(settled, decision))) throw undone;
      await left();
      // Only its row may have been undone.
      return verdict.applied ? { ...verdict, row_settled: false } : verdict;
    }
  }

  /** Nothing waits for this decision. The record says how its call ended, which its row may not show. */
  async function overAlready({ correlation_id, pending_id }: SignedDecision): Promise<DecisionOutcome> {
    const record = await opened(correlation_id);
    const settled = record ? settledOf(record) : null;
    return {
      outcome: 'refused',
      code: 'not_pending',
      ...(settled?.pending_id === pending_id && { settled }),
    };
  }

  return {
    async start(call, deadlineMs) {
      const waiting = runOf(call);
      // A caller who asks again does not have to wait for the next check.
      if (waiting && waits(call.correlation_id, waiting))
        await letGo(call.correlation_id, waiting, await calls.find(call.correlation_id));
      // Meanwhile another request may have begun under the id.
      const { answer } = runOf(call) ?? launch(call, null);
      return deadlines.within(answer, deadlineMs);
    },

    async decide(decision: SignedDecision): Promise<DecisionOutcome> {
      const run = runs.get(decision.correlation_id);
      if (!run?.decide) return overAlready(decision);
      // The record's compare-and-set picks the winner; this only wakes the call that waits.
      const verdict = await withItsRow(decision, run);
      if (verdict.applied && verdict.settled === null) return { outcome: 'voted', approvals: verdict.approvals };
      if (!verdict.applied)
        return {
          outcome: 'refused',
          code: verdict.code,
          ...(verdict.settled && { settled: verdict.settled }),
          ...(verdict.clock_ms !== undefined && { clock_ms: verdict.clock_ms }),
        };
      return { outcome: 'applied', settled: verdict.settled, row_settled: verdict.row_settled };
    },

    async resume() {
      const resumed = await goOn();
      return resumed + (await goOnWithDues());
    },

    lookAgain() {
      undos += 1;
      undone = true;
      lookAgain();
    },

    busy: () => [...runs.values()].filter((run) => !run.waiting).length,

    async idle() {
      for (;;) {
        const busy = [...runs.values()].filter((run) => !run.waiting).map((run) => run.done);
        if (busy.length + background.size === 0) return;
        await Promise.allSettled([...busy, ...background]);
      }
    },

    async close() {
      stopping.abort();
      for (const run of runs.values()) run.wake();
      await Promise.allSettled([...[...runs.values()].map((run) => run.done), ...background]);
      deadlines.close();
    },
  };
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => undefined;
  let reject: Deferred<T>['reject'] = () => undefined;
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}

/** A step failed because nothing could be stored. The call keeps the state of its record and continues from there at the next check. */
class LeftOpen extends Error {
  constructor(override readonly cause: GateError) {
    super(cause.message, { cause });
  }
}
/** An unavailable store settles nothing: a decision may have reached the record at the same moment. */
function leftOpen(error: unknown): never {
  throw error instanceof GateError && error.status >= 500 ? new LeftOpen(error) : error;
}

/** Thrown into a waiting call when the process stops; its record says that it waits, and the next start goes on with it. */
const STOPPED = Symbol('stopped');
const CALLBACK_ATTEMPTS = 5;
/** Long enough for a burst of failures to be over, short enough that nobody notices. */
const LOOK_AGAIN_MS = 500;
/** How long a call may be stopped once its store is back, if nothing else is stored. */
const LOOK_AGAIN_AT_MOST_MS = 5_000;
/** The longest pause between two attempts at what remains of a call: its rows, its review row, its callback. */
const RETRY_AT_MOST_MS = 5_000;
/** Timers do not follow changes of the machine's clock, so a wait checks the clock now and then. */
const LOOK_EVERY_MS = 15_000;
