import { X509Certificate } from 'node:crypto';
import type { SpiffeBundle } from '../../contracts/identity.js';
import { sha256Hex } from '../crypto/digest.js';
import type { PublicJwk } from './signer.js';

/** How often whoever trusts this domain should ask again; a new CA is in the bundle for longer before it signs. */
export const REFRESH_HINT_SECONDS = 300;

/**
 * What certificates and tokens of this trust domain are verified with; throws for a CA whose key is not of a curve
 * ([SPIFFE bundle](https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE_Trust_Domain_and_Bundle.md), 4): its CAs, and the keys of its tokens.
 */
export const bundleKeys = (
  authorities: readonly X509Certificate[],
  tokenKeys: readonly PublicJwk[],
): SpiffeBundle['keys'] =>
  [
    ...authorities.map((certificate) => {
      if (certificate.publicKey.asymmetricKeyType !== 'ec')
        throw new Error(
          `the CA ${certificate.subject} has a key of another kind than EC, which this bundle does not tell`,
        );
      const { kty, crv, x, y } = certificate.publicKey.export({ format: 'jwk' });
      return { use: 'x509-svid' as const, kty, crv, x, y, x5c: [certificate.raw.toString('base64')] };
    }),
    ...tokenKeys.map(({ kty, crv, x, kid }) => ({ use: 'jwt-svid' as const, kty, crv, x, kid })),
  ] as SpiffeBundle['keys'];

/** The CAs of a bundle, as PEM. Throws where there is none, or one of them is no CA. */
export function authoritiesOf({ keys }: SpiffeBundle): string {
  const authorities = keys.flatMap((key) => (key.use === 'x509-svid' ? key.x5c : []));
  if (authorities.length === 0) throw new Error('the trust bundle of identity names no CA');
  return authorities
    .map((der) => {
      const certificate = new X509Certificate(Buffer.from(der, 'base64'));
      if (!certificate.ca) throw new Error('the trust bundle of identity names what is no CA');
      return certificate.toString();
    })
    .join('');
}

/** Tells one bundle from another; the same for the same keys in the same order. */
export const bundleDigest = (keys: SpiffeBundle['keys']): string => sha256Hex(JSON.stringify(keys));
