import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { judgedInSteps } from '../test/support/judged-in-steps.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createStepActivities, type StepActivities } from './steps.js';

/** Whoever reaches the engine can have a step run with what it likes among the sealed values of earlier calls. */
describe('what the attempt may do is what the record says, not who asks for it', () => {
  let gate: PipelineFixture;
  let steps: StepActivities;
  let nowMs: number;
  beforeEach(async () => {
    nowMs = Date.now();
    gate = await openPipeline({ clock: { now: () => nowMs, sleep: () => Promise.resolve() } });
    steps = createStepActivities(gate.activities);
  });
  afterEach(() => gate.close());

  const judged = async (change: Partial<CallInput> = {}) => {
    const call = await gate.call(change);
    await judgedInSteps(steps, call);
    return call;
  };
  const far = () => nowMs + 3_600_000;

  it('does not run a call that was only to be judged, whatever contract the asker names', async () => {
    const call = await judged({ contract: 'gate.decision/v1' });
    for (const asked of [call, { ...call, contract: 'gate.server-execution/v1' as const }])
      await expect(steps.execute(asked, far())).rejects.toThrow('was only to be judged');
    expect(gate.executed).toEqual([]);
    expect(await gate.calls.find(call.correlation_id)).toMatchObject({ state: 'allowed', version: 1 });
  });

  it('does not run an approved call that was only to be judged', async () => {
    gate.script.tier = 'yellow';
    const call = await judged({ contract: 'gate.decision/v1' });
    await steps.park(call, nowMs);
    await gate.activities.applyDecision(await gate.decision(call, 'approve'));
    await expect(steps.execute(call, far())).rejects.toThrow('was only to be judged');
    expect(gate.executed).toEqual([]);
  });

  it('runs nothing whose caller has given up, however late the asker says that it may begin', async () => {
    const call = await judged();
    nowMs = call.not_after_ms + 1;
    const asked = { ...call, not_after_ms: far() };
    expect(await steps.execute(asked, far())).toMatchObject({ state: 'abandoned' });
    expect(gate.executed).toEqual([]);
  });

  it('runs no approval that is older than a minute, however late the asker says that it may begin', async () => {
    gate.script.tier = 'yellow';
    const call = await judged();
    await steps.park(call, nowMs);
    await gate.activities.applyDecision(await gate.decision(call, 'approve'));
    nowMs += 60_001;
    expect(await steps.execute(call, far())).toMatchObject({ state: 'not_run' });
    expect(gate.executed).toEqual([]);
  });

  it('runs no later than the asker says', async () => {
    const call = await judged();
    expect(await steps.execute(call, nowMs - 1)).toMatchObject({ state: 'abandoned' });
    expect(gate.executed).toEqual([]);
  });

  it('sends as the agent of the record, within its time, whoever the asker says it is', async () => {
    const call = await judged();
    const asked = { ...call, agent: 'somebody-else', digest: 'sha256:other', upstream_timeout_ms: 1 };
    expect(await steps.execute(asked, far())).toMatchObject({ state: 'completed' });
    expect(gate.executed).toHaveLength(1);
  });

  it.each(['timeout', 'invalid_answer', 'cancelled'] as const)(
    'an attempt without an answer says why in its record and in its row: %s',
    async (cause) => {
      gate.script.upstream = async () => ({ kind: 'unknown', cause, reason: 'no word' });
      const call = await judged();
      expect(await steps.execute(call, far())).toMatchObject({ state: 'uncertain' });
      expect((await gate.calls.find(call.correlation_id))?.outcome).toMatchObject({ stage: 'uncertain', cause });
      await steps.appendLedger(call.correlation_id, 'at_once');
      const rows = await gate.rows(call.correlation_id);
      expect(rows.find((row) => row.event_kind === 'upstream.outcome')?.policy_decision).toMatchObject({ cause });
    },
  );

  it('runs nothing that has no record', async () => {
    await expect(steps.execute(await gate.call(), far())).rejects.toThrow('no call record');
    expect(gate.executed).toEqual([]);
  });
});
