import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SubjectAlternativeNameExtension } from '@peculiar/x509';
import { createPrivateKey, generateKeyPairSync, hash, randomBytes, X509Certificate } from 'node:crypto';
import { Registry } from 'prom-client';
import { createAuthority, type Credential } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import { certificatesOf, svidSigner } from '../../adapters/identity/svid-signer.js';
import { issuedSvid, revocationList, spiffeBundle } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import type { AttestationRequest } from '../../contracts/verified-attestation.js';
import { GateError } from '../../domain/errors.js';
import type { SvidSigner } from '../../domain/identity/signed-once.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { createSigner } from '../../domain/identity/signer.js';
import { fingerprintOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { bundleDigest, bundleKeys } from '../../domain/identity/trust-bundle.js';
import { identityMigrations } from '../../migrations/identity.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { eventually } from '../../test/support/waiting.js';
import { certificateRequest, newKeyPair } from '../../test/support/certificate-request.js';
import { identityOver, serviceAsker, serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { takingLedger } from '../../test/support/taking-ledger.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { administrators } from './administrator.js';

const ADMIN = 'a'.repeat(10) + randomBytes(24).toString('base64url');
const DAY_MS = 86_400_000;
const START_MS = Math.floor(Date.now() / 1_000) * 1_000;

/** Evidence in the form of the contract. */
const SOME_EVIDENCE: AttestationRequest = {
  contractVersion: '1.0.0',
  requestId: '0190a5b0-0000-7000-8000-000000000000',
  evidenceKind: 'tpm2-quote',
  evidence: 'e30',
  evidenceSha256: `sha256:${'a'.repeat(64)}`,
  challenge: { nonce: 'A'.repeat(43), issuedAt: '2026-11-02T10:00:00.000Z', expiresAt: '2026-11-02T10:02:00.000Z' },
  expected: {
    publicKeySha256: `sha256:${'b'.repeat(64)}`,
    svidSha256: `sha256:${'c'.repeat(64)}`,
    spiffeId: 'spiffe://gate.local/tenant/acme/agent/bot/instance/one',
    tenant: 'acme',
    workload: 'bot',
    instance: 'one',
    platformIssuer: 'example.org',
    trustAnchorId: `sha256:${'d'.repeat(64)}`,
    measurementPolicyVersion: 'v1',
    verifierPolicyVersion: 'gate-tpm2/1',
  },
  requestedAt: '2026-11-02T10:00:00.000Z',
};

let ca: Credential;
beforeAll(async () => {
  ca = await createAuthority(TRUST_DOMAIN, {
    notBefore: new Date(START_MS - DAY_MS),
    notAfter: new Date(START_MS + 30 * DAY_MS),
  });
});

const TABLES = ['state', 'outbox', 'listings', 'agents', 'enrollments', 'intents', 'svids'];
const contentOf = (place: TestLedgerPlace) =>
  Promise.all(TABLES.map(async (table) => [table, await place.sql(`select * from identity_${table}`)] as const));
/** As a backup that is restored. */
async function putBack(place: TestLedgerPlace, content: Awaited<ReturnType<typeof contentOf>>): Promise<void> {
  for (const [table, rows] of content) {
    await place.sql(`delete from identity_${table}`);
    for (const row of rows) {
      const columns = Object.keys(row);
      const places = columns.map(() => '?').join(', ');
      await place.sql(`insert into identity_${table} (${columns.join(', ')}) values (${places})`, Object.values(row));
    }
  }
}

describe.each(STORES)('identity on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  let service: Service;
  let registry: Registry;
  let caller: Caller | null;
  let now: number;
  let ledgerAway: boolean;
  /** The rows that the ledger was given. */
  let told: NewLedgerRow[];
  const tokenSigner = createSigner(generateKeyPairSync('ed25519').privateKey);

  const serve = (over: { readonly signer?: SvidSigner; readonly store?: Partial<IdentityStore> } = {}): void => {
    registry = new Registry();
    const keys = bundleKeys(certificatesOf(ca.cert), [tokenSigner.publicJwk]);
    service = identityOver(ca, {
      store: { ...store, ...over.store },
      ...(over.signer && { signer: over.signer }),
      ledger: takingLedger((rows) => {
        if (ledgerAway) throw new GateError('ledger_store_unavailable');
        told.push(...rows);
      }),
      published: () => ({
        bundle: { keys, spiffe_sequence: 7, spiffe_refresh_hint: 300 },
        tokenKeys: [tokenSigner.publicJwk],
      }),
      administratorOf: administrators({ token: ADMIN, tenant: 'acme' }),
      registry,
      resolveCaller: () => caller,
      clock: () => now,
    });
  };
  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });
  beforeEach(async () => {
    now = START_MS;
    [ledgerAway, told] = [false, []];
    caller = serviceCaller('console');
    for (const table of TABLES.slice(1)) await place.sql(`delete from identity_${table}`);
    await place.sql(
      "update identity_state set revocation_generation = 0, bundle_sequence = 0, bundle_sha256 = '', mac = ''",
    );
    await store.bundleSequence('first');
    serve();
  });
  afterEach(() => service.close());

  const asks = serviceAsker(() => service);
  const ask = (method: 'GET' | 'POST', url: string, body?: unknown, as?: string) => asks(method, url, { body, as });
  const enroll = async (agent = 'bot', tenant = 'acme') => {
    caller = serviceCaller('console');
    const reply = await ask('POST', '/enrollments', { tenant, agent_name: agent }, ADMIN);
    expect([reply.statusCode, reply.headers['cache-control']]).toEqual([201, 'no-store']);
    return reply.json<{ agent_id: string; token: string; expires_at: string }>();
  };
  const redeem = (token: string, pem: string, more: object = {}) => {
    caller = null;
    return ask('POST', '/enrollments/svid', { csr_pem: pem, ...more }, token);
  };
  /** The agent whose certificate this is, on its connection. */
  const showing = (pem: string): void => {
    const certificate = new X509Certificate(pem);
    const spiffe = spiffeOfCertificate(certificate) ?? '';
    const [, , , , tenant = '', , agent = ''] = spiffe.split('/');
    const fingerprint = fingerprintOf(certificate);
    caller = { kind: 'agent', spiffe, callerId: 'agent-workload', fingerprint, tenant, agent };
  };
  const renew = (pem: string, csr: string, more: object = {}) => {
    showing(pem);
    return ask('POST', '/svid', { tenant: 'acme', agent_name: 'bot', csr_pem: csr, ...more });
  };
  const first = async (agent = 'bot') => {
    const { token, agent_id } = await enroll(agent);
    const request = await certificateRequest();
    const reply = await redeem(token, request.pem);
    expect(reply.statusCode).toBe(200);
    return { ...issuedSvid.parse(reply.json()), token, agentId: agent_id, csr: request.pem };
  };
  const svids = () => place.sql('select serial, cert_pem, superseded_by, revoked_ms from identity_svids order by id');
  const isRefused = (reply: Awaited<ReturnType<typeof ask>>, status: number, code: string) =>
    expect([reply.statusCode, reply.json<{ error: string }>().error]).toEqual([status, code]);

  describe('a first certificate', () => {
    it.each(['p256', 'ed25519'] as const)('is for the key of the request (%s), signed by the CA', async (key) => {
      const { token } = await enroll();
      const { pem, keyPem } = await certificateRequest({ kind: key });
      const reply = await redeem(token, pem, { ttl_seconds: 600 });
      expect(reply.statusCode).toBe(200);
      const svid = issuedSvid.parse(reply.json());
      const certificate = new X509Certificate(svid.cert_pem);
      const authority = new X509Certificate(svid.ca_cert_pem);
      expect(certificate.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
      expect(certificate.checkIssued(authority) && certificate.verify(authority.publicKey)).toBe(true);
      expect(spiffeOfCertificate(certificate)).toBe(svid.spiffe_id);
      expect(svid.spiffe_id).toMatch(/^spiffe:\/\/gate\.local\/tenant\/acme\/agent\/bot\/instance\/[0-9a-f-]{36}$/);
      expect(certificate.subject).toBe('CN=bot');
      expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
      expect([Date.parse(certificate.validTo), Date.parse(svid.not_after)]).toEqual([now + 600_000, now + 600_000]);
      expect(await svids()).toEqual([expect.objectContaining({ cert_pem: svid.cert_pem, revoked_ms: null })]);
    });

    it.each(['gate-proxy', 'gate-ledger', 'Gate-Operator', 'gate-policy-engine', 'gate-identity'])(
      'is for no agent that is called as Gate itself is: %s',
      async (agent) => {
        const reply = await ask('POST', '/enrollments', { tenant: 'acme', agent_name: agent }, ADMIN);
        isRefused(reply, 422, 'agent_name_reserved');
        expect(await place.sql('select * from identity_agents')).toEqual([]);
      },
    );

    it('is not what the request wishes: a subject counts for nothing, an extension is refused', async () => {
      const { token } = await enroll();
      const wish = new SubjectAlternativeNameExtension([{ type: 'url', value: 'spiffe://gate.local/service/console' }]);
      const { pem } = await certificateRequest({ extensions: [wish] });
      isRefused(await redeem(token, pem), 422, 'csr_extensions_forbidden');
      expect(await svids()).toEqual([]);
      expect((await redeem(token, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it('is given again for the same token and request, and for nothing else', async () => {
      const { token, csr, id, cert_pem } = await first();
      const again = await redeem(token, csr);
      expect([again.statusCode, again.json()]).toEqual([200, expect.objectContaining({ id, cert_pem })]);
      isRefused(await redeem(token, (await certificateRequest()).pem), 409, 'issuance_replay');
      expect(await svids()).toHaveLength(1);
    });

    it('is one of two that ask at once with one token', async () => {
      const { token } = await enroll();
      const requests = await Promise.all([certificateRequest(), certificateRequest()]);
      const replies = await Promise.all(requests.map(({ pem }) => redeem(token, pem)));
      expect(replies.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)).toEqual([200, 409]);
      expect(await svids()).toHaveLength(1);
    });

    it('is refused for an unknown token whatever the request is: nothing is read of it', async () => {
      isRefused(await redeem('unknown', 'no request'), 401, 'invalid_token');
      const { token } = await enroll();
      isRefused(await redeem(token, 'no request'), 400, 'invalid_csr');
    });

    it('is refused without a token that counts', async () => {
      const { pem } = await certificateRequest();
      caller = null;
      isRefused(await ask('POST', '/enrollments/svid', { csr_pem: pem }), 401, 'invalid_token');
      isRefused(await redeem('unknown', pem), 401, 'invalid_token');
      const { token } = await enroll();
      const { token: newer } = await enroll();
      isRefused(await redeem(token, pem), 401, 'invalid_token');
      now += 3_600_000;
      isRefused(await redeem(newer, pem), 401, 'invalid_token');
      expect(await svids()).toEqual([]);
    });

    it('is refused for a token that somebody wrote into the store', async () => {
      const { agent_id: id } = await enroll();
      const forged = randomBytes(32).toString('base64url');
      await place.sql(
        "insert into identity_enrollments values (?, ?, 0, ?, 'x', null, (select mac from identity_enrollments limit 1))",
        [hash('sha256', forged), id, now + 1_000_000],
      );
      isRefused(await redeem(forged, (await certificateRequest()).pem), 401, 'invalid_token');
    });

    it('is of nobody else where somebody wrote another name, or another tenant, into the store', async () => {
      const { token } = await enroll();
      for (const change of ["tenant = 'other'", "agent_name = 'admin'"]) {
        await place.sql(`update identity_agents set tenant = 'acme', agent_name = 'bot'`);
        await place.sql(`update identity_agents set ${change}`);
        isRefused(await redeem(token, (await certificateRequest()).pem), 409, 'identity_tampered');
      }
      expect(await svids()).toEqual([]);
    });

    it('is refused for a request that proves nothing, and the token still counts', async () => {
      const { token } = await enroll();
      isRefused(await redeem(token, 'x'), 400, 'invalid_csr');
      expect(await place.sql('select id from identity_intents')).toEqual([]);
      expect((await redeem(token, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it.each([
      [3_601, 400, 'ttl_seconds_too_large'],
      [59, 400, 'invalid_request'],
    ])('is refused for %d s', async (seconds, status, code) => {
      const { token } = await enroll();
      isRefused(await redeem(token, (await certificateRequest()).pem, { ttl_seconds: seconds }), status, code);
    });
  });

  describe('the next certificate', () => {
    it('is had with the current one, which then counts no more', async () => {
      const before = await first();
      const reply = await renew(before.cert_pem, (await certificateRequest()).pem);
      expect(reply.statusCode).toBe(200);
      const next = issuedSvid.parse(reply.json());
      expect(next.spiffe_id).not.toBe(before.spiffe_id);
      expect((await svids()).map((row) => row['superseded_by'])).toEqual([next.id, null]);
      isRefused(await renew(before.cert_pem, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      expect((await renew(next.cert_pem, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it('is not had with a request or a key that was used before, whoever used it', async () => {
      const keys = await newKeyPair();
      const { token } = await enroll('other');
      expect((await redeem(token, (await certificateRequest({ keys })).pem)).statusCode).toBe(200);
      const { cert_pem: pem, csr } = await first();
      isRefused(await renew(pem, csr), 409, 'issuance_replay');
      isRefused(await renew(pem, (await certificateRequest({ keys, name: 'CN=new' })).pem), 409, 'issuance_replay');
      expect(await svids()).toHaveLength(2);
    });

    it('is refused for another agent, for a service, and once the certificate ended or was revoked', async () => {
      const { cert_pem: pem, agentId } = await first();
      await enroll('other');
      const csr = (await certificateRequest()).pem;
      isRefused(await renew(pem, csr, { agent_name: 'other' }), 403, 'issuance_authority_denied');
      isRefused(await renew(pem, csr, { tenant: 'other' }), 403, 'issuance_authority_denied');
      caller = serviceCaller('simulator');
      isRefused(
        await ask('POST', '/svid', { tenant: 'acme', agent_name: 'bot', csr_pem: csr }),
        403,
        'issuance_authority_denied',
      );
      now += 3_600_000;
      isRefused(await renew(pem, csr), 403, 'issuance_authority_denied');
      now -= 1_000_000;
      caller = serviceCaller('console');
      expect((await ask('POST', '/revoke', { kind: 'agent', agent_id: agentId }, ADMIN)).statusCode).toBe(200);
      isRefused(await renew(pem, csr), 403, 'issuance_authority_denied');
      expect(await svids()).toHaveLength(1);
    });

    it('is refused for an agent that nobody enrolled, whatever certificate of the CA it shows', async () => {
      caller = {
        kind: 'agent',
        spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/0190a5b0-0000-7000-8000-000000000000',
        callerId: 'agent-workload',
        fingerprint: 'e'.repeat(64),
        tenant: 'acme',
        agent: 'bot',
      };
      const csr = (await certificateRequest()).pem;
      isRefused(
        await ask('POST', '/svid', { tenant: 'acme', agent_name: 'bot', csr_pem: csr }),
        403,
        'unregistered_agent',
      );
    });

    it('is refused with malformed evidence, and with evidence that nobody verifies', async () => {
      const { cert_pem: pem } = await first();
      const csr = (await certificateRequest()).pem;
      isRefused(await renew(pem, csr, { attestation: {} }), 400, 'invalid_request');
      isRefused(await renew(pem, csr, { attestation: SOME_EVIDENCE }), 503, 'attestation_verifier_unavailable');
    });

    it('is given again for the same request, to who has the certificate before, for as long as that counts', async () => {
      const { cert_pem: pem } = await first();
      const { pem: csr } = await certificateRequest();
      const { id } = issuedSvid.parse((await renew(pem, csr)).json());
      now += 59_000;
      expect((await renew(pem, csr)).json()).toMatchObject({ id });
      isRefused(await renew(pem, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      now += 1_000;
      isRefused(await renew(pem, csr), 403, 'issuance_authority_denied');
      expect(await svids()).toHaveLength(2);
    });

    it('is not given again once it was revoked, or has a successor', async () => {
      const { cert_pem: pem } = await first();
      const { pem: csr } = await certificateRequest();
      const next = issuedSvid.parse((await renew(pem, csr)).json());
      expect((await renew(next.cert_pem, (await certificateRequest()).pem)).statusCode).toBe(200);
      isRefused(await renew(pem, csr), 403, 'issuance_authority_denied');
      const other = await first('other');
      const renewOther = () => {
        showing(other.cert_pem);
        return ask('POST', '/svid', { tenant: 'acme', agent_name: 'other', csr_pem: second.pem });
      };
      const second = await certificateRequest();
      const { id } = issuedSvid.parse((await renewOther()).json());
      caller = serviceCaller('console');
      expect((await ask('POST', '/revoke', { kind: 'svid', svid_id: id }, ADMIN)).statusCode).toBe(200);
      isRefused(await renewOther(), 403, 'issuance_authority_denied');
    });

    it('is had so often in an hour, also by who asks at once, and so often in all until a person lets the agent in anew', async () => {
      const bounded = await openIdentityStore(place.target, place.keys, { renewalsPerHour: 2, mostRenewals: 3 });
      await service.close();
      serve({ store: bounded });
      const begun = await first();
      let pem = begun.cert_pem;
      const next = async () => {
        const reply = await renew(pem, (await certificateRequest()).pem);
        if (reply.statusCode === 200) pem = issuedSvid.parse(reply.json()).cert_pem;
        return reply;
      };
      expect((await next()).statusCode).toBe(200);
      now += 600_000;
      expect((await next()).statusCode).toBe(200);
      const limited = await next();
      isRefused(limited, 429, 'rate_limited');
      expect([limited.json(), limited.headers['retry-after']]).toEqual([
        expect.objectContaining({ retry_after_secs: 3_000 }),
        '3000',
      ]);
      now += 3_000_000;
      expect((await next()).statusCode).toBe(200);
      now += 3_000_000;
      isRefused(await next(), 403, 'renewals_exhausted');
      caller = serviceCaller('console');
      await ask('POST', `/agents/${begun.agentId}/svid-recovery?tenant=acme`, { reason: 'renewed long enough' }, ADMIN);
      pem = (await first()).cert_pem;
      expect((await next()).statusCode).toBe(200);
      await bounded.close();
    });

    it('is one of two that ask at once with one certificate', async () => {
      const { cert_pem: pem } = await first();
      const requests = await Promise.all([certificateRequest(), certificateRequest()]);
      const replies = await Promise.all(requests.map(({ pem: csr }) => renew(pem, csr)));
      expect(replies.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)).toEqual([200, 403]);
      expect(await svids()).toHaveLength(2);
    });
  });

  describe('the next certificate, where the proxy saw the connection', () => {
    const seen = (pem: string, over: object = {}) => {
      const certificate = new X509Certificate(pem);
      return {
        agent_spiffe: spiffeOfCertificate(certificate),
        credential_fingerprint: fingerprintOf(certificate),
        public_key_sha256: hash('sha256', certificate.publicKey.export({ type: 'spki', format: 'der' })),
        ...over,
      };
    };
    const renewAs = async (pem: string, over: object = {}, who: Caller = serviceCaller('proxy')) => {
      caller = who;
      return ask('POST', '/svid/renew', { ...seen(pem, over), csr_pem: (await certificateRequest()).pem });
    };

    it('is the agent’s next one', async () => {
      const before = await first();
      const reply = await renewAs(before.cert_pem);
      expect(reply.statusCode).toBe(200);
      const next = issuedSvid.parse(reply.json());
      expect(next.spiffe_id).toContain('/tenant/acme/agent/bot/');
      expect((await svids()).map((row) => row['superseded_by'])).toEqual([next.id, null]);
      expect((await renewAs(next.cert_pem)).statusCode).toBe(200);
      isRefused(await renewAs(before.cert_pem), 403, 'issuance_authority_denied');
    });

    it.each<[string, (other: string) => object, number, string]>([
      ['another agent', (other) => ({ agent_spiffe: other }), 403, 'issuance_authority_denied'],
      ['nobody', () => ({ agent_spiffe: 'spiffe://gate.local/service/console' }), 403, 'issuance_authority_denied'],
      [
        'another trust domain',
        () => ({ agent_spiffe: 'spiffe://x/tenant/a/agent/b/instance/c' }),
        403,
        'issuance_authority_denied',
      ],
      ['another certificate', () => ({ credential_fingerprint: 'e'.repeat(64) }), 403, 'issuance_authority_denied'],
      ['another key', () => ({ public_key_sha256: 'e'.repeat(64) }), 403, 'issuance_authority_denied'],
      ['no digest', () => ({ public_key_sha256: 'x' }), 400, 'invalid_request'],
      ['evidence', () => ({ attestation: SOME_EVIDENCE }), 503, 'attestation_verifier_unavailable'],
      ['a wish', () => ({ tenant: 'other' }), 400, 'invalid_request'],
    ])('is refused with %s', async (_what, over, status, code) => {
      const { cert_pem: pem } = await first();
      const { spiffe_id: other } = await first('other');
      isRefused(await renewAs(pem, over(other)), status, code);
      expect(await svids()).toHaveLength(2);
    });

    it('is refused with a revoked certificate, one that ended, and for who is not the proxy', async () => {
      const { cert_pem: pem, id } = await first();
      isRefused(await renewAs(pem, {}, serviceCaller('console')), 403, 'capability_denied');
      now += 3_600_000;
      isRefused(await renewAs(pem), 403, 'issuance_authority_denied');
      now -= 3_600_000;
      caller = serviceCaller('console');
      await ask('POST', '/revoke', { kind: 'svid', svid_id: id }, ADMIN);
      isRefused(await renewAs(pem), 403, 'issuance_authority_denied');
    });
  });

  describe('the ledger', () => {
    const waiting = () => place.sql('select id from identity_outbox');
    const delivered = () => eventually('the ledger has every row', async () => (await waiting()).length === 0);

    it('is told of each certificate, revocation and recovery, once, with who did it', async () => {
      const { cert_pem: pem, id, agentId, token, csr } = await first();
      const next = issuedSvid.parse((await renew(pem, (await certificateRequest()).pem)).json());
      await redeem(token, csr);
      caller = serviceCaller('console');
      const by = { kind: 'svid', svid_id: id, reason: 'stolen' };
      await ask('POST', '/revoke', by, ADMIN);
      await ask('POST', '/revoke', by, ADMIN);
      await ask('POST', `/agents/${agentId}/svid-recovery?tenant=acme`, { reason: 'lost' }, ADMIN);
      await delivered();
      const admin = expect.stringMatching(/^admin-token:/);
      const row = (kind: string, actor: unknown, more: object) =>
        expect.objectContaining({ event_kind: kind, method: kind, tenant: 'acme', actor_sub: actor, ...more });
      const certificate = new X509Certificate(next.cert_pem);
      expect(told).toEqual([
        row('identity.svid_issued', admin, { policy_decision: expect.objectContaining({ svid_id: id, agent: 'bot' }) }),
        row('identity.svid_renewed', expect.stringContaining('/agent/bot/'), {
          agent_spiffe: next.spiffe_id,
          credential_fingerprint: fingerprintOf(certificate),
          policy_decision: expect.objectContaining({
            svid_id: next.id,
            prior_svid_id: id,
            serial: certificate.serialNumber.toLowerCase(),
            not_after: next.not_after,
          }),
        }),
        row('svid.revoked', admin, { payload_canonical_json: '{"reason":"stolen"}' }),
        row('svid.revoked', admin, { payload_canonical_json: '{"reason":"lost"}' }),
        row('agent.svid_recovery_opened', admin, { payload_canonical_json: '{"reason":"lost"}' }),
      ]);
      expect(new Set(told.map((one) => one.id)).size).toBe(told.length);
      expect(told.every(isOfIdentity)).toBe(true);
      for (const one of told) expect(() => prepareRow(one)).not.toThrow();
    });

    it('may be away: the row waits with the certificate, readiness says so, and it is sent later under the same id', async () => {
      ledgerAway = true;
      const { id } = await first();
      await eventually(
        'identity says that it waits',
        async () => (await service.health.inject('/readyz')).statusCode === 503,
      );
      expect((await service.health.inject('/readyz')).json()).toMatchObject({ checks: { outbox_worker: 'failed' } });
      expect([await waiting(), told]).toEqual([[expect.anything()], []]);
      await service.close();
      ledgerAway = false;
      serve();
      await service.app.ready();
      await delivered();
      expect(told).toMatchObject([{ event_kind: 'identity.svid_issued', policy_decision: { svid_id: id } }]);
    });

    it('is told of no certificate that was not stored', async () => {
      const { token } = await enroll();
      await service.close();
      serve({ store: { release: () => Promise.reject(new Error('killed')) } });
      await redeem(token, (await certificateRequest()).pem);
      expect([await waiting(), await svids()]).toEqual([[], []]);
    });
  });

  describe('a store that somebody wrote to', () => {
    const renewing = async ({ cert_pem: pem }: { cert_pem: string }) => renew(pem, (await certificateRequest()).pem);
    const revoking = (body: object) => {
      caller = serviceCaller('console');
      return ask('POST', '/revoke', body, ADMIN);
    };
    const listing = () => {
      caller = serviceCaller('proxy');
      return ask('GET', '/revocation/list');
    };

    it.each<[string, string, (begun: Awaited<ReturnType<typeof first>>) => Promise<unknown>]>([
      ['makes a revoked certificate count again', 'update identity_svids set revoked_ms = null', renewing],
      [
        'takes the revocation of a certificate away whole',
        'update identity_svids set revoked_ms = null, revoked_by_sub = null, revoked_reason = null, listed_generation = null, refused_from_ms = null',
        renewing,
      ],
      ['takes a certificate off the list', 'update identity_svids set listed_generation = null', listing],
      ['puts another certificate onto the list', "update identity_svids set credential_fingerprint = 'f'", listing],
      ['makes the list an older one', 'update identity_state set revocation_generation = 0', listing],
      ['gives the list another history', "update identity_listings set history = 'f'", listing],
      ['names another agent as revoked', "update identity_listings set tenant = 'x', agent_name = 'y'", listing],
      ['takes its mark away', "update identity_svids set mac = ''", listing],
      [
        'makes the numbers those of a new store',
        "update identity_state set revocation_generation = 0, bundle_sequence = 0, bundle_sha256 = '', mac = ''",
        async () => {
          await expect(store.bundleSequence('another')).rejects.toMatchObject({ code: 'identity_tampered' });
          return listing();
        },
      ],
      ['takes the mark of the numbers away', "update identity_state set mac = ''", listing],
      [
        'lets an agent in anew',
        "update identity_agents set svid_bootstrap_state = 'available'",
        () => asking('/enrollments'),
      ],
      ['gives an agent renewals', 'update identity_agents set renewals = -1000', renewing],
    ])('is told so, and nothing is given or said by it, where he %s', async (_what, edit, act) => {
      const begun = await first();
      await revoking({ kind: 'svid', svid_id: begun.id });
      await place.sql(edit);
      const reply = (await act(begun)) as Awaited<ReturnType<typeof ask>>;
      isRefused(reply, 409, 'identity_tampered');
      expect(reply.json<{ reason: string }>().reason).toMatch(
        /^edited in the store: identity_(svids|state|listings|agents) \S+: its mark does not hold$/,
      );
      expect(await svids()).toHaveLength(1);
    });
    const asking = (url: string) => {
      caller = serviceCaller('console');
      return ask('POST', url, { tenant: 'acme', agent_name: 'bot' }, ADMIN);
    };

    it('makes no superseded certificate the current one', async () => {
      const begun = await first();
      expect((await renewing(begun)).statusCode).toBe(200);
      await place.sql(
        'update identity_svids set superseded_ms = null, superseded_by = null, refused_from_ms = null, listed_generation = null',
      );
      isRefused(await renewing(begun), 409, 'identity_tampered');
    });

    it('makes no used token count again', async () => {
      const { token } = await first();
      await place.sql('update identity_enrollments set intent_id = null');
      isRefused(await redeem(token, (await certificateRequest()).pem), 401, 'invalid_token');
      expect(await svids()).toHaveLength(1);
    });

    it('makes no request that was asked the one of another certificate', async () => {
      const { token } = await first();
      const other = await certificateRequest();
      await place.sql('update identity_intents set csr_sha256 = ?', ['e'.repeat(64)]);
      isRefused(await redeem(token, other.pem), 409, 'identity_tampered');
    });

    it('tells the ledger nothing', async () => {
      ledgerAway = true;
      await first();
      await place.sql("update identity_outbox set content = replace(content, 'bot', 'cat')");
      ledgerAway = false;
      await first('other');
      await eventually('the other row is there', async () => told.length === 1);
      expect(told).toMatchObject([{ policy_decision: { agent: 'other' } }]);
      await eventually('the readiness names the row', async () => {
        const { details } = (await service.health.inject('/readyz')).json<{ details: Record<string, string> }>();
        return details['outbox_worker']?.includes('edited in the store: identity_outbox') ?? false;
      });
    });
  });

  describe('a process that ends in the middle', () => {
    /** What a process that was killed left behind is opened by the next one. */
    const restarted = async () => {
      await service.close();
      await store.close();
      store = await openIdentityStore(place.target, place.keys);
      serve();
    };
    const killedBefore = async (step: 'release' | 'fail') => {
      await service.close();
      const gone = () => Promise.reject(new Error('killed'));
      serve({ store: step === 'release' ? { release: gone, fail: gone } : { fail: gone } });
    };

    it('before the certificate was stored leaves none, and the token gives none any more', async () => {
      const { token } = await enroll();
      const { pem } = await certificateRequest();
      await killedBefore('release');
      expect((await redeem(token, pem)).statusCode).toBe(500);
      await restarted();
      expect(await place.sql('select state from identity_intents')).toEqual([{ state: 'interrupted' }]);
      isRefused(await redeem(token, pem), 409, 'issuance_replay');
      isRefused(await redeem(token, (await certificateRequest()).pem), 409, 'issuance_replay');
      expect(await svids()).toEqual([]);
      const { token: next } = await enroll();
      isRefused(await redeem(next, pem), 409, 'issuance_replay');
      expect((await redeem(next, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it('before the answer left gives the same certificate to who asks again', async () => {
      const { token } = await enroll();
      const { pem } = await certificateRequest();
      await service.close();
      const { release } = store;
      serve({
        store: {
          release: async (...parts) => {
            await release(...parts);
            throw new Error('killed');
          },
        },
      });
      expect((await redeem(token, pem)).statusCode).toBe(500);
      const [row] = await svids();
      await restarted();
      const again = await redeem(token, pem);
      expect([again.statusCode, again.json<{ cert_pem: string }>().cert_pem]).toEqual([200, row?.['cert_pem']]);
      expect(await svids()).toHaveLength(1);
    });

    it('before the next certificate was stored leaves the current one as it was', async () => {
      const { cert_pem: current } = await first();
      const { pem } = await certificateRequest();
      await killedBefore('release');
      expect((await renew(current, pem)).statusCode).toBe(500);
      await restarted();
      isRefused(await renew(current, pem), 409, 'issuance_replay');
      expect((await renew(current, (await certificateRequest()).pem)).statusCode).toBe(200);
    });

    it('is no end of what another process began: what it closed gives no certificate', async () => {
      const { token } = await enroll();
      const { release } = store;
      await service.close();
      serve({
        store: {
          release: async (...parts) => {
            await (await openIdentityStore(place.target, place.keys)).close();
            return release(...parts);
          },
        },
      });
      isRefused(await redeem(token, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      expect(await svids()).toEqual([]);
    });
  });

  describe('a CA', () => {
    it('that cannot sign is 503, and no certificate is stored', async () => {
      const { token } = await enroll();
      await service.close();
      const signer = svidSigner(ca.cert, ca.key);
      serve({ signer: { ...signer, sign: () => Promise.reject(new GateError('ca_unavailable')) } });
      isRefused(await redeem(token, (await certificateRequest()).pem), 503, 'ca_unavailable');
      expect(await place.sql('select state from identity_intents')).toEqual([{ state: 'failed' }]);
      expect(await registry.metrics()).toContain('gate_identity_svids_refused_total{code="ca_unavailable"} 1');
    });

    it('signs nothing that would outlive it, and is not ready after its end', async () => {
      now = START_MS + 30 * DAY_MS - 1_800_000;
      const { token } = await enroll();
      const { pem } = await certificateRequest();
      isRefused(await redeem(token, pem, { ttl_seconds: 3_600 }), 503, 'ca_unavailable');
      // Neither the token nor the key is used up: what ends before the CA does is signed.
      expect((await redeem(token, pem, { ttl_seconds: 60 })).statusCode).toBe(200);
      expect((await service.health.inject('/readyz')).statusCode).toBe(200);
      now += 1_800_000;
      const reply = await service.health.inject('/readyz');
      expect([reply.statusCode, reply.json().checks.ca]).toEqual([503, 'failed']);
    });

    it('is refused whose key is of another', async () => {
      const other = await createAuthority(TRUST_DOMAIN, { notBefore: new Date(now), notAfter: new Date(now + DAY_MS) });
      expect(() => svidSigner(ca.cert, other.key)).toThrow('belongs to no CA');
      expect(svidSigner(`${other.cert}${ca.cert}`, ca.key).caPem.trim()).toBe(ca.cert.trim());
    });
  });

  describe('enrolment', () => {
    it('is once: an agent that has its certificate gets another token only after a recovery', async () => {
      const { agentId, cert_pem: pem } = await first();
      caller = serviceCaller('console');
      const body = { tenant: 'acme', agent_name: 'bot' };
      isRefused(await ask('POST', '/enrollments', body, ADMIN), 409, 'bootstrap_not_available');
      const recover = () => ask('POST', `/agents/${agentId}/svid-recovery?tenant=acme`, { reason: 'disk lost' }, ADMIN);
      expect((await recover()).json()).toEqual({
        agent_id: agentId,
        recovery_generation: 1,
        revoked_svids: 1,
        svid_bootstrap_state: 'recovery',
      });
      isRefused(await recover(), 409, 'recovery_pending');
      isRefused(await renew(pem, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      const next = await first();
      expect([next.agentId, (await svids()).length]).toEqual([agentId, 2]);
      expect(await place.sql('select authority_kind from identity_intents order by id')).toEqual([
        { authority_kind: 'bootstrap' },
        { authority_kind: 'recovery' },
      ]);
      isRefused(await redeem(next.token, (await certificateRequest()).pem), 409, 'issuance_replay');
    });

    it('gives a token of an earlier generation nothing', async () => {
      const { token, agentId } = await first();
      caller = serviceCaller('console');
      await ask('POST', `/agents/${agentId}/svid-recovery?tenant=acme`, { reason: 'lost' }, ADMIN);
      isRefused(await redeem(token, (await certificateRequest()).pem), 409, 'issuance_replay');
    });

    it.each([
      ['no token', undefined, 'invalid_token'],
      ['another token', 'b'.repeat(40), 'unauthenticated'],
    ])('is refused with %s, before the body is read', async (_what, token, atRevoke) => {
      for (const url of ['/enrollments', `/agents/${'0'.repeat(8)}/svid-recovery`])
        isRefused(await ask('POST', url, '{"broken":', token), 401, 'invalid_token');
      // Operators may revoke too, as they may stop an agent.
      isRefused(await ask('POST', '/revoke', '{"broken":', token), 401, atRevoke);
    });

    it('is for the tenant of the token alone', async () => {
      isRefused(await ask('POST', '/enrollments', { tenant: 'other', agent_name: 'x' }, ADMIN), 403, 'tenant_mismatch');
      const { agentId } = await first();
      caller = serviceCaller('console');
      isRefused(
        await ask('POST', `/agents/${agentId}/svid-recovery?tenant=other`, { reason: 'x' }, ADMIN),
        403,
        'tenant_mismatch',
      );
    });

    it.each([
      [{ tenant: 'acme', agent_name: 'a/b' }],
      [{ tenant: 'acme', agent_name: '..' }],
      [{ tenant: 'acme' }],
      [{ tenant: 'acme', agent_name: 'a', scope: [] }],
    ])('refuses %j', async (body) => {
      isRefused(await ask('POST', '/enrollments', body, ADMIN), 400, 'invalid_request');
    });

    it('of nobody is 404 where it is recovered, and 409 before the first certificate', async () => {
      const recover = (id: string) => ask('POST', `/agents/${id}/svid-recovery?tenant=acme`, { reason: 'x' }, ADMIN);
      isRefused(await recover('0190a5b0-0000-7000-8000-000000000000'), 404, 'not_found');
      const { agent_id: id } = await enroll();
      isRefused(await recover(id), 409, 'bootstrap_not_retired');
    });
  });

  describe('revocation', () => {
    const revoke = (body: object) => {
      caller = serviceCaller('console');
      return ask('POST', '/revoke', body, ADMIN);
    };
    const list = async (after = 0) => {
      caller = serviceCaller('proxy');
      const reply = await ask('GET', `/revocation/list?after=${after}`);
      expect(reply.statusCode).toBe(200);
      return revocationVerifier(() => ca.cert)(revocationList.parse(reply.json()));
    };

    it.each(['id', 'serial'] as const)(
      'of one certificate by %s is in the list until the certificate ends',
      async (by) => {
        const { id, cert_pem: pem, spiffe_id, not_after } = await first();
        expect(await list()).toMatchObject({ generation: 0, svids: [] });
        const certificate = new X509Certificate(pem);
        const serial = certificate.serialNumber.toLowerCase();
        const reply = await revoke({ kind: 'svid', svid_id: by === 'id' ? id : serial, reason: 'stolen' });
        const answer = { kind: 'svid', id, revoked_at: new Date(now).toISOString() };
        expect([reply.statusCode, reply.json()]).toEqual([200, answer]);
        const credential_fingerprint = fingerprintOf(certificate);
        expect(await list()).toMatchObject({
          generation: 1,
          svids: [
            {
              svid_id: id,
              serial,
              spiffe_id,
              credential_fingerprint,
              not_after,
              why: 'revoked',
              refused_from: new Date(now).toISOString(),
            },
          ],
        });
        now += 60_000;
        expect((await revoke({ kind: 'svid', svid_id: id })).json()).toEqual(answer);
        now += 3_600_000;
        expect(await list()).toMatchObject({ generation: 1, svids: [] });
      },
    );

    it('of an agent takes all of its certificates, superseded ones too, and tokens that nobody used', async () => {
      const { cert_pem: pem, agentId } = await first();
      await renew(pem, (await certificateRequest()).pem);
      await first('other');
      expect((await revoke({ kind: 'agent', agent_id: agentId })).json()).toEqual({
        kind: 'agent',
        id: agentId,
        revoked_at: new Date(now).toISOString(),
        revoked_svids: 2,
      });
      expect((await list()).svids).toHaveLength(2);
      const { token, agent_id: unused } = await enroll('third');
      expect((await revoke({ kind: 'agent', agent_id: unused })).json()).toMatchObject({ revoked_svids: 0 });
      isRefused(await redeem(token, (await certificateRequest()).pem), 401, 'invalid_token');
    });

    it('of an agent, or its recovery, leaves no certificate that is just being made', async () => {
      const { cert_pem: current, agentId } = await first();
      const { token, agent_id: newcomer } = await enroll('newcomer');
      const { release } = store;
      const by = { by: 'ada', reason: 'stolen', nowMs: now };
      await service.close();
      const meanwhile = (act: () => Promise<unknown>) =>
        serve({ store: { release: async (...parts) => (await act(), release(...parts)) } });
      meanwhile(() => store.revokeAgent(newcomer, 'acme', by));
      isRefused(await redeem(token, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      await service.close();
      meanwhile(() => store.openRecovery(agentId, 'acme', by));
      isRefused(await renew(current, (await certificateRequest()).pem), 403, 'issuance_authority_denied');
      expect((await svids()).filter(({ revoked_ms }) => revoked_ms === null)).toEqual([]);
    });

    it('is told to who asks after a number, once, with what a newer certificate took the place of', async () => {
      const { id, cert_pem: pem } = await first();
      const other = await first('other');
      expect((await renew(pem, (await certificateRequest()).pem)).statusCode).toBe(200);
      const superseded = { svid_id: id, why: 'superseded', refused_from: new Date(now + 60_000).toISOString() };
      const life = { generated_at: new Date(now).toISOString(), expires_at: new Date(now + 300_000).toISOString() };
      expect(await list()).toMatchObject({
        trust_domain: TRUST_DOMAIN,
        after: 0,
        generation: 1,
        ...life,
        svids: [superseded],
      });
      await revoke({ kind: 'svid', svid_id: other.id });
      expect(await list(1)).toMatchObject({ after: 1, generation: 2, latest: 2, svids: [{ svid_id: other.id }] });
      expect(await list(2)).toMatchObject({ after: 2, generation: 2, latest: 2, svids: [] });
      // What was superseded and then revoked stands there anew.
      await revoke({ kind: 'svid', svid_id: id });
      expect(await list(2)).toMatchObject({ generation: 3, svids: [{ svid_id: id, why: 'revoked' }] });
      expect((await list()).svids).toHaveLength(2);
      expect(await list(9)).toMatchObject({ after: 9, generation: 3, svids: [] });
      isRefused(await ask('GET', '/revocation/list?after=x'), 400, 'invalid_request');
    });

    it('is heard whole by a proxy after the store was put back to an earlier state, although its numbers grew again', async () => {
      const begun = [await first('a'), await first('b'), await first('c')] as const;
      const ids = begun.map(({ id }) => id);
      const fingerprints = begun.map(({ cert_pem: pem }) => fingerprintOf(new X509Certificate(pem)));
      const proxy = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => now });
      const hear = async () => proxy.take(await list(proxy.position()));
      const known = () => fingerprints.map((fingerprint) => proxy.faultOf(fingerprint)?.code ?? null);
      const backup = await contentOf(place);
      for (const svid_id of [ids[0], ids[1]]) await revoke({ kind: 'svid', svid_id });
      expect([await hear(), proxy.position(), known()]).toEqual([
        'whole',
        2,
        ['certificate_revoked', 'certificate_revoked', null],
      ]);
      await putBack(place, backup);
      expect([await hear(), await hear(), known()]).toEqual([
        'anew',
        'whole',
        ['certificate_revoked', 'certificate_revoked', null],
      ]);
      // It heard of two others meanwhile.
      for (const svid_id of [ids[1], ids[0]]) await revoke({ kind: 'svid', svid_id });
      await hear();
      await putBack(place, backup);
      for (const svid_id of [ids[2], ids[1], ids[0]]) await revoke({ kind: 'svid', svid_id });
      expect(await hear()).toBe('anew');
      expect([await hear(), proxy.position(), known()]).toEqual(['whole', 3, Array(3).fill('certificate_revoked')]);
      expect([await hear(), proxy.position()]).toEqual(['whole', 3]);
    });

    it('of an agent is told although its only certificate has ended, and no longer than one could count', async () => {
      const { agentId } = await first();
      now += 3_600_000;
      expect((await revoke({ kind: 'agent', agent_id: agentId })).json()).toMatchObject({ revoked_svids: 0 });
      const bot = { tenant: 'acme', agent_name: 'bot', revoked_at: new Date(now).toISOString() };
      expect(await list()).toMatchObject({ generation: 1, agents: [bot], svids: [] });
      expect((await list(1)).agents).toEqual([]);
      const { status } = await store
        .openRecovery(agentId, 'acme', { by: 'ada', reason: 'lost', nowMs: now })
        .then(() => ({ status: 'opened' }));
      expect([status, (await list(1)).agents]).toEqual(['opened', [bot]]);
      now += 3_900_000;
      expect(await list()).toMatchObject({ generation: 2, agents: [] });
    });

    it('of many agents comes in parts too', async () => {
      const bounded = await openIdentityStore(place.target, place.keys, { mostListed: 2 });
      await service.close();
      serve({ store: bounded });
      for (const agent of ['a', 'b', 'c']) await revoke({ kind: 'agent', agent_id: (await enroll(agent)).agent_id });
      const [begin, rest] = [await list(), await list(2)];
      expect([begin, rest].map(({ generation, latest }) => [generation, latest])).toEqual([
        [2, 3],
        [3, 3],
      ]);
      expect([...begin.agents, ...rest.agents].map(({ agent_name: name }) => name)).toEqual(['a', 'b', 'c']);
      await bounded.close();
    });

    it('of an agent leaves out what a newer certificate took the place of long ago, which counts nowhere', async () => {
      const { id: old, cert_pem: pem, agentId } = await first();
      const { id: before, cert_pem: second } = issuedSvid.parse(
        (await renew(pem, (await certificateRequest()).pem)).json(),
      );
      now += 61_000 + 300_000;
      const { id: current } = issuedSvid.parse((await renew(second, (await certificateRequest()).pem)).json());
      expect((await revoke({ kind: 'agent', agent_id: agentId })).json()).toMatchObject({ revoked_svids: 2 });
      const told = new Map((await list()).svids.map(({ svid_id, why }) => [svid_id, why]));
      expect([old, before, current].map((id) => told.get(id))).toEqual(['superseded', 'revoked', 'revoked']);
    });

    it('of many comes in parts, each number whole', async () => {
      const bounded = await openIdentityStore(place.target, place.keys, { mostListed: 2 });
      await service.close();
      serve({ store: bounded });
      const { cert_pem: pem, agentId } = await first();
      const { cert_pem: second } = (await renew(pem, (await certificateRequest()).pem)).json<{ cert_pem: string }>();
      await renew(second, (await certificateRequest()).pem);
      const more = [await first('second'), await first('third')];
      // Three under two numbers, then one under each.
      await revoke({ kind: 'agent', agent_id: agentId });
      for (const { id } of more) await revoke({ kind: 'svid', svid_id: id });
      const parts: [number, number, number][] = [];
      for (let after = 0; ; ) {
        const { generation, latest, svids: entries } = await list(after);
        parts.push([generation, latest, entries.length]);
        if (generation === latest) break;
        after = generation;
      }
      expect(parts).toEqual([
        [3, 6, 2],
        [5, 6, 2],
        [6, 6, 1],
      ]);
      await bounded.close();
    });

    it('takes a serial as OpenSSL writes it', async () => {
      const { id, cert_pem: pem } = await first();
      const serial = new X509Certificate(pem).serialNumber.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:');
      expect((await revoke({ kind: 'svid', svid_id: serial })).json()).toMatchObject({ id });
    });

    it('takes from a token what it gave', async () => {
      const { token, csr, id } = await first();
      await revoke({ kind: 'svid', svid_id: id });
      isRefused(await redeem(token, csr), 409, 'issuance_replay');
    });

    it.each([
      [{ kind: 'svid', svid_id: 'unknown' }, 404, 'not_found'],
      [{ kind: 'agent', agent_id: '0190a5b0-0000-7000-8000-000000000000' }, 404, 'not_found'],
      [{ kind: 'grant', jti: 'x' }, 404, 'not_found'],
      [{ kind: 'svid' }, 400, 'invalid_request'],
      [{ kind: 'tool', svid_id: 'x' }, 400, 'invalid_request'],
      [{ kind: 'svid', svid_id: 'x', reason: ' ' }, 400, 'invalid_request'],
    ])('refuses %j', async (body, status, code) => {
      isRefused(await revoke(body), status, code);
    });

    it('of another tenant’s certificate is 404, and changes nothing', async () => {
      const { agentId, token } = await store.enroll({
        tenant: 'other',
        agent: 'bot',
        by: 'ada',
        nowMs: now,
        expiresMs: now + 60_000,
      });
      const { id } = issuedSvid.parse((await redeem(token, (await certificateRequest()).pem)).json());
      isRefused(await revoke({ kind: 'svid', svid_id: id }), 404, 'not_found');
      isRefused(await revoke({ kind: 'agent', agent_id: agentId }), 404, 'not_found');
      expect((await list()).svids).toEqual([]);
    });
  });

  describe('public keys', () => {
    it('are a SPIFFE bundle and a key set, for who shows no certificate', async () => {
      caller = null;
      const bundle = spiffeBundle.parse((await ask('GET', '/.well-known/spiffe-bundle')).json());
      expect([bundle.spiffe_sequence, bundle.spiffe_refresh_hint]).toEqual([7, 300]);
      const [x509, jwt] = bundle.keys;
      expect(x509).toMatchObject({
        use: 'x509-svid',
        kty: 'EC',
        crv: 'P-256',
        x5c: [new X509Certificate(ca.cert).raw.toString('base64')],
      });
      const { kty, crv, x, kid } = tokenSigner.publicJwk;
      expect(jwt).toEqual({ use: 'jwt-svid', kty, crv, x, kid });
      expect((await ask('GET', '/jwks.json')).json()).toEqual({ keys: [tokenSigner.publicJwk] });
    });

    it('have a number that grows with every other bundle, and with no restart', async () => {
      const keys = bundleKeys(certificatesOf(ca.cert), []);
      const more = bundleKeys(certificatesOf(ca.cert), [tokenSigner.publicJwk]);
      expect(await store.bundleSequence(bundleDigest(keys))).toBe(2);
      expect(await store.bundleSequence(bundleDigest(keys))).toBe(2);
      expect(await store.bundleSequence(bundleDigest(more))).toBe(3);
      expect(await store.bundleSequence(bundleDigest(keys))).toBe(4);
    });
  });

  describe('who may ask', () => {
    it.each([
      ['/enrollments', 'proxy'],
      ['/revoke', 'proxy'],
      ['/agents/x/svid-recovery', 'proxy'],
      ['/svid', 'console'],
    ])('POST %s refuses %s before the body is read', async (url, who) => {
      caller = serviceCaller(who);
      isRefused(await ask('POST', url, '{"broken":', ADMIN), 403, 'capability_denied');
      caller = null;
      isRefused(await ask('POST', url, '{"broken":', ADMIN), 401, 'caller_spiffe_missing');
    });

    it('GET /revocation/list is for console and proxy', async () => {
      caller = serviceCaller('brain');
      isRefused(await ask('GET', '/revocation/list'), 403, 'capability_denied');
      caller = serviceCaller('console');
      expect((await ask('GET', '/revocation/list')).statusCode).toBe(200);
    });
  });

  it('is 503 while its store cannot be reached, and not ready', async () => {
    const { token } = await enroll();
    await store.close();
    isRefused(await redeem(token, (await certificateRequest()).pem), 503, 'store_unavailable');
    expect((await service.health.inject('/readyz')).json().checks.storage).toBe('failed');
    store = await openIdentityStore(place.target, place.keys);
  });
});
