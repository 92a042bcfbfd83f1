import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';

/** Policy as the pipeline sees it. Throws when there is no decision; the call then goes no further. */
export interface PolicyEvaluator {
  evaluate(input: PolicyInput): Promise<PolicyDecision>;
}
