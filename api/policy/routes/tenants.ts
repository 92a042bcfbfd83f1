import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import {
  type PolicyReason,
  provisionedTenant,
  tenantPoliciesReceipt,
  tenantPoliciesRequest,
  withdrawnTenant,
} from '../../../contracts/policy-library.js';
import { soonToldTo } from '../../../domain/ledger/soon-told.js';
import type { ServiceApp } from '../../plugins/app.js';
import { tenantStepRoute, type Trusting } from '../../plugins/tenant-steps.js';
import { managedBy, type PolicyManagement } from '../management.js';

/** With the step, shorter than whoever brings it waits. */
const TOLD_LIMIT_MS = 10_000;

const byPrefix = z.strictObject({ prefix: tenantName });

/** A tenant's copies, when it comes and when it goes; safe to repeat. */
export function policyTenantRoutes(
  app: ServiceApp,
  management: PolicyManagement | null,
  tls: Trusting | undefined,
): void {
  const managed = () => managedBy(management);
  /** These have no person behind them: who asked is the service of the certificate. */
  const byService = (request: FastifyRequest, reason: string): PolicyReason => ({
    reason,
    actor_sub: request.caller?.callerId ?? 'unknown',
    actor_idp: 'gate',
  });
  app.post(
    '/policies/tenant/:prefix/provision',
    { schema: { params: byPrefix, response: { 200: provisionedTenant } } },
    (request) => managed().library.provision(request.params.prefix, byService(request, 'the tenant came')),
  );
  app.delete(
    '/policies/tenant/:prefix',
    { schema: { params: byPrefix, response: { 200: withdrawnTenant } } },
    (request) => managed().library.withdraw(request.params.prefix, byService(request, 'the tenant went')),
  );
  app.post(
    '/admin/tenants/:tenant/lifecycle',
    {
      schema: {
        params: z.strictObject({ tenant: tenantName }),
        body: tenantPoliciesRequest,
        response: { 200: tenantPoliciesReceipt },
      },
    },
    (request) =>
      managed().tenants.step(
        request.params.tenant,
        request.body,
        byService(request, `operation ${request.body.operation_id}`),
      ),
  );
  tenantStepRoute(app, {
    owner: 'policy-engine',
    tls,
    receipt: tenantPoliciesReceipt,
    async take({ tenant, operation_id, kind, asked_by }) {
      const { tenants, outbox } = managed();
      const receipt = await tenants.step(
        tenant,
        { operation_id, kind },
        { reason: `operation ${operation_id}`, actor_sub: asked_by, actor_idp: 'gate' },
      );
      // Its rows are in the ledger before the final export of the tenant is made.
      await soonToldTo(outbox.flush(), TOLD_LIMIT_MS);
      return receipt;
    },
  });
}
