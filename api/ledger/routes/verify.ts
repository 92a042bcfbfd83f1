import { z } from 'zod';
import { assuredVerifyResult } from '../../../contracts/ledger-evidence.js';
import type { LedgerContext } from '../context.js';

const query = z.object({ since_checkpoint: z.stringbool().default(false) });

/**
 * Walks the chain, the whole of it unless `since_checkpoint` asks for what is new, and checks row signatures. 200 with the result, an
 * invalid chain included; only a store that cannot be read is 503. Read-only and safe to repeat; callers share a running walk, agents
 * also one that just ended.
 */
export function verifyRoutes({ app, ledger, sharedWalk }: LedgerContext): void {
  app.get(
    '/verify',
    { config: { public: true }, schema: { querystring: query, response: { 200: assuredVerifyResult } } },
    (request) => {
      const { since_checkpoint: sinceCheckpoint } = request.query;
      return sharedWalk(request, sinceCheckpoint ? 'quick' : 'full', () => ledger.verifyAssured({ sinceCheckpoint }));
    },
  );
}
