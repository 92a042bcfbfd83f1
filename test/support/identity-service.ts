import type { Credential } from '../../adapters/identity/certificate-authority.js';
import { revocationSigner } from '../../adapters/identity/revocation-signature.js';
import { stopReportSigner } from '../../adapters/identity/stop-report-signature.js';
import { tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { svidSigner } from '../../adapters/identity/svid-signer.js';
import { createIdentityService, type IdentityServiceOptions } from '../../api/identity/app.js';
import type { Caller } from '../../api/plugins/app.js';
import type { Service } from '../../api/plugins/service.js';
import { generateKeyPairSync } from 'node:crypto';
import { GateError } from '../../domain/errors.js';
import { createSigner } from '../../domain/identity/signer.js';
import { unwatched } from './bare-service.js';

export const TRUST_DOMAIN = 'gate.local';

type Given = 'store' | 'ledger' | 'administratorOf' | 'resolveCaller' | 'clock';

/** Identity over a CA and a store, without a socket. */
export const identityOver = (
  ca: Credential,
  parts: Partial<IdentityServiceOptions> & Required<Pick<IdentityServiceOptions, Given>>,
): Service =>
  createIdentityService({
    signer: svidSigner(ca.cert, ca.key),
    signList: revocationSigner(ca.cert, ca.key),
    signReport: stopReportSigner(ca.cert, ca.key),
    signWarrant: tenantWarrantSigner(ca.cert, ca.key),
    published: () => ({ bundle: { keys: [], spiffe_sequence: 1, spiffe_refresh_hint: 300 }, tokenKeys: [] }),
    tokenSigner: createSigner(generateKeyPairSync('ed25519').privateKey),
    verifyDelegator: () => Promise.reject(new GateError('delegation_not_configured')),
    ...unwatched(),
    trustDomain: TRUST_DOMAIN,
    ...parts,
  });

/** A service of Gate by its certificate. */
export const serviceCaller = (name: string, more: Partial<Caller> = {}): Caller => ({
  kind: 'service',
  spiffe: `spiffe://${TRUST_DOMAIN}/service/${name}`,
  callerId: `service-${name}`,
  fingerprint: 'f'.repeat(64),
  ...more,
});

export interface Asked {
  /** A bearer token. */
  readonly as?: string | null | undefined;
  /** A text or bytes as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const serviceAsker =
  (service: () => Service) =>
  (method: 'DELETE' | 'GET' | 'POST', url: string, { as, body, headers }: Asked = {}) =>
    service().app.inject({
      method,
      url,
      headers: {
        ...(typeof as === 'string' && { authorization: `Bearer ${as}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    });
