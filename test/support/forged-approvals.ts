import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { CallInput } from '../../contracts/call.js';
import type { SignedDecision } from '../../contracts/review.js';
import type { RecordedDecision } from '../../domain/call/record.js';
import { signDecision } from '../../domain/review/decision-signature.js';
import { inspectionOf } from './judgements.js';
import type { PipelineFixture } from './pipeline-fixture.js';

/** A call that waits, by the pipeline's own activities. */
export async function parked(
  gate: PipelineFixture,
  contract: CallInput['contract'],
  given: Parameters<PipelineFixture['call']>[0] = {},
): Promise<CallInput> {
  const call = await gate.call({ ...given, contract });
  const evaluated = await gate.activities.evaluate(call, await gate.activities.inspect(call));
  await gate.activities.commitVerdict(call, { available: true, inspection: inspectionOf(true) }, evaluated);
  await gate.activities.openReview(call, Date.now());
  return call;
}

export const approvalRecorded = (
  signed: SignedDecision | undefined,
  change: Partial<RecordedDecision> = {},
): RecordedDecision => ({
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
export const FORGED_APPROVALS: readonly (readonly [
  string,
  (gate: PipelineFixture, call: CallInput) => Promise<RecordedDecision>,
  RegExp,
])[] = [
  ['no signed decision', async () => approvalRecorded(undefined), /holds no signed decision/],
  [
    "a stranger's signature",
    async (gate, call) => {
      const { signature: _, ...unsigned } = await gate.decision(call, 'approve');
      return approvalRecorded(await signDecision(unsigned, generateKeyPairSync('ed25519').privateKey));
    },
    /signature|signed/,
  ],
  ['a denial', async (gate, call) => approvalRecorded(await gate.decision(call, 'deny')), /not an approval/],
  [
    'the approval of another call',
    async (gate, call) => approvalRecorded(await gate.decision(call, 'approve', { correlation_id: randomUUID() })),
    /about another call/,
  ],
  [
    'the approval of another row',
    async (gate, call) => approvalRecorded(await gate.decision(call, 'approve', { pending_id: randomUUID() })),
    /about another call/,
  ],
  [
    'the approval of another action',
    async (gate, call) =>
      approvalRecorded(await gate.decision(call, 'approve', { action_digest: `sha256:${'ab'.repeat(32)}` })),
    /another action/,
  ],
  [
    'an approval in another tenant',
    async (gate, call) => {
      const { principal } = await gate.decision(call, 'approve');
      return approvalRecorded(await gate.decision(call, 'approve', { principal: { ...principal, tenant: 'other' } }));
    },
    /another tenant/,
  ],
  [
    'an approval that came too late',
    async (gate, call) => {
      const past = (ms: number) => new Date(Date.now() - ms).toISOString();
      return approvalRecorded(
        await gate.decision(call, 'approve', { decided_at: past(60_000), not_after: past(50_000) }),
      );
    },
    /after the time it was signed for/,
  ],
  [
    'an approval that was made after the deadline',
    async (gate, call) => {
      const { deadline_ms } = (await gate.calls.find(call.correlation_id)) ?? {};
      const after = (ms: number) => new Date((deadline_ms ?? 0) + ms).toISOString();
      return approvalRecorded(await gate.decision(call, 'approve', { decided_at: after(0), not_after: after(10_000) }));
    },
    /made after the deadline/,
  ],
  [
    'an approval by somebody else than the record says',
    async (gate, call) => approvalRecorded(await gate.decision(call, 'approve'), { decided_by: 'operator:cfo' }),
    /another decision than the signed one/,
  ],
];
