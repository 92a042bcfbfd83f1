import type { MeasurementApproval } from '../../domain/identity/attestation.js';

/** What an administrator approves for the platform of a workload. */
export const approvalFor = (tenant: string, workload: string): MeasurementApproval => ({
  tenant,
  workload,
  evidence_kind: 'tpm2-quote',
  measurement_sha256: `sha256:${'a'.repeat(64)}`,
  platform_issuer: 'a-platform',
  trust_anchor_id: 'an-anchor',
  measurement_policy_version: 'release-7',
  verifier_policy_version: 'verifier-1',
});
