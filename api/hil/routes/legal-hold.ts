import { legalHoldReceipt, legalHoldRequest } from '../../../contracts/legal-hold.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { administratorsOnly, deciderOf } from '../scope.js';
import { type DecideRoutes, mayDecide } from './decide.js';
import { ById } from './schemas.js';

export interface LegalHoldRoutes extends Pick<DecideRoutes, 'scopeOf'> {
  readonly reviews: Pick<OpenedReviews, 'retention'>;
}

/** Keeps everything of a row beyond its dates, until released (docs/how-to/run-retention.md). Who approves may neither apply nor release. */
export function legalHoldRoutes(app: ServiceApp, { reviews, scopeOf }: LegalHoldRoutes): void {
  app.post(
    '/admin/pending/:id/legal-hold',
    {
      schema: { params: ById, body: legalHoldRequest, response: { 200: legalHoldReceipt } },
      onRequest: [mayDecide(scopeOf), administratorsOnly(scopeOf)],
    },
    (request) => {
      const scope = scopeOf(request);
      return reviews.retention.hold(
        request.params.id,
        scope.tenant,
        request.body,
        (tenant) => deciderOf(scope)(tenant).subject,
      );
    },
  );
}
