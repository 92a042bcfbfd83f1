import type { CallStore, OpenCall } from '../domain/call-record/call-store.js';
import { callbackIdOf } from '../domain/call-record/transitions.js';
import { APPROVED_CLAIM_LIMIT_MS } from '../domain/pipeline/pipeline.js';
import type { Ledger } from '../contracts/ledger.js';
import type { CallbackActivities } from './deliver.js';
import { alarmRow, type LedgerActivities, type OnAlarm } from './ledger.js';
import type { RecordActivities } from './call-record.js';
import type { ReviewActivities } from './review.js';

/** What the engine knows of a call's workflow. */
export interface Runs {
  status(correlationId: string): Promise<'running' | 'closed' | 'missing'>;
  /** Ends a run that cannot end by itself. Safe to repeat. */
  end(correlationId: string, reason: string): Promise<void>;
}

export interface Reconciled {
  readonly looked_at: number;
  readonly closed: number;
  readonly rows_appended: number;
  readonly purged: number;
}

export interface ReconcileOptions {
  readonly calls: CallStore;
  readonly runs: Runs;
  readonly ledger: Ledger;
  readonly record: RecordActivities;
  readonly review: ReviewActivities;
  readonly rows: LedgerActivities;
  readonly deliver: CallbackActivities['deliver'];
  /** How long past its due moment a call may stand before it is closed for it. */
  readonly graceMs: number;
  readonly retentionMs: number;
  readonly windowMs: number;
  readonly now?: () => number;
  readonly heartbeat?: () => void;
  readonly onAlarm?: OnAlarm;
}

/** More than any pass should meet. A smaller batch of the oldest would be the same long-parked calls at every pass, and hide the rest. */
const BATCH = 20_000;
/** Callbacks are sent one after the other, and a receiver may take its time. */
const CALLBACKS = 20;

export function createReconcileActivities(options: ReconcileOptions) {
  const { calls, runs, ledger, record, review, rows, graceMs, now = Date.now } = options;

  /** The moment by which a call in this state should have moved, by its stored deadlines alone. */
  const dueMs = async (open: OpenCall): Promise<number> => {
    if (open.state === 'parked') return open.deadline_ms ?? open.updated_ms;
    if (open.state === 'approved') return open.updated_ms + APPROVED_CLAIM_LIMIT_MS;
    // A tool may take as long as it was given; until then its call is not late.
    const attempt = open.state === 'intended' ? await calls.find(open.correlation_id) : null;
    return open.updated_ms + 60_000 + (attempt?.evidence.call.upstream_timeout_ms ?? 0);
  };

  const close = async (open: OpenCall, reason: string): Promise<void> => {
    const { correlation_id } = open;
    options.onAlarm?.(correlation_id, reason, 'alarm.reconciled');
    await runs.end(correlation_id, reason);
    if (open.state === 'parked' && open.deadline_ms !== null && now() > open.deadline_ms)
      await review.expireReview(correlation_id);
    else await record.abortCall(correlation_id, reason);
    await review.settleReviewRow(correlation_id);
    await rows.appendRows(correlation_id);
    await ledger.append([
      alarmRow({ correlation_id, kind: 'alarm.reconciled', reasoning: reason, detail: { state: open.state } }),
    ]);
  };

  /** The callback of a call whose workflow did not live to start it. One that was started has had its attempts. */
  const tellCaller = async (correlationId: string): Promise<void> => {
    if ((await runs.status(correlationId)) === 'running') return;
    const found = await calls.find(correlationId);
    const sent = await runs.status(callbackIdOf(correlationId, found?.decision?.status ?? 'aborted'));
    if (sent === 'running') return;
    if (sent === 'missing') await options.deliver(correlationId).catch(() => undefined);
    await calls.followedUp(correlationId, 'callback');
  };

  return {
    /**
     * Walks the records without a terminal state and those whose rows are due (DESIGN section 1): a call whose workflow is gone, stuck or
     * overdue is closed fail closed with an alarm row. Safe to repeat; it never runs a tool.
     */
    async reconcileCalls(): Promise<Reconciled> {
      let closed = 0;
      let appended = 0;
      const open = await calls.openCalls(now() - graceMs, BATCH);
      for (const call of open) {
        options.heartbeat?.();
        const status = await runs.status(call.correlation_id);
        const overdue = now() > (await dueMs(call)) + graceMs;
        if (status === 'running' && !overdue) continue;
        const reason =
          status === 'running'
            ? `the workflow is overdue in state ${call.state}`
            : `the workflow is ${status} while the call is ${call.state}`;
        await close(call, reason);
        closed += 1;
      }
      for (const correlationId of await calls.rowsDue(now() - graceMs, BATCH)) {
        options.heartbeat?.();
        if ((await runs.status(correlationId)) === 'running') continue;
        await rows.appendRows(correlationId);
        appended += 1;
      }
      for (const correlationId of await calls.followUpsDue('review', now() - graceMs, BATCH)) {
        options.heartbeat?.();
        if ((await runs.status(correlationId)) !== 'running') await review.settleReviewRow(correlationId);
      }
      for (const correlationId of await calls.followUpsDue('callback', now() - graceMs, CALLBACKS)) {
        options.heartbeat?.();
        await tellCaller(correlationId);
      }
      const purged = await calls.purge({
        hitsMs: now() - 2 * options.windowMs,
        stagedMs: now() - 3_600_000,
        recordsMs: now() - options.retentionMs,
      });
      return { looked_at: open.length, closed, rows_appended: appended, purged };
    },
  };
}
export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;
