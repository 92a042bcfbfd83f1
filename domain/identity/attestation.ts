import { hash } from 'node:crypto';
import {
  CHALLENGE_LIFE_MS,
  EVIDENCE_AGE_MS,
  EVIDENCE_AHEAD_MS,
  type Measurement,
  MOST_EVIDENCE_BYTES,
} from '../../contracts/attestation.js';
import {
  ATTESTATION_CONTRACT,
  type AttestationBindings,
  type AttestationRequest,
  type EvidenceKind,
  evidenceKind,
  type VerifiedAttestation,
} from '../../contracts/verified-attestation.js';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import { GateError } from '../errors.js';
import type { RevokedBy } from './revoked-by.js';
import type { CertificateRequest } from './signed-once.js';

/** Which renewals of certificates need evidence: none, those of agents whose kinds an administrator named, or all. */
export const RENEWALS_ATTESTED = ['none', 'named', 'all'] as const;
export type RenewalsAttested = (typeof RENEWALS_ATTESTED)[number];

/** What a question is about: the current certificate of an agent, its next one, or its first one. */
export type ChallengePurpose = 'runtime' | 'renewal' | 'enrollment';

/** A question that counts for one answer. */
export interface AttestationChallenge {
  readonly id: string;
  readonly agentId: string;
  readonly requestId: string;
  readonly nonce: string;
  readonly expected: AttestationBindings;
  readonly openedMs: number;
  readonly expiresMs: number;
  /** Of the request for a certificate; `null` where the question is about one that there is. */
  readonly csrSha256: string | null;
}

/** By what evidence has to be signed, and under which approval. */
export type ChallengeTerms = Pick<
  AttestationBindings,
  'platformIssuer' | 'trustAnchorId' | 'measurementPolicyVersion' | 'verifierPolicyVersion'
>;

/** A result, as it is kept. */
export interface KeptAttestation {
  readonly id: string;
  readonly verified: VerifiedAttestation;
}

/** Evidence that came with a request for the next certificate. */
export interface RenewalEvidence {
  readonly nonce: string;
  /** What it says, for the challenge with this nonce. Throws why it says nothing. */
  judged(challenge: AttestationChallenge): Promise<KeptAttestation>;
}

/** The certificate of an agent that somebody saw. */
export interface SeenLeaf {
  readonly tenant: string;
  readonly agent: string;
  readonly spiffe: string;
  readonly fingerprint: string;
  /** Where somebody else saw the connection: of the key that it was made with. */
  readonly publicKeySha256?: string;
}

export type MeasurementApproval = Pick<
  Measurement,
  | 'tenant'
  | 'workload'
  | 'evidence_kind'
  | 'measurement_sha256'
  | 'platform_issuer'
  | 'trust_anchor_id'
  | 'measurement_policy_version'
  | 'verifier_policy_version'
>;

/** What identity keeps of attestation (docs/architecture/attestation.md). */
export interface AttestationStore {
  /** A challenge for the current certificate of an agent; one that the agent has not answered counts no more. Throws `attestation_svid_mismatch`. */
  openChallenge(leaf: SeenLeaf, terms: ChallengeTerms, nowMs: number): Promise<AttestationChallenge>;
  /** The same for the next certificate of the agent, by this request. */
  openRenewalChallenge(
    leaf: SeenLeaf,
    asked: { readonly request: CertificateRequest; readonly trustDomain: string },
    terms: ChallengeTerms,
    nowMs: number,
  ): Promise<AttestationChallenge>;
  /** The same for the first certificate of an agent that has none. Throws `bootstrap_not_available`. */
  openEnrollmentChallenge(
    of: { readonly agentId: string; readonly tenant: string; readonly trustDomain: string },
    request: CertificateRequest,
    terms: ChallengeTerms,
    by: RevokedBy,
  ): Promise<AttestationChallenge>;
  /** One that was not answered; throws `attestation_challenge_invalid`. */
  challenge(
    by: { readonly nonce: string } | { readonly id: string },
    purpose: ChallengePurpose,
  ): Promise<AttestationChallenge>;
  /**
   * Uses the challenge up and keeps the result, in one transaction. Throws why it does not count: the certificate is not the current one, the agent takes
   * no such evidence, or nobody approved the measurement.
   */
  keepVerified(challenge: AttestationChallenge, attested: KeptAttestation, nowMs: number): Promise<VerifiedAttestation>;
  /** The result that counts for this very certificate. Throws why there is none. */
  attestationOf(leaf: SeenLeaf, nowMs: number): Promise<VerifiedAttestation>;
  measurements(of: {
    readonly tenant: string;
    readonly workload?: string | undefined;
    readonly state?: Measurement['state'] | undefined;
    readonly after?: string | undefined;
  }): Promise<readonly Measurement[]>;
  /** Throws `measurement_exists`. */
  approveMeasurement(
    approval: MeasurementApproval,
    signature: { readonly key_id: string; readonly value: string },
    by: RevokedBy,
  ): Promise<Measurement>;
  /** Throws `not_found`; one that was retired stays as it is. */
  retireMeasurement(id: string, tenant: string, by: RevokedBy): Promise<Measurement>;
  /** What each of these agents attests with; one that is not named takes any kind. */
  attestationKinds(agentIds: readonly string[]): Promise<ReadonlyMap<string, readonly EvidenceKind[]>>;
  setAttestationKinds(agentId: string, tenant: string, kinds: readonly EvidenceKind[], by: RevokedBy): Promise<void>;
}

