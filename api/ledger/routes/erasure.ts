import { z } from 'zod';
import {
  lifecycleReceipt,
  lifecycleRequest,
  namespaceCleanupReceipt,
  tenantName,
  tombstoneReply,
  tombstoneRequest,
} from '../../../contracts/erasure.js';
import type { TenantLifecycle } from '../../../adapters/evidence/tenant-lifecycle/tenant-lifecycle.js';
import type { Erasure } from '../../../adapters/ledger/erasure/erasure.js';
import type { ServiceApp } from '../../plugins/app.js';

/** Erasure that leaves the chain intact (docs/architecture/ledger-reads.md#erasure). All routes are safe to repeat. */
export function erasureRoutes({
  app,
  erasure,
  tenantLifecycle,
}: {
  readonly app: ServiceApp;
  readonly erasure: Erasure;
  readonly tenantLifecycle: TenantLifecycle;
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
