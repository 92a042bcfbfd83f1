import type { RevocationContent, RevocationList } from '../../contracts/identity.js';
import { revocationBytes } from '../../domain/identity/revocation.js';
import type { CaKey } from './ca-key.js';
import { caSigner, caVerifier } from './ca-signature.js';

export type RevocationSigner = (content: RevocationContent) => Promise<RevocationList>;

/** Signs lists with the key of the CA. */
export function revocationSigner(caPem: string, key: CaKey): RevocationSigner {
  const signed = caSigner(caPem, key);
  return async (content) => ({ ...content, signature: await signed(revocationBytes(content)) });
}

/** Checks that a CA that is `trusted` now signed a list. Throws where none did. */
export function revocationVerifier(trusted: () => string): (list: RevocationList) => RevocationContent {
  const verified = caVerifier(trusted, 'list', 'GATE_TLS_CA_FILE');
  return ({ signature, ...content }) => {
    verified(revocationBytes(content), signature);
    return content;
  };
}
