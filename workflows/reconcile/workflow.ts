import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities, Reconciled } from '../../activities/reconcile.js';

const { reconcileCalls } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '10m',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 1 },
});

/** One pass of the reconciliation schedule: what crashed in the middle is closed, fail closed, and rows that are due are appended. */
export async function reconcile(): Promise<Reconciled> {
  return reconcileCalls();
}
