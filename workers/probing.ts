import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { errorText, GateError } from '../domain/errors.js';
import type { Probing } from '../domain/probes/ports.js';
import { PROBE, probeIdOf } from '../workflows/probe/messages.js';

/** Starts the workflow that probes a call; where one runs already, nothing happens. */
export const createProbing = (client: Client, taskQueue: string): Probing => ({
  async begin(correlationId) {
    try {
      await client.workflow.start(PROBE, {
        taskQueue,
        workflowId: probeIdOf(correlationId),
        args: [correlationId],
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      throw new GateError('orchestrator_unavailable', errorText(error), { cause: error });
    }
  },
});
