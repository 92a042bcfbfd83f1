import { z } from 'zod';
import { complianceRegister } from '../../../contracts/compliance.js';
import type { LedgerReadContext } from '../context.js';
import { requiredWindow, scopeOf, scopeQuery, time } from '../query.js';

/**
 * Counts and samples of a window for auditors (docs/architecture/ledger-reads.md#compliance-register). Appends nothing and judges nothing.
 */
export function complianceRoutes({ app, evidence }: LedgerReadContext): void {
  app.post(
    '/compliance/evidence',
    {
      schema: {
        querystring: z.object({ ...scopeQuery, from: time, to: time }),
        response: { 200: complianceRegister },
      },
    },
    (request) => evidence.complianceEvidence({ ...requiredWindow(request.query), ...scopeOf(request.query) }),
  );
}
