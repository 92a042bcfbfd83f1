import { z } from 'zod';
import type { PublicJwk, Signer } from '../../../domain/identity/signer.js';
import type { ServiceApp } from '../../plugins/app.js';

/** https://www.rfc-editor.org/rfc/rfc7517#section-5, https://www.rfc-editor.org/rfc/rfc8037#section-2 */
const KeySet = z.object({
  keys: z.array(
    z.object({
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string(),
      kid: z.string(),
      use: z.literal('sig'),
      alg: z.literal('EdDSA'),
    }),
  ),
});

/**
 * The keys that authorizations are verified with, each under the `key_id` of its signatures. Open to everybody: a host verifies what
 * somebody else hands it. It is as good as the connection it came over, so a host compares the key id with one that it knows.
 */
export function registerKeySet(
  app: ServiceApp,
  signer: Pick<Signer, 'publicJwk'>,
  /** Those that signed before, or will, as they are now. */
  others: () => readonly PublicJwk[] = () => [],
): void {
  app.get('/.well-known/jwks.json', { schema: { response: { 200: KeySet } } }, (_request, reply) => {
    void reply.header('cache-control', 'public, max-age=300');
    return { keys: [signer.publicJwk, ...others()] };
  });
}
