import type { InspectionResponse } from '../../contracts/inspection.js';
import type { PolicyDecision } from '../../contracts/policy.js';

/** What Brain says of a call. */
export const inspectionOf = (authorized: boolean): InspectionResponse => ({
  authorized,
  reason: authorized ? 'routine' : 'injection: ignore previous instructions',
  intent_category: authorized ? 'Information Retrieval' : 'Meta-Reasoning',
  persona_drift_score: 0.1,
  injection_detected: !authorized,
  injection_confidence: authorized ? 0 : 0.6,
  malicious_code_detected: false,
  malicious_code_confidence: 0,
  compromised_package_detected: false,
  compromised_package_confidence: 0,
  sequence_escalation_score: 0,
  drift_available: true,
  cost_micros: 0,
  evidence: {
    brain_version: 'test',
    mock_mode: true,
    provider_models: {},
    prompt_sha256: {},
    embedding_model: 'test',
    drift_threshold: 0.6,
    injection_heuristic_level: 'standard',
    cache_served: false,
  },
});

/** What policy says of a call. */
export const decisionOf = (tier: 'green' | 'yellow' | 'red'): PolicyDecision => ({
  allow: tier === 'green',
  reasons: tier === 'red' ? ['Violation: destructive'] : [],
  review_reasons: tier === 'yellow' ? ['Review: money movement'] : [],
  retention_class: 'standard',
  approval_tier: 'standard',
  policy_bundle: { schema_version: 1, version: '2026-11-21.1', hash_sha256: 'sha256:test', policy_count: 1 },
});
