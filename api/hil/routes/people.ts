import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { VOUCHED_ROLES } from '../../../domain/review/vouching.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { scopeFirst, type ServiceScope } from '../scope.js';

/**
 * The console says what somebody may do from now on, where he makes no request himself: one whose role was taken away can make none. The word
 * was kept before the handler runs, as at every other route.
 */
export function peopleRoutes(
  app: ServiceApp,
  { scopeOf }: { readonly scopeOf: (request: FastifyRequest) => ServiceScope },
): void {
  app.post(
    '/people/standing',
    {
      schema: { response: { 200: z.strictObject({ subject: z.string(), role: z.enum(VOUCHED_ROLES) }) } },
      onRequest: scopeFirst(scopeOf),
    },
    (request) => {
      const { vouched } = scopeOf(request);
      if (vouched === null) throw new GateError('unauthenticated');
      return { subject: vouched.subject, role: vouched.role };
    },
  );
}
