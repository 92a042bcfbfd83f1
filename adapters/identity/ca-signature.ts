import { hash, type KeyObject, verify, type X509Certificate } from 'node:crypto';
import type { CaSignature } from '../../contracts/identity.js';
import { type CaKey, heldKeyOf } from './ca-key.js';
import { certificatesOf } from './svid-signer.js';

/** Signs with the key of the CA (`caPem`), as ES256 of RFC 7518 does: whoever trusts its certificates trusts what it says. */
export function caSigner(caPem: string, key: CaKey): (bytes: Buffer) => Promise<CaSignature> {
  const [authority] = certificatesOf(caPem);
  const held = heldKeyOf(key);
  if (!authority?.publicKey.equals(held.publicKey)) throw new Error('is not the key of this CA');
  const keyId = keyIdOf(authority);
  return async (bytes) => ({
    algorithm: 'ES256',
    key_id: keyId,
    value: (await held.sign(bytes)).toString('base64url'),
  });
}

/** Checks that a CA that is `trusted` now signed these bytes. Throws where none did; `what` is what they are, as after "a", and `where` those CAs are named. */
export function caVerifier(
  trusted: () => string,
  what: string,
  where: string,
): (bytes: Buffer, signature: CaSignature) => void {
  let read: { readonly of: string; readonly keys: ReadonlyMap<string, KeyObject> } | null = null;
  const keysNow = (): ReadonlyMap<string, KeyObject> => {
    const of = trusted();
    if (read?.of !== of) read = { of, keys: keysOf(of) };
    return read.keys;
  };
  // What is no certificate is found at the start.
  keysNow();
  return (bytes, signature) => {
    const key = keysNow().get(signature.key_id);
    if (!key) throw new Error(`a ${what} that no CA of ${where} signed`);
    const value = Buffer.from(signature.value, 'base64url');
    if (!verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, value))
      throw new Error(`a ${what} whose signature does not hold`);
  };
}

const keysOf = (pem: string): ReadonlyMap<string, KeyObject> =>
  new Map(
    certificatesOf(pem)
      .filter((authority) => authority.ca && authority.publicKey.asymmetricKeyType === 'ec')
      .map((authority) => [keyIdOf(authority), authority.publicKey]),
  );

export const keyIdOf = ({ publicKey }: X509Certificate): string =>
  hash('sha256', publicKey.export({ type: 'spki', format: 'der' }));
