import { z } from 'zod';
import { modelSnapshot } from '../../../contracts/inspection.js';
import { tenantName } from '../../../contracts/erasure.js';
import type { ReadyInspector } from '../../../domain/inspection/port.js';
import type { ModelStandings } from '../../../domain/models/model-standing.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * What judges here now, and how the providers of its models stand: the console shows it beside what a row was judged with. Budget and circuit are
 * also said for the tenant that is asked for, and for no other one. Asks no model.
 */
export function modelSnapshotRoutes(
  app: ServiceApp,
  inspector: Pick<ReadyInspector, 'snapshot'>,
  models: ModelStandings,
): void {
  app.get(
    '/model-snapshot',
    { schema: { querystring: z.object({ tenant: tenantName.optional() }), response: { 200: modelSnapshot } } },
    ({ query }) => ({ ...inspector.snapshot(), ...models.of(query.tenant ?? null) }),
  );
}
