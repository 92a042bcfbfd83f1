import { createPrivateKey, hash, type KeyObject, sign, verify, type X509Certificate } from 'node:crypto';
import type { RevocationContent, RevocationList } from '../../contracts/identity.js';
import { revocationBytes } from '../../domain/identity/revocation.js';
import { certificatesOf } from './svid-signer.js';

export type RevocationSigner = (content: RevocationContent) => RevocationList;

/** Signs lists with the key of the CA (`caPem`), as ES256 of RFC 7518 does: whoever trusts its certificates trusts what it says of them. */
export function revocationSigner(caPem: string, key: string): RevocationSigner {
  const [authority] = certificatesOf(caPem);
  const privateKey = createPrivateKey(key);
  if (!authority?.checkPrivateKey(privateKey)) throw new Error('is not the key of this CA');
  const keyId = keyIdOf(authority);
  return (content) => ({
    ...content,
    signature: {
      algorithm: 'ES256',
      key_id: keyId,
      value: sign('sha256', revocationBytes(content), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
        'base64url',
      ),
    },
  });
}

/** Checks that a CA of `trusted` signed a list. Throws where none did. */
export function revocationVerifier(trusted: string): (list: RevocationList) => RevocationContent {
  const keys = new Map<string, KeyObject>();
  for (const authority of certificatesOf(trusted))
    if (authority.ca && authority.publicKey.asymmetricKeyType === 'ec')
      keys.set(keyIdOf(authority), authority.publicKey);
  return ({ signature, ...content }) => {
    const key = keys.get(signature.key_id);
    if (!key) throw new Error('a list that no CA of GATE_TLS_CA_FILE signed');
    const value = Buffer.from(signature.value, 'base64url');
    if (!verify('sha256', revocationBytes(content), { key, dsaEncoding: 'ieee-p1363' }, value))
      throw new Error('a list whose signature does not hold');
    return content;
  };
}

const keyIdOf = ({ publicKey }: X509Certificate): string =>
  hash('sha256', publicKey.export({ type: 'spki', format: 'der' }));
