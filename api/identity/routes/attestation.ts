import { z } from 'zod';
import {
  attestationChallengeRequest,
  attestationReason,
  attestedEnrollment,
  attestedSvid,
  enrollmentChallengeRequest,
  measurement,
  measurementApproval,
  measurementRetirement,
  measurementsQuery,
  type OpenedChallenge,
  openedChallenge,
  rejectedAttestation,
  runtimeAttestationRequest,
} from '../../../contracts/attestation.js';
import {
  ATTESTATION_CONTRACT,
  attestationRequest,
  verifiedAttestation,
} from '../../../contracts/verified-attestation.js';
import { errorEnvelope } from '../../../contracts/error-envelope.js';
import { SVID_TTL_SECONDS } from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import type { AttestationChallenge, AttestationStore, SeenLeaf } from '../../../domain/identity/attestation.js';
import type { Attesting } from '../../../domain/identity/attesting.js';
import type { Issuing } from '../../../domain/identity/issuing.js';
import type { CertificateRequest } from '../../../domain/identity/signed-once.js';
import { parseSpiffe } from '../../../domain/identity/spiffe.js';
import { slidingBudget } from '../../../domain/limits/sliding-budget.js';
import type { Caller, ServiceApp } from '../../plugins/app.js';
import { type ErrorBody, errorHandler, plainErrorBody } from '../../plugins/errors.js';
import { askerFirst } from '../administrator.js';
import type { IdentityMetrics } from '../metrics.js';
import type { People } from '../people.js';
import { changeBy, instant, ofTenant } from './changes.js';
import { countingRefusals, svidAnswer } from './issued.js';

