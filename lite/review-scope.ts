import type { FastifyRequest } from 'fastify';
import type { DecisionSurface } from '../contracts/review.js';
import { namedTenant, type ReviewScope } from '../api/hil/scope.js';
import { GateError } from '../domain/errors.js';
import { type Access, DEFAULT_TENANT } from './access.js';

/**
 * As HIL asks: who decides comes from the token alone, and a name in the body is nobody's. A tenant that the request names limits an
 * operator of all of them, and refuses one who is bound to another. `channel` is that of a decision which names none.
 */
export const reviewScopeOf =
  (access: Access, channel: DecisionSurface) =>
  (request: FastifyRequest): ReviewScope => {
    const operator = access.operatorOf(request);
    const named = namedTenant(request);
    if (named !== null && operator.tenant !== null && named !== operator.tenant)
      throw new GateError('unauthenticated', `The operator token is bound to another tenant: ${operator.tenant}.`);
    const tenant = named ?? operator.tenant;
    return {
      tenants: tenant === null ? [...new Set([...access.tenants, DEFAULT_TENANT])] : [tenant],
      tenant: tenant ?? undefined,
      decides: operator.principal,
      channel: { name: channel, fixed: false },
    };
  };
