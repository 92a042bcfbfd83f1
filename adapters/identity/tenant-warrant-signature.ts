import type { StepOwner, TenantWarrant, TenantWarrantContent } from '../../contracts/tenant-lifecycle.js';
import { errorText, GateError } from '../../domain/errors.js';
import { tenantWarrantBytes } from '../../domain/identity/tenant-warrant.js';
import type { CaKey } from './ca-key.js';
import { caSigner, caVerifier } from './ca-signature.js';

export type TenantWarrantSigner = (content: TenantWarrantContent) => Promise<TenantWarrant>;

/** Signs that identity has a step done, with the key of the CA. */
export function tenantWarrantSigner(caPem: string, key: CaKey): TenantWarrantSigner {
  const signed = caSigner(caPem, key);
  return async (content) => ({ ...content, signature: await signed(tenantWarrantBytes(content)) });
}

/** What a warrant says, where it is for this owner, counts, and a CA that is `trusted` now signed it. Throws `warrant_invalid`, and `warrant_over`. */
export type TenantWarrantCheck = (warrant: TenantWarrant) => TenantWarrantContent;

export function tenantWarrantCheck(
  trusted: () => string,
  owner: StepOwner,
  clock: () => number = Date.now,
): TenantWarrantCheck {
  const verified = caVerifier(trusted, 'warrant', 'GATE_TLS_CA_FILE');
  return ({ signature, ...content }) => {
    try {
      verified(tenantWarrantBytes(content), signature);
    } catch (error) {
      throw new GateError('warrant_invalid', errorText(error));
    }
    if (content.owner !== owner) throw new GateError('warrant_invalid', `it is for ${content.owner}`);
    const nowMs = clock();
    if (Date.parse(content.not_after) <= nowMs)
      throw new GateError(
        'warrant_over',
        `the warrant ended at ${content.not_after}, and by the clock of ${owner} it is ${new Date(nowMs).toISOString()}`,
      );
    return content;
  };
}
