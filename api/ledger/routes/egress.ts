import { z } from 'zod';
import { SINK_KINDS } from '../../../domain/evidence/egress/sinks.js';
import { egressPage, type EgressSource } from '../../../contracts/ledger-egress.js';
import type { ServiceApp } from '../../plugins/app.js';

const query = z.object({
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  sink: z.enum(SINK_KINDS).optional(),
});

/** The rows that a worker in another process streams to sinks (docs/architecture/ledger-reads.md#streams-to-sinks). */
export function egressRoutes({ app, egress }: { readonly app: ServiceApp; readonly egress: EgressSource }): void {
  app.get(
    '/egress/rows',
    { schema: { querystring: query, response: { 200: egressPage } } },
    ({ query: { after, limit, sink } }) => egress.egressPage(after, limit, sink),
  );
}
