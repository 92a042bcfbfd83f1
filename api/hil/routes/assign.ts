import { assignRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { assigned } from '../../../domain/review/notes.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { deciderOf } from '../scope.js';
import { type DecideRoutes, mayDecide } from './decide.js';
import { ById, PendingRow } from './schemas.js';

export interface NoteRoutes extends Pick<DecideRoutes, 'scopeOf'> {
  readonly reviews: Pick<OpenedReviews, 'notes'>;
  /** The pools that are told of an escalation; none when absent. */
  readonly pools?: readonly string[];
}

/** Who should look at a row that waits; anybody who may decide still may (docs/architecture/reviews.md#notes). */
export function assignRoutes(app: ServiceApp, { reviews, scopeOf, pools = [] }: NoteRoutes): void {
  app.post(
    '/pending/:id/assign',
    {
      schema: { params: ById, body: assignRequest, response: { 200: PendingRow } },
      onRequest: mayDecide(scopeOf),
    },
    (request) => {
      const scope = scopeOf(request);
      const { escalation_pool: pool } = request.body;
      if (pool != null && !pools.includes(pool))
        throw new GateError('unknown_escalation_pool', undefined, { fields: { escalation_pools: [...pools] } });
      return reviews.notes.note(request.params.id, scope.tenant, (row) =>
        assigned(row, request.body, deciderOf(scope)(row.tenant).subject),
      );
    },
  );
}
