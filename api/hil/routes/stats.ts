import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { approvalStats, statsWindow } from '../../../contracts/review.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type ReviewScope, scopeFirst } from '../scope.js';

const StatsQuery = z.strictObject({ window: statsWindow.default('24h') });

export interface StatsRoutes {
  readonly reviews: Pick<OpenedReviews, 'lists'>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
}

/** Who decided how many calls, and how fast (docs/architecture/reviews.md#statistics). */
export function statsRoutes(app: ServiceApp, { reviews, scopeOf }: StatsRoutes): void {
  app.get(
    '/approvals/stats',
    { schema: { querystring: StatsQuery, response: { 200: approvalStats } }, onRequest: scopeFirst(scopeOf) },
    (request) => reviews.lists.stats({ tenants: scopeOf(request).tenants, window: request.query.window }),
  );
}
