import type { IdentityClient } from '../../activities/clients/identity-client.js';
import type { CallActor } from '../../contracts/call-grant.js';
import { GateError } from '../../domain/errors.js';
import { actorScope, readActorToken, trustDomainId, trustDomainIn } from '../../domain/identity/actor-tokens.js';
import { parseSpiffe } from '../../domain/identity/spiffe.js';
import type { UpstreamCaller } from '../../domain/upstream/upstream.js';

/** The header that carries the token of an agent of another Gate. */
export const ACTOR_HEADER = 'x-gate-actor-token';

/**
 * Uses up the token with which a call of these tools came. Throws `a2a_redeem_failed` with the code of identity's refusal, and `a2a_unavailable` where
 * nothing can be said about it.
 */
export type RedeemActor = (
  token: string,
  call: { readonly caller: Pick<UpstreamCaller, 'tenant' | 'agent'>; readonly tools: readonly string[] },
) => Promise<CallActor>;

export function createActorRedeemer({
  identity,
  trustDomain,
}: {
  readonly identity: () => Promise<Pick<IdentityClient, 'redeemActorToken'>>;
  readonly trustDomain: string;
}): RedeemActor {
  return async (token, { caller, tools }) => {
    try {
      // Only who it says to be of is taken from it here: identity verifies that, and compares the rest with what this call is.
      const { iss, sub } = readActorToken(token).claims;
      const subject = parseSpiffe(sub, trustDomainIn(iss) ?? '');
      const redeemed = await (await identity()).redeemActorToken({
        token,
        expected: {
          issuer: iss,
          subject: sub,
          audience: trustDomainId(trustDomain),
          scope: actorScope(tools),
          tenant: subject?.kind === 'agent' ? subject.tenant : '-',
        },
        shown_by: { tenant: caller.tenant, agent_name: caller.agent },
      });
      return { sub: redeemed.sub, iss: redeemed.iss, jti: redeemed.jti };
    } catch (error) {
      if (!(error instanceof GateError) || error.status >= 500)
        throw new GateError('a2a_unavailable', undefined, { cause: error });
      const { code, message, fields } = error;
      const { trust_domain: domain } = fields;
      throw new GateError('a2a_redeem_failed', `${code}: ${message}`, {
        fields: { redeem_error: code, ...(domain !== undefined && { trust_domain: domain }) },
        cause: error,
      });
    }
  };
}
