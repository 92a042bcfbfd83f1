import { z } from 'zod';
import { assuredVerifyResult } from '../../../contracts/ledger-evidence.js';
import type { Assurance } from '../../../adapters/ledger/assurance/assurance.js';
import type { ServiceApp } from '../../plugins/service.js';
import type { SharedWalk } from '../shared-walk.js';

const query = z.object({ since_checkpoint: z.stringbool().default(false) });

/**
 * Walks the chain (with `since_checkpoint` only what is new) and checks row signatures. 200 with the result, also for an invalid chain; 503
 * only when the store cannot be read. Read-only and safe to repeat. Callers share a running walk; agents also share one that just ended.
 */
export function verifyRoutes({
  app,
  verifier,
  sharedWalk,
}: {
  readonly app: ServiceApp;
  readonly verifier: Pick<Assurance, 'verifyAssured'>;
  readonly sharedWalk: SharedWalk;
}): void {
  app.get(
    '/verify',
    { config: { public: true }, schema: { querystring: query, response: { 200: assuredVerifyResult } } },
    (request) => {
      const { since_checkpoint: sinceCheckpoint } = request.query;
      return sharedWalk(request, sinceCheckpoint ? 'quick' : 'full', () => verifier.verifyAssured({ sinceCheckpoint }));
    },
  );
}
