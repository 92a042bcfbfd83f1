import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalRecorded, FORGED_APPROVALS, parked } from '../test/support/forged-approvals.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

let gate: PipelineFixture;
beforeEach(async () => {
  gate = await openPipeline({ script: { tier: 'yellow' } });
});
afterEach(() => gate.close());

describe('a record that is approved with a MAC that holds, and without the approval that HIL signed', () => {
  it.each(FORGED_APPROVALS)('is closed at the claim, and nothing is sent: %s', async (_what, forge, why) => {
    const call = await parked(gate, 'gate.server-execution/v1');
    await gate.calls.move(call.correlation_id, 'approve', { decision: await forge(gate, call) });
    const ended = await gate.activities.callUpstream(call, Date.now() + 10_000);
    expect(ended.state).toBe('tampered');
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(why);
  });

  it('runs with the one that HIL signed', async () => {
    const call = await parked(gate, 'gate.server-execution/v1');
    await gate.calls.move(call.correlation_id, 'approve', {
      decision: approvalRecorded(await gate.decision(call, 'approve')),
    });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('completed');
    expect(gate.executed).toHaveLength(1);
  });
});
