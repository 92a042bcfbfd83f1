import { egressDecision, egressQuestion } from '../../../contracts/response-scan.js';
import type { EgressPolicy } from '../../../domain/responses/port.js';
import type { ServiceApp } from '../../plugins/app.js';

/** What is to be done about each class that an answer holds. 400 `invalid_request` for what is no list of classes. */
export function evaluateEgressRoutes(app: ServiceApp, policy: EgressPolicy): void {
  app.post('/evaluate-egress', { schema: { body: egressQuestion, response: { 200: egressDecision } } }, (request) =>
    policy.evaluateEgress(request.body),
  );
}
