import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import {
  demoCleanupReceipt,
  tenantReviews,
  tenantReviewsReceipt,
  tenantReviewsRequest,
} from '../../../contracts/tenant-reviews.js';
import { GateError } from '../../../domain/errors.js';
import type { TenantLifecycle } from '../../../domain/review/tenant-lifecycle.js';
import type { ServiceApp } from '../../plugins/app.js';
import { tenantStepRoute, type Trusting } from '../../plugins/tenant-steps.js';
import { administratorsOnly, deciderOf, scopeFirst } from '../scope.js';
import { type DecideRoutes, mayDecide } from './decide.js';
import type { ServiceScope } from '../scope.js';
import type { FastifyRequest } from 'fastify';

export interface TenantRoutes extends Pick<DecideRoutes, 'scopeOf'> {
  readonly scopeOf: (request: FastifyRequest) => ServiceScope;
  readonly tenantLifecycle: TenantLifecycle;
  readonly tls: Trusting | undefined;
}

/** What ends many reviews at once (docs/architecture/reviews.md#tenants), safe to repeat; and what was done so. */
export function tenantRoutes(app: ServiceApp, { tenantLifecycle, scopeOf, tls }: TenantRoutes): void {
  app.post(
    '/admin/tenants/:tenant/lifecycle',
    {
      schema: {
        params: z.object({ tenant: tenantName }),
        body: tenantReviewsRequest,
        response: { 200: tenantReviewsReceipt },
      },
      onRequest: [mayDecide(scopeOf), administratorsOnly(scopeOf)],
    },
    (request) => {
      const scope = scopeOf(request);
      const { tenant } = request.params;
      // As for a row: another tenant and an unknown one are the same.
      if (scope.tenant !== tenant) throw new GateError('not_found');
      return tenantLifecycle.step({ tenant, ...request.body, asked_by: deciderOf(scope)(tenant).subject });
    },
  );

  tenantStepRoute(app, {
    owner: 'hil',
    tls,
    receipt: tenantReviewsReceipt,
    take: ({ tenant, operation_id, kind, asked_by }) => tenantLifecycle.step({ tenant, operation_id, kind, asked_by }),
  });

  app.get(
    '/admin/tenants/:tenant/lifecycle',
    {
      schema: { params: z.object({ tenant: tenantName }), response: { 200: tenantReviews } },
      onRequest: scopeFirst(scopeOf),
    },
    (request) => {
      const { tenant } = request.params;
      if (scopeOf(request).tenant !== tenant) throw new GateError('not_found');
      return tenantLifecycle.known(tenant);
    },
  );

  app.post(
    '/admin/namespaces/demo/cleanup',
    {
      schema: { body: z.strictObject({}).nullish(), response: { 200: demoCleanupReceipt } },
      onRequest: [mayDecide(scopeOf), administratorsOnly(scopeOf)],
    },
    (request) => tenantLifecycle.cleanUpDemo(scopeOf(request).tenant),
  );
}
