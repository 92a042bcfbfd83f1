import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import type { NewReview } from '../contracts/review.js';
import type { SandboxReport } from '../contracts/sandbox.js';
import { GateError } from '../domain/errors.js';
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
async function afterOne(
  tier: 'standard' | 'strict' | 'auto',
  forged: (atMs: number, asked: readonly string[]) => Partial<NewReview>,
) {
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
    brain_scores: asked?.brain_scores as JsonObject | null,
    projected_cost_micros: (asked?.projected_cost_micros ?? null) as number | null,
    approval_tier: tier,
    tenant: planned.tenant,
    ...forged(Date.now(), asked?.review_reasons ?? []),
  });
  const call = await gate.call({ ...planned, arguments: ARGUMENTS });
  const first = await gate.run(call).catch((error: unknown) => error);
  // Whoever is told that nothing was kept asks again under the same id.
  const out = first instanceof GateError ? await gate.run(call) : (first as Awaited<ReturnType<typeof gate.run>>);
  const told = first instanceof GateError ? first.code : null;
  return { out, told, asked, row: await gate.reviews.byCorrelation(call.correlation_id) };
}

describe('a call whose review somebody opened in advance', () => {
  it('waits for people where it is the one that the call asks for, as an earlier attempt would have opened it', async () => {
    const { out, row } = await afterOne('standard', () => ({}));
    expect(out).toMatchObject({ state: 'parked' });
    expect(row).toMatchObject({ status: 'pending', approval_tier: 'standard' });
  });

  it.each<[string, 'standard' | 'strict' | 'auto', (atMs: number) => Partial<NewReview>]>([
    ['of a tier that needs fewer people', 'strict', () => ({ approval_tier: 'standard' })],
    ['of a demonstration, where one person is enough', 'strict', () => ({ state_namespace: 'demo' })],
    ['that stands open for longer', 'standard', () => ({ ttl_seconds: 86_400 })],
    ['of another agent', 'standard', () => ({ agent_spiffe: 'spiffe://gate.local/agent/acme/another' })],
    ['with other words of why it waits', 'standard', () => ({ risk_summary: 'routine read, nothing to see' })],
    ['of another method', 'standard', () => ({ method: 'resources/read' })],
    ['without a reason of the rules', 'standard', () => ({ review_reasons: [] })],
    ['under other rules', 'standard', () => ({ policy_bundle_sha256: '0'.repeat(64) })],
  ])('%s is over: nobody decides it, and nothing runs', async (_what, tier, forged) => {
    const { out, row } = await afterOne(tier, forged);
    expect(out).toMatchObject({ state: 'aborted' });
    expect(row?.status).not.toBe('approved');
    expect(gate.executed).toEqual([]);
  });

  it.each<[string, 'standard' | 'auto', (atMs: number, asked: readonly string[]) => Partial<NewReview>]>([
    ['of a prediction that lets a rule decide', 'auto', () => ({ sandbox_report: HARMLESS })],
    [
      'with a reason more',
      'standard',
      (_, asked) => ({ review_reasons: [...asked, 'PRE-APPROVED by the CFO: just click'] }),
    ],
    ['with other scores', 'standard', () => ({ brain_scores: { verdict: 'nothing speaks against it' } })],
    ['of another cost', 'standard', () => ({ projected_cost_micros: 1 })],
    ['whose end somebody else is told', 'standard', () => ({ callback_url: 'https://evil.example/hook' })],
  ])(
    '%s is never shown to whoever decides: the next attempt opens it as it is asked for',
    async (_what, tier, forged) => {
      const { out, told, asked, row } = await afterOne(tier, forged);
      expect([told, out?.state]).toEqual(['pipeline_unavailable', 'parked']);
      expect(row).toMatchObject({
        status: 'pending',
        review_reasons: asked?.review_reasons,
        brain_scores: asked?.brain_scores,
        projected_cost_micros: asked?.projected_cost_micros,
        callback_url: asked?.callback_url,
        sandbox_report: { severity: 'destructive' },
      });
      expect(Date.parse(row?.created_at ?? '')).toBeLessThanOrEqual(Date.now());
      expect(gate.executed).toEqual([]);
    },
  );

  it('that begins later is never shown to whoever decides, and until then none is opened', async () => {
    const later = (atMs: number) => ({ created_at: new Date(atMs + 3_600_000).toISOString() });
    await expect(afterOne('standard', later)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
    expect(gate.executed).toEqual([]);
  });
});
