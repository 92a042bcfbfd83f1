import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { TenantOperationsClient } from '../activities/clients/tenant-steps.js';
import { createRepeated } from '../domain/repeated.js';
import { lineOf } from '../workflows/line.js';
import { TENANT_LIFECYCLE, tenantLifecycleIdOf, type TenantRun } from '../workflows/tenant-lifecycle/messages.js';

const LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Has every operation on a tenant that goes on by itself done: one that has no run gets one, whatever ended its last. Several workers may look at once,
 * since an operation has one run at a time.
 */
export function driveTenantOperations({
  client,
  taskQueue,
  due,
  onFault,
  lookMs = LOOK_MS,
}: {
  readonly client: Pick<Client, 'workflow'>;
  readonly taskQueue: string;
  readonly due: TenantOperationsClient['due'];
  /** As of what is done again and again. */
  readonly onFault: (reason: string | null) => void;
  readonly lookMs?: number;
}) {
  const { begin, stop } = createRepeated({
    everyMs: lookMs,
    longestPauseMs: LONGEST_PAUSE_MS,
    onFault,
    async work() {
      for (const { id, tenant, kind } of await due())
        await client.workflow
          .start(TENANT_LIFECYCLE, {
            taskQueue,
            workflowId: tenantLifecycleIdOf(id),
            args: [{ operation_id: id, tenant, kind } satisfies TenantRun],
            workflowIdConflictPolicy: 'USE_EXISTING',
            staticSummary: lineOf(kind, tenant),
          })
          .catch((error: unknown) => {
            if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
          });
    },
  });
  return { begin, stop };
}
