import { jwks, spiffeBundle } from '../../../contracts/identity.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { Published } from '../signing-keys.js';

/** What certificates and tokens are verified with. Whoever verifies needs no certificate of Gate. */
export function publicKeyRoutes(app: ServiceApp, published: () => Published): void {
  const config = { public: true };
  app.get(
    '/.well-known/spiffe-bundle',
    { config, schema: { response: { 200: spiffeBundle } } },
    async (_request, reply) => {
      const { bundle } = published();
      return reply.header('cache-control', `max-age=${bundle.spiffe_refresh_hint}`).send(bundle);
    },
  );
  app.get('/jwks.json', { config, schema: { response: { 200: jwks } } }, async (_request, reply) => {
    const { bundle, tokenKeys } = published();
    return reply.header('cache-control', `max-age=${bundle.spiffe_refresh_hint}`).send({ keys: [...tokenKeys] });
  });
}
