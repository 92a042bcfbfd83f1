import { hash } from 'node:crypto';
import type { IdentityStore } from '../../adapters/identity/identity-store.js';

/** Gives an agent a first certificate, which says nothing, as the store of identity has it. */
export async function certifiedIn(
  store: Pick<IdentityStore, 'enroll' | 'begin' | 'release'>,
  { tenant, agent, svidId, nowMs }: Record<'tenant' | 'agent' | 'svidId', string> & { readonly nowMs: number },
): Promise<void> {
  const { token } = await store.enroll({ tenant, agent, by: 'x', nowMs, expiresMs: nowMs + 60_000 });
  const digest = (what: string) => hash('sha256', `${tenant}/${agent}/${what}`);
  const request = { csrSha256: digest('csr'), publicKeySha256: digest('key'), publicKey: Buffer.alloc(0) };
  const intent = await store.begin(request as never, { kind: 'token', token }, nowMs);
  if ('issued' in intent) throw new Error('it was issued before');
  const svid = {
    id: svidId,
    spiffe: `spiffe://gate.local/tenant/${tenant}/agent/${agent}/instance/1`,
    certPem: '',
    notBeforeMs: nowMs,
    notAfterMs: nowMs + 3_600_000,
    serial: digest('serial'),
    fingerprint: digest('leaf'),
    publicKeySha256: request.publicKeySha256,
  };
  await store.release(intent, svid, nowMs);
}
