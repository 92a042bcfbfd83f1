import type { Client } from '@temporalio/client';

const LIMIT_MS = 10_000;

/**
 * Sends each queue a workflow that does nothing, so that connections, sandboxes and the code in them are ready before somebody waits for
 * them. Throws when no worker takes it: then none would take a call either.
 */
export async function warmUp(client: Client, taskQueues: readonly string[]): Promise<void> {
  await client.withDeadline(Date.now() + LIMIT_MS, () =>
    Promise.all(
      taskQueues.map((taskQueue) =>
        client.workflow.execute('warmUp', {
          taskQueue,
          workflowId: `warm-up/${taskQueue}`,
          workflowIdConflictPolicy: 'TERMINATE_EXISTING',
          workflowExecutionTimeout: LIMIT_MS,
        }),
      ),
    ),
  );
}
