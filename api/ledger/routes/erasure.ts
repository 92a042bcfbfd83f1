import { z } from 'zod';
import {
  type LifecycleKind,
  lifecycleReceipt,
  lifecycleRequest,
  namespaceCleanupReceipt,
  tenantName,
  tombstoneReply,
  tombstoneRequest,
} from '../../../contracts/erasure.js';
import type { StepId } from '../../../contracts/tenant-lifecycle.js';
import { GateError } from '../../../domain/errors.js';
import type { TenantLifecycle } from '../../../adapters/evidence/tenant-lifecycle/tenant-lifecycle.js';
import type { Erasure } from '../../../adapters/ledger/erasure/erasure.js';
import type { ServiceApp } from '../../plugins/app.js';
import { tenantStepRoute, type Trusting } from '../../plugins/tenant-steps.js';

const LIFECYCLE_STEPS: ReadonlyMap<StepId, LifecycleKind> = new Map([
  ['ledger_lifecycle_marker', 'lifecycle_marker'],
  ['ledger_final_export', 'final_export'],
  ['ledger_tombstone', 'tombstone'],
]);

/** Erasure that leaves the chain intact (docs/architecture/ledger-reads.md#erasure). All routes are safe to repeat. */
export function erasureRoutes({
  app,
  erasure,
  tenantLifecycle,
  tls,
}: {
  readonly app: ServiceApp;
  readonly erasure: Erasure;
  readonly tenantLifecycle: TenantLifecycle;
  readonly tls: Trusting | undefined;
}): void {
  app.post(
    '/admin/tenants/:tenant/tombstone',
    {
      schema: {
        params: z.object({ tenant: tenantName }),
        body: tombstoneRequest,
        response: { 200: tombstoneReply },
      },
    },
    async (request) => ({
      tombstoned: await erasure.tombstoneTenant(request.params.tenant, request.body?.reason),
    }),
  );

  app.post(
    '/admin/tenants/:tenant/lifecycle',
    {
      schema: { params: z.object({ tenant: tenantName }), body: lifecycleRequest, response: { 200: lifecycleReceipt } },
    },
    (request) => tenantLifecycle.step(request.params.tenant, request.body.operation_id, request.body.kind),
  );

  tenantStepRoute(app, {
    owner: 'ledger',
    tls,
    receipt: lifecycleReceipt,
    async take({ tenant, operation_id: operationId, step_id: step }) {
      const kind = LIFECYCLE_STEPS.get(step);
      if (kind === undefined) throw new GateError('warrant_invalid', `${step} is no step of the ledger`);
      return tenantLifecycle.step(tenant, operationId, kind);
    },
  });

  app.get(
    '/admin/tenants/:tenant/lifecycle',
    { schema: { params: z.object({ tenant: tenantName }), response: { 200: z.array(lifecycleReceipt) } } },
    (request) => tenantLifecycle.receipts(request.params.tenant),
  );

  app.post('/admin/namespaces/demo/cleanup', { schema: { response: { 200: namespaceCleanupReceipt } } }, async () => ({
    contract: 'gate.namespace-cleanup-receipt/v1' as const,
    namespace: 'demo' as const,
    ...(await erasure.cleanUpDemo()),
  }));
}
