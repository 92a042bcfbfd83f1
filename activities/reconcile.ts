import { type WalkPlace, WALK_START } from '../domain/call/walk.js';
import { purgeTimes } from '../domain/call/purge-times.js';
import type { CallRecord } from '../domain/call/record.js';
import { reviewTold } from '../domain/call/review-told.js';
import { callbackIdOf, TAMPERED } from '../domain/call/transitions.js';
import { contradictionOf, idsAgainst } from '../domain/call/contradiction.js';
import type { HeldRows, Ledger, NewLedgerRow } from '../contracts/ledger.js';
import { errorText, GateError } from '../domain/errors.js';
import { within } from '../domain/within.js';
import { clocksNow } from '../domain/clocks.js';
import { uuidFromDigest } from '../domain/crypto/digest.js';
import { APPROVED_CLAIM_LIMIT_MS } from '../domain/call/transitions.js';
import { foreignText } from '../domain/text.js';
import type { Probing } from '../domain/probes/ports.js';
import { isOver } from '../domain/decision/transitions.js';
import type { CallbackActivities } from './callback.js';
import { alarmRow, type LedgerActivities, type OnAlarm, raise } from './ledger.js';
import type { RecordActivities } from './call-record.js';
import type { ReviewActivities } from './review.js';
import { DUTIES, type Duty, type Setback } from '../domain/call/setbacks.js';
import type { CallStore, OpenCall } from '../domain/call/ports.js';

/** What the engine knows of a call's workflow. */
export interface Runs {
  status(correlationId: string): Promise<'running' | 'closed' | 'missing'>;
  /** Ends a run that cannot end by itself. Safe to repeat. */
  end(correlationId: string, reason: string): Promise<void>;
}

/** The position of a pass: the next call after this one, for this duty. */
export interface ReconcilePlace extends WalkPlace {
  readonly duty: Duty;
}

export interface Reconciled {
  readonly looked_at: number;
  readonly closed: number;
  readonly rows_appended: number;
  /** Calls for which something could not be done in this part of the pass. */
  readonly failed: number;
  readonly purged: number;
  /** Where the pass continues; `null` when it is complete. */
  readonly next: ReconcilePlace | null;
}

export interface ReconcileOptions {
  readonly calls: CallStore;
  readonly runs: Runs;
  readonly ledger: Ledger & HeldRows;
  readonly record: RecordActivities;
  readonly review: ReviewActivities;
  readonly rows: LedgerActivities;
  readonly callback: Pick<CallbackActivities, 'deliver' | 'giveUpCallback'>;
  /** Has calls of unknown outcome probed; absent where no tool has a probe. */
  readonly probing?: Probing | undefined;
  /** How long after its deadline a call may stand before reconciliation closes it. */
  readonly graceMs: number;
  readonly retentionMs: number;
  readonly windowMs: number;
  readonly now?: () => number;
  readonly onAlarm?: OnAlarm;
  /** How long one call may delay the others; less than the heartbeat interval of the pass. */
  readonly callLimitMs?: number | undefined;
  /** After this long the pass returns, to be continued. */
  readonly partMs?: number | undefined;
}

const PAGE = 500;
const CALL_LIMIT_MS = 20_000;
const PART_MS = 60_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** A workflow appends its call's rows itself; reconciliation helps one that has not done so for this long. */
const RUNNING_PATIENCE_MS = 120_000;

/** A dependency without which a duty cannot be done for any call; not the fault of the call that met it. */
type Neighbour = 'engine' | 'ledger' | 'review';
const NEEDED: Readonly<Partial<Record<Duty, readonly Neighbour[]>>> = {
  open: ['engine', 'ledger'],
  rows: ['ledger'],
  review: ['review'],
  probe: ['engine'],
  alarm: ['ledger'],
};

/** One call delayed the pass longer than it may. */
class TooLong extends Error {}

