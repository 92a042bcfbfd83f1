import type { RevocationContent, RevocationList } from '../../contracts/identity.js';
import { revocationBytes } from '../../domain/identity/revocation.js';
import { caSigner, caVerifier } from './ca-signature.js';

export type RevocationSigner = (content: RevocationContent) => RevocationList;

/** Signs lists with the key of the CA. */
export function revocationSigner(caPem: string, key: string): RevocationSigner {
  const signed = caSigner(caPem, key);
  return (content) => ({ ...content, signature: signed(revocationBytes(content)) });
}

/** Checks that a CA that is `trusted` now signed a list. Throws where none did. */
export function revocationVerifier(trusted: () => string): (list: RevocationList) => RevocationContent {
  const verified = caVerifier(trusted, 'list', 'GATE_TLS_CA_FILE');
  return ({ signature, ...content }) => {
    verified(revocationBytes(content), signature);
    return content;
  };
}
