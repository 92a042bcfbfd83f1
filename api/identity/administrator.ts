import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { GateError } from '../../domain/errors.js';
import { bearerOf, knownToken, lookUpToken } from '../plugins/bearer.js';

/** Who acts, and for which tenant. */
export interface Administrator {
  readonly tenant: string;
  readonly sub: string;
}

export type AdministratorOf = (request: Pick<FastifyRequest, 'headers'>) => Administrator;

/** The administrator whose token a request carries; anything else is `invalid_token`. Without a configured token, that is everything. */
export function administrators(
  configured: { readonly token: string; readonly tenant: string } | null,
): AdministratorOf {
  const known =
    configured === null
      ? []
      : [
          knownToken(configured.token, {
            tenant: configured.tenant,
            sub: `admin-token:${hash('sha256', configured.token).slice(0, 8)}`,
          }),
        ];
  return (request) => {
    const token = bearerOf(request);
    const found = token === null ? null : lookUpToken(known, token);
    if (found === null) throw new GateError('invalid_token');
    return found;
  };
}

/** Who asks is judged before the body is read. */
export const askerFirst =
  (askerOf: (request: FastifyRequest) => unknown) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    askerOf(request);
    done();
  };

/** Nobody acts for a tenant that is not his. */
export function assertTenant({ tenant }: Administrator, asked: string): void {
  if (asked !== tenant) throw new GateError('tenant_mismatch');
}
