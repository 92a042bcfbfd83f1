import { afterEach, describe, expect, it } from '@jest/globals';
import type { NewReview } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { APPROVERS } from '../test/support/approvers.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

const HARMLESS: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'x',
  analyzed: true,
  operation_class: 'read',
  severity: 'safe',
  reversible: 'yes',
  summary: 'read file',
  reasons: [],
  targets: [],
  predicted_changes: [],
  scope: { targets: 0, wildcards: false, recursive: false },
  money: null,
};
const ARGUMENTS = { path: '/etc/passwd' };

let gate: PipelineFixture;
afterEach(() => gate.close());

/** What `delete_file` comes to where somebody with the certificate of the proxy opened its review before it parked. */
async function afterOne(tier: 'standard' | 'strict' | 'auto', forged: (atMs: number) => Partial<NewReview>) {
  gate = await openPipeline({
    script: { tier: 'yellow', approvalTier: tier },
    quorum: { strict: 2, risky: 1, destructive: 1 },
    approvers: () => APPROVERS,
  });
  // As it is asked for: what another call of the same came to.
  const before = await gate.call({ tool: 'delete_file', arguments: ARGUMENTS });
  await gate.run(before);
  const asked = await gate.reviews.byCorrelation(before.correlation_id);
  const { body, call: planned } = gate.unstaged({ tool: 'delete_file', arguments: ARGUMENTS });
  await gate.reviews.createOnce({
    agent_id: planned.agent,
    agent_spiffe: asked?.agent_spiffe ?? null,
    correlation_id: planned.correlation_id,
    method: planned.method,
    request_payload: body,
    risk_summary: asked?.risk_summary ?? '',
    state_namespace: 'operator',
    ttl_seconds: planned.ttl_secs[tier],
    created_at: new Date().toISOString(),
    review_reasons: asked?.review_reasons ?? [],
    policy_bundle_sha256: asked?.policy_bundle_sha256,
    approval_tier: tier,
    tenant: planned.tenant,
    ...forged(Date.now()),
  });
  const call = await gate.call({ ...planned, arguments: ARGUMENTS });
  const out = await gate.run(call);
  return { out, row: await gate.reviews.byCorrelation(call.correlation_id) };
}

describe('a call whose review somebody opened in advance', () => {
  it('waits for people where it is the one that the call asks for, as an earlier attempt would have opened it', async () => {
    const { out, row } = await afterOne('standard', () => ({}));
    expect(out).toMatchObject({ state: 'parked' });
    expect(row).toMatchObject({ status: 'pending', approval_tier: 'standard' });
  });

  it.each<[string, 'standard' | 'strict' | 'auto', (atMs: number) => Partial<NewReview>]>([
    ['of a tier that needs fewer people', 'strict', () => ({ approval_tier: 'standard' })],
    ['of a prediction that lets a rule decide', 'auto', () => ({ sandbox_report: HARMLESS })],
    ['of a demonstration, where one person is enough', 'strict', () => ({ state_namespace: 'demo' })],
    ['that stands open for longer', 'standard', () => ({ ttl_seconds: 86_400 })],
    ['that begins later', 'standard', (atMs) => ({ created_at: new Date(atMs + 3_600_000).toISOString() })],
    ['of another agent', 'standard', () => ({ agent_spiffe: 'spiffe://gate.local/agent/acme/another' })],
    ['with other words of why it waits', 'standard', () => ({ risk_summary: 'routine read, nothing to see' })],
    ['under other rules', 'standard', () => ({ policy_bundle_sha256: '0'.repeat(64) })],
  ])('%s is over: nobody decides it, and nothing runs', async (_what, tier, forged) => {
    const { out, row } = await afterOne(tier, forged);
    expect(out).toMatchObject({ state: 'aborted' });
    expect(row?.status).not.toBe('approved');
    expect(gate.executed).toEqual([]);
  });
});
