import { z } from 'zod';
import { label } from './label.js';

/** The version of requests and answers of attestation. */
export const ATTESTATION_CONTRACT = '1.0.0';
/** The kinds of evidence that have a name. Of those without a verifier none is taken. */
export const evidenceKind = z.enum(['aws-nitro', 'gcp-shielded', 'k8s-key-bound', 'sev-snp', 'sgx-dcap', 'tpm2-quote']);
export type EvidenceKind = z.infer<typeof evidenceKind>;

const instant = z.iso.datetime();
/** `sha256:` and hex. */
export const sha256Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
export const printable = (most: number) =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/)
    .max(most);
export const policyVersion = printable(128);

/** What evidence is bound to. */
export const attestationBindings = z.strictObject({
  /** Of the key (SPKI DER). */
  publicKeySha256: sha256Digest,
  /** Of the certificate (DER); where there is none yet, of the request for it. */
  svidSha256: sha256Digest,
  spiffeId: z.string().min(1).max(512),
  tenant: label,
  workload: label,
  instance: label,
  platformIssuer: printable(256),
  trustAnchorId: printable(256),
  measurementPolicyVersion: policyVersion,
  verifierPolicyVersion: policyVersion,
});
export type AttestationBindings = z.infer<typeof attestationBindings>;

/** 32 bytes in base64url; `issuedAt` and `expiresAt` by the clock of identity. */
export const attestationChallenge = z.strictObject({
  nonce: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  issuedAt: instant,
  expiresAt: instant,
});

/** Evidence, and what it answers: the body of `POST /attestation/verify`, and part of a request for a certificate. What is no member of it is refused. */
export const attestationRequest = z.strictObject({
  contractVersion: z.string().max(32),
  requestId: z.uuid(),
  evidenceKind: z.string().max(64),
  /** Without padding; longer than may be is a code of its own. */
  evidence: z.string().min(1),
  /** Of the decoded bytes. */
  evidenceSha256: sha256Digest,
  challenge: attestationChallenge,
  expected: attestationBindings,
  requestedAt: instant,
});
export type AttestationRequest = z.infer<typeof attestationRequest>;

/** What was verified of the platform of an agent. */
export const verifiedAttestation = z.strictObject({
  contractVersion: z.literal(ATTESTATION_CONTRACT),
  requestId: z.uuid(),
  status: z.literal('verified'),
  evidenceKind,
  evidenceSha256: sha256Digest,
  measurementSha256: sha256Digest,
  challengeNonceSha256: sha256Digest,
  ...attestationBindings.shape,
  verifierId: z.string().min(1).max(128),
  /** When the evidence was asked for. */
  issuedAt: instant,
  verifiedAt: instant,
  expiresAt: instant,
});
export type VerifiedAttestation = z.infer<typeof verifiedAttestation>;
