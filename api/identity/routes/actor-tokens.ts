import {
  actorTokenRedemption,
  actorTokenRequest,
  issuedActorToken,
  redeemedActorToken,
} from '../../../contracts/actor-tokens.js';
import type { ActorTokens } from '../../../domain/identity/actor-tokens.js';
import type { ServiceApp } from '../../plugins/app.js';

/** Tokens by which an agent of one Gate calls a tool of another one (docs/architecture/identity.md#actor-tokens). */
export function actorTokenRoutes(app: ServiceApp, actorTokens: ActorTokens): void {
  app.post(
    '/actor-token',
    { schema: { body: actorTokenRequest, response: { 200: issuedActorToken } } },
    async (request, reply) => reply.header('cache-control', 'no-store').send(await actorTokens.issue(request.body)),
  );
  app.post(
    '/actor-token/redeem',
    { schema: { body: actorTokenRedemption, response: { 200: redeemedActorToken } } },
    (request) => actorTokens.redeem(request.body),
  );
}
