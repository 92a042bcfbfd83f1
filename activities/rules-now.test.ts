import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

describe('an approved call, when the rules changed since it was judged', () => {
  let gate: PipelineFixture;
  let call: CallInput;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
    call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
  });
  afterEach(() => gate.close());

  async function approved() {
    expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    const { state, outcome } = (await gate.calls.find(call.correlation_id)) ?? {};
    return { state, code: outcome?.code, error: outcome?.error, sent: gate.executed.length };
  }

  it('runs where they say what they said', async () => {
    gate.script.rules = 'sha256:new';
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('runs where they allow it', async () => {
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'green' });
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run where they deny it, and the reason is theirs', async () => {
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'red' });
    expect(await approved()).toMatchObject({
      state: 'not_run',
      code: 'policy_changed',
      error: expect.stringContaining('Violation: destructive') as never,
      sent: 0,
    });
    expect(await gate.kinds(call.correlation_id)).toContain('upstream.outcome');
  });

  it('does not run where they ask for more people', async () => {
    Object.assign(gate.script, { rules: 'sha256:new', approvalTier: 'strict' });
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'policy_changed', sent: 0 });
  });

  it('runs under the same rules, whatever they would say now: a person has approved it', async () => {
    gate.script.tier = 'red';
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run while policy is away, and says that nothing was sent', async () => {
    gate.script.policy = 'down';
    expect(await approved()).toMatchObject({
      state: 'not_run',
      code: 'attempt_not_begun',
      error: expect.stringContaining('nothing was sent') as never,
      sent: 0,
    });
  });

  it('runs where policy is back within seconds', async () => {
    gate.script.policy = 'down';
    const running = approved();
    setTimeout(() => (gate.script.policy = 'up'), 100);
    expect(await running).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('is not asked about when nobody had to approve it', async () => {
    Object.assign(gate.script, { tier: 'green', rules: 'sha256:new' });
    const plain = await gate.call();
    expect(await gate.run(plain)).toMatchObject({ state: 'completed' });
  });
});
