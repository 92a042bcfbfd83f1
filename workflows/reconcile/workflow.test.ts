import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Reconciled, ReconcilePlace } from '../../activities/reconcile.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import {
  openWorkflowEnvironment,
  TASK_QUEUE,
  type WorkflowEnvironment,
} from '../../test/support/workflow-environment.js';
import { RECONCILE } from './messages.js';

let engine: WorkflowEnvironment;
let gate: PipelineFixture;
/** The parts of a pass, in their order; the places that the workflow asked for. */
let parts: (Reconciled | Error)[];
let asked: (ReconcilePlace | null)[];
beforeAll(async () => {
  gate = await openPipeline();
  engine = await openWorkflowEnvironment(() => ({
    ...gate.activities,
    reconcileCalls(from = null) {
      asked.push(from);
      const part = parts[asked.length - 1];
      return part instanceof Error || part === undefined ? Promise.reject(part) : Promise.resolve(part);
    },
  }));
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await gate.close();
});
beforeEach(() => {
  asked = [];
});

const place = (id: string): ReconcilePlace => ({ updated_ms: 1, id }) as unknown as ReconcilePlace;
const part = (looked_at: number, next: ReconcilePlace | null): Reconciled => ({
  looked_at,
  closed: 1,
  rows_appended: 2,
  failed: 0,
  purged: 3,
  next,
});
let runs = 0;
const pass = async (): Promise<unknown> => {
  const workflowId = `reconcile-${(runs += 1)}`;
  const sum = await engine.client.workflow.execute(RECONCILE, { taskQueue: TASK_QUEUE, workflowId });
  await engine.replay(await engine.client.workflow.getHandle(workflowId).fetchHistory());
  return sum;
};

describe('a pass of reconciliation', () => {
  it('goes on where its last part ended, and says what all of them did', async () => {
    parts = [part(500, place('a')), part(500, place('b')), part(7, null)];
    expect(await pass()).toEqual({ looked_at: 1_007, closed: 3, rows_appended: 6, failed: 0, purged: 9, next: null });
    expect(asked).toEqual([null, place('a'), place('b')]);
  });

  it('that fails is over: the schedule begins another at the oldest call', async () => {
    parts = [part(500, place('a')), new Error('the store is away'), part(7, null)];
    await expect(pass()).rejects.toThrow('Workflow execution failed');
    expect(asked).toEqual([null, place('a')]);
  });
});
