import { proxyActivities } from '@temporalio/workflow';
import type { Reconciled, ReconcilePlace } from '../../activities/reconcile.js';

/** The activity as the workflow sees it; the worker handles heartbeats. */
interface ReconcileActivity {
  reconcileCalls(from: ReconcilePlace | null): Promise<Reconciled>;
}

// There is a heartbeat for each call that is checked. A pass that hangs is ended, and the schedule starts another.
const { reconcileCalls } = proxyActivities<ReconcileActivity>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 1 },
});

/** A pass that needs more parts than this is ended; the next one begins at the oldest call again. */
const MAX_PARTS = 500;

/**
 * One pass of the reconciliation schedule: closes calls that crashed in the middle, without an effect, and does what is still due for other
 * calls.
 */
export async function reconcile(): Promise<Reconciled> {
  let sum = await reconcileCalls(null);
  for (let part = 1; sum.next && part < MAX_PARTS; part += 1) {
    const more = await reconcileCalls(sum.next);
    sum = {
      looked_at: sum.looked_at + more.looked_at,
      closed: sum.closed + more.closed,
      rows_appended: sum.rows_appended + more.rows_appended,
      failed: sum.failed + more.failed,
      purged: sum.purged + more.purged,
      next: more.next,
    };
  }
  return sum;
}