export function createReconcileActivities(options: ReconcileOptions) {
  const { calls, runs, ledger, record, review, rows, graceMs, now = Date.now } = options;
  const { callLimitMs = CALL_LIMIT_MS, partMs = PART_MS } = options;

  /** The time by which a call in this state should have moved, from its stored deadlines alone. */
  const dueMs = async (open: OpenCall): Promise<number> => {
    if (open.state === 'parked') return open.deadline_ms ?? open.updated_ms;
    if (open.state === 'approved') return open.updated_ms + APPROVED_CLAIM_LIMIT_MS;
    // A tool may take as long as it was given; until then its call is not overdue.
    const attempt = open.state === 'intended' ? await calls.find(open.correlation_id) : null;
    return open.updated_ms + 60_000 + (attempt?.evidence.call.upstream_timeout_ms ?? 0);
  };

  /** Whether the clock was found wrong, and that was told. */
  let isDoubted = false;
  /** Its row, until the ledger has it. */
  let clockAlarm: NewLedgerRow | null = null;

  /**
   * The earlier of this clock and that of the store; `null` while they are so far apart that nobody knows what is overdue. What is ended
   * then comes back by no clock that is put right.
   */
  async function trustedMs(): Promise<number | null> {
    const { fault, nowMs, storeMs } = await clocksNow('this worker', now, () => calls.clockMs());
    if (fault === null) {
      isDoubted = false;
      return Math.min(nowMs, storeMs ?? nowMs);
    }
    if (!isDoubted) {
      const id = uuidFromDigest('gate.clock', String(nowMs), String(storeMs));
      const reasoning = `${fault}: nothing is ended as overdue while it is`;
      const detail = { clock: iso(nowMs), database: iso(storeMs) };
      isDoubted = true;
      clockAlarm = alarmRow({ correlation_id: id, kind: 'alarm.clock_apart', reasoning, detail, tenant: null });
      options.onAlarm?.(id, reasoning, 'alarm.clock_apart');
    }
    if (clockAlarm !== null)
      await raise(ledger, clockAlarm).then(
        () => void (clockAlarm = null),
        () => undefined,
      );
    return null;
  }

  /** Whether the call had to be closed. What follows from its end is tried at once; what fails is a duty that stays due. */
  const closeIfLost = async (open: OpenCall): Promise<boolean> => {
    const { correlation_id, state } = open;
    const status = await runs.status(correlation_id);
    const untilMs = status === 'running' ? (await dueMs(open)) + graceMs : Number.NEGATIVE_INFINITY;
    if (now() <= untilMs) return false;
    const nowMs = await trustedMs();
    if (nowMs === null || nowMs <= untilMs) return false;
    const reason =
      status === 'running'
        ? `the workflow is overdue in state ${state}`
        : `the workflow is ${status} while the call is ${state}`;
    // A record that cannot be opened cannot be closed either, so its run stays as it is. No record is closed on the word of its row alone.
    const found = await calls.find(correlation_id);
    // The page may be a minute old, and what the engine says is newer: a call that moved since it was listed was ended by its run, or
    // continues.
    if (found?.state !== state || found.updated_ms !== open.updated_ms) return false;
    if (await condemnedIfPutBack(found)) {
      await runs.end(correlation_id, reason);
      return true;
    }
    // Before the end is stored, so that after a crash the alarm is still due.
    const alarm = { ...setbackOf(correlation_id, 'alarm', reason), state };
    await calls.setbacks.put(alarm);
    await runs.end(correlation_id, reason);
    if (state === 'parked' && isOver(open.deadline_ms, nowMs)) await review.expireReview(correlation_id);
    else await record.abortCall(correlation_id, reason);
    const closed = isClosedFor(await calls.find(correlation_id), alarm);
    if (closed) options.onAlarm?.(correlation_id, reason, 'alarm.reconciled');
    const owed = (work: Promise<unknown>) => work.then(() => true).catch(() => false);
    await owed(review.settleReviewRow(correlation_id));
    if (await owed(rows.appendRows(correlation_id))) await owed(sayClosed(alarm));
    return closed;
  };

  /** Asked again for each call that is about to be closed, because another process may have written rows since this one read the record. */
  const condemnedIfPutBack = async (record: CallRecord): Promise<boolean> => {
    const why = contradictionOf(record, await ledger.held(idsAgainst(record)));
    const stands = why === null ? record : await calls.condemn(record.correlation_id, why, record.version);
    return stands?.state === TAMPERED;
  };

  /** The alarm row of a call that reconciliation closed; `null` for a call that continued after all, or that its own run ended. */
  const sayClosed = async (alarm: Setback): Promise<void> => {
    const { correlation_id, reason, state } = alarm;
    const found = await calls.find(correlation_id);
    if (found && isClosedFor(found, alarm)) {
      const { tenant } = found.evidence.call;
      await raise(
        ledger,
        alarmRow({ correlation_id, kind: 'alarm.reconciled', reasoning: reason, detail: { state }, tenant }),
      );
    }
    await calls.setbacks.clear(correlation_id, 'alarm');
  };

  /**
   * The callback of a call whose workflow ended before starting it, or that was closed after its approval was told. One that was started has
   * had its attempts.
   */
  const tellCaller = async (correlationId: string): Promise<void> => {
    if ((await runs.status(correlationId)) === 'running') return;
    const found = await calls.find(correlationId);
    const isClosed = !found || reviewTold(found).status === 'aborted';
    if (found?.decision && (await runs.status(callbackIdOf(correlationId, found.decision.status))) === 'running')
      return;
    const sent = await runs.status(
      callbackIdOf(correlationId, isClosed ? 'aborted' : (found.decision?.status ?? 'aborted')),
    );
    if (sent === 'running') return;
    if (sent === 'missing')
      await options.callback
        .deliver(correlationId)
        .catch((error: unknown) => options.callback.giveUpCallback(correlationId, errorText(error)));
    await calls.followedUp(correlationId, 'callback');
  };

  const setbackOf = (correlation_id: string, duty: Duty, reason: string): Setback => ({
    correlation_id,
    duty,
    attempts: 0,
    since_ms: now(),
    next_ms: now(),
    reason,
    state: null,
    alarmed: false,
  });

  /** Records that a call could not be helped, how long it is left alone, and that this was reported. */
  async function setBack(id: string, duty: Duty, before: Setback | undefined, error: unknown): Promise<void> {
    const reason = foreignText(errorText(error), 500);
    const known = before ?? setbackOf(id, duty, reason);
    const attempts = known.attempts + 1;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 10));
    // A single failure may be anything; one that repeats is worth a row.
    const alarmed =
      known.alarmed || (attempts >= (error instanceof TooLong ? 3 : 1) && (await rows.reportStuck(id, duty, reason)));
    const next = { ...known, attempts, next_ms: now() + pauseMs, alarmed };
    await calls.setbacks.put(duty === 'alarm' ? next : { ...next, reason });
  }

  return {
    /**
     * Walks the records without a terminal state and those with open duties (docs/architecture/reconciliation.md). A call whose workflow is
     * gone, stuck or overdue is closed, with an alarm row and without an effect. Each call is handled alone: one that cannot be helped is
     * left alone for a growing time and reported once. When a dependency is unavailable, the duties that need it end until the next pass.
     * Returns after a minute with the position to continue from. Safe to repeat; it never runs a tool. `progress` is called for every call.
     */
    async reconcileCalls(
      from: ReconcilePlace | null = null,
      progress: () => void = () => undefined,
    ): Promise<Reconciled> {
      const startedMs = performance.now();
      const counted = { looked_at: 0, closed: 0, rows_appended: 0, failed: 0, purged: 0 };
      const sinceMs = now() - graceMs;
      const setbacks = new Map((await calls.setbacks.all()).map((one) => [`${one.duty}/${one.correlation_id}`, one]));
      const away = new Set<Neighbour>();

      const running = async (id: string, since: number) =>
        since > now() - graceMs - RUNNING_PATIENCE_MS && (await runs.status(id)) === 'running';
      const walks: Readonly<Record<Duty, (after: WalkPlace) => Promise<readonly Item[]>>> = {
        open: async (after) =>
          (await calls.openCalls(sinceMs, PAGE, after)).map((open) => ({
            id: open.correlation_id,
            ms: open.updated_ms,
            work: async () => {
              counted.looked_at += 1;
              if (await closeIfLost(open)) counted.closed += 1;
            },
          })),
        rows: async (after) =>
          (await calls.rowsDue(sinceMs, PAGE, after)).map(({ correlation_id: id, due_ms: ms }) => ({
            id,
            ms,
            work: async () => {
              if (await running(id, ms)) return;
              await rows.appendRows(id);
              counted.rows_appended += 1;
            },
          })),
        review: async (after) =>
          (await calls.followUpsDue('review', sinceMs, PAGE, after)).map(({ correlation_id: id, due_ms: ms }) => ({
            id,
            ms,
            work: async () => {
              if (!(await running(id, ms))) await review.settleReviewRow(id);
            },
          })),
        callback: async (after) =>
          (await calls.followUpsDue('callback', sinceMs, PAGE, after)).map(({ correlation_id: id, due_ms: ms }) => ({
            id,
            ms,
            work: () => tellCaller(id),
          })),
        // Without any patience: where its workflow runs already, it goes on; where that was lost, another one does.
        probe: async (after) => {
          const { probing } = options;
          if (!probing) return [];
          return (await calls.followUpsDue('probe', now(), PAGE, after)).map(({ correlation_id: id, due_ms: ms }) => ({
            id,
            ms,
            work: () => probing.begin(id),
          }));
        },
        alarm: async ({ id: after }) =>
          [...setbacks.values()]
            .filter(({ duty, correlation_id: id }) => duty === 'alarm' && id > after)
            .toSorted((a, b) => (a.correlation_id < b.correlation_id ? -1 : 1))
            .slice(0, PAGE)
            .map((owed) => ({ id: owed.correlation_id, ms: 0, work: () => sayClosed(owed) })),
      };

      // Once a pass, which HIL must not end: not when it is away, nor an earlier one that has no such list.
      if (from === null)
        await review.oweRowsAgain(progress).catch((error: unknown) => {
          if (!(error instanceof GateError)) throw error;
        });
      for (const duty of DUTIES.slice(from ? DUTIES.indexOf(from.duty) : 0)) {
        const needed = NEEDED[duty] ?? [];
        const isAway = () => needed.some((neighbour) => away.has(neighbour));
        const doubtful = outages(duty, setBack);
        let after: WalkPlace = from?.duty === duty ? from : WALK_START;
        for (let page = await walks[duty](after); page.length > 0; page = await walks[duty](after)) {
          for (const { id, ms, work } of page) {
            progress();
            after = { ms, id };
            const before = setbacks.get(`${duty}/${id}`);
            if ((before && before.next_ms > now()) || isAway()) continue;
            try {
              await inTime(callLimitMs, work());
              await doubtful.answered();
              if (before && duty !== 'alarm') await calls.setbacks.clear(id, duty);
            } catch (error) {
              counted.failed += 1;
              const silent = needed.find((neighbour) => isOutageOf(neighbour, error));
              if (silent === undefined) await setBack(id, duty, before, error);
              else if (doubtful.unanswered(id, before, error)) away.add(silent);
            }
            if (performance.now() - startedMs > partMs) return { ...counted, next: { duty, ...after } };
          }
          if (page.length < PAGE || isAway()) break;
        }
        await doubtful.ended();
      }
      await calls.setbacks.prune();
      const nowMs = await trustedMs();
      if (nowMs !== null) await calls.spend.settleLost(nowMs - graceMs, PAGE, progress);
      const purged = nowMs === null ? 0 : await calls.purge(purgeTimes(nowMs, options));
      return { ...counted, purged, next: null };
    },
  };
}
export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;

