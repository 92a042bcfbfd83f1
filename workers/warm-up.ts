import type { Client } from '@temporalio/client';
import { WARM_UP } from '../workflows/warm-up/messages.js';

const LIMIT_MS = 10_000;

/**
 * Starts a workflow that does nothing, so that connections, the sandbox and its code are ready before a caller needs them. Throws when no
 * worker takes it, because then none would take a call either.
 */
export async function warmUp(client: Client, taskQueue: string): Promise<void> {
  await client.withDeadline(Date.now() + LIMIT_MS, () =>
    client.workflow.execute(WARM_UP, {
      taskQueue,
      workflowId: `warm-up/${taskQueue}`,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      workflowExecutionTimeout: LIMIT_MS,
    }),
  );
}
