import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { TenantOperationsClient } from '../activities/clients/tenant-steps.js';
import { errorText } from '../domain/errors.js';
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
  /** Told once per fault, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  readonly lookMs?: number;
}) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let pauseMs = lookMs;
  let fault: string | null = null;
  let looking: Promise<void> = Promise.resolve();

  async function all(): Promise<void> {
    try {
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
      if (fault !== null) onFault(null);
      [fault, pauseMs] = [null, lookMs];
    } catch (error) {
      if (closed) return;
      const reason = errorText(error);
      if (fault === null) onFault(reason);
      [fault, pauseMs] = [reason, Math.min(LONGEST_PAUSE_MS, pauseMs * 2)];
    }
  }
  const look = (): void => {
    if (closed) return;
    timer = setTimeout(() => {
      looking = all().finally(look);
    }, pauseMs).unref();
  };
  return {
    begin: look,
    async stop(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
