import { ofUncertain, settleUncertain, uncertainDetail, uncertainList } from '../../../contracts/uncertain.js';
import type { UncertainCalls } from '../../../domain/probes/uncertain-calls.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type OperatorOf, operatorsOnly } from './operators-only.js';

export interface UncertainRouteOptions {
  readonly uncertain: UncertainCalls;
  readonly operatorOf: OperatorOf;
}

/** The calls of which nobody knows whether their tool ran, for the operators who find out. Nothing is executed here. */
export function uncertainRoutes(app: ServiceApp, { uncertain, operatorOf }: UncertainRouteOptions): void {
  const onRequest = operatorsOnly(operatorOf);
  app.get('/uncertain', { schema: { response: { 200: uncertainList } }, onRequest }, (request) =>
    uncertain.list(operatorOf(request).tenant),
  );
  app.get(
    '/uncertain/:correlation_id',
    { schema: { params: ofUncertain, response: { 200: uncertainDetail } }, onRequest },
    (request) => uncertain.show(operatorOf(request).tenant, request.params.correlation_id),
  );
  app.post(
    '/uncertain/:correlation_id/settle',
    { schema: { params: ofUncertain, body: settleUncertain, response: { 200: uncertainDetail } }, onRequest },
    (request) => uncertain.settle(operatorOf(request), request.params.correlation_id, request.body),
  );
}
