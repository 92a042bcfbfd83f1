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
import type { EvidenceVerifier } from './evidence.js';
import type { RevokedBy } from './revoked-by.js';
import type { CertificateRequest } from './signed-once.js';
import type { Signer } from './signer.js';
import { uuidV7 } from './uuid-v7.js';

export interface AttestingParts {
  readonly store: AttestationStore;
  /** Of each kind of evidence one at most. */
  readonly verifiers: readonly EvidenceVerifier[];
  readonly signer: Signer;
  readonly trustDomain: string;
  readonly clock: () => number;
}

/** Asks for evidence, verifies it, and says what counts (docs/architecture/attestation.md). */
export function createAttesting({ store, verifiers, signer, trustDomain, clock }: AttestingParts) {
  const hasAnchors = ({ anchors }: EvidenceVerifier): boolean => anchors.size > 0;
  function assertVerifies(): void {
    if (!verifiers.some(hasAnchors)) throw new GateError('attestation_verifier_unavailable');
  }

  /** By what evidence of this key has to be signed. */
  function termsOf(akKeyId: string, measurementPolicyVersion: string): ChallengeTerms {
    assertVerifies();
    for (const { anchors, policy: verifierPolicyVersion } of verifiers) {
      const anchor = anchors.get(akKeyId);
      if (!anchor) continue;
      const { platformIssuer, trustAnchorId } = anchor;
      return { platformIssuer, trustAnchorId, measurementPolicyVersion, verifierPolicyVersion };
    }
    throw new GateError('invalid_request', 'ak_key_id: nothing of this name is pinned');
  }

  function verifierOf(kind: EvidenceKind): EvidenceVerifier {
    const found = verifiers.find((one) => one.kind === kind && hasAnchors(one));
    if (!found) throw new GateError('attestation_verifier_unavailable');
    return found;
  }

  async function attested(request: AttestationRequest, challenge: AttestationChallenge): Promise<KeptAttestation> {
    const nowMs = clock();
    const { kind, bytes } = evidenceOf(request, nowMs);
    assertAnswers(request, challenge);
    const verifier = verifierOf(kind);
    // The challenge was by an anchor of another kind.
    if (request.expected.verifierPolicyVersion !== verifier.policy)
      throw new GateError('attestation_verifier_policy_mismatch');
    const measurementSha256 = await verifier.measured(bytes, request, nowMs);
    const verified: VerifiedAttestation = {
      contractVersion: ATTESTATION_CONTRACT,
      requestId: request.requestId,
      status: 'verified',
      evidenceKind: kind,
      evidenceSha256: request.evidenceSha256,
      measurementSha256,
      challengeNonceSha256: nonceDigest(request.challenge.nonce),
      ...challenge.expected,
      verifierId: verifier.id,
      issuedAt: new Date(challenge.openedMs).toISOString(),
      verifiedAt: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + RESULT_LIFE_MS).toISOString(),
    };
    return { id: uuidV7(nowMs), verified };
  }

  /** What is said of a request for a certificate, by an answer to the challenge for it. */
  async function attestedFor(
    { csrSha256 }: CertificateRequest,
    answer: AttestationRequest,
    challenge: AttestationChallenge,
  ): Promise<KeptAttestation> {
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
      return store.keepVerified(challenge, await attested(request, challenge), clock());
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
      assertVerifies();
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
