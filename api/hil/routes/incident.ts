import { incidentRequest } from '../../../contracts/review.js';
import { incidentOf } from '../../../domain/review/notes.js';
import type { ServiceApp } from '../../plugins/app.js';
import { deciderOf } from '../scope.js';
import type { NoteRoutes } from './assign.js';
import { mayDecide } from './decide.js';
import { ById, PendingRow } from './schemas.js';

/** What came of a call after its review; the decision and its digests stay as they are (docs/architecture/reviews.md#notes). */
export function incidentRoutes(app: ServiceApp, { reviews, scopeOf }: NoteRoutes): void {
  app.patch(
    '/pending/:id/incident',
    {
      schema: { params: ById, body: incidentRequest, response: { 200: PendingRow } },
      onRequest: mayDecide(scopeOf),
    },
    (request) => {
      const scope = scopeOf(request);
      return reviews.notes.note(request.params.id, scope.tenant, (row) =>
        incidentOf(row, request.body, deciderOf(scope)(row.tenant).subject),
      );
    },
  );
}
