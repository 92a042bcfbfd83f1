import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { orchestratorStanding } from '../../../contracts/review.js';
import { errorText } from '../../../domain/errors.js';
import { foreignText } from '../../../domain/text.js';
import { within } from '../../../domain/within.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { ReadinessChecks } from '../../plugins/health.js';
import { scopeFirst } from '../scope.js';

/** Less than the console's page of health waits for this answer, which says more than that none came. */
const LIMIT_MS = 1_000;

/** Whether decisions can be taken now: the console has no connection to the engine, and people ask it why nothing can be decided. */
export function orchestratorRoutes(
  app: ServiceApp,
  {
    check,
    scopeOf,
  }: { readonly check: ReadinessChecks[string]; readonly scopeOf: (request: FastifyRequest) => unknown },
): void {
  app.get(
    '/orchestrator',
    {
      schema: { querystring: z.object({}), response: { 200: orchestratorStanding } },
      onRequest: scopeFirst(scopeOf),
    },
    async (request) => {
      const late = new Error(`no answer within ${LIMIT_MS} ms`);
      try {
        await within(LIMIT_MS, Promise.resolve().then(check), () => late);
        return { available: true, reason: null };
      } catch (error) {
        // The engine's own words name addresses and versions, which are the operator's and not every reader's.
        request.log.info({ reason: foreignText(errorText(error), 300) }, 'the workflow engine does not answer');
        return { available: false, reason: error === late ? late.message : 'it cannot be reached' };
      }
    },
  );
}
