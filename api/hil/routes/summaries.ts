import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listedStatus, reviewOrder, riskTier, summariesPage } from '../../../contracts/review.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import { answersAsMade } from '../../plugins/answers-as-made.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type ReviewScope, scopeFirst } from '../scope.js';

const SummariesQuery = z.strictObject({
  status: listedStatus.default('pending'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(512).optional(),
  q: z.string().min(1).max(256).optional(),
  risk_tier: riskTier.optional(),
  /** The reader sees secrets and personal data masked, so a search does not match what is masked for him. */
  masked: z.literal('true').optional(),
  sort: reviewOrder.default('newest'),
});

export interface SummaryRoutes {
  readonly reviews: Pick<OpenedReviews, 'lists'>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
}

/** The list for people: short rows in pages, and how many wait (docs/architecture/reviews.md#lists). */
export function summaryRoutes(app: ServiceApp, { reviews, scopeOf }: SummaryRoutes): void {
  app.get(
    '/pending/summaries',
    {
      schema: { querystring: SummariesQuery, response: { 200: summariesPage } },
      onRequest: scopeFirst(scopeOf),
      ...answersAsMade,
    },
    (request) => {
      const { masked, ...query } = request.query;
      return reviews.lists.summaries({ tenants: scopeOf(request).tenants, ...query, isMasked: masked === 'true' });
    },
  );
}
