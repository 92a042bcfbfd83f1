import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { orchestratorStanding } from '../../../contracts/review.js';
import { errorText } from '../../../domain/errors.js';
import { foreignText } from '../../../domain/text.js';
import { within } from '../../../domain/within.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { ReadinessChecks } from '../../plugins/health.js';
import { scopeFirst } from '../scope.js';

const LIMIT_MS = 1_500;

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
    async () => {
      try {
        await within(LIMIT_MS, Promise.resolve().then(check), () => new Error(`no answer within ${LIMIT_MS} ms`));
        return { available: true, reason: null };
      } catch (error) {
        return { available: false, reason: foreignText(errorText(error), 300) };
      }
    },
  );
}
