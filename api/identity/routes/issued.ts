import { GateError } from '../../../domain/errors.js';
import type { Svid } from '../../../domain/identity/signed-once.js';
import type { IdentityMetrics } from '../metrics.js';

/** What both kinds of certificates are answered with. */
export const svidAnswer = (svid: Svid, caPem: string) => ({
  id: svid.id,
  spiffe_id: svid.spiffe,
  cert_pem: svid.certPem,
  ca_cert_pem: caPem,
  not_before: new Date(svid.notBeforeMs).toISOString(),
  not_after: new Date(svid.notAfterMs).toISOString(),
});

/** Counts why no certificate came of it. */
export async function countingRefusals<Answer>(
  metrics: Pick<IdentityMetrics, 'refused'>,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    metrics.refused(error instanceof GateError ? error.code : 'internal_error');
    throw error;
  }
}
