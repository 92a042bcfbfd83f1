import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hash, randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { tpm2AnchorOf } from '../../adapters/identity/tpm2-anchors.js';
import {
  attestedSvid,
  type Measurement,
  measurement,
  type OpenedChallenge,
  openedChallenge,
} from '../../contracts/attestation.js';
import { issuedSvid } from '../../contracts/identity.js';
import { type AttestationRequest, verifiedAttestation } from '../../contracts/verified-attestation.js';
import { fingerprintOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { TPM2_VERIFIER_POLICY, tpm2ExtraData } from '../../domain/identity/tpm2-quote.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { ADMIN, DEV, identityWithPeople, OTHERS } from '../../test/support/identity-people.js';
import { serviceCaller } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { needs } from '../../test/support/needs.js';
import { attestationAnswer, HAS_TPM, measuredBy, startTpm, type TestAk, type TestTpm } from '../../test/support/tpm.js';

let tpm: TestTpm;
let ak: TestAk;
let other: TestAk;
beforeAll(async () => {
  if (!HAS_TPM) return;
  tpm = await startTpm();
  [ak, other] = [await tpm.ak('first'), await tpm.ak('second')];
});
afterAll(() => (HAS_TPM ? tpm.stop() : undefined));

(HAS_TPM ? describe : describe.skip).each(STORES)(`attestation on %s${needs('swtpm', HAS_TPM)}`, (kind) => {
  const identity = identityWithPeople(kind);
  const { at, ask, isRefused } = identity;
  beforeEach(() => {
    for (const one of [ak, other]) at.anchors.set(one.name, tpm2AnchorOf(one.anchor));
  });

  const leafOf = (pem: string) => {
    const certificate = new X509Certificate(pem);
    const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
    return {
      agent_spiffe: spiffeOfCertificate(certificate) ?? '',
      credential_fingerprint: fingerprintOf(certificate),
      public_key_sha256: hash('sha256', key),
    };
  };
  const asAgent = (pem: string): void => {
    const { agent_spiffe: spiffe, credential_fingerprint: fingerprint } = leafOf(pem);
    const [, , , , tenant = '', , agent = ''] = spiffe.split('/');
    at.caller = { kind: 'agent', spiffe, callerId: 'agent-workload', fingerprint, tenant, agent };
  };
  const asService = (name: string): void => void (at.caller = serviceCaller(name));
  const nobody = { as: null } as const;

  const challengeFor = async (pem: string, key = ak): Promise<OpenedChallenge> => {
    asAgent(pem);
    const body = { ak_key_id: key.name, measurement_policy_version: 'v1' };
    const reply = await ask('POST', '/attestation/challenges', { ...nobody, body });
    expect(reply.statusCode).toBe(201);
    return openedChallenge.parse(reply.json());
  };
  const requestOf = (opened: OpenedChallenge): AttestationRequest => ({
    contractVersion: '1.0.0',
    requestId: opened.request_id,
    evidenceKind: 'tpm2-quote',
    evidence: '',
    evidenceSha256: '',
    challenge: opened.challenge,
    expected: opened.expected,
    requestedAt: opened.requested_at,
  });
  const withEvidence = (request: AttestationRequest, evidence: object): AttestationRequest => {
    const bytes = Buffer.from(JSON.stringify(evidence));
    return { ...request, evidence: bytes.toString('base64url'), evidenceSha256: `sha256:${hash('sha256', bytes)}` };
  };
  /** As an agent answers with its TPM. */
  const answerOf = (opened: OpenedChallenge, key = ak): Promise<AttestationRequest> =>
    attestationAnswer(tpm, key, opened);
  const verify = (body: object) => ask('POST', '/attestation/verify', { ...nobody, body });
  const approvalOf = (answer: AttestationRequest, over: object = {}) => ({
    tenant: 'acme',
    workload: answer.expected.workload,
    evidence_kind: 'tpm2-quote',
    measurement_sha256: measuredBy(answer),
    platform_issuer: answer.expected.platformIssuer,
    trust_anchor_id: answer.expected.trustAnchorId,
    measurement_policy_version: answer.expected.measurementPolicyVersion,
    verifier_policy_version: TPM2_VERIFIER_POLICY,
    reason: 'the image of release 7',
    ...over,
  });
  const approve = async (answer: AttestationRequest, over: object = {}): Promise<Measurement> => {
    const before = at.caller;
    asService('console');
    const reply = await ask('POST', '/attestation/measurements', { body: approvalOf(answer, over) });
    at.caller = before;
    expect(reply.statusCode).toBe(201);
    return measurement.parse(reply.json());
  };
  const rejected = (reply: Awaited<ReturnType<typeof ask>>, status: number, reason: string, requestId: string | null) =>
    expect([reply.statusCode, reply.json()]).toEqual([
      status,
      { contractVersion: '1.0.0', requestId, status: 'rejected', reason },
    ]);
  const runtime = (pem: string, over: object = {}) => {
    asService('proxy');
    return ask('POST', '/attestation/runtime', { ...nobody, body: { ...leafOf(pem), ...over } });
  };
  /** An agent whose platform may be as it is, its certificate and its answer. */
  const ready = async (agent = 'bot') => {
    const { pem, id } = await identity.certified(agent);
    const opened = await challengeFor(pem);
    const answer = await answerOf(opened);
    const approved = await approve(answer);
    asAgent(pem);
    return { pem, id, answer, approved };
  };

  describe('a result', () => {
    it('says what was verified, for the challenge and the certificate that asked', async () => {
      const { pem, answer } = await ready();
      const reply = await verify(answer);
      expect(reply.statusCode).toBe(200);
      const verified = verifiedAttestation.parse(reply.json());
      expect(verified).toEqual({
        contractVersion: '1.0.0',
        requestId: answer.requestId,
        status: 'verified',
        evidenceKind: 'tpm2-quote',
        evidenceSha256: answer.evidenceSha256,
        measurementSha256: measuredBy(answer),
        challengeNonceSha256: `sha256:${hash('sha256', Buffer.from(answer.challenge.nonce, 'base64url'))}`,
        ...answer.expected,
        verifierId: 'gate-identity/tpm2-quote',
        issuedAt: answer.requestedAt,
        verifiedAt: new Date(at.now).toISOString(),
        expiresAt: new Date(at.now + 900_000).toISOString(),
      });
      const leaf = leafOf(pem);
      expect(verified).toMatchObject({
        publicKeySha256: `sha256:${leaf.public_key_sha256}`,
        svidSha256: `sha256:${leaf.credential_fingerprint}`,
        spiffeId: leaf.agent_spiffe,
        tenant: 'acme',
        workload: 'bot',
        instance: leaf.agent_spiffe.split('/').at(-1),
        trustAnchorId: ak.trustAnchorId,
      });
      const told = await runtime(pem);
      expect([told.statusCode, told.json()]).toEqual([200, verified]);
    });

    it('comes of a challenge once', async () => {
      const { answer } = await ready();
      expect((await verify(answer)).statusCode).toBe(200);
      rejected(await verify(answer), 401, 'attestation_challenge_invalid', answer.requestId);
    });

    it('comes once where the same answer is sent twice at once', async () => {
      const { answer } = await ready();
      const replies = await Promise.all([verify(answer), verify(answer)]);
      expect(replies.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)).toEqual([200, 401]);
    });

    it('comes of the last challenge of an agent, of no other agent, and of none that identity did not give', async () => {
      const { pem, answer } = await ready();
      await challengeFor(pem);
      rejected(await verify(answer), 401, 'attestation_challenge_invalid', answer.requestId);
      const { pem: theirs } = await identity.certified('other-bot');
      const own = await answerOf(await challengeFor(pem));
      asAgent(theirs);
      rejected(await verify(own), 401, 'attestation_identity_mismatch', own.requestId);
      // A proxy may bring what its agent answered.
      asService('proxy');
      expect((await verify(own)).statusCode).toBe(200);
      asAgent(pem);
      const made = requestOf(await challengeFor(pem));
      made.challenge = { ...made.challenge, nonce: randomBytes(32).toString('base64url') };
      const self = withEvidence(made, await tpm.quote(ak, tpm2ExtraData(made)));
      rejected(await verify(self), 401, 'attestation_challenge_invalid', self.requestId);
    });

    it('is refused for each binding that is another one, by its own reason, and leaves the challenge', async () => {
      const { answer } = await ready();
      const another: Readonly<Record<string, string>> = {
        publicKeySha256: `sha256:${'0'.repeat(64)}`,
        svidSha256: `sha256:${'0'.repeat(64)}`,
      };
      const reasons: Readonly<Record<string, string>> = {
        publicKeySha256: 'key_mismatch',
        svidSha256: 'svid_mismatch',
        spiffeId: 'identity_mismatch',
        tenant: 'tenant_mismatch',
        workload: 'workload_mismatch',
        instance: 'instance_mismatch',
        platformIssuer: 'issuer_untrusted',
        trustAnchorId: 'issuer_untrusted',
        measurementPolicyVersion: 'measurement_unapproved',
        verifierPolicyVersion: 'verifier_policy_mismatch',
      };
      expect(Object.keys(reasons)).toEqual(Object.keys(answer.expected));
      for (const [name, reason] of Object.entries(reasons)) {
        const expected = { ...answer.expected, [name]: another[name] ?? 'another' };
        rejected(await verify({ ...answer, expected }), 401, `attestation_${reason}`, answer.requestId);
      }
      const id = randomUUID();
      rejected(await verify({ ...answer, requestId: id }), 401, 'attestation_challenge_invalid', id);
      expect((await verify(answer)).statusCode).toBe(200);
    });

    it('is refused for what is no request of this contract', async () => {
      const { answer } = await ready();
      const refused = async (over: object, status: number, reason: string) =>
        rejected(await verify({ ...answer, ...over }), status, `attestation_${reason}`, answer.requestId);
      await refused({ contractVersion: '1.0.1' }, 400, 'contract_version_unsupported');
      await refused({ evidenceKind: 'a-kind' }, 400, 'kind_unsupported');
      for (const without of ['aws-nitro', 'gcp-shielded', 'k8s-key-bound', 'sev-snp', 'sgx-dcap'])
        await refused({ evidenceKind: without }, 503, 'verifier_unavailable');
      await refused({ evidence: `${answer.evidence}=` }, 400, 'evidence_malformed');
      await refused({ evidenceSha256: `sha256:${'0'.repeat(64)}` }, 400, 'evidence_malformed');
      await refused({ evidence: 'A'.repeat(87_384) }, 413, 'evidence_too_large');
      isRefused(await verify({ ...answer, more: 1 }), 400, 'invalid_request');
      isRefused(await verify({ ...answer, expected: { ...answer.expected, more: 1 } }), 400, 'invalid_request');
      at.anchors.clear();
      rejected(await verify(answer), 503, 'attestation_verifier_unavailable', answer.requestId);
    });

    it('is refused before its time and after it', async () => {
      const { answer } = await ready();
      const startMs = at.now;
      const refusedAt = async (ms: number, over: object, reason: string) => {
        at.now = ms;
        rejected(await verify({ ...answer, ...over }), 401, `attestation_${reason}`, answer.requestId);
      };
      await refusedAt(startMs - 30_001, {}, 'evidence_future');
      await refusedAt(startMs + 120_000, {}, 'challenge_invalid');
      await refusedAt(startMs + 300_001, {}, 'evidence_stale');
      // One that says that it lasts longer.
      const [issuedAt, expiresAt] = [startMs, startMs + 120_001].map((ms) => new Date(ms).toISOString());
      await refusedAt(startMs, { challenge: { ...answer.challenge, issuedAt, expiresAt } }, 'challenge_invalid');
      const later = new Date(startMs + 60_000).toISOString();
      await refusedAt(startMs + 60_000, { requestedAt: later }, 'challenge_invalid');
      at.now = startMs + 119_999;
      expect((await verify(answer)).statusCode).toBe(200);
    });

    it('is refused for another key of the same TPM, and for a quote of another request', async () => {
      const { pem, answer } = await ready();
      const request = requestOf(await challengeFor(pem));
      const theirs = withEvidence(request, await tpm.quote(other, tpm2ExtraData(request)));
      rejected(await verify(theirs), 401, 'attestation_issuer_untrusted', request.requestId);
      const { evidence, evidenceSha256 } = answer;
      const before = { ...request, evidence, evidenceSha256 };
      rejected(await verify(before), 401, 'attestation_nonce_mismatch', request.requestId);
    });

    it('is refused for a measurement that nobody approved: none, for another agent, or under another version', async () => {
      const { pem } = await identity.certified('bot');
      const answer = await answerOf(await challengeFor(pem));
      const refuse = async () => {
        asAgent(pem);
        rejected(await verify(answer), 401, 'attestation_measurement_unapproved', answer.requestId);
      };
      await refuse();
      await approve(answer, { workload: 'other-bot' });
      await approve(answer, { measurement_policy_version: 'v2' });
      await approve(answer, { measurement_sha256: `sha256:${'0'.repeat(64)}` });
      await refuse();
      await approve(answer, { trust_anchor_id: 'another' });
      await refuse();
    });

    it('is refused where the agent takes no such evidence, its certificate counts no more, or it is stopped', async () => {
      const { pem, id, answer } = await ready();
      asService('console');
      const kinds = (names: string[]) =>
        ask('POST', `/agents/${id}/attestation-kinds?tenant=acme`, { body: { attestation_kinds: names } });
      expect((await kinds(['sev-snp'])).statusCode).toBe(200);
      asAgent(pem);
      rejected(await verify(answer), 401, 'attestation_kind_not_accepted', answer.requestId);
      asService('console');
      await kinds([]);
      const { pem: csr } = await certificateRequest();
      asAgent(pem);
      const renewed = await ask('POST', '/svid', {
        ...nobody,
        body: { tenant: 'acme', agent_name: 'bot', csr_pem: csr },
      });
      expect(renewed.statusCode).toBe(200);
      rejected(await verify(answer), 401, 'attestation_svid_mismatch', answer.requestId);
      const next = renewed.json<{ cert_pem: string }>().cert_pem;
      const fresh = await answerOf(await challengeFor(next));
      asService('console');
      expect((await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: {} })).statusCode).toBe(200);
      asAgent(next);
      isRefused(await verify(fresh), 403, 'agent_suspended');
    });

    it('is nobody’s to ask for but an agent’s, for the certificate that it shows', async () => {
      const { pem } = await identity.certified('bot');
      const body = { ak_key_id: ak.name, measurement_policy_version: 'v1' };
      asService('proxy');
      isRefused(await ask('POST', '/attestation/challenges', { ...nobody, body }), 403, 'capability_denied');
      asAgent(pem);
      const unknown = { ...body, ak_key_id: 'unknown' };
      isRefused(await ask('POST', '/attestation/challenges', { ...nobody, body: unknown }), 400, 'invalid_request');
      at.caller = { ...(at.caller as NonNullable<typeof at.caller>), fingerprint: '0'.repeat(64) };
      isRefused(await ask('POST', '/attestation/challenges', { ...nobody, body }), 401, 'attestation_svid_mismatch');
      at.anchors.clear();
      isRefused(
        await ask('POST', '/attestation/challenges', { ...nobody, body }),
        503,
        'attestation_verifier_unavailable',
      );
    });

    it('is asked for sixty times in a minute', async () => {
      const { pem } = await identity.certified('bot');
      asAgent(pem);
      const body = { ak_key_id: 'unknown', measurement_policy_version: 'v1' };
      for (let asked = 0; asked < 60; asked += 1) await ask('POST', '/attestation/challenges', { ...nobody, body });
      isRefused(await ask('POST', '/attestation/challenges', { ...nobody, body }), 429, 'rate_limited');
    });
  });

  describe('what a proxy is told of a certificate', () => {
    it('is the result that counts, until it is over or its measurement is withdrawn', async () => {
      const { pem, answer, approved } = await ready();
      rejected(await runtime(pem), 401, 'attestation_evidence_stale', null);
      asAgent(pem);
      await verify(answer);
      expect((await runtime(pem)).statusCode).toBe(200);
      rejected(await runtime(pem, { public_key_sha256: '0'.repeat(64) }), 401, 'attestation_key_mismatch', null);
      rejected(await runtime(pem, { credential_fingerprint: '0'.repeat(64) }), 401, 'attestation_svid_mismatch', null);
      rejected(await runtime(pem, { agent_spiffe: 'no agent' }), 401, 'attestation_identity_mismatch', null);
      at.now += 900_000;
      rejected(await runtime(pem), 401, 'attestation_evidence_stale', null);
      at.now -= 1;
      expect((await runtime(pem)).statusCode).toBe(200);
      asService('console');
      const path = `/attestation/measurements/${approved.id}/retire?tenant=acme`;
      expect((await ask('POST', path, { body: { reason: 'a hole in release 7' } })).statusCode).toBe(200);
      rejected(await runtime(pem), 401, 'attestation_measurement_unapproved', null);
    });

    it('is nothing of a row that somebody edited', async () => {
      const { pem, answer } = await ready();
      await verify(answer);
      await identity.sql("update identity_attestations set content = replace(content, 'v1', 'v2')");
      isRefused(await runtime(pem), 409, 'identity_tampered');
    });
  });

  describe('a measurement', () => {
    it('is approved and withdrawn by an administrator, each a row of the ledger, and signed', async () => {
      const { pem } = await identity.certified('bot');
      const answer = await answerOf(await challengeFor(pem));
      const approved = await approve(answer);
      expect(approved).toMatchObject({ state: 'approved', approved_by_sub: expect.any(String), retired_at: null });
      asService('console');
      isRefused(
        await ask('POST', '/attestation/measurements', { body: approvalOf(answer) }),
        409,
        'measurement_exists',
      );
      const path = `/attestation/measurements/${approved.id}/retire?tenant=acme`;
      const body = { reason: 'a hole in release 7' };
      const retired = await ask('POST', path, { body });
      const gone = { ...approved, state: 'retired', retired_at: new Date(at.now).toISOString() };
      expect([retired.statusCode, retired.json()]).toEqual([200, { ...gone, retired_by: approved.approved_by_sub }]);
      at.now += 1_000;
      expect((await ask('POST', path, { body })).json()).toEqual(retired.json());
      isRefused(
        await ask('POST', '/attestation/measurements', { body: approvalOf(answer) }),
        409,
        'measurement_exists',
      );
      const kinds = (await identity.kinds()).filter((one) => one?.startsWith('attestation.'));
      expect(kinds).toEqual(['attestation.measurement_approved', 'attestation.measurement_retired']);
    });

    it('is seen by its tenant and by the services that judge, and is nobody else’s', async () => {
      const { pem } = await identity.certified('bot');
      const answer = await answerOf(await challengeFor(pem));
      const approved = await approve(answer);
      asService('console');
      const list = (more = '', as?: string | null) =>
        ask('GET', `/attestation/measurements?tenant=acme${more}`, as === undefined ? {} : { as });
      expect((await list()).json()).toEqual([approved]);
      expect((await list('&state=retired')).json()).toEqual([]);
      expect((await list('&workload=bot&state=approved')).json()).toEqual([approved]);
      expect((await list(`&after=${approved.id}`)).json()).toEqual([]);
      isRefused(await list('', OTHERS), 403, 'tenant_mismatch');
      isRefused(await list('', null), 401, 'invalid_token');
      for (const name of ['proxy', 'policy-engine', 'identity']) {
        asService(name);
        expect((await list('', null)).json()).toEqual([approved]);
      }
      asService('console');
      const path = `/attestation/measurements/${approved.id}/retire`;
      isRefused(
        await ask('POST', `${path}?tenant=acme`, { as: OTHERS, body: { reason: 'x' } }),
        403,
        'tenant_mismatch',
      );
      isRefused(await ask('POST', `${path}?tenant=other`, { as: OTHERS, body: { reason: 'x' } }), 404, 'not_found');
      isRefused(
        await ask('POST', '/attestation/measurements', { ...nobody, body: approvalOf(answer) }),
        401,
        'invalid_token',
      );
      isRefused(
        await ask('POST', '/attestation/measurements', { as: OTHERS, body: approvalOf(answer) }),
        403,
        'tenant_mismatch',
      );
    });
  });

  describe('the kinds with which an agent attests', () => {
    it('are any until an administrator names some, and a row of the ledger tells of each change', async () => {
      const { id } = await identity.certified('bot');
      asService('console');
      const path = `/agents/${id}/attestation-kinds?tenant=acme`;
      const set = (attestation_kinds: string[], as?: string) =>
        ask('POST', path, { body: { attestation_kinds }, ...(as !== undefined && { as }) });
      const named = await set(['tpm2-quote', 'sev-snp', 'tpm2-quote']);
      expect(named.json<{ attestation_kinds_accepted: string[] }>().attestation_kinds_accepted).toEqual([
        'sev-snp',
        'tpm2-quote',
      ]);
      await set(['sev-snp', 'tpm2-quote']);
      expect((await ask('GET', `/agents/${id}?tenant=acme`)).json()).toEqual(
        (await set(['sev-snp', 'tpm2-quote'])).json(),
      );
      isRefused(await set(['a-kind']), 422, 'attestation_kind_unknown');
      isRefused(await set([], OTHERS), 403, 'tenant_mismatch');
      // One that somebody edited is shown as none, and is written anew.
      await identity.sql('update identity_attestation_kinds set changed_ms = 1');
      expect((await set([])).json()).toMatchObject({ attestation_kinds_accepted: [] });
      const changes = (await identity.kinds()).filter((one) => one === 'agent.attestation_kinds_changed');
      expect(changes).toHaveLength(2);
      await ask('POST', `/agents/${id}/decommission?tenant=acme`, { body: {} });
      isRefused(await set(['sev-snp']), 403, 'agent_decommissioned');
    });
  });

  describe('a first certificate by a quote', () => {
    const registered = async (agent = 'bot') => {
      asService('console');
      const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: agent } });
      return reply.json<{ id: string }>().id;
    };
    const openFor = async (id: string, csr: string, more: { as?: string | null; key?: string } = {}) => {
      asService('console');
      const body = { csr_pem: csr, ak_key_id: more.key ?? ak.name, measurement_policy_version: 'v1' };
      return ask('POST', `/agents/${id}/tpm2-enrollment-challenges?tenant=acme`, {
        body,
        ...(more.as !== undefined && { as: more.as }),
      });
    };
    const opened = async (id: string, csr: string) => {
      const reply = await openFor(id, csr);
      expect(reply.statusCode).toBe(201);
      return openedChallenge.parse(reply.json());
    };
    const enrol = (challenge: OpenedChallenge, csr: string, attestation: object, more: object = {}) => {
      at.caller = null;
      return ask('POST', `/tpm2-enrollment/${challenge.challenge_id}/svid`, {
        ...nobody,
        body: { csr_pem: csr, attestation, ...more },
      });
    };

    it('is for the key of the request, under the SPIFFE ID that the challenge bound, and counts once', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      await approve(answer);
      const reply = await enrol(challenge, csr, answer, { ttl_seconds: 600 });
      expect(reply.statusCode).toBe(200);
      const svid = attestedSvid.parse(reply.json());
      expect([svid.spiffe_id, spiffeOfCertificate(new X509Certificate(svid.cert_pem))]).toEqual([
        challenge.expected.spiffeId,
        challenge.expected.spiffeId,
      ]);
      const key = new X509Certificate(svid.cert_pem).publicKey.export({ type: 'spki', format: 'der' });
      expect(challenge.expected.publicKeySha256).toBe(`sha256:${hash('sha256', key)}`);
      isRefused(await enrol(challenge, csr, answer), 401, 'attestation_challenge_invalid');
      isRefused(await openFor(id, (await certificateRequest()).pem), 409, 'bootstrap_not_available');
      asService('console');
      const enrollments = { as: ADMIN, body: { tenant: 'acme', agent_name: 'bot' } };
      isRefused(await ask('POST', '/enrollments', enrollments), 409, 'bootstrap_not_available');
      // What was verified was the request, so the certificate itself is attested anew.
      rejected(await runtime(svid.cert_pem), 401, 'attestation_evidence_stale', null);
      const next = await answerOf(await challengeFor(svid.cert_pem));
      expect((await verify(next)).statusCode).toBe(200);
      expect((await runtime(svid.cert_pem)).statusCode).toBe(200);
      expect(await identity.kinds()).toEqual([
        'agent.registered',
        'attestation.enrollment_challenge_opened',
        'attestation.measurement_approved',
        'identity.svid_issued',
      ]);
    });

    it('is refused for another request, another quote, another challenge and an unapproved machine, which use nothing up', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      isRefused(await enrol(challenge, csr, answer), 401, 'attestation_measurement_unapproved');
      await approve(answer);
      const { pem: another } = await certificateRequest();
      isRefused(await enrol(challenge, another, answer), 401, 'attestation_challenge_invalid');
      const elsewhere = { ...challenge, challenge_id: randomUUID() };
      isRefused(await enrol(elsewhere, csr, answer), 401, 'attestation_challenge_invalid');
      const theirs = await answerOf(challenge, other);
      isRefused(await enrol(challenge, csr, theirs), 401, 'attestation_issuer_untrusted');
      const expected = { ...answer.expected, workload: 'admin-bot' };
      isRefused(await enrol(challenge, csr, { ...answer, expected }), 401, 'attestation_workload_mismatch');
      isRefused(await enrol(challenge, csr, answer, { ttl_seconds: 3_601 }), 400, 'ttl_seconds_too_large');
      // A challenge for a certificate is none for a result, and the other way round.
      asService('proxy');
      rejected(await verify(answer), 401, 'attestation_challenge_invalid', answer.requestId);
      expect((await enrol(challenge, csr, answer)).statusCode).toBe(200);
    });

    it('is one of two that answer at once, and none after the challenge is over', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const late = await opened(id, csr);
      const tooLate = await answerOf(late);
      await approve(tooLate);
      at.now += 120_000;
      isRefused(await enrol(late, csr, tooLate), 401, 'attestation_challenge_invalid');
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      const replies = await Promise.all([enrol(challenge, csr, answer), enrol(challenge, csr, answer)]);
      const codes = replies.map((reply) => reply.statusCode).toSorted((a, b) => a - b);
      expect(codes[0]).toBe(200);
      expect([401, 409]).toContain(codes[1]);
      expect(await identity.sql('select id from identity_svids')).toHaveLength(1);
    });

    it('is none for an agent that is stopped, or got its certificate by a token meanwhile', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      await approve(answer);
      const { pem } = await identity.certified('bot');
      expect(pem).toContain('BEGIN CERTIFICATE');
      isRefused(await enrol(challenge, csr, answer), 401, 'attestation_challenge_invalid');
      const second = await registered('second-bot');
      const { pem: another } = await certificateRequest();
      const theirs = await opened(second, another);
      const quote = await answerOf(theirs);
      await approve(quote);
      asService('console');
      await ask('POST', `/agents/${second}/suspend?tenant=acme`, { body: {} });
      isRefused(await enrol(theirs, another, quote), 403, 'agent_suspended');
      isRefused(await openFor(second, another), 403, 'agent_suspended');
    });

    it('is opened by an administrator of the tenant alone, for a key that is pinned', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      isRefused(await openFor(id, csr, { as: OTHERS }), 403, 'tenant_mismatch');
      isRefused(await openFor(id, csr, { as: null }), 401, 'invalid_token');
      isRefused(await openFor(id, csr, { key: 'unknown' }), 400, 'invalid_request');
      isRefused(await openFor(id, 'no request'), 400, 'invalid_csr');
      isRefused(await openFor(randomUUID(), csr), 404, 'not_found');
    });

    it('is answered for by whoever has its challenge, while others send answers to none', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      await approve(answer);
      for (let sent = 0; sent < 601; sent += 1)
        isRefused(
          await enrol({ ...challenge, challenge_id: randomUUID() }, csr, answer),
          401,
          'attestation_challenge_invalid',
        );
      expect((await enrol(challenge, csr, answer)).statusCode).toBe(200);
    });

    it('is asked for sixty times in a minute by one challenge', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      for (let sent = 0; sent < 60; sent += 1)
        isRefused(await enrol(challenge, csr, answer), 401, 'attestation_measurement_unapproved');
      isRefused(await enrol(challenge, csr, answer), 429, 'rate_limited');
    });

    it('is none of a challenge whose row somebody edited', async () => {
      const id = await registered();
      const { pem: csr } = await certificateRequest();
      const challenge = await opened(id, csr);
      const answer = await answerOf(challenge);
      await approve(answer);
      await identity.sql('update identity_challenges set expires_ms = expires_ms + 1000000');
      isRefused(await enrol(challenge, csr, answer), 409, 'identity_tampered');
    });
  });

  describe('the next certificate', () => {
    const opensFor = (pem: string, csr: string) => {
      asAgent(pem);
      const body = { ak_key_id: ak.name, measurement_policy_version: 'v1', csr_pem: csr };
      return ask('POST', '/attestation/challenges', { ...nobody, body });
    };
    const renewal = async (pem: string) => {
      const { pem: csr } = await certificateRequest();
      const reply = await opensFor(pem, csr);
      expect(reply.statusCode).toBe(201);
      const opened = openedChallenge.parse(reply.json());
      return { csr, opened, answer: await answerOf(opened) };
    };
    const renew = (pem: string, csr: string, attestation?: object, agent = 'bot') => {
      asAgent(pem);
      return ask('POST', '/svid', {
        ...nobody,
        body: { tenant: 'acme', agent_name: agent, csr_pem: csr, attestation },
      });
    };
    const renewAtProxy = (pem: string, csr: string, attestation: object) => {
      asService('proxy');
      return ask('POST', '/svid/renew', { ...nobody, body: { ...leafOf(pem), csr_pem: csr, attestation } });
    };
    const names = async (id: string, kinds: readonly string[]) => {
      asService('console');
      const path = `/agents/${id}/attestation-kinds?tenant=acme`;
      expect((await ask('POST', path, { as: ADMIN, body: { attestation_kinds: kinds } })).statusCode).toBe(200);
    };

    it('is bound to the evidence that comes with its request, and is given again where the answer was lost', async () => {
      const { pem } = await identity.certified('bot');
      const { csr, opened, answer } = await renewal(pem);
      await approve(answer);
      const reply = await renew(pem, csr, answer);
      expect(reply.statusCode).toBe(200);
      const { spiffe_id: spiffe, cert_pem: next } = issuedSvid.parse(reply.json());
      expect(spiffe).toBe(opened.expected.spiffeId);
      const { public_key_sha256: key } = leafOf(next);
      expect(opened.expected.publicKeySha256).toBe(`sha256:${key}`);
      // The challenge is used up, and its request has its certificate.
      expect((await renew(pem, csr, answer)).json()).toEqual(reply.json());
      isRefused(await renew(next, (await certificateRequest()).pem, answer), 401, 'attestation_challenge_invalid');
      // What was verified was the request, as with a first certificate.
      rejected(await runtime(next), 401, 'attestation_evidence_stale', null);
      const again = await renewal(next);
      expect((await renewAtProxy(next, again.csr, again.answer)).statusCode).toBe(200);
      expect((await identity.kinds()).slice(-2)).toEqual(['identity.svid_renewed', 'identity.svid_renewed']);
      const row = identity.told().findLast(({ event_kind: told }) => told === 'identity.svid_renewed');
      expect(row?.policy_decision).toMatchObject({ measurement_sha256: measuredBy(again.answer) });
    });

    it('is refused with evidence that does not count, which uses nothing up', async () => {
      const { pem } = await identity.certified('bot');
      const { csr, opened, answer } = await renewal(pem);
      isRefused(await renew(pem, csr, answer), 401, 'attestation_measurement_unapproved');
      await approve(answer);
      isRefused(await renew(pem, (await certificateRequest()).pem, answer), 401, 'attestation_challenge_invalid');
      isRefused(await renew(pem, csr, await answerOf(opened, other)), 401, 'attestation_issuer_untrusted');
      const expected = { ...answer.expected, svidSha256: `sha256:${'e'.repeat(64)}` };
      isRefused(await renew(pem, csr, { ...answer, expected }), 401, 'attestation_svid_mismatch');
      // A challenge for a certificate that there is, is none for the next one, and the other way round.
      const ofLeaf = await answerOf(await challengeFor(pem));
      isRefused(await renew(pem, csr, ofLeaf), 401, 'attestation_challenge_invalid');
      rejected(await verify(answer), 401, 'attestation_challenge_invalid', answer.requestId);
      const { pem: theirs } = await identity.certified('other-bot');
      isRefused(await renew(theirs, csr, answer, 'other-bot'), 401, 'attestation_challenge_invalid');
      at.now += 120_000;
      isRefused(await renew(pem, csr, answer), 401, 'attestation_challenge_invalid');
      at.now -= 120_000;
      expect((await renew(pem, csr, answer)).statusCode).toBe(200);
      isRefused(await opensFor(pem, (await certificateRequest()).pem), 401, 'attestation_svid_mismatch');
    });

    it('is verified by keys that are pinned, of which identity says how many there are', async () => {
      const says = async () =>
        (await identity.readyz()).json<{ details: Record<string, unknown> }>().details['attestation'];
      expect(await says()).toBe('tpm2-quote by 2 anchors');
      at.anchors.clear();
      expect([(await identity.readyz()).statusCode, await says()]).toEqual([200, 'no verifier']);
      const { pem } = await identity.certified('bot');
      isRefused(await opensFor(pem, (await certificateRequest()).pem), 503, 'attestation_verifier_unavailable');
    });

    it('needs no evidence where nothing asks for that, of an agent whose kinds are named either', async () => {
      const { pem, id } = await identity.certified('bot');
      await names(id, ['tpm2-quote']);
      expect((await renew(pem, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it.each(['named', 'all'] as const)('needs evidence where a deployment asks it of %s', async (renewalsAttested) => {
      const { pem, id } = await identity.certified('bot');
      await identity.opensWith({ renewalsAttested });
      const bare = () => certificateRequest().then(({ pem: csr }) => renew(pem, csr));
      if (renewalsAttested === 'named') await names(id, ['tpm2-quote']);
      isRefused(await bare(), 401, 'attestation_evidence_stale');
      // A result of this certificate is none of the next one.
      const result = await answerOf(await challengeFor(pem));
      await approve(result);
      expect((await verify(result)).statusCode).toBe(200);
      isRefused(await bare(), 401, 'attestation_evidence_stale');
      if (renewalsAttested === 'named') {
        await names(id, ['aws-nitro']);
        const { csr, answer } = await renewal(pem);
        isRefused(await renew(pem, csr, answer), 401, 'attestation_kind_not_accepted');
        await names(id, ['tpm2-quote']);
      }
      const { csr, answer } = await renewal(pem);
      expect((await renew(pem, csr, answer)).statusCode).toBe(200);
      expect((await renew(pem, csr)).statusCode).toBe(200);
      if (renewalsAttested === 'named') {
        const { pem: free } = await identity.certified('free-bot');
        expect((await renew(free, (await certificateRequest()).pem, undefined, 'free-bot')).statusCode).toBe(200);
      }
    });
  });

  describe('where nobody certified the agent, and certificates need that', () => {
    const strict = identityWithPeople(kind, { certification: 'enforce' });

    it('a quote brings no certificate, and its challenge stays good for once somebody did', async () => {
      strict.at.anchors.set(ak.name, tpm2AnchorOf(ak.anchor));
      strict.at.caller = serviceCaller('console');
      const post = async (path: string, body: object, as?: string | null) =>
        strict.ask('POST', path, { body, ...(as !== undefined && { as }) });
      const { id } = (await post('/agents', { tenant: 'acme', agent_name: 'bot' })).json<{ id: string }>();
      const { pem: csr } = await certificateRequest();
      const asked = { csr_pem: csr, ak_key_id: ak.name, measurement_policy_version: 'v1' };
      const challenge = openedChallenge.parse(
        (await post(`/agents/${id}/tpm2-enrollment-challenges?tenant=acme`, asked)).json(),
      );
      const attestation = await answerOf(challenge);
      expect((await post('/attestation/measurements', approvalOf(attestation))).statusCode).toBe(201);
      const enrol = () => post(`/tpm2-enrollment/${challenge.challenge_id}/svid`, { csr_pem: csr, attestation }, null);
      strict.isRefused(await enrol(), 403, 'uncertified_agent');
      expect(await strict.sql('select id from identity_svids')).toHaveLength(0);
      const passed = {
        sdk_version: '1.4.0',
        proxy_url: 'https://gate.acme.example/mcp',
        catalog_sha256: `sha256:${'a'.repeat(64)}`,
        cases: [{ id: 'deny-1', category: 'deny', expected: 'deny', observed: 'deny', passed: true }],
        total: 1,
        passed: 1,
      };
      expect((await post(`/agents/${id}/certification?tenant=acme`, passed, DEV)).statusCode).toBe(200);
      expect((await enrol()).statusCode).toBe(200);
    });
  });
});
