import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { createIdentityClient } from '../../activities/clients/identity-client.js';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { newCertificateRequest } from '../../adapters/identity/new-request.js';
import { certificatesOf } from '../../adapters/identity/svid-signer.js';
import { checkedCertificate, workloadFiles } from '../../adapters/identity/workload-files.js';
import { serveWorkloadApi, type WorkloadState } from '../../adapters/workload-api/server.js';
import { GateError } from '../../domain/errors.js';
import type { TlsCredential } from '../../domain/identity/live-tls.js';
import { agentName, serviceSpiffe, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { createWorkloadRenewal, type WorkloadRenewalParts } from '../../domain/identity/workload-renewal.js';
import { takeBundle, watchTrust } from './workload.js';

export interface AgentWorkloadOptions {
  readonly tenant: string;
  readonly agent: string;
  readonly trustDomain: string;
  /** PEM of the CAs that are trusted until identity says which. */
  readonly ca: string;
  readonly identityUrl: string;
  /** Where its key and certificate are kept. */
  readonly folder: string;
  /** The absolute path of the socket. */
  readonly socket: string;
  /** The token for its first certificate, read whenever there is none; `null` where there is none. */
  readonly token: () => string | null;
  readonly ttlSeconds: number;
  readonly logger: Logger;
  readonly trustEveryMs?: number;
  readonly renewAfterMs?: WorkloadRenewalParts['renewAfterMs'];
}

const START_LIMIT_MS = 60_000;
const ASK_LIMIT_MS = 10_000;
const TRUST_EVERY_MS = 30_000;
const TOKEN_ALONE = { cert: '', key: '' } as const;

/**
 * Keeps the certificate of an agent new, and gives it to whoever opens its socket by the SPIFFE Workload API (docs/architecture/workload-api.md). Resolves
 * when it answers; throws where identity refuses the first certificate, or does not answer for a minute.
 */
export async function startAgentWorkload(options: AgentWorkloadOptions): Promise<{ stop(): Promise<void> }> {
  const { tenant, agent, trustDomain, ca, identityUrl: url, logger, ttlSeconds } = options;
  const name = `${tenant}/${agent}`;
  const spiffe = agentName(trustDomain, tenant, agent);
  let tokenKeys: string | null = null;
  let shown: TlsCredential | null = null;
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const renewal = createWorkloadRenewal({
    name,
    ca,
    keep: workloadFiles(options.folder, { ca, spiffe }),
    newRequest: newCertificateRequest,
    ...(options.renewAfterMs && { renewAfterMs: options.renewAfterMs }),
    async ask({ csr, key }, { cert, key: with_ }) {
      const fetch = createMtlsFetch({
        ca: renewal.trusted(),
        cert,
        key: with_,
        expectedServerSpiffe: serviceSpiffe(trustDomain, 'identity'),
        timeoutMs: ASK_LIMIT_MS,
      });
      try {
        const client = createIdentityClient({ url, fetch });
        // A CA may have come since that of the file: what it signs is to be known.
        const bundle = await client.trustBundle();
        takeBundle(renewal, bundle);
        const token = cert === '' ? options.token() : null;
        const asked = { csr_pem: csr, ttl_seconds: ttlSeconds };
        const given =
          token === null
            ? await client.svid({ tenant, agent_name: agent, ...asked })
            : await client.firstSvid(token, asked);
        return checkedCertificate({ cert: given.cert_pem, key }, { ca: renewal.trusted(), spiffe });
      } finally {
        await fetch.close();
      }
    },
    bootstrap: () => Promise.resolve(options.token() === null ? null : TOKEN_ALONE),
    onRenewed: ({ notAfterMs }) =>
      logger.info(
        { event: 'agent_certificate_renewed', agent: name, not_after: new Date(notAfterMs).toISOString() },
        'identity gave this agent its next certificate',
      ),
    onFailed: (reason, inMs) =>
      logger.warn(
        { event: 'agent_certificate_not_renewed', agent: name, reason, again_in_ms: Math.round(inMs) },
        'identity gave this agent no certificate; it keeps the one that it has, and asks again',
      ),
    onEnded() {
      shown = null;
      logger.error({ event: 'agent_certificate_ended', agent: name }, 'the certificate of this agent ended');
      changed();
    },
  });
  renewal.onRenewed((next) => {
    shown = next;
    changed();
  });
  await renewal.start(START_LIMIT_MS);
  const trust = watchTrust({
    url,
    renewal,
    trustDomain,
    everyMs: options.trustEveryMs ?? TRUST_EVERY_MS,
    logger,
    name,
    onBundle({ keys }) {
      const next = JSON.stringify({ keys: keys.filter(({ use }) => use === 'jwt-svid') });
      if (next === tokenKeys) return;
      tokenKeys = next;
      changed();
    },
  });
  const now = (): WorkloadState => ({
    trustDomain,
    svid: shown && svidOf(shown),
    authorities: Buffer.concat(certificatesOf(renewal.trusted()).map(({ raw }) => raw)),
    tokenKeys,
  });
  try {
    const api = await serveWorkloadApi({
      socket: options.socket,
      source: {
        now,
        onChanged(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      },
    });
    return {
      async stop() {
        await api.close();
        await trust.stop();
        await renewal.close();
      },
    };
  } catch (error) {
    await trust.stop();
    await renewal.close();
    throw error;
  }
}

function svidOf({ cert, key }: Pick<TlsCredential, 'cert' | 'key'>): NonNullable<WorkloadState['svid']> {
  const certificate = new X509Certificate(cert);
  const spiffe = spiffeOfCertificate(certificate);
  if (spiffe === null) throw new GateError('internal_error', 'a certificate without a SPIFFE ID');
  return { spiffe, certificate: certificate.raw, key: createPrivateKey(key).export({ type: 'pkcs8', format: 'der' }) };
}
