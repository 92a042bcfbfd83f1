import { ACTOR_PURPOSE } from '../contracts/actor-tokens.js';
import { actorScope } from '../domain/identity/actor-tokens.js';
import { createIdentityClient, type IdentityClient } from './clients/identity-client.js';
import type { ActorTokenOf } from './mcp-upstream.js';
import type { ServiceClientOptions } from './clients/service-client.js';

/** Long enough for a request to be read by the other Gate, and no longer. */
const LIFETIME_SECONDS = 30;

/** Asks identity for the tokens by which agents call tools of other Gates, by the trust domains of those (docs/architecture/identity.md#actor-tokens). */
export function actorTokensOf(over: () => Promise<ServiceClientOptions>): (trustDomain: string) => ActorTokenOf {
  let client: Promise<IdentityClient> | undefined;
  return (trustDomain) =>
    async ({ tenant, agent_spiffe: target }, tool) => {
      if (target === undefined) throw new Error('nobody knows which agent asks');
      client ??= over().then(createIdentityClient);
      const { token } = await (await client).actorToken({
        binding: {
          target,
          tenant,
          audience: trustDomain,
          purpose: ACTOR_PURPOSE,
          operation: 'tools/call',
          lifetime_seconds: LIFETIME_SECONDS,
        },
        scope: actorScope([tool]),
      });
      return token;
    };
}
