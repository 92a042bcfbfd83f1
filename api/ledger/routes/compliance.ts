import { z } from 'zod';
import { complianceRegister } from '../../../contracts/compliance.js';
import type { ComplianceEvidence } from '../../../adapters/evidence/compliance/evidence.js';
import type { ServiceApp } from '../../plugins/app.js';
import { requiredWindow, scopeOf, scopeQuery, time } from '../query.js';

/**
 * Counts and samples of a window for auditors (docs/architecture/ledger-reads.md#compliance-register). Appends nothing and judges nothing.
 */
export function complianceRoutes({
  app,
  complianceEvidence,
}: {
  readonly app: ServiceApp;
  readonly complianceEvidence: ComplianceEvidence;
}): void {
  app.post(
    '/compliance/evidence',
    {
      schema: {
        querystring: z.object({ ...scopeQuery, from: time, to: time }),
        response: { 200: complianceRegister },
      },
    },
    (request) => complianceEvidence({ ...requiredWindow(request.query), ...scopeOf(request.query) }),
  );
}
