import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { RECONCILE } from '../workflows/reconcile/messages.js';

const SCHEDULE_ID = 'gate-reconcile';

/** Creates the reconciliation schedule, or changes the existing one to these settings. Safe to repeat at every start. */
export async function ensureReconcileSchedule(
  client: Client,
  { taskQueue, everySecs }: { taskQueue: string; everySecs: number },
): Promise<void> {
  const schedule = {
    spec: { intervals: [{ every: everySecs * 1000 }] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000 },
    action: { type: 'startWorkflow' as const, workflowType: RECONCILE, workflowId: SCHEDULE_ID, taskQueue, args: [] },
  };
  try {
    await client.schedule.create({ scheduleId: SCHEDULE_ID, ...schedule });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(SCHEDULE_ID).update((previous) => ({ ...previous, ...schedule }));
  }
}
