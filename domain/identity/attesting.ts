import { type Measurement, RESULT_LIFE_MS } from '../../contracts/attestation.js';
import {
  ATTESTATION_CONTRACT,
  type AttestationRequest,
  type EvidenceKind,
  type VerifiedAttestation,
} from '../../contracts/verified-attestation.js';
import { canonicalJson } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import {
  assertAnswers,
  type AttestationChallenge,
  type AttestationStore,
  type ChallengeTerms,
  evidenceOf,
  type KeptAttestation,
  type MeasurementApproval,
  nonceDigest,
  type RenewalEvidence,
  type SeenLeaf,
} from './attestation.js';
import type { RevokedBy } from './revoked-by.js';
import type { CertificateRequest } from './signed-once.js';
import type { Signer } from './signer.js';
import { type Tpm2Anchor, TPM2_VERIFIER_ID, TPM2_VERIFIER_POLICY, verifyTpm2Quote } from './tpm2-quote.js';
import { uuidV7 } from './uuid-v7.js';

export interface AttestingParts {
  readonly store: AttestationStore;
  /** The keys of TPMs that this deployment knows; none: no evidence is verified. */
  readonly anchors: ReadonlyMap<string, Tpm2Anchor>;
  readonly signer: Signer;
  readonly trustDomain: string;
  readonly clock: () => number;
}

/** Asks for evidence, verifies it, and says what counts (docs/architecture/attestation.md). */
export function createAttesting({ store, anchors, signer, trustDomain, clock }: AttestingParts) {
  /** By what evidence of this key has to be signed. */
  function termsOf(akKeyId: string, measurementPolicyVersion: string): ChallengeTerms {
    if (anchors.size === 0) throw new GateError('attestation_verifier_unavailable');
    const anchor = anchors.get(akKeyId);
    if (!anchor) throw new GateError('invalid_request', 'ak_key_id: no key of this name is pinned');
    const { platformIssuer, trustAnchorId } = anchor;
    return { platformIssuer, trustAnchorId, measurementPolicyVersion, verifierPolicyVersion: TPM2_VERIFIER_POLICY };
  }

  function measured(kind: EvidenceKind, bytes: Buffer, request: AttestationRequest): string {
    if (kind !== 'tpm2-quote' || anchors.size === 0) throw new GateError('attestation_verifier_unavailable');
    return verifyTpm2Quote(bytes, request, anchors);
  }

  function attested(request: AttestationRequest, challenge: AttestationChallenge): KeptAttestation {
    const nowMs = clock();
    const { kind, bytes } = evidenceOf(request, nowMs);
    assertAnswers(request, challenge);
    const measurementSha256 = measured(kind, bytes, request);
    const verified: VerifiedAttestation = {
      contractVersion: ATTESTATION_CONTRACT,
      requestId: request.requestId,
      status: 'verified',
      evidenceKind: kind,
      evidenceSha256: request.evidenceSha256,
      measurementSha256,
      challengeNonceSha256: nonceDigest(request.challenge.nonce),
      ...challenge.expected,
      verifierId: TPM2_VERIFIER_ID,
      issuedAt: new Date(challenge.openedMs).toISOString(),
      verifiedAt: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + RESULT_LIFE_MS).toISOString(),
    };
    return { id: uuidV7(nowMs), verified };
  }

  /** What is said of a request for a certificate, by an answer to the challenge for it. */
  function attestedFor(
    { csrSha256 }: CertificateRequest,
    answer: AttestationRequest,
    challenge: AttestationChallenge,
  ): KeptAttestation {
    if (challenge.csrSha256 !== csrSha256)
      throw new GateError('attestation_challenge_invalid', 'the challenge was for another request for a certificate');
    return attested(answer, challenge);
  }

  return {
    /** A challenge for the certificate that an agent shows. */
    open: (leaf: SeenLeaf, akKeyId: string, policyVersion: string): Promise<AttestationChallenge> =>
      store.openChallenge(leaf, termsOf(akKeyId, policyVersion), clock()),

    /** The same for the next certificate, whose request it binds. */
    openRenewal: (
      leaf: SeenLeaf,
      request: CertificateRequest,
      { akKeyId, policyVersion }: { readonly akKeyId: string; readonly policyVersion: string },
    ): Promise<AttestationChallenge> =>
      store.openRenewalChallenge(leaf, { request, trustDomain }, termsOf(akKeyId, policyVersion), clock()),

    /** The same for the first certificate of an agent, whose request it binds. */
    openEnrollment: (
      of: { readonly agentId: string; readonly tenant: string },
      request: CertificateRequest,
      { akKeyId, policyVersion }: { readonly akKeyId: string; readonly policyVersion: string },
      by: RevokedBy,
    ): Promise<AttestationChallenge> =>
      store.openEnrollmentChallenge({ ...of, trustDomain }, request, termsOf(akKeyId, policyVersion), by),

    /**
     * Says what a platform measured, once for each challenge. An agent (`leaf`) answers for its own certificate alone. Throws the reason, and then the
     * challenge still counts.
     */
    async verify(request: AttestationRequest, leaf: SeenLeaf | null): Promise<VerifiedAttestation> {
      // Before anything is looked up.
      evidenceOf(request, clock());
      const challenge = await store.challenge({ nonce: request.challenge.nonce }, 'runtime');
      const { spiffeId, svidSha256 } = challenge.expected;
      if (leaf && (leaf.spiffe !== spiffeId || `sha256:${leaf.fingerprint}` !== svidSha256))
        throw new GateError('attestation_identity_mismatch');
      return store.keepVerified(challenge, attested(request, challenge), clock());
    },

    /** Throws where nobody may answer this challenge, so that nothing else is read of whoever does. */
    async assertOpen(challengeId: string): Promise<void> {
      await store.challenge({ id: challengeId }, 'enrollment');
    },
    /** The evidence for a first certificate. The challenge is used up by the intent of the certificate, and not here. */
    async enrolling(challengeId: string, request: CertificateRequest, answer: AttestationRequest) {
      const challenge = await store.challenge({ id: challengeId }, 'enrollment');
      return attestedFor(request, answer, challenge);
    },
    /** The evidence for the next certificate: judged where the intent of that is stored, which uses the challenge up. */
    renewing(request: CertificateRequest, answer: AttestationRequest): RenewalEvidence {
      if (anchors.size === 0) throw new GateError('attestation_verifier_unavailable');
      return { nonce: answer.challenge.nonce, judged: (challenge) => attestedFor(request, answer, challenge) };
    },

    current: (leaf: SeenLeaf): Promise<VerifiedAttestation> => store.attestationOf(leaf, clock()),

    async approve(approval: MeasurementApproval, by: RevokedBy): Promise<Measurement> {
      const signature = await signer.sign(`gate.measurement/1\n${canonicalJson({ ...approval })}`);
      return store.approveMeasurement(approval, signature, by);
    },
  };
}
export type Attesting = ReturnType<typeof createAttesting>;
