import type { ListedKeys } from '../../adapters/signing/listed-keys.js';
import { createSigner, type PublicJwk, publicJwkOf, type Signer } from '../../domain/identity/signer.js';

/** What signs authorizations and receipts now, and what those are verified with that others signed. */
export function authorizationKeys(
  keys: Pick<ListedKeys, 'now'>,
  given: readonly PublicJwk[] = [],
): { readonly signer: Signer; others(): readonly PublicJwk[] } {
  return {
    signer: {
      get publicJwk() {
        return publicJwkOf(keys.now.signing.key.publicKey);
      },
      sign: (bytes) => createSigner(keys.now.signing.key).sign(bytes),
    },
    others() {
      const { signing, keys: known } = keys.now;
      const ids = new Set(known.map(({ id }) => id));
      return [
        ...known
          .filter(({ id, state }) => id !== signing.id && state !== 'withdrawn')
          .map((key) => publicJwkOf(key.publicKey)),
        // One that was withdrawn counts no more, whatever else names it.
        ...new Map(given.filter(({ kid }) => !ids.has(kid)).map((jwk) => [jwk.kid, jwk])).values(),
      ];
    },
  };
}