const digestOf = (bytes: Buffer): string => `sha256:${hash('sha256', bytes)}`;

/**
 * The evidence of a request that is one: of this version and a known kind, of a size that is read at all, as its digest says, and asked for now. Throws
 * the reason. Of the evidence itself nothing is read.
 */
export function evidenceOf(
  request: AttestationRequest,
  nowMs: number,
): { readonly kind: EvidenceKind; readonly bytes: Buffer } {
  if (request.contractVersion !== ATTESTATION_CONTRACT) throw new GateError('attestation_contract_version_unsupported');
  const kind = evidenceKind.safeParse(request.evidenceKind);
  if (!kind.success) throw new GateError('attestation_kind_unsupported');
  // Before it is decoded.
  if (request.evidence.length > Math.ceil((MOST_EVIDENCE_BYTES * 4) / 3))
    throw new GateError('attestation_evidence_too_large');
  const bytes = Buffer.from(request.evidence, 'base64url');
  if (bytes.toString('base64url') !== request.evidence)
    throw new GateError('attestation_evidence_malformed', 'the evidence is no base64url without padding');
  if (digestOf(bytes) !== request.evidenceSha256)
    throw new GateError('attestation_evidence_malformed', 'the evidence is not what its digest says');
  const { issuedAt, expiresAt } = request.challenge;
  const [issuedMs, expiresMs, requestedMs] = [issuedAt, expiresAt, request.requestedAt].map((at) => Date.parse(at)) as [
    number,
    number,
    number,
  ];
  if (expiresMs <= issuedMs || expiresMs - issuedMs > CHALLENGE_LIFE_MS)
    throw new GateError('attestation_challenge_invalid', 'no challenge lasts so long');
  if (Math.max(issuedMs, requestedMs) > nowMs + EVIDENCE_AHEAD_MS) throw new GateError('attestation_evidence_future');
  if (requestedMs < nowMs - EVIDENCE_AGE_MS) throw new GateError('attestation_evidence_stale');
  if (expiresMs <= nowMs) throw new GateError('attestation_challenge_invalid', 'the challenge is over');
  return { kind: kind.data, bytes };
}

const MISMATCH: Readonly<Record<keyof AttestationBindings, ErrorCodeName>> = {
  publicKeySha256: 'attestation_key_mismatch',
  svidSha256: 'attestation_svid_mismatch',
  spiffeId: 'attestation_identity_mismatch',
  tenant: 'attestation_tenant_mismatch',
  workload: 'attestation_workload_mismatch',
  instance: 'attestation_instance_mismatch',
  platformIssuer: 'attestation_issuer_untrusted',
  trustAnchorId: 'attestation_issuer_untrusted',
  measurementPolicyVersion: 'attestation_measurement_unapproved',
  verifierPolicyVersion: 'attestation_verifier_policy_mismatch',
};

/** Throws where a request says something else than the challenge that it answers. */
export function assertAnswers(request: AttestationRequest, challenge: AttestationChallenge): void {
  for (const [name, code] of Object.entries(MISMATCH) as [keyof AttestationBindings, ErrorCodeName][])
    if (request.expected[name] !== challenge.expected[name]) throw new GateError(code);
  const isSame =
    request.requestId === challenge.requestId &&
    request.challenge.nonce === challenge.nonce &&
    Date.parse(request.challenge.issuedAt) === challenge.openedMs &&
    Date.parse(request.challenge.expiresAt) === challenge.expiresMs &&
    Date.parse(request.requestedAt) === challenge.openedMs;
  if (!isSame) throw new GateError('attestation_challenge_invalid', 'the request is not the one that was asked for');
}

export const nonceDigest = (nonce: string): string => digestOf(Buffer.from(nonce, 'base64url'));

/** Whether what was verified of the platform of an agent, by this certificate, counts now. Throws where nobody knows. */
export type StillAttested = (leaf: { readonly spiffe: string; readonly fingerprint: string }) => Promise<boolean>;

/**
 * Why a call that was judged by what its platform attested may not run any more; `null` where that still counts, and where the call did not rest on it.
 * Throws where nobody knows.
 */
export async function attestationLost(
  call: {
    readonly attestation?: VerifiedAttestation | null;
    readonly agent_spiffe: string;
    readonly credential_fingerprint: string;
  },
  stillAttested: StillAttested | undefined,
): Promise<string | null> {
  if (!call.attestation) return null;
  if (!stillAttested) throw new GateError('control_state_unavailable', 'nobody here says what platforms attested');
  const { agent_spiffe: spiffe, credential_fingerprint: fingerprint } = call;
  return (await stillAttested({ spiffe, fingerprint }))
    ? null
    : 'what the platform of the agent attested counts no more';
}
