import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hash, type KeyObject, randomUUID, X509Certificate } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type K8sCluster, K8S_VERIFIER_POLICY, k8sAudience, k8sClusterOf } from '../../adapters/identity/k8s-tokens.js';
import { type OpenedChallenge, openedChallenge } from '../../contracts/attestation.js';
import { issuedSvid } from '../../contracts/identity.js';
import { type AttestationRequest, verifiedAttestation } from '../../contracts/verified-attestation.js';
import { fieldsDigest } from '../../domain/identity/evidence.js';
import { fingerprintOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { identityWithPeople } from '../../test/support/identity-people.js';
import { serviceCaller } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const ACCOUNT = { name: 'report-bot', uid: randomUUID() };
const MEASURED = `sha256:${fieldsDigest('gate-k8s-measurement-v1', ['agents', ACCOUNT.name, ACCOUNT.uid]).toString('hex')}`;

/** What an API server signs, unless a test says otherwise. */
interface Said {
  readonly key?: KeyObject | CryptoKey | Uint8Array;
  readonly header?: object;
  readonly claims?: object;
  readonly account?: object;
}

let cluster: K8sCluster;
let signs: CryptoKey;
let another: CryptoKey;
const clusterOf = async (of: CryptoKey): Promise<K8sCluster> =>
  k8sClusterOf({
    ak_key_id: 'prod',
    issuer: ISSUER,
    jwks: { keys: [{ ...(await exportJWK(of)), kid: 'one', alg: 'RS256' }] },
  });
beforeAll(async () => {
  const pair = await generateKeyPair('RS256');
  signs = pair.privateKey;
  another = (await generateKeyPair('RS256')).privateKey;
  cluster = await clusterOf(pair.publicKey);
});

describe.each(STORES)('attestation by tokens of pods on %s', (kind) => {
  const identity = identityWithPeople(kind);
  const { at, ask, isRefused } = identity;
  const nobody = { as: null } as const;
  beforeEach(() => void at.clusters.set('prod', cluster));

  const asAgent = (pem: string): void => {
    const certificate = new X509Certificate(pem);
    const spiffe = spiffeOfCertificate(certificate) ?? '';
    const [, , , , tenant = '', , agent = ''] = spiffe.split('/');
    at.caller = {
      kind: 'agent',
      spiffe,
      callerId: 'agent-workload',
      fingerprint: fingerprintOf(certificate),
      tenant,
      agent,
    };
  };
  const challengeFor = async (pem: string, csr?: string): Promise<OpenedChallenge> => {
    asAgent(pem);
    const body = { ak_key_id: 'prod', measurement_policy_version: 'v1', csr_pem: csr };
    return openedChallenge.parse((await ask('POST', '/attestation/challenges', { ...nobody, body })).json());
  };
  const tokenFor = (bound: Parameters<typeof k8sAudience>[0], { key = signs, header, claims, account }: Said = {}) => {
    const now = Math.floor(at.now / 1_000);
    return new SignJWT({
      iss: ISSUER,
      sub: 'system:serviceaccount:agents:report-bot',
      aud: [k8sAudience(bound)],
      iat: now,
      nbf: now,
      exp: now + 600,
      'kubernetes.io': {
        namespace: 'agents',
        node: { name: 'node-1', uid: randomUUID() },
        pod: { name: 'report-bot-7', uid: randomUUID() },
        serviceaccount: ACCOUNT,
        ...account,
      },
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
      .sign(key);
  };
  const boundOf = (opened: OpenedChallenge) => ({
    contractVersion: '1.0.0',
    requestId: opened.request_id,
    challenge: opened.challenge,
    expected: opened.expected,
    requestedAt: opened.requested_at,
  });
  const withEvidence = (opened: OpenedChallenge, evidence: object): AttestationRequest => {
    const bytes = Buffer.from(JSON.stringify(evidence));
    return {
      ...boundOf(opened),
      evidenceKind: 'k8s-key-bound',
      evidence: bytes.toString('base64url'),
      evidenceSha256: `sha256:${hash('sha256', bytes)}`,
    };
  };
  const answerOf = async (opened: OpenedChallenge, said?: Said): Promise<AttestationRequest> =>
    withEvidence(opened, { schemaVersion: 1, akKeyId: 'prod', token: await tokenFor(boundOf(opened), said) });
  const approve = async ({ expected }: AttestationRequest, measurement = MEASURED): Promise<void> => {
    at.caller = serviceCaller('console');
    const body = {
      tenant: 'acme',
      workload: expected.workload,
      evidence_kind: 'k8s-key-bound',
      measurement_sha256: measurement,
      platform_issuer: expected.platformIssuer,
      trust_anchor_id: expected.trustAnchorId,
      measurement_policy_version: 'v1',
      verifier_policy_version: K8S_VERIFIER_POLICY,
      reason: 'the account of the report bot',
    };
    expect((await ask('POST', '/attestation/measurements', { body })).statusCode).toBe(201);
  };
  const verify = (pem: string, body: object) => {
    asAgent(pem);
    return ask('POST', '/attestation/verify', { ...nobody, body });
  };
  const refused = async (pem: string, answer: object, status: number, reason: string): Promise<void> => {
    const reply = await verify(pem, answer);
    expect([reply.statusCode, reply.json<{ reason: string }>().reason]).toEqual([status, reason]);
  };

  it('says which account of which cluster the pod is of, once for each challenge', async () => {
    const { pem } = await identity.certified('bot');
    const answer = await answerOf(await challengeFor(pem));
    await refused(pem, answer, 401, 'attestation_measurement_unapproved');
    await approve(answer);
    const reply = await verify(pem, answer);
    expect(reply.statusCode).toBe(200);
    expect(verifiedAttestation.parse(reply.json())).toMatchObject({
      evidenceKind: 'k8s-key-bound',
      measurementSha256: MEASURED,
      platformIssuer: ISSUER,
      trustAnchorId: cluster.trustAnchorId,
      verifierId: 'gate-identity/k8s-key-bound',
      verifierPolicyVersion: K8S_VERIFIER_POLICY,
    });
    await refused(pem, answer, 401, 'attestation_challenge_invalid');
  });

  it.each<[string, () => Said, number, string]>([
    ['signed by another key', () => ({ key: another }), 401, 'attestation_issuer_untrusted'],
    ['that names another key', () => ({ header: { kid: 'two' } }), 401, 'attestation_issuer_untrusted'],
    [
      'signed by the public key as a secret',
      () => ({ key: Buffer.from(JSON.stringify(cluster.keys)), header: { alg: 'HS256' } }),
      401,
      'attestation_issuer_untrusted',
    ],
    ['of another issuer', () => ({ claims: { iss: 'https://other.example' } }), 401, 'attestation_issuer_untrusted'],
    ['that is over', () => ({ claims: { exp: Math.floor(at.now / 1_000) - 31 } }), 401, 'attestation_issuer_untrusted'],
    ['for somebody else', () => ({ claims: { aud: ['vault'] } }), 401, 'attestation_nonce_mismatch'],
    [
      'for somebody else too',
      () => ({ claims: { aud: ['vault', 'https://kubernetes.default.svc'] } }),
      400,
      'attestation_evidence_malformed',
    ],
    [
      'of before its challenge',
      () => ({ claims: { iat: Math.floor(at.now / 1_000) - 60 } }),
      401,
      'attestation_evidence_stale',
    ],
    [
      'that counts for longer than an hour',
      () => ({ claims: { exp: Math.floor(at.now / 1_000) + 3_601 } }),
      401,
      'attestation_evidence_stale',
    ],
    ['of no pod', () => ({ account: { pod: undefined } }), 400, 'attestation_evidence_malformed'],
    [
      'of nothing in a cluster',
      () => ({ claims: { 'kubernetes.io': undefined } }),
      400,
      'attestation_evidence_malformed',
    ],
    [
      'of another subject than its account',
      () => ({ claims: { sub: 'system:serviceaccount:agents:admin' } }),
      400,
      'attestation_evidence_malformed',
    ],
    [
      'of an account that was made anew under the same name',
      () => ({ account: { serviceaccount: { name: ACCOUNT.name, uid: randomUUID() } } }),
      401,
      'attestation_measurement_unapproved',
    ],
  ])('is refused with a token %s, which leaves the challenge', async (_what, said, status, reason) => {
    const { pem } = await identity.certified('bot');
    const opened = await challengeFor(pem);
    const answer = await answerOf(opened);
    await approve(answer);
    await refused(pem, await answerOf(opened, said()), status, reason);
    expect((await verify(pem, answer)).statusCode).toBe(200);
  });

  it('is refused for another request, another cluster, another kind and what is no such evidence', async () => {
    const { pem } = await identity.certified('bot');
    const opened = await challengeFor(pem);
    const theirs = await challengeFor((await identity.certified('other-bot')).pem);
    const token = await tokenFor(boundOf(theirs));
    const evidence = { schemaVersion: 1, akKeyId: 'prod', token };
    await refused(pem, withEvidence(opened, evidence), 401, 'attestation_nonce_mismatch');
    await refused(pem, withEvidence(opened, { ...evidence, akKeyId: 'test' }), 401, 'attestation_issuer_untrusted');
    await refused(pem, withEvidence(opened, { ...evidence, podUid: 'mine' }), 400, 'attestation_evidence_malformed');
    await refused(pem, withEvidence(opened, { ...evidence, token: 'a.b.c' }), 401, 'attestation_issuer_untrusted');
    const answer = await answerOf(opened);
    await refused(pem, { ...answer, evidenceKind: 'tpm2-quote' }, 503, 'attestation_verifier_unavailable');
    at.clusters.set('prod', await clusterOf((await generateKeyPair('RS256')).publicKey));
    await refused(pem, answer, 401, 'attestation_issuer_untrusted');
    at.clusters.clear();
    await refused(pem, answer, 503, 'attestation_verifier_unavailable');
  });

  it('renews a certificate', async () => {
    const { pem } = await identity.certified('bot');
    const { pem: csr } = await certificateRequest();
    const opened = await challengeFor(pem, csr);
    const attestation = await answerOf(opened);
    await approve(attestation);
    asAgent(pem);
    const body = { tenant: 'acme', agent_name: 'bot', csr_pem: csr };
    const elsewhere = await answerOf(opened, { key: another });
    isRefused(
      await ask('POST', '/svid', { ...nobody, body: { ...body, attestation: elsewhere } }),
      401,
      'attestation_issuer_untrusted',
    );
    const reply = await ask('POST', '/svid', { ...nobody, body: { ...body, attestation } });
    expect(issuedSvid.parse(reply.json()).spiffe_id).toBe(opened.expected.spiffeId);
  });
});
