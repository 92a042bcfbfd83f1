import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readCertificateRequest } from '../../adapters/identity/certificate-request.js';
import { openIdentityStore } from '../../adapters/identity/identity-store.js';
import { revocationSigner } from '../../adapters/identity/revocation-signature.js';
import { stopReportSigner } from '../../adapters/identity/stop-report-signature.js';
import { tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { type KeyUse, openKey } from '../../adapters/identity/sealed-key.js';
import { certificatesOf, svidSigner } from '../../adapters/identity/svid-signer.js';
import { readDelegatingIssuers } from '../../adapters/identity/delegating-issuers.js';
import { openIdTokens } from '../../adapters/identity/id-tokens.js';
import { readPinnedWorkloads } from '../../adapters/identity/pinned-workloads.js';
import type { Config } from '../../config/env.js';
import type { IDENTITY_PEOPLE_SETTINGS, IDENTITY_SETTINGS } from '../../config/identity.js';
import { WORKLOAD_TTL_SECONDS } from '../../contracts/identity.js';
import { createSigner } from '../../domain/identity/signer.js';
import { fingerprintOf, hostsOf } from '../../domain/identity/spiffe.js';
import { createWorkloadIssuing } from '../../domain/identity/workload-issuing.js';
import { bundleDigest, bundleKeys, REFRESH_HINT_SECONDS } from '../../domain/identity/trust-bundle.js';
import { LEDGER } from '../ledger/service.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { administrators } from './administrator.js';
import { createIdentityService } from './app.js';

interface Settings {
  readonly own: Config<typeof IDENTITY_SETTINGS>;
  readonly people: Config<typeof IDENTITY_PEOPLE_SETTINGS>;
}

export async function open({ config: { own, people }, ...parts }: Opening<Settings>): Promise<Opened<null>> {
  const read = async (use: KeyUse, file: string) => openKey(own.keys, use, readFileSync(file, 'utf8'));
  const { signer, signList, signReport, signWarrant } = await needed(
    'the key of the CA (GATE_IDENTITY_CA_KEY_FILE)',
    read('certificates', own.caKeyFile).then((key) => {
      const certificates = svidSigner(parts.tls.ca, key);
      return {
        signer: certificates,
        signList: revocationSigner(certificates.caPem, key),
        signReport: stopReportSigner(certificates.caPem, key),
        signWarrant: tenantWarrantSigner(certificates.caPem, key),
      };
    }),
  );
  const tokenSigner = await needed(
    'the key of tokens (GATE_IDENTITY_SIGNING_KEY_PATH)',
    read('tokens', own.signingKeyFile).then((key) => createSigner(createPrivateKey(key))),
  );
  const { publicJwk } = tokenSigner;
  const { oidcIssuersFile } = own;
  const idTokens = await needed(
    'GATE_IDENTITY_OIDC_ISSUERS_FILE',
    (oidcIssuersFile === undefined ? Promise.resolve([]) : readDelegatingIssuers(oidcIssuersFile)).then((issuers) =>
      openIdTokens(issuers),
    ),
  );
  parts.onStop('connections', 'the keys of issuers', () => idTokens.close());
  const store = await needed(
    'the store of identity',
    openIdentityStore(parts.storeTarget('identity'), own.keys, {
      supersededMs: own.supersededSecs * 1_000,
      renewalsPerHour: own.renewalsPerHour,
      mostRenewals: own.mostRenewals,
      onLeft: ({ tenant, agent, rows }) =>
        parts.logger.error(
          { event: 'certificates_left', tenant, agent, rows },
          'something was stopped, and what somebody edited in the store could not be taken back with it',
        ),
    }),
  );
  parts.onStop('stores', 'the store of identity', () => store.close());
  const { ledger } = await parts.neighbour(LEDGER);
  const tokenKeys = [publicJwk];
  const keys = await needed(
    'the trust bundle (GATE_TLS_CA_FILE)',
    Promise.resolve().then(() => bundleKeys(certificatesOf(parts.tls.ca), tokenKeys)),
  );
  const bundle = {
    keys,
    spiffe_sequence: await needed('the store of identity', store.bundleSequence(bundleDigest(keys))),
    spiffe_refresh_hint: REFRESH_HINT_SECONDS,
  };
  const { workloadsFile } = own;
  const pinned = workloadsFile === undefined ? () => Promise.resolve([]) : () => readPinnedWorkloads(workloadsFile);
  await needed('GATE_IDENTITY_WORKLOADS_FILE', pinned());
  // Before the client of the ledger is asked for anything.
  await parts.certified?.(async ({ requestId, csr }, { cert }) => {
    const shown = new X509Certificate(cert);
    const issued = await createWorkloadIssuing({ ...parts, store, signer, clock: Date.now, pinned }).issueOwn(
      { requestId, request: await readCertificateRequest(csr), ttlSeconds: WORKLOAD_TTL_SECONDS.usual },
      {
        service: 'identity',
        fingerprint: fingerprintOf(shown),
        hosts: hostsOf(shown),
      },
    );
    return { cert: issued.certPem };
  });
  const { adminToken: token, deploymentTenant: tenant } = own;
  const administratorOf = administrators(token !== undefined && tenant !== undefined ? { token, tenant } : null);
  return {
    port: null,
    ready: () => store.ready(),
    listener: () =>
      listenerOf(
        createIdentityService({
          ...parts,
          store,
          ledger,
          signer,
          signList,
          signReport,
          signWarrant,
          revocationLifeMs: own.revocationSecs * 1_000,
          bundle,
          tokenKeys,
          tokenSigner,
          verifyDelegator: idTokens.verify,
          administratorOf,
          people,
          deploymentTenant: tenant,
          forceHilMs: own.forceHilSecs * 1_000,
          pinned,
        }),
        own,
      ),
  };
}
