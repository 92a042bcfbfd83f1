import type { IdentityStore } from '../../adapters/identity/identity-store.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { TRUST_DOMAIN } from './identity-service.js';

/** Has a person of acme delegate to an agent of it that is registered, for an hour, as identity keeps it. Returns the grant's id. */
export async function delegated(
  store: IdentityStore,
  { agent, sub, scope }: { readonly agent: string; readonly sub: string; readonly scope: readonly string[] },
  nowMs: number,
): Promise<string> {
  const jti = uuidV7(nowMs);
  const iat = Math.floor(nowMs / 1_000);
  const grant = {
    jti,
    tenant: 'acme',
    agent,
    spiffe: `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/${agent}`,
    fingerprint: null,
    isBound: false,
    by: { tenant: 'acme', sub, idp: 'corp', amr: [] },
    idTokenSha256: sha256Hex(jti),
    scope,
    yellowScope: [],
    terms: { iat, exp: iat + 3_600, notBefore: null, notAfter: null, maxUses: 5, recurrence: null },
  };
  await store.beginGrant(grant, nowMs);
  await store.releaseGrant(grant, nowMs);
  return jti;
}
