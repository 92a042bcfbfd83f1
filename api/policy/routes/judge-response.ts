import { responseDecision, responseQuestion } from '../../../contracts/response-scan.js';
import type { ResponsePolicy } from '../../../domain/inspection/response-port.js';
import type { ServiceApp } from '../../plugins/app.js';

/** What is to be done about each class that an answer holds. 400 `invalid_request` for what is no list of classes. */
export function judgeResponseRoutes(app: ServiceApp, policy: ResponsePolicy): void {
  app.post('/evaluate-egress', { schema: { body: responseQuestion, response: { 200: responseDecision } } }, (request) =>
    policy.judgeResponse(request.body),
  );
}
