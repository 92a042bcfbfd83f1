import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';

/** Policy as the pipeline sees it. Throws when no decision can be had; nothing then goes forward. */
export interface PolicyEvaluator {
  evaluate(input: PolicyInput): Promise<PolicyDecision>;
}
