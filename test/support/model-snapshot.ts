import type { ModelSnapshot } from '../../contracts/inspection.js';

/** What Brain says where rules judge alone. */
export const RULES_ALONE: ModelSnapshot = {
  brain_version: 'gate-brain/11',
  mock_mode: true,
  provider_models: { classifier_fast: 'gate-rules:intent-1', injection: 'gate-rules:injection-1' },
  embedding_model: 'gate:hashed-1',
  injection_heuristic_level: 'standard',
  minutes: 10,
  providers: [],
  lanes: [],
  qualification: null,
};

const provider: ModelSnapshot['providers'][number] = {
  name: 'hosted',
  kind: 'openai',
  circuit: 'closed',
  circuit_of_tenant: 'closed',
  again_at: null,
  asked: 41,
  failed: 3,
  not_asked: 0,
  last_failure: { failure: 'rate_limited', at: '2026-11-28T11:58:00.000Z' },
  last_answer_at: '2026-11-28T11:59:00.000Z',
  budget: { used_percent: 37, used_by_tenant_percent: 12 },
};

/** What it says with two providers, of which one is held back, and a report by which they may judge. */
export const WITH_MODELS: ModelSnapshot = {
  ...RULES_ALONE,
  mock_mode: false,
  providers: [
    provider,
    {
      ...provider,
      name: 'local',
      kind: 'ollama',
      circuit: 'open',
      circuit_of_tenant: 'open',
      budget: null,
      again_at: '2026-11-28T12:00:30.000Z',
      asked: 5,
      failed: 5,
      not_asked: 8,
      last_answer_at: null,
      last_failure: {
        failure: 'unavailable',
        at: '2026-11-28T11:59:30.000Z',
      },
    },
  ],
  lanes: [
    {
      lane: 'intent',
      tier: 'fast',
      models: [{ alias: 'small', provider: 'hosted', model: 'small-1' }],
      hedge_after_ms: null,
    },
    {
      lane: 'intent',
      tier: 'deep',
      models: [
        { alias: 'large', provider: 'hosted', model: 'large-1' },
        { alias: 'own', provider: 'local', model: 'own-7b' },
      ],
      hedge_after_ms: 800,
    },
  ],
  qualification: {
    made_at: '2026-11-20T12:00:00.000Z',
    counts_until: '2026-12-20T12:00:00.000Z',
    report_sha256: 'c'.repeat(64),
    gate_version: '0.1.0',
    cases: 262,
    runs: 3,
    rounds: 2,
    result: 'pass',
    checks: [
      { of: 'round 1: recall', value: 0.973_333, at_least: 0.95, holds: true },
      { of: 'round 1: p95_ms', value: 1_234, at_most: 30_000, holds: true },
    ],
  },
};
