import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createStepActivities } from '../../activities/steps.js';
import { callbackIdOf } from '../../domain/call/transitions.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { TEST_PAYLOAD_KEYS } from '../../test/support/engine-keys.js';
import { until } from '../../test/support/kill-host-driver.js';
import { judgedInSteps } from '../../test/support/judged-in-steps.js';
import { openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import {
  openWorkflowEnvironment,
  TASK_QUEUE,
  type WorkflowEnvironment,
} from '../../test/support/workflow-environment.js';
import { historyOf } from '../../workers/history.js';
import { CALLBACK } from './messages.js';

let engine: WorkflowEnvironment;
let gate: PipelineFixture;
beforeAll(async () => {
  gate = await openPipeline();
  engine = await openWorkflowEnvironment(() => gate.activities);
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await gate.close();
});
beforeEach(async () => {
  const before = gate;
  gate = await openPipeline();
  await before.close();
});

/** A call whose caller gave an address and whose review ended with a person's no. */
async function denied(): Promise<string> {
  gate.script.tier = 'yellow';
  const call = await gate.call({ callback_url: 'https://caller.example/hooks' });
  // Without a host, which would tell the caller itself.
  const steps = createStepActivities(gate.activities);
  await judgedInSteps(steps, call);
  await steps.park(call, Date.now());
  await gate.activities.applyDecision(await gate.decision(call, 'deny'));
  return call.correlation_id;
}

const ran: string[] = [];
async function told(correlationId: string): Promise<'delivered' | 'given_up'> {
  const workflowId = callbackIdOf(correlationId, 'denied');
  ran.push(workflowId);
  return engine.client.workflow.execute(CALLBACK, { taskQueue: TASK_QUEUE, workflowId, args: [correlationId] });
}
const steps = async (): Promise<(string | null)[][]> => {
  const [run] = await historyOf(engine.client, ran.at(-1) ?? '', TEST_PAYLOAD_KEYS);
  return (run?.steps ?? []).map(({ step, outcome }) => [step, outcome]);
};
afterEach(async () => {
  for (const workflowId of ran.splice(0))
    await engine.replay(await engine.client.workflow.getHandle(workflowId).fetchHistory());
});

describe('a callback', () => {
  it('reaches its receiver: done after one attempt', async () => {
    const id = await denied();
    expect(await told(id)).toBe('delivered');
    expect(gate.callbacks).toHaveLength(1);
    expect(await steps()).toEqual([
      ['begins', null],
      ['callback', 'done'],
      ['ends', 'done'],
    ]);
  });

  it('is sent again when an attempt fails, with the same bytes', async () => {
    const id = await denied();
    gate.script.receiver = 'fails_once';
    expect(await told(id)).toBe('delivered');
    expect(gate.callbacks).toHaveLength(2);
    expect(gate.callbacks[1]).toEqual(gate.callbacks[0]);
  });

  it('that is refused for good is given up at once, and a row says so', async () => {
    const id = await denied();
    gate.script.receiver = 'refuses';
    expect(await told(id)).toBe('given_up');
    expect(gate.callbacks).toHaveLength(1);
    expect(await steps()).toEqual([
      ['begins', null],
      ['callback', expect.stringContaining('callback_not_allowed')],
      ['giveUpCallback', 'done'],
      ['ends', 'done'],
    ]);
    expect(await gate.kinds(id)).toContain('alarm.call_stuck');
  });

  it('that is given up waits for the ledger to take the row', async () => {
    const id = await denied();
    gate.script.receiver = 'refuses';
    gate.script.ledger = 'down';
    const over = told(id);
    await until(
      'the row was tried',
      async () => {
        const handle = engine.client.workflow.getHandle(callbackIdOf(id, 'denied'));
        return (await handle.describe().catch(() => null))?.raw.pendingActivities;
      },
      (pending) =>
        pending?.some(({ activityType, attempt }) => activityType?.name === 'giveUpCallback' && (attempt ?? 0) > 1) ===
        true,
    );
    gate.script.ledger = 'up';
    expect(await over).toBe('given_up');
    expect(await gate.kinds(id)).toContain('alarm.call_stuck');
  });
});