export interface AttestationRouteParts {
  readonly attesting: Attesting;
  readonly issuing: Issuing;
  readonly store: Pick<AttestationStore, 'measurements' | 'retireMeasurement'>;
  readonly readRequest: (pem: string) => Promise<CertificateRequest>;
  readonly people: People;
  readonly metrics: IdentityMetrics;
  readonly clock: () => number;
  readonly trustDomain: string;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** Challenges and answers of one agent, and answers to one challenge of a first certificate, refused ones included. */
const ASKED = { count: 60, windowMs: 60_000 };

/** What platforms measured, and what of that may be so (docs/architecture/attestation.md). Register it in a scope of its own. */
export function attestationRoutes(app: ServiceApp, parts: AttestationRouteParts): void {
  const { attesting, issuing, store, readRequest, people, metrics, clock, trustDomain, onChanged } = parts;
  app.setErrorHandler(errorHandler(rejectionBody));
  const personFirst = askerFirst(people.administratorOf);
  const requests = slidingBudget(ASKED.count, ASKED.windowMs);
  const taken = (of: string): void => {
    const waitSecs = requests.take(of, 1, clock());
    if (waitSecs > 0) throw new GateError('rate_limited', undefined, { fields: { retry_after_secs: waitSecs } });
  };

  app.post(
    '/attestation/challenges',
    { schema: { body: attestationChallengeRequest, response: { 201: openedChallenge } } },
    async (request, reply) => {
      const leaf = leafOf(request.caller);
      if (!leaf) throw new GateError('capability_denied', 'a challenge is for the certificate of the agent that asks');
      taken(`${leaf.tenant}/${leaf.agent}`);
      const { ak_key_id: akKeyId, measurement_policy_version: policyVersion, csr_pem: pem } = request.body;
      const challenge =
        pem === undefined
          ? await attesting.open(leaf, akKeyId, policyVersion)
          : await attesting.openRenewal(leaf, await readRequest(pem), { akKeyId, policyVersion });
      return reply.code(201).send(challengeAnswer(challenge));
    },
  );
  app.post(
    '/attestation/verify',
    { config: REJECTS, schema: { body: attestationRequest, response: { 200: verifiedAttestation } } },
    (request) =>
      rejecting(request.body.requestId, () => {
        const leaf = leafOf(request.caller);
        if (leaf) taken(`${leaf.tenant}/${leaf.agent}`);
        return attesting.verify(request.body, leaf);
      }),
  );
  app.post(
    '/attestation/runtime',
    { config: REJECTS, schema: { body: runtimeAttestationRequest, response: { 200: verifiedAttestation } } },
    (request) =>
      rejecting(null, () => {
        const { agent_spiffe: spiffe, credential_fingerprint: fingerprint, public_key_sha256 } = request.body;
        const named = parseSpiffe(spiffe, trustDomain);
        if (named?.kind !== 'agent') throw new GateError('attestation_identity_mismatch');
        const { tenant, agent } = named;
        const key = public_key_sha256 === undefined ? {} : { publicKeySha256: public_key_sha256 };
        return attesting.current({ tenant, agent, spiffe, fingerprint, ...key });
      }),
  );

  app.get(
    '/attestation/measurements',
    {
      schema: { querystring: measurementsQuery, response: { 200: z.array(measurement) } },
      onRequest: askerFirst(people.readerOf),
    },
    async (request) => {
      people.assertReads(request.query.tenant, request);
      return [...(await store.measurements(request.query))];
    },
  );
  app.post(
    '/attestation/measurements',
    { schema: { body: measurementApproval, response: { 201: measurement } }, onRequest: personFirst },
    async (request, reply) => {
      const { reason, ...approval } = request.body;
      const person = people.administratorIn(approval.tenant, request);
      const approved = await attesting.approve(approval, changeBy(person, reason, clock()));
      onChanged();
      return reply.code(201).send(approved);
    },
  );
  app.post(
    '/attestation/measurements/:id/retire',
    { schema: { ...ofTenant, body: measurementRetirement, response: { 200: measurement } }, onRequest: personFirst },
    async (request) => {
      const person = people.administratorIn(request.query.tenant, request);
      const by = changeBy(person, request.body.reason, clock());
      const retired = await store.retireMeasurement(request.params.id, person.tenant, by);
      onChanged();
      return retired;
    },
  );

  app.post(
    '/agents/:id/tpm2-enrollment-challenges',
    {
      schema: { ...ofTenant, body: enrollmentChallengeRequest, response: { 201: openedChallenge } },
      onRequest: personFirst,
    },
    async (request, reply) => {
      const person = people.administratorIn(request.query.tenant, request);
      const { csr_pem: pem, ak_key_id: akKeyId, measurement_policy_version: policyVersion } = request.body;
      const challenge = await attesting.openEnrollment(
        { agentId: request.params.id, tenant: person.tenant },
        await readRequest(pem),
        { akKeyId, policyVersion },
        changeBy(person, undefined, clock()),
      );
      onChanged();
      return reply.code(201).send(challengeAnswer(challenge));
    },
  );
  // Whoever answers has no certificate yet.
  app.post(
    '/tpm2-enrollment/:challenge_id/svid',
    {
      config: { public: true },
      schema: {
        params: z.strictObject({ challenge_id: z.uuid() }),
        body: attestedEnrollment,
        response: { 200: attestedSvid },
      },
    },
    (request) =>
      countingRefusals(metrics, async () => {
        const { challenge_id: challengeId } = request.params;
        const { csr_pem: pem, attestation, ttl_seconds: ttlSeconds } = request.body;
        await attesting.assertOpen(challengeId);
        // Of a challenge that is there, so that whoever knows none takes nobody's turn.
        taken(challengeId);
        if (ttlSeconds > SVID_TTL_SECONDS.max) throw new GateError('ttl_seconds_too_large');
        const asked = await readRequest(pem);
        const attested = await attesting.enrolling(challengeId, asked, attestation);
        const svid = await issuing.issue(asked, { kind: 'quote', challengeId, attested }, ttlSeconds);
        onChanged();
        metrics.issued('quote');
        return { ...svidAnswer(svid, issuing.caPem), attestation_id: attested.id };
      }),
  );
}

/** The certificate of an agent that asks for itself. */
function leafOf(caller: Caller | null): SeenLeaf | null {
  if (caller?.kind !== 'agent') return null;
  const { tenant, agent, spiffe, fingerprint } = caller;
  return tenant === undefined || agent === undefined ? null : { tenant, agent, spiffe, fingerprint };
}

const challengeAnswer = (challenge: AttestationChallenge): OpenedChallenge => ({
  challenge_id: challenge.id,
  request_id: challenge.requestId,
  challenge: {
    nonce: challenge.nonce,
    issuedAt: instant(challenge.openedMs),
    expiresAt: instant(challenge.expiresMs),
  },
  expected: challenge.expected,
  requested_at: instant(challenge.openedMs),
});

/** Has a reason of the contract be answered as the contract says; anything else stays as it is. */
async function rejecting<Answer>(requestId: string | null, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GateError) || !attestationReason.safeParse(error.code).success) throw error;
    throw new GateError(error.code, error.message, { fields: { requestId }, cause: error });
  }
}

const rejectionBody: ErrorBody = (error, correlationId) => {
  const { requestId } = error.fields;
  if (requestId === undefined) return plainErrorBody(error, correlationId);
  return { contractVersion: ATTESTATION_CONTRACT, requestId, status: 'rejected', reason: error.code };
};

const REJECTS = {
  described: {
    response: {
      200: verifiedAttestation,
      default: {
        description: 'A refusal: of the evidence, or of the request.',
        content: { 'application/json': { schema: z.union([rejectedAttestation, errorEnvelope]) } },
      },
    },
  },
};
