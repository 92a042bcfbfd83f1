import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import type { RecordedDecision } from '../domain/call-record/record.js';
import { signDecision } from '../domain/review/decision-signature.js';
import { inspectionOf, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

let gate: PipelineFixture;
beforeEach(async () => {
  gate = await openPipeline({ script: { tier: 'yellow' } });
});
afterEach(() => gate.close());

async function parked(contract: CallInput['contract']): Promise<CallInput> {
  const call = await gate.call({ contract });
  const evaluated = await gate.activities.evaluate(call, await gate.activities.inspect(call));
  await gate.activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
  await gate.activities.openReview(call, Date.now());
  return call;
}

const recorded = (signed: SignedDecision | undefined, change: Partial<RecordedDecision> = {}): RecordedDecision => ({
  status: 'approved',
  decided_at: signed?.decided_at ?? new Date().toISOString(),
  decided_by: signed?.principal.subject ?? 'operator:dev',
  decided_via: 'console',
  reason: null,
  principal: signed?.principal ?? null,
  ...(signed && { signed }),
  ...change,
});

/**
 * What somebody could put into a record who holds the record keys and HIL's decision key not: each row's MAC is right, because the store
 * itself writes it.
 */
const FORGERIES: readonly (readonly [string, (call: CallInput) => Promise<RecordedDecision>, RegExp])[] = [
  ['no signed decision', async () => recorded(undefined), /holds no signed decision/],
  [
    "a stranger's signature",
    async (call) => {
      const { signature: _, ...unsigned } = await gate.decision(call, 'approve');
      return recorded(await signDecision(unsigned, generateKeyPairSync('ed25519').privateKey));
    },
    /signature|signed/,
  ],
  ['a denial', async (call) => recorded(await gate.decision(call, 'deny')), /not an approval/],
  [
    'the approval of another call',
    async (call) => recorded(await gate.decision(call, 'approve', { correlation_id: randomUUID() })),
    /about another call/,
  ],
  [
    'the approval of another row',
    async (call) => recorded(await gate.decision(call, 'approve', { pending_id: randomUUID() })),
    /about another call/,
  ],
  [
    'the approval of another action',
    async (call) => recorded(await gate.decision(call, 'approve', { action_digest: `sha256:${'ab'.repeat(32)}` })),
    /another action/,
  ],
  [
    'an approval in another tenant',
    async (call) => {
      const { principal } = await gate.decision(call, 'approve');
      return recorded(await gate.decision(call, 'approve', { principal: { ...principal, tenant: 'other' } }));
    },
    /another tenant/,
  ],
  [
    'an approval that came too late',
    async (call) => {
      const past = (ms: number) => new Date(Date.now() - ms).toISOString();
      return recorded(await gate.decision(call, 'approve', { decided_at: past(60_000), not_after: past(50_000) }));
    },
    /after the time it was signed for/,
  ],
  [
    'an approval by somebody else than the record says',
    async (call) => recorded(await gate.decision(call, 'approve'), { decided_by: 'operator:cfo' }),
    /another decision than the signed one/,
  ],
];

describe('a record that is approved with a MAC that holds, and without the approval that HIL signed', () => {
  it.each(FORGERIES)('is closed at the claim, and nothing is sent: %s', async (_what, forge, why) => {
    const call = await parked('gate.server-execution/v1');
    await gate.calls.move(call.correlation_id, 'approve', { decision: await forge(call) });
    const ended = await gate.activities.callUpstream(call, Date.now() + 10_000);
    expect(ended.state).toBe('tampered');
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(why);
  });

  it('runs with the one that HIL signed', async () => {
    const call = await parked('gate.server-execution/v1');
    await gate.calls.move(call.correlation_id, 'approve', {
      decision: recorded(await gate.decision(call, 'approve')),
    });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('completed');
    expect(gate.executed).toHaveLength(1);
  });
});
