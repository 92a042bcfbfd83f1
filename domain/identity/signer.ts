import { createHash, type KeyObject } from 'node:crypto';
import { type HeldKey, heldKey } from './held-key.js';

/** A detached signature, sent along with what it signs. `value` is base64. */
export interface Signature {
  readonly algorithm: 'Ed25519';
  readonly key_id: string;
  readonly value: string;
}

/** Signs what Gate vouches for, by a key that may lie elsewhere (docs/architecture/identity.md#where-keys-lie). Throws `signing_unavailable`. */
export interface Signer {
  sign(bytes: string): Promise<Signature>;
  /** Its public key as a JSON Web Key (RFC 8037), under the key id of its signatures. */
  readonly publicJwk: PublicJwk;
}

export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'EdDSA';
}

/** An Ed25519 public key. Its id is the first 16 hex digits of SHA-256 over its DER. */
export function publicJwkOf(publicKey: KeyObject): PublicJwk {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const kid = createHash('sha256').update(der).digest('hex').slice(0, 16);
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}

/** An Ed25519 signer (RFC 8032), with a key in memory or held elsewhere. */
export function createSigner(key: KeyObject | HeldKey): Signer {
  const held = heldKey(key);
  if (held.algorithm !== 'Ed25519') throw new Error('the signing key is not Ed25519');
  const publicJwk = publicJwkOf(held.publicKey);
  const { kid: keyId } = publicJwk;
  return {
    publicJwk,
    sign: async (bytes) => ({
      algorithm: 'Ed25519',
      key_id: keyId,
      value: (await held.sign(Buffer.from(bytes, 'utf8'))).toString('base64'),
    }),
  };
}
