import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createIdentityClient } from '../../activities/clients/identity-client.js';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { newCertificateRequest } from '../../adapters/identity/new-request.js';
import { certificatesOf } from '../../adapters/identity/svid-signer.js';
import { checkedCertificate, keptInMemory, workloadFiles } from '../../adapters/identity/workload-files.js';
import type { OwnCertificate } from '../../api/plugins/declaration.js';
import { type WorkloadMetrics, workloadMetrics } from '../../api/plugins/workload-metrics.js';
import type { SpiffeBundle } from '../../contracts/identity.js';
import { StartError } from '../../config/start-error.js';
import { errorText } from '../../domain/errors.js';
import type { TlsMaterial } from '../../domain/identity/live-tls.js';
import { fingerprintOf, serviceSpiffe } from '../../domain/identity/spiffe.js';
import { authoritiesOf } from '../../domain/identity/trust-bundle.js';
import {
  createWorkloadRenewal,
  type WorkloadRenewal,
  type WorkloadRenewalParts,
} from '../../domain/identity/workload-renewal.js';
import { createRepeated } from '../../domain/repeated.js';

/** The certificate of a service, which identity gives and renews. */
export interface Workload {
  readonly tls: TlsMaterial;
  /** Its first one, of identity at this address, or the one that is kept. Throws a StartError. */
  startAt(identityUrl: string): Promise<void>;
  /** The same for identity. */
  startBy(issueOwn: OwnCertificate): Promise<void>;
  observe(registry: Registry): void;
  close(): Promise<void>;
}

export interface WorkloadOptions {
  /** The name of the process. */
  readonly name: string;
  /** As whom its peers see it. */
  readonly service: string;
  readonly trustDomain: string;
  /** PEM of the CAs that are trusted until identity says which. */
  readonly ca: string;
  /** The certificate for the first time, read each time that it is needed. */
  readonly bootstrap: () => Promise<{ readonly cert: string; readonly key: string }>;
  /** Where the certificate is kept; `null` for nowhere. */
  readonly folder: string | null;
  readonly logger: Logger;
  /** How long identity may not answer at the start. */
  readonly startLimitMs?: number;
  /** How often identity is asked which CAs count. */
  readonly trustEveryMs?: number;
  readonly renewAfterMs?: WorkloadRenewalParts['renewAfterMs'];
}

const START_LIMIT_MS = 60_000;
const ASK_LIMIT_MS = 10_000;
/** A CA is published for much longer before it signs (`GATE_IDENTITY_KEY_ANNOUNCE_SECS`). */
const TRUST_EVERY_MS = 30_000;

