import type { Client } from '@temporalio/client';
import { WARM_UP } from '../workflows/warm-up/messages.js';

const LIMIT_MS = 10_000;

/**
 * Starts a workflow that does nothing, so that connections, the sandbox and its code are ready before a caller needs them. Throws when no
 * worker takes it, because then none would take a call either. It waits behind calls of before that are due, so a worker that has some of
 * those in hand by then is warm: `onBusy` hears how many.
 */
export async function warmUp(
  client: Client,
  taskQueue: string,
  { callsInHand, onBusy }: { readonly callsInHand: () => number; readonly onBusy: (calls: number) => void },
): Promise<void> {
  try {
    await client.withDeadline(Date.now() + LIMIT_MS, () =>
      client.workflow.execute(WARM_UP, {
        taskQueue,
        workflowId: `warm-up/${taskQueue}`,
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        workflowExecutionTimeout: LIMIT_MS,
      }),
    );
  } catch (error) {
    const calls = callsInHand();
    if (calls === 0) throw error;
    onBusy(calls);
  }
}
