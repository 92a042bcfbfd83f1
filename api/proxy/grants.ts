import type { FastifyRequest } from 'fastify';
import type { GrantTokens } from '../../adapters/identity/grant-tokens.js';
import type { CallGrant } from '../../contracts/call-grant.js';
import { GateError } from '../../domain/errors.js';
import { thumbprintOf } from '../../domain/identity/grants.js';
import { carriedOf, timeFault } from '../../domain/identity/grant-terms.js';
import type { GrantStanding } from '../../domain/identity/revocation-mirror.js';
import { agentName } from '../../domain/identity/spiffe.js';
import type { ServiceApp } from '../plugins/app.js';

/** The header that carries a grant. */
export const GRANT_HEADER = 'x-gate-grant';

declare module 'fastify' {
  interface FastifyRequest {
    /** The grant of this request, where it holds; `undefined` where nobody here judges grants. */
    grant: CallGrant | null | undefined;
    /** Why the grant that it shows does not count. */
    grantFault: GateError | null;
  }
}

export interface GrantOptions {
  readonly tokens: GrantTokens;
  readonly standing: GrantStanding;
  readonly trustDomain: string;
  readonly now: () => number;
}

/**
 * Judges the grant that a request shows, before the request is: signature first, whose it is, its time, and whether it was taken back. Who refuses
 * because of it is `agentOf`, once the caller is known, or, of a tool call, its handler, once no record answers it. Without options nobody here judges grants.
 */
export function judgeGrants(app: ServiceApp, options: GrantOptions | undefined): void {
  app.decorateRequest('grant', undefined);
  app.decorateRequest('grantFault', null);
  if (!options) return;
  app.addHook('preHandler', async (request) => {
    request.grant = null;
    const shown = request.headers[GRANT_HEADER];
    const { tenant, agent, fingerprint } = request.caller ?? {};
    if (shown === undefined || tenant === undefined || agent === undefined || fingerprint === undefined) return;
    try {
      request.grant = await judgeGrant(options, String(shown), { tenant, agent, fingerprint });
    } catch (error) {
      request.grantFault =
        error instanceof GateError ? error : new GateError('grant_jwks_unavailable', undefined, { cause: error });
    }
  });
}

export async function judgeGrant(
  { tokens, standing, trustDomain, now }: GrantOptions,
  token: string,
  {
    tenant,
    agent,
    fingerprint,
  }: Required<Pick<NonNullable<FastifyRequest['caller']>, 'tenant' | 'agent' | 'fingerprint'>>,
): Promise<CallGrant> {
  const claims = await tokens.verify(token);
  if (claims.sub !== agentName(trustDomain, tenant, agent))
    throw new GateError('grant_invalid', 'the grant is refused: it is of another agent');
  // RFC 8705 3: whoever has it shows the certificate that it was given to, and nobody comes with a token alone.
  if (claims.cnf && claims.cnf['x5t#S256'] !== thumbprintOf(fingerprint))
    throw new GateError('grant_invalid', 'the grant is refused: it is bound to another certificate');
  const grant = carriedOf(claims);
  const fault = timeFault(grant, now()) ?? standing.grantFault(grant.jti);
  if (fault !== null) throw fault;
  return grant;
}
