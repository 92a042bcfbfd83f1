import type { FastifyError } from 'fastify';
import { policyDecision, policyInput } from '../../../contracts/policy.js';
import { GateError } from '../../../domain/errors.js';
import type { PolicyEvaluator } from '../../../domain/policy/evaluator.js';
import type { ServiceApp } from '../../plugins/app.js';

/** One decision on one call. 400 `policy_input_invalid` for anything that is not a policy input, including broken JSON. */
export function evaluateRoutes(app: ServiceApp, evaluator: PolicyEvaluator): void {
  app.post(
    '/evaluate',
    {
      schema: { body: policyInput, response: { 200: policyDecision } },
      // The policy set itself checks the input, once and without a copy. The schema only documents the route.
      validatorCompiler: () => (value: unknown) => ({ value }),
      errorHandler: (error: FastifyError) => {
        // A body that is no JSON is refused before the route sees it.
        if (error instanceof GateError ? error.code === 'invalid_request' : error.statusCode === 400)
          throw new GateError('policy_input_invalid', error.message, { cause: error });
        throw error;
      },
    },
    (request) => evaluator.evaluate(request.body),
  );
}
