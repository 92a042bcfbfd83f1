import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ReviewOrder, reviewOrder, type ReviewStatus, reviewStatus } from '../../../contracts/review.js';
import { answersAsMade } from '../../plugins/answers-as-made.js';
import type { ServiceApp } from '../../plugins/service.js';
import { type ReviewScope, scopeFirst } from '../scope.js';
import { PendingRow } from './schemas.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';

/** Words for several statuses, and an alias. */
const GROUPS = {
  parked: ['pending'],
  decided: ['approved', 'denied'],
  all: reviewStatus.options,
} as const satisfies Readonly<Record<string, readonly ReviewStatus[]>>;

const ListQuery = z.strictObject({
  status: z.union([reviewStatus, z.enum(['parked', 'decided', 'all'])]).default('pending'),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  /** The page after this row. */
  before: z.uuid().optional(),
  agent_id: z.string().min(1).max(256).optional(),
  sort: reviewOrder.optional(),
  /** A single row with its payload, by its own id or its call's, in any status. */
  id: z.uuid().optional(),
});

export interface ListRoutes {
  readonly reviews: Pick<OpenedReviews, 'lists' | 'reads'>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
  /** The default order of waiting rows; settled rows are listed newest first by default. */
  readonly waiting: ReviewOrder;
}

/** Lists rows without their payloads, or a single row with its payload by its id. */
export function listRoutes(app: ServiceApp, { reviews, scopeOf, waiting }: ListRoutes): void {
  app.get(
    '/pending',
    {
      schema: { querystring: ListQuery, response: { 200: z.array(PendingRow) } },
      onRequest: scopeFirst(scopeOf),
      ...answersAsMade,
    },
    async (request, reply) => {
      const { tenant, tenants } = scopeOf(request);
      const { id, status, sort, limit, before, agent_id } = request.query;
      if (id !== undefined) {
        const row = (await reviews.reads.get(id, tenant)) ?? (await reviews.reads.byCorrelation(id, tenant));
        return row ? [{ ...row, since_last_call: await reviews.reads.sinceLast(row) }] : [];
      }
      const { rows, next_before } = await reviews.lists.list({
        tenant: tenants,
        status: status in GROUPS ? GROUPS[status as keyof typeof GROUPS] : (status as ReviewStatus),
        limit,
        sort: sort ?? (status === 'parked' || status === 'pending' ? waiting : 'newest'),
        ...(before !== undefined && { before }),
        ...(agent_id !== undefined && { agent_id }),
      });
      // The body is a plain array, so the next cursor is in a header.
      if (next_before !== null) void reply.header('X-Gate-Next-Before', next_before);
      return rows;
    },
  );
}
