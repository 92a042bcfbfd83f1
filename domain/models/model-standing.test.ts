import { describe, expect, it } from '@jest/globals';
import { modelStanding } from '../../contracts/inspection.js';
import { modelStandings, noModels } from './model-standing.js';
import type { ProviderStanding } from './router.js';
import type { Target } from './routing.js';

const price = { inputMicrosPerMillionTokens: 1, outputMicrosPerMillionTokens: 1 };
const target = (alias: string): Target => ({
  alias,
  provider: 'hosted',
  model: `${alias}-1`,
  maxOutputTokens: 9,
  price,
});
const told = (alias: string) => ({ alias, provider: 'hosted', model: `${alias}-1` });
const standing: ProviderStanding = {
  name: 'hosted',
  circuit: 'open',
  ofTenant: 'closed',
  againMs: 30_000,
  budget: { usedPercent: 7, usedByTenantPercent: 9 },
  asked: 5,
  failed: 4,
  notAsked: 2,
  lastFailure: { failure: 'unavailable', atMs: 1_000 },
  lastAnswerMs: null,
};

describe('which models judge, and how their providers stand', () => {
  it('is nothing where rules judge alone', () => {
    expect(modelStanding.parse(noModels.of('acme'))).toEqual({
      minutes: 10,
      providers: [],
      lanes: [],
      qualification: null,
    });
  });

  it('has each lane with its tier, the primary first, and each provider as it is for the tenant that asks', () => {
    const asked: (string | null)[] = [];
    const of = modelStandings({
      models: { standing: (tenant) => (asked.push(tenant), [standing]) },
      routing: {
        sha256: '',
        providers: { hosted: {} },
        workloads: {
          classifierFast: { targets: [target('small')] },
          classifierDeep: { targets: [target('large'), target('small')], hedgeAfterMs: 800 },
          narrateDecision: { targets: [target('small')] },
        },
      },
      kinds: { hosted: { kind: 'anthropic' } },
      report: null,
    }).of('acme');
    expect(asked).toEqual(['acme']);
    expect(modelStanding.parse(of)).toEqual({
      minutes: 10,
      lanes: [
        { lane: 'intent', tier: 'fast', models: [told('small')], hedge_after_ms: null },
        { lane: 'intent', tier: 'deep', models: [told('large'), told('small')], hedge_after_ms: 800 },
        { lane: 'narrate_decision', tier: null, models: [told('small')], hedge_after_ms: null },
      ],
      providers: [
        {
          name: 'hosted',
          kind: 'anthropic',
          circuit: 'open',
          circuit_of_tenant: 'closed',
          again_at: '1970-01-01T00:00:30.000Z',
          asked: 5,
          failed: 4,
          not_asked: 2,
          last_failure: { failure: 'unavailable', at: '1970-01-01T00:00:01.000Z' },
          last_answer_at: null,
          budget: { used_percent: 7, used_by_tenant_percent: 9 },
        },
      ],
      qualification: null,
    });
  });
});
