import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** A detached signature, sent along with what it signs. `value` is base64. */
export interface Signature {
  readonly algorithm: 'Ed25519';
  readonly key_id: string;
  readonly value: string;
}

/** Signs what Gate vouches for. It uses the ledger's own key until identity issues all keys (SECURITY.md). */
export interface Signer {
  sign(bytes: string): Signature;
}

/** An Ed25519 signer (RFC 8032). The key id is the first 16 hex digits of SHA-256 over the public key's DER. */
export function createSigner(privateKey: KeyObject): Signer {
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('the signing key is not Ed25519');
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(der).digest('hex').slice(0, 16);
  return {
    sign: (bytes) => ({
      algorithm: 'Ed25519',
      key_id: keyId,
      value: sign(null, Buffer.from(bytes, 'utf8'), privateKey).toString('base64'),
    }),
  };
}
