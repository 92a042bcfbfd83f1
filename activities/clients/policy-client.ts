import { policyDecision, type PolicyInput } from '../../contracts/policy.js';
import { responseDecision, type ResponseQuestion } from '../../contracts/response-scan.js';
import { GateError } from '../../domain/errors.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { ResponsePolicy } from '../../domain/inspection/response-port.js';
import { asOutage } from './brain-client.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

/**
 * Policy behind HTTP. Rejects with `policy_input_invalid` when the engine does, and with `policy_unavailable` when there is no decision. An
 * evaluation changes nothing, so asking again is safe.
 */
export function createPolicyClient({
  timeoutMs = 2_000,
  ...options
}: ServiceClientOptions): PolicyEvaluator & ResponsePolicy {
  const ask = createServiceClient(
    'the policy engine',
    options,
    (detail, cause) => new GateError('policy_unavailable', detail, { cause }),
  );
  return {
    async evaluate(input: PolicyInput) {
      const headers = input.correlation_id ? { 'x-gate-correlation-id': input.correlation_id } : {};
      try {
        return await ask(policyDecision, { method: 'POST', path: '/evaluate', timeoutMs, headers, body: input });
      } catch (error) {
        throw asOutage(error, 'policy_input_invalid', 'policy_unavailable');
      }
    },
    async judgeResponse(question: ResponseQuestion) {
      try {
        return await ask(responseDecision, { method: 'POST', path: '/evaluate-egress', timeoutMs, body: question });
      } catch (error) {
        throw asOutage(error, 'policy_input_invalid', 'policy_unavailable');
      }
    },
  };
}