const iso = (ms: number | null): string | null =>
  ms === null || !(Math.abs(ms) <= 8.64e15) ? null : new Date(ms).toISOString();

/** Whether the call ended for this reason; who caused an expiry cannot be told. */
const isClosedFor = (found: CallRecord | null, { reason, state }: Setback): boolean =>
  found?.state === 'expired'
    ? state === 'parked'
    : (found?.state === 'aborted' || found?.state === 'uncertain') && found.outcome?.error === foreignText(reason, 500);

interface Item extends WalkPlace {
  readonly work: () => Promise<unknown>;
}

/** A dependency that fails for three calls in a row is unavailable; if it answers the next call, the fault was in that one call. */
const AWAY_AFTER = 3;

type SetBack = (id: string, duty: Duty, before: Setback | undefined, error: unknown) => Promise<void>;

/** Tells an outage, which is not the fault of any call, from a call with which its dependency cannot cope. */
function outages(duty: Duty, setBack: SetBack) {
  let inDoubt: (readonly [string, Setback | undefined, unknown])[] = [];
  let answers = 0;
  return {
    async answered(): Promise<void> {
      answers += 1;
      for (const [id, before, error] of inDoubt.splice(0)) await setBack(id, duty, before, error);
    },
    /** Whether the dependency is unavailable by now. */
    unanswered(id: string, before: Setback | undefined, error: unknown): boolean {
      inDoubt.push([id, before, error]);
      return inDoubt.length >= AWAY_AFTER;
    },
    /** The last calls of the walk: a dependency that answered for others fails only for these. */
    async ended(): Promise<void> {
      if (answers > 0 && inDoubt.length < AWAY_AFTER) await this.answered();
      inDoubt = [];
    },
  };
}

/** The dependency did not answer. The ledger has an error of its own for that; for other duties there is no second way to tell. */
const isOutageOf = (neighbour: Neighbour, error: unknown): boolean =>
  error instanceof GateError &&
  error.status >= 500 &&
  (neighbour === 'ledger') === (error.code === 'ledger_store_unavailable');

/** Work that is still running when it is abandoned is safe to repeat. */
const inTime = <Result>(limitMs: number, work: Promise<Result>): Promise<Result> =>
  within(limitMs, work, () => new TooLong(`took longer than ${limitMs} ms`));
