import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { DECISION_KEYS, openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import { GateError } from '../errors.js';
import type { DecisionSender } from './ports.js';
import { createWithdrawals } from './withdrawal.js';

describe('an agent that withdraws its call', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  const park = async (): Promise<CallInput> => {
    const call = await gate.call({});
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    return call;
  };
  const withdrawals = (sender: DecisionSender = gate.host) =>
    createWithdrawals({
      reviews: gate.reviews,
      sender,
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
    });
  const its = ({ correlation_id, tenant, agent }: CallInput) => ({ correlation_id, tenant, agent_id: agent });
  const recordOf = ({ correlation_id }: CallInput) => gate.calls.find(correlation_id);
  const rowOf = ({ correlation_id }: CallInput) => gate.reviews.byCorrelation(correlation_id);

  it('has it denied in the name of Gate, in its record and in its row', async () => {
    const call = await park();
    await withdrawals()(its(call));
    expect(await recordOf(call)).toMatchObject({
      state: 'denied',
      decision: { status: 'denied', decided_by: 'system:withdrawn-by-agent' },
    });
    expect(await rowOf(call)).toMatchObject({ status: 'withdrawn', decision_reason: 'the agent withdrew its call' });
  });

  it('may say so twice: it is one decision', async () => {
    const call = await park();
    await Promise.all([withdrawals()(its(call)), withdrawals()(its(call))]);
    await withdrawals()(its(call));
    expect(await recordOf(call)).toMatchObject({ state: 'denied' });
  });

  it('finds no call of another agent, and no call of another tenant', async () => {
    const call = await park();
    for (const other of [
      { ...its(call), agent_id: 'somebody' },
      { ...its(call), tenant: 'globex' },
    ])
      await expect(withdrawals()(other)).rejects.toMatchObject({ code: 'not_found' });
    expect(await recordOf(call)).toMatchObject({ state: 'parked' });
  });

  it.each(['clocks_apart', 'decision_refused'] as const)(
    'is told to ask again where the decision was refused: %s',
    async (code) => {
      const call = await park();
      const refused: DecisionSender = {
        decide: () => Promise.resolve({ outcome: 'refused', code, reason: 'the clocks are apart' }),
      };
      await expect(withdrawals(refused)(its(call))).rejects.toMatchObject({
        code: 'orchestrator_unavailable',
        message: 'the clocks are apart',
      });
      expect(await rowOf(call)).toMatchObject({ status: 'pending' });
    },
  );

  it('is told of a workflow that does not answer, and the call waits on', async () => {
    const call = await park();
    const away = { decide: () => Promise.reject(new GateError('orchestrator_unavailable')) };
    await expect(withdrawals(away)(its(call))).rejects.toMatchObject({ code: 'orchestrator_unavailable' });
    expect(await rowOf(call)).toMatchObject({ status: 'pending' });
    await withdrawals()(its(call));
    expect(await rowOf(call)).toMatchObject({ status: 'withdrawn' });
  });
});
