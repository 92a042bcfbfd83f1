import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readCertificateRequest } from '../../adapters/identity/certificate-request.js';
import { openIdentityStore } from '../../adapters/identity/identity-store.js';
import { fetchBundle, readPeers } from '../../adapters/identity/peer-gates.js';
import { openKey } from '../../adapters/identity/sealed-key.js';
import { readDelegatingIssuers } from '../../adapters/identity/delegating-issuers.js';
import { openIdTokens } from '../../adapters/identity/id-tokens.js';
import { readPinnedWorkloads } from '../../adapters/identity/pinned-workloads.js';
import { k8sVerifier, readK8sClusters } from '../../adapters/identity/k8s-tokens.js';
import { readTpm2Anchors } from '../../adapters/identity/tpm2-anchors.js';
import type { Config } from '../../config/env.js';
import type { IDENTITY_PEOPLE_SETTINGS, IDENTITY_SETTINGS } from '../../config/identity.js';
import { type KeyUse, WORKLOAD_TTL_SECONDS } from '../../contracts/identity.js';
import { errorText } from '../../domain/errors.js';
import { isKeyReference } from '../../domain/identity/key-reference.js';
import { createKnownPeers } from '../../domain/identity/peer-bundles.js';
import { createRepeated } from '../../domain/repeated.js';
import { fingerprintOf, hostsOf } from '../../domain/identity/spiffe.js';
import { tpm2Verifier } from '../../domain/identity/tpm2-quote.js';
import { createWorkloadIssuing } from '../../domain/identity/workload-issuing.js';
import { LEDGER } from '../ledger/service.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed, openKeyStores } from '../plugins/start.js';
import { administrators } from './administrator.js';
import { createIdentityService } from './app.js';
import { openSigningKeys, type Published } from './signing-keys.js';

interface Settings {
  readonly own: Config<typeof IDENTITY_SETTINGS>;
  readonly people: Config<typeof IDENTITY_PEOPLE_SETTINGS>;
}

/** How often what is due is done, and what another process did is taken over. */
const KEYS_EVERY_MS = 1_000;
/** How often it is looked whether another Gate is to be asked, and what another process heard is taken over. */
const PEERS_EVERY_MS = 5_000;

export async function open({ config: { own, people }, ...parts }: Opening<Settings>): Promise<Opened<null>> {
  const { oidcIssuersFile } = own;
  const idTokens = await needed(
    'GATE_IDENTITY_OIDC_ISSUERS_FILE',
    (oidcIssuersFile === undefined ? Promise.resolve([]) : readDelegatingIssuers(oidcIssuersFile)).then((issuers) =>
      openIdTokens(issuers),
    ),
  );
  parts.onStop('connections', 'the keys of issuers', () => idTokens.close());
  const { tpm2AnchorsFile, k8sClustersFile } = own;
  const anchors = await needed(
    'GATE_IDENTITY_TPM2_ANCHORS_FILE',
    tpm2AnchorsFile === undefined ? Promise.resolve(new Map<never, never>()) : readTpm2Anchors(tpm2AnchorsFile),
  );
  const clusters = await needed(
    'GATE_IDENTITY_K8S_CLUSTERS_FILE',
    k8sClustersFile === undefined
      ? Promise.resolve(new Map<never, never>())
      : readK8sClusters(k8sClustersFile, anchors),
  );
  const store = await needed(
    'the store of identity',
    openIdentityStore(parts.storeTarget('identity'), own.keys, {
      supersededMs: own.supersededSecs * 1_000,
      renewalsPerHour: own.renewalsPerHour,
      mostRenewals: own.mostRenewals,
      certification: own.certification,
      renewalsAttested: own.renewalsAttested,
      onLeft: ({ tenant, agent, rows }) =>
        parts.logger.error(
          { event: 'certificates_left', tenant, agent, rows },
          'something was stopped, and what somebody edited in the store could not be taken back with it',
        ),
    }),
  );
  parts.onStop('stores', 'the store of identity', () => store.close());
  const { ledger } = await parts.neighbour(LEDGER);
  const privateKey = (use: KeyUse, file: string, what: string) => () => {
    if (isKeyReference(file)) return file;
    try {
      return openKey(own.keys, use, readFileSync(file, 'utf8'));
    } catch (error) {
      throw new Error(`${what}: ${errorText(error)}`, { cause: error });
    }
  };
  const { live } = parts.tls;
  const trust = (ca: string, { bundle }: Published) => live?.trust?.({ sequence: bundle.spiffe_sequence, ca });
  const { keyStores } = openKeyStores(parts);
  const keys = await needed(
    'the keys of identity',
    openSigningKeys({
      store,
      ring: own.keys,
      trustDomain: parts.trustDomain,
      caPem: parts.tls.ca,
      configured: {
        certificates: privateKey('certificates', own.caKeyFile, 'GATE_IDENTITY_CA_KEY_FILE'),
        tokens: privateKey('tokens', own.signingKeyFile, 'GATE_IDENTITY_SIGNING_KEY_PATH'),
      },
      keyStores,
      newKeys: own.newKeys,
      announceMs: own.announceSecs * 1_000,
      onTrust: trust,
    }),
  );
  trust(keys.trusted(), keys.published());
  const stepping = createRepeated({
    work: () => keys.step(),
    everyMs: KEYS_EVERY_MS,
    onFault: (reason) =>
      reason === null
        ? parts.logger.info({ event: 'keys_known' }, 'the stages of the keys of identity are looked at again')
        : parts.logger.error(
            { event: 'keys_unknown', reason },
            'the stages of the keys of identity cannot be looked at',
          ),
  });
  stepping.begin();
  parts.onStop('sweeps', 'the keys of identity', () => stepping.stop());
  const { signer, signList, signReport, signWarrant, tokenSigner } = keys;
  const { peersFile } = own;
  const peers = createKnownPeers({
    peers: await needed(
      'GATE_IDENTITY_PEERS_FILE',
      peersFile === undefined ? Promise.resolve([]) : readPeers(peersFile, parts.trustDomain),
    ),
    own: { trustDomain: parts.trustDomain, keys: () => keys.published().tokenKeys },
    store,
    ask: fetchBundle,
    clock: Date.now,
  });
  if (peersFile !== undefined) {
    const looking = createRepeated({
      work: () => peers.look(),
      everyMs: PEERS_EVERY_MS,
      onFault: (reason) =>
        reason === null
          ? parts.logger.info({ event: 'peers_known' }, 'every other Gate says what its tokens are verified with')
          : parts.logger.warn(
              { event: 'peers_unknown', reason },
              'what the tokens of another Gate are verified with cannot be heard',
            ),
    });
    // Nobody waits for another Gate.
    void looking.once();
    looking.begin();
    parts.onStop('sweeps', 'other Gates', () => looking.stop());
  }
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
          bootstrapCas: parts.tls.ca,
          published: keys.published,
          keys: { ...keys, canRotateCa: live?.trust !== undefined },
          readiness: { signer: keys.assertSigns },
          tokenSigner,
          peers,
          verifyDelegator: idTokens.verify,
          administratorOf,
          people,
          verifiers: [tpm2Verifier(anchors), k8sVerifier(clusters)],
          deploymentTenant: tenant,
          upstreamsArePrivate: own.upstreamsArePrivate,
          forceHilMs: own.forceHilSecs * 1_000,
          pinned,
        }),
        own,
      ),
  };
}
