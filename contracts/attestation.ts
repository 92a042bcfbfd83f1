import { z } from 'zod';
import { issuedSvid, standingReason } from './identity.js';
import { label } from './label.js';
import {
  ATTESTATION_CONTRACT,
  attestationBindings,
  attestationChallenge,
  attestationRequest,
  evidenceKind,
  policyVersion,
  printable,
  sha256Digest,
} from './verified-attestation.js';

/** Evidence, decoded. */
export const MOST_EVIDENCE_BYTES = 65_536;
/** How long a challenge counts, and a result. */
export const CHALLENGE_LIFE_MS = 120_000;
export const RESULT_LIFE_MS = 900_000;
/** Evidence is so old at most, and so far ahead of the clock of identity. */
export const EVIDENCE_AGE_MS = 300_000;
export const EVIDENCE_AHEAD_MS = 30_000;

const instant = z.iso.datetime();
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const akKeyId = printable(128);

/** Why evidence is refused. */
export const attestationReason = z.enum([
  'attestation_contract_version_unsupported',
  'attestation_evidence_malformed',
  'attestation_evidence_too_large',
  'attestation_kind_unsupported',
  'attestation_kind_not_accepted',
  'attestation_challenge_invalid',
  'attestation_nonce_mismatch',
  'attestation_evidence_future',
  'attestation_evidence_stale',
  'attestation_key_mismatch',
  'attestation_svid_mismatch',
  'attestation_identity_mismatch',
  'attestation_tenant_mismatch',
  'attestation_workload_mismatch',
  'attestation_instance_mismatch',
  'attestation_measurement_unapproved',
  'attestation_issuer_untrusted',
  'attestation_verifier_policy_mismatch',
  'attestation_verifier_unavailable',
]);

/** The answer where evidence, or what was said of it, does not hold. */
export const rejectedAttestation = z.strictObject({
  contractVersion: z.literal(ATTESTATION_CONTRACT),
  /** `null` where none was asked about: the certificate has no result. */
  requestId: z.uuid().nullable(),
  status: z.literal('rejected'),
  reason: attestationReason,
});

/** Body of `POST /attestation/challenges`, from an agent: by which key of its platform it will answer, and what its measurement was approved under. */
export const attestationChallengeRequest = z.strictObject({
  ak_key_id: akKeyId,
  measurement_policy_version: policyVersion,
  /** The request for the next certificate, where the evidence is to come with that (`POST /svid/renew`). */
  csr_pem: z.string().min(1).optional(),
});
/** What the evidence has to be bound to. */
export const openedChallenge = z.strictObject({
  challenge_id: z.uuid(),
  request_id: z.uuid(),
  challenge: attestationChallenge,
  expected: attestationBindings,
  requested_at: instant,
});
export type OpenedChallenge = z.infer<typeof openedChallenge>;

/** Body of `POST /agents/{id}/tpm2-enrollment-challenges`. */
export const enrollmentChallengeRequest = attestationChallengeRequest.extend({ csr_pem: z.string().min(1) });

/** Body of `POST /tpm2-enrollment/{challenge_id}/svid`. */
export const attestedEnrollment = z.strictObject({
  csr_pem: z.string().min(1),
  attestation: attestationRequest,
  ttl_seconds: z.number().int().min(60).default(3_600),
});
export const attestedSvid = issuedSvid.extend({ attestation_id: z.uuid() });

/** Body of `POST /attestation/runtime`: the certificate that a proxy saw. */
export const runtimeAttestationRequest = z.strictObject({
  agent_spiffe: z.string().min(1).max(512),
  credential_fingerprint: hex64,
  /** The fingerprint is of the whole certificate, its key too. */
  public_key_sha256: hex64.optional(),
});
export type RuntimeAttestationRequest = z.infer<typeof runtimeAttestationRequest>;

const measured = {
  tenant: label,
  workload: label,
  evidence_kind: evidenceKind,
  measurement_sha256: sha256Digest,
  platform_issuer: printable(256),
  trust_anchor_id: printable(256),
  measurement_policy_version: policyVersion,
  verifier_policy_version: policyVersion,
};
/** Body of `POST /attestation/measurements`. */
export const measurementApproval = z.strictObject({ ...measured, reason: standingReason });
/** What a platform measured, and who said that it may be so. */
export const measurement = z.strictObject({
  id: z.uuid(),
  ...measured,
  state: z.enum(['approved', 'retired']),
  reason: z.string(),
  approved_by_sub: z.string(),
  approved_at: instant,
  retired_at: instant.nullable(),
  retired_by: z.string().nullable(),
  /** Ed25519 over the RFC 8785 form of what was approved, in base64. */
  signature: z.string(),
  key_id: z.string(),
});
export type Measurement = z.infer<typeof measurement>;
export const measurementsQuery = z.strictObject({
  tenant: label,
  workload: label.optional(),
  state: measurement.shape.state.optional(),
  /** The id behind which the answer begins: it has 1,000 at most, by their ids. */
  after: z.uuid().optional(),
});
export const MEASUREMENTS_LISTED = 1_000;
/** Body of `POST /attestation/measurements/{id}/retire`. */
export const measurementRetirement = z.strictObject({ reason: standingReason });

/** Body of `POST /agents/{id}/attestation-kinds`: what the agent may attest with; nothing said is any kind. */
export const attestationKindsChange = z.strictObject({
  attestation_kinds: z.array(z.string().min(1).max(64)).max(16),
  reason: standingReason.optional(),
});
