import { jwks, spiffeBundle, type SpiffeBundle } from '../../../contracts/identity.js';
import type { PublicJwk } from '../../../domain/identity/signer.js';
import type { ServiceApp } from '../../plugins/app.js';

/** What certificates and tokens are verified with. Whoever verifies needs no certificate of Gate. */
export function publicKeyRoutes(
  app: ServiceApp,
  { bundle, tokenKeys }: { readonly bundle: SpiffeBundle; readonly tokenKeys: readonly PublicJwk[] },
): void {
  const config = { public: true };
  app.get(
    '/.well-known/spiffe-bundle',
    { config, schema: { response: { 200: spiffeBundle } } },
    async (_request, reply) => reply.header('cache-control', `max-age=${bundle.spiffe_refresh_hint}`).send(bundle),
  );
  app.get('/jwks.json', { config, schema: { response: { 200: jwks } } }, async (_request, reply) =>
    reply.header('cache-control', `max-age=${bundle.spiffe_refresh_hint}`).send({ keys: [...tokenKeys] }),
  );
}
