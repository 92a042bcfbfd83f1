import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import { NO_BUDGETS } from '../domain/spend/spend.js';
import { type DecoySet, decoySetOf, NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';

const TOUCHED = { id: '40000000-0000-4000-8000-000000000004', kind: 'value', action: 'suspend' } as const;
const REASON = 'Violation: the operator denied this tool.';
const SET = decoySetOf([
  {
    id: TOUCHED.id,
    tenant: 'acme',
    name: 'canary',
    kind: 'value',
    value: 'ACCT-0000-7777',
    isAdvertised: false,
    action: 'suspend',
    schemaJson: null,
    description: null,
  },
]);

describe('a call that touches a decoy', () => {
  let gate: PipelineFixture;
  let inspected: number;
  let decoys: DecoySet;
  beforeEach(async () => {
    inspected = 0;
    decoys = NO_DECOYS;
    gate = await openPipeline({
      compose: (ports) =>
        createActivities({
          ...ports,
          inspector: {
            inspect(asked) {
              inspected += 1;
              return ports.inspector.inspect(asked);
            },
          },
          standing: {
            agentFault: () => null,
            toolFault: () => null,
            forcesReview: () => false,
            budgetsOf: () => NO_BUDGETS,
            decoysOf: () => decoys,
            grantFault: () => null,
          },
        }),
    });
  });
  afterEach(() => gate.close());
  const recordOf = async (call: CallInput) => {
    const { state, outcome, evidence } = (await gate.calls.find(call.correlation_id)) ?? {};
    return { state, code: outcome?.code, error: outcome?.error, verdict: evidence?.verdict, facts: evidence?.facts };
  };

  it.each(['enforce', 'observe'] as const)('is denied in %s mode, without being inspected', async (mode) => {
    gate.script.tier = 'red';
    const call = await gate.call({ mode, decoy: TOUCHED });
    expect(await gate.run(call)).toMatchObject({ state: 'denied' });
    expect([inspected, gate.executed.length]).toEqual([0, 0]);
    const { verdict, facts } = await recordOf(call);
    expect(verdict).toMatchObject({ tier: 'red', outcome: 'deny', would: null, layer: 'policy' });
    expect(verdict?.reasons).toContain(REASON);
    expect(facts).toMatchObject({ decoy: { kind: 'value' } });
    await gate.host.idle();
    const row = (await gate.rows(call.correlation_id)).find(({ event_kind }) => event_kind === 'proxy.verdict');
    expect(row).toMatchObject({ signal: 'decoy_tripped', authorized: false });
    expect((row?.policy_decision ?? {}) as JsonObject).toMatchObject({ decoy: TOUCHED });
  });

  it.each(['enforce', 'observe'] as const)('is denied in %s mode by rules that know of no decoys', async (mode) => {
    gate.script.tier = 'green';
    const call = await gate.call({ mode, decoy: TOUCHED });
    expect(await gate.run(call)).toMatchObject({ state: 'denied' });
    expect((await recordOf(call)).verdict?.reasons).toEqual([REASON]);
    expect(gate.executed).toEqual([]);
  });

  it('has no fact of a decoy where it touches none', async () => {
    const call = await gate.call();
    await gate.run(call);
    expect(Object.keys((await recordOf(call)).facts ?? {})).not.toContain('decoy');
    expect(gate.executed).toHaveLength(1);
  });

  describe('and waited for a person', () => {
    beforeEach(() => {
      gate.script.tier = 'yellow';
    });
    const parked = async (given: JsonObject) => {
      const call = await gate.call({ tool: 'wire_transfer', arguments: given });
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
      return call;
    };

    it('does not run where it is a decoy by then, and is told of other rules', async () => {
      const call = await parked({ to: 'acct 0000 7777' });
      decoys = SET;
      await gate.host.decide(await gate.decision(call, 'approve'));
      await gate.host.idle();
      expect(await recordOf(call)).toMatchObject({
        state: 'not_run',
        code: 'policy_changed',
        error: `the rules changed since this call was approved, and deny it now: ${REASON}`,
      });
      expect(gate.executed).toEqual([]);
    });

    it('does not run where its approver wrote one into it', async () => {
      const call = await parked({ to: 'vendor' });
      decoys = SET;
      await gate.decide({
        id: call.correlation_id,
        tenant: undefined,
        decision: 'modify',
        modification_diff: {
          contract: 'gate.hil.modification-diff/v1',
          replacements: [{ path: ['to'], value: 'ACCT-0000-7777' }],
        },
        reason: 'the other account',
        decided_via: 'console',
        request_id: randomUUID(),
        principal: (tenant) => ({
          subject: 'operator:ana',
          tenant,
          method: 'console-bearer',
          credential: 'token',
          credential_kind: 'console-bearer',
        }),
      });
      await gate.host.idle();
      expect(await recordOf(call)).toMatchObject({ state: 'denied' });
      expect(gate.executed).toEqual([]);
    });
  });
});
