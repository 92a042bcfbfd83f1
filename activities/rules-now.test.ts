import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BATCH_METHOD } from '../contracts/call-methods.js';
import type { CallInput } from '../contracts/call.js';
import { canonicalDigest } from '../domain/crypto/digest.js';
import { BATCH_CONTRACT } from '../domain/mcp/batch.js';
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

  it.each([
    ['deny it', { tier: 'red' }],
    ['ask for more people', { approvalTier: 'strict' }],
  ])('has no secret in its row that they quote where they %s', async (_what, now) => {
    call = await gate.call({ arguments: { path: 'a.txt', password: 'hunter2-42' } });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    Object.assign(gate.script, { ...now, rules: 'sha256:new', quotes: 'by ann@acme.example with hunter2-42' });
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'policy_changed' });
    const [end] = (await gate.rows(call.correlation_id)).filter((row) => row.event_kind === 'upstream.outcome');
    expect(end).toMatchObject({
      reasoning: expect.stringContaining('by [EMAIL] with [MASKED]') as never,
      policy_decision: { error: expect.stringContaining('by [EMAIL] with [MASKED]') as never },
    });
    expect(JSON.stringify(end)).not.toMatch(/ann@acme|hunter2/);
  });

  it('does not run where they ask for more people', async () => {
    Object.assign(gate.script, { rules: 'sha256:new', approvalTier: 'strict' });
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'policy_changed', sent: 0 });
  });

  it('runs under the same rules and classes, whatever they would say now: a person has approved it', async () => {
    gate.script.tier = 'red';
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run where an operator classed its tool `deny` since, and the reason is policy’s', async () => {
    Object.assign(gate.script, { classes: { read_file: { class: 'deny' } }, tier: 'red' });
    expect(await approved()).toMatchObject({
      state: 'not_run',
      code: 'policy_changed',
      error: expect.stringContaining('Violation: destructive') as never,
      sent: 0,
    });
  });

  it('does not run where an operator classed its tool `strict` since', async () => {
    Object.assign(gate.script, { classes: { read_file: { class: 'strict' } }, approvalTier: 'strict' });
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'policy_changed', sent: 0 });
  });

  it('runs where an operator classed its tool since, and the class lets it wait for as many people, or run', async () => {
    gate.script.classes = { read_file: { class: 'review' }, other_tool: { class: 'deny' } };
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run while the class of its tool cannot be read, which it could: it may be `deny` by now', async () => {
    gate.script.classes = { read_file: { suspended: 'unreadable' } };
    expect(await approved()).toMatchObject({
      state: 'not_run',
      code: 'attempt_not_begun',
      error: expect.stringContaining('read_file') as never,
      sent: 0,
    });
  });

  it('runs where the class could not be read when it was judged either: that is what its approver saw', async () => {
    gate.script.classes = { read_file: { suspended: 'unreadable' } };
    call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run where a tool of its batch is classed otherwise since', async () => {
    const calls = ['read_file', 'delete_file'].map((name, at) => ({ id: `${at}`, name, arguments: {} }));
    const { body, call: asked } = gate.unstaged({ tool: 'gate.atomic-batch', method: BATCH_METHOD });
    const batch = { ...body, method: BATCH_METHOD, params: { contract: BATCH_CONTRACT, calls } };
    call = { ...asked, digest: canonicalDigest({ route: '/mcp', body: batch }) };
    await gate.calls.admit(call, { body: batch, callback_url: null }, { limit: 0, windowMs: 60_000 });
    gate.script.classes = { read_file: { class: 'review' } };
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    Object.assign(gate.script, {
      classes: { read_file: { class: 'review' }, delete_file: { class: 'deny' } },
      tier: 'red',
    });
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'policy_changed', sent: 0 });
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