export function createWorkload(options: WorkloadOptions): Workload {
  const {
    name,
    service,
    trustDomain,
    ca,
    logger,
    startLimitMs = START_LIMIT_MS,
    renewAfterMs,
    trustEveryMs = TRUST_EVERY_MS,
  } = options;
  const spiffe = serviceSpiffe(trustDomain, service);
  const expected = () => ({ ca: renewal.trusted(), spiffe });
  let ask: WorkloadRenewalParts['ask'] = () => Promise.reject(new Error('nobody is asked yet'));
  let metrics: WorkloadMetrics | null = null;
  const renewal = createWorkloadRenewal({
    name,
    ca,
    keep: options.folder === null ? keptInMemory() : workloadFiles(options.folder, { ca, spiffe }),
    newRequest: newCertificateRequest,
    ask: (pending, shown) => ask(pending, shown),
    bootstrap: options.bootstrap,
    ...(renewAfterMs && { renewAfterMs }),
    onRenewed({ notAfterMs }) {
      metrics?.renewed.inc({ service: name });
      metrics?.ends.set({ service: name }, notAfterMs / 1_000);
      logger.info(
        { event: 'workload_certificate_renewed', workload: name, not_after: new Date(notAfterMs).toISOString() },
        'identity gave this service its next certificate',
      );
    },
    onFailed(reason, inMs) {
      metrics?.failed.inc({ service: name });
      logger.warn(
        { event: 'workload_certificate_not_renewed', workload: name, reason, again_in_ms: Math.round(inMs) },
        'identity gave this service no certificate; it keeps the one that it has, and asks again',
      );
    },
    onEnded: () =>
      logger.error(
        { event: 'workload_certificate_ended', workload: name },
        'the certificate of this service ended, and identity gave no other one: it connects with nobody until it has one',
      ),
  });

  async function start(): Promise<void> {
    try {
      await renewal.start(startLimitMs);
    } catch (error) {
      throw new StartError(`the certificate of ${name}: ${errorText(error)}`, { cause: error });
    }
    metrics?.ends.set({ service: name }, renewal.endsMs() / 1_000);
  }

  let started: Promise<void> | null = null;
  let trust: { stop(): Promise<void> } | null = null;
  let heard = false;
  return {
    tls: { ca, cert: '', key: '', live: renewal },
    startAt(url) {
      ask = async ({ requestId, csr, key }, shown) => {
        const fetch = createMtlsFetch({
          ca: renewal.trusted(),
          cert: shown.cert,
          key: shown.key,
          expectedServerSpiffe: serviceSpiffe(trustDomain, 'identity'),
          timeoutMs: ASK_LIMIT_MS,
        });
        try {
          const client = createIdentityClient({ url, fetch });
          // A CA may have come since those of the settings.
          if (!heard) takeBundle(renewal, await client.trustBundle());
          heard = true;
          const given = await client.workloadSvid({ request_id: requestId, csr_pem: csr });
          return checkedCertificate({ cert: given.cert_pem, key }, expected());
        } finally {
          await fetch.close();
        }
      };
      return (started ??= start().then(() => {
        trust ??= watchTrust({ url, renewal, trustDomain, everyMs: trustEveryMs, logger, name });
      }));
    },
    startBy(issueOwn) {
      ask = async ({ requestId, csr, key }, shown) =>
        checkedCertificate({ cert: (await issueOwn({ requestId, csr }, shown)).cert, key }, expected());
      return (started ??= start());
    },
    observe: (registry) => void (metrics = workloadMetrics(registry)),
    async close() {
      await trust?.stop();
      await renewal.close();
    },
  };
}

/** Asks identity which CAs count, and trusts those: one that comes is trusted before it signs, and one that is withdrawn no more. */
export function watchTrust({
  url,
  renewal,
  trustDomain,
  everyMs,
  logger,
  name,
  onBundle,
}: {
  readonly url: string;
  readonly renewal: WorkloadRenewal;
  readonly trustDomain: string;
  readonly everyMs: number;
  readonly logger: Logger;
  readonly name: string;
  readonly onBundle?: (bundle: SpiffeBundle) => void;
}) {
  const fetch = createMtlsFetch({
    ca: '',
    cert: '',
    key: '',
    live: renewal,
    expectedServerSpiffe: serviceSpiffe(trustDomain, 'identity'),
    timeoutMs: ASK_LIMIT_MS,
  });
  const client = createIdentityClient({ url, fetch });
  const { begin, once, stop } = createRepeated({
    async work(isStopped) {
      const bundle = await client.trustBundle();
      const before = renewal.trusted();
      if (isStopped()) return;
      takeBundle(renewal, bundle);
      onBundle?.(bundle);
      if (renewal.trusted() !== before)
        logger.info(
          { event: 'trust_changed', workload: name, sequence: bundle.spiffe_sequence },
          'other CAs count from now on, as identity says',
        );
    },
    everyMs,
    onFault: (reason) =>
      reason === null
        ? logger.info({ event: 'trust_known', workload: name }, 'identity says again which CAs count')
        : logger.warn(
            { event: 'trust_unknown', workload: name, reason },
            'identity does not say which CAs count; those of before do',
          ),
  });
  void once().finally(begin);
  return {
    async stop(): Promise<void> {
      const stopped = stop();
      await fetch.close();
      await stopped;
    },
  };
}

/** The same CAs in other words are no others. */
export function takeBundle(renewal: WorkloadRenewal, bundle: SpiffeBundle): void {
  const before = renewal.trusted();
  const ca = authoritiesOf(bundle);
  const isSame = digestsOf(ca).join() === digestsOf(before).join();
  renewal.trust({ sequence: bundle.spiffe_sequence, ca: isSame ? before : ca });
}

/** Of whatever CAs are in a text, in an order of their own. */
const digestsOf = (pem: string): readonly string[] => certificatesOf(pem).map(fingerprintOf).toSorted();
