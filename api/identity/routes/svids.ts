import { z } from 'zod';
import {
  enrollment,
  enrollmentRequest,
  enrollmentSvidRequest,
  issuedSvid,
  SVID_TTL_SECONDS,
  svidRenewRequest,
  svidRequest,
} from '../../../contracts/identity.js';
import type { AttestationRequest } from '../../../contracts/verified-attestation.js';
import { GateError } from '../../../domain/errors.js';
import { isReservedPrincipal } from '../../../domain/evidence/own-principals.js';
import type { Attesting } from '../../../domain/identity/attesting.js';
import type { IssuanceAuthority, Issuing } from '../../../domain/identity/issuing.js';
import type { CertificateRequest } from '../../../domain/identity/signed-once.js';
import { parseSpiffe } from '../../../domain/identity/spiffe.js';
import type { Caller, ServiceApp } from '../../plugins/app.js';
import { bearerOf } from '../../plugins/bearer.js';
import { askerFirst, type AdministratorOf, assertTenant } from '../administrator.js';
import type { IdentityMetrics } from '../metrics.js';
import { countingRefusals, svidAnswer } from './issued.js';

export interface SvidParts {
  readonly issuing: Issuing;
  readonly attesting: Pick<Attesting, 'renewing'>;
  readonly readRequest: (pem: string) => Promise<CertificateRequest>;
  readonly administratorOf: AdministratorOf;
  readonly metrics: IdentityMetrics;
  readonly trustDomain: string;
  /** Called when a row waits for the ledger. */
  readonly onIssued: () => void;
}

/** First certificates by a one-use token, and the next ones by the current certificate (docs/architecture/identity.md). */
export function svidRoutes(app: ServiceApp, parts: SvidParts): void {
  const { issuing, attesting, readRequest, administratorOf, metrics, trustDomain, onIssued } = parts;

  const issue = (
    authority: IssuanceAuthority,
    asked: {
      readonly csr_pem: string;
      readonly ttl_seconds: number;
      readonly attestation?: AttestationRequest | undefined;
    },
  ): Promise<z.infer<typeof issuedSvid>> =>
    countingRefusals(metrics, async () => {
      await issuing.assertKnown(authority);
      if (asked.ttl_seconds > SVID_TTL_SECONDS.max) throw new GateError('ttl_seconds_too_large');
      const request = await readRequest(asked.csr_pem);
      const evidence = asked.attestation && attesting.renewing(request, asked.attestation);
      const svid = await issuing.issue(request, { ...authority, ...(evidence && { evidence }) }, asked.ttl_seconds);
      onIssued();
      metrics.issued(authority.kind);
      return svidAnswer(svid, issuing.caPem);
    });

  app.post(
    '/enrollments',
    {
      schema: { body: enrollmentRequest, response: { 201: enrollment } },
      onRequest: askerFirst(administratorOf),
    },
    async (request, reply) => {
      const { tenant, agent_name: agent, ttl_seconds: ttlSeconds } = request.body;
      const administrator = administratorOf(request);
      assertTenant(administrator, tenant);
      if (isReservedPrincipal(agent)) throw new GateError('agent_name_reserved', `Gate itself is called ${agent}`);
      const { agentId, token, expiresMs } = await issuing.enroll({ tenant, agent, ttlSeconds, by: administrator.sub });
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send({ agent_id: agentId, token, expires_at: new Date(expiresMs).toISOString() });
    },
  );

  // Whoever has the token has no certificate yet.
  app.post(
    '/enrollments/svid',
    {
      config: { public: true },
      schema: { body: enrollmentSvidRequest, response: { 200: issuedSvid } },
      onRequest: (request, _reply, done) =>
        done(bearerOf(request) === null ? new GateError('invalid_token') : undefined),
    },
    (request) => issue({ kind: 'token', token: bearerOf(request) ?? '' }, request.body),
  );

  app.post('/svid', { schema: { body: svidRequest, response: { 200: issuedSvid } } }, (request) => {
    const { tenant, agent_name: agent } = request.body;
    return issue({ kind: 'leaf', ...itself(request.caller, tenant, agent) }, request.body);
  });

  // Where the proxy saw the agent's connection. It names no other agent than that certificate does.
  app.post('/svid/renew', { schema: { body: svidRenewRequest, response: { 200: issuedSvid } } }, (request) => {
    const { agent_spiffe: spiffe, credential_fingerprint: fingerprint, public_key_sha256 } = request.body;
    const identity = parseSpiffe(spiffe, trustDomain);
    if (identity?.kind !== 'agent') throw new GateError('issuance_authority_denied', 'this is no agent of this domain');
    const { tenant, agent } = identity;
    return issue(
      { kind: 'leaf', tenant, agent, spiffe, fingerprint, publicKeySha256: public_key_sha256 },
      request.body,
    );
  });
}

/** An agent asks for itself alone, with the certificate of this connection. */
function itself(caller: Caller | null, tenant: string, agent: string) {
  if (caller?.kind !== 'agent' || caller.tenant !== tenant || caller.agent !== agent)
    throw new GateError('issuance_authority_denied', 'a certificate is renewed with the current one of the same agent');
  return { tenant, agent, spiffe: caller.spiffe, fingerprint: caller.fingerprint };
}
