import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { readCertificateRequest } from '../../adapters/identity/certificate-request.js';
import type { IdentityStore } from '../../adapters/identity/identity-store.js';
import type { RevocationSigner } from '../../adapters/identity/revocation-signature.js';
import type { StopReportSigner } from '../../adapters/identity/stop-report-signature.js';
import type { TenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import type { PinnedWorkload } from '../../contracts/identity.js';
import type { Ledger } from '../../contracts/ledger.js';
import { createLedgerOutbox } from '../../domain/ledger/outbox.js';
import { isReservedPrincipal } from '../../domain/evidence/own-principals.js';
import { createActorTokens, NO_PEERS, type Peers } from '../../domain/identity/actor-tokens.js';
import { createDecoyContainment } from '../../domain/identity/decoy-containment.js';
import { createAttesting } from '../../domain/identity/attesting.js';
import type { EvidenceVerifier } from '../../domain/identity/evidence.js';
import { createGranting, type VerifyDelegator } from '../../domain/identity/granting.js';
import { createGrantSweep } from '../../domain/identity/grant-sweep.js';
import { createIssuing } from '../../domain/identity/issuing.js';
import type { SvidSigner } from '../../domain/identity/signed-once.js';
import { createTakingBack } from '../../domain/identity/taking-back.js';
import { createTenantLifecycle } from '../../domain/identity/tenant-lifecycle.js';
import { createWorkloadIssuing } from '../../domain/identity/workload-issuing.js';
import type { Signer } from '../../domain/identity/signer.js';
import type { Caller, ServiceApp } from '../plugins/app.js';
import type { ReadinessChecks } from '../plugins/health.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import type { AdministratorOf } from './administrator.js';
import { identityMetrics } from './metrics.js';
import { type PeopleOptions, peopleOf } from './people.js';
import { actorTokenRoutes } from './routes/actor-tokens.js';
import { budgetRoutes } from './routes/budgets.js';
import { agentRoutes } from './routes/agents.js';
import { attestationRoutes } from './routes/attestation.js';
import { decoyRoutes } from './routes/decoys.js';
import { grantRoutes } from './routes/grants.js';
import { type KeyRouteParts, keyRoutes } from './routes/keys.js';
import { publicKeyRoutes } from './routes/public-keys.js';
import { revocationRoutes } from './routes/revocation.js';
import { stopReportRoutes } from './routes/stop-reports.js';
import { stopRoutes } from './routes/stops.js';
import { svidRoutes } from './routes/svids.js';
import { tenantRoutes } from './routes/tenants.js';
import { toolDefinitionRoutes } from './routes/tool-definitions.js';
import { upstreamRoutes } from './routes/upstreams.js';
import { tokenRoutes } from './routes/token.js';
import { workloadRoutes } from './routes/workloads.js';
import type { Published } from './signing-keys.js';

export interface IdentityServiceOptions {
  readonly store: IdentityStore;
  readonly ledger: Ledger;
  readonly signer: SvidSigner;
  readonly signList: RevocationSigner;
  readonly signReport: StopReportSigner;
  readonly signWarrant: TenantWarrantSigner;
  /** How long a list of revocations counts; 300,000 by default. */
  readonly revocationLifeMs?: number;
  readonly published: () => Published;
  /** The keys by themselves, for whoever puts others in their place; nobody does by default. */
  readonly keys?: KeyRouteParts['keys'];
  /** Signs grants, with one of those keys. */
  readonly tokenSigner: Signer;
  /** Of evidence of attestation; none: none is verified. */
  readonly verifiers?: readonly EvidenceVerifier[];
  /** Says who delegates. */
  readonly verifyDelegator: VerifyDelegator;
  /** Other Gates; there is none by default. */
  readonly peers?: Peers;
  readonly administratorOf: AdministratorOf;
  /** Who, besides, may say what agents may do; nobody by default. */
  readonly people?: Omit<PeopleOptions, 'administratorOf' | 'clock'>;
  /** Whose administrators set decoys for everybody; nobody does without it. */
  readonly deploymentTenant?: string | undefined;
  /** Whether upstreams may be in a private network; not by default. */
  readonly upstreamsArePrivate?: boolean;
  /** How long every call of an agent waits for a person where nobody says how long; 1,800,000 by default. */
  readonly forceHilMs?: number;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  /** PEM of the CAs that sign bootstrap certificates. */
  readonly bootstrapCas?: string;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly readiness?: ReadinessChecks;
  readonly clock?: () => number;
  /** The services that may ask for a first certificate, read whenever one does; none by default. */
  readonly pinned?: () => Promise<readonly PinnedWorkload[]>;
}

const REVOCATION_LIFE_MS = 300_000;
const verifiersSay = (verifiers: readonly EvidenceVerifier[]): string =>
  verifiers
    .filter(({ anchors }) => anchors.size > 0)
    .map(({ kind, anchors }) => `${kind} by ${anchors.size} anchors`)
    .join(', ') || 'no verifier';
const FORCE_HIL_MS = 1_800_000;

/** A body holds one request for a certificate and little else. */
const BODY_LIMIT = 262_144;

/** Identity: the certificates of agents, what they are verified with, and which count no more. */
export function createIdentityService(options: IdentityServiceOptions): Service {
  const { store, signer, administratorOf, trustDomain, clock = Date.now, verifiers = [] } = options;
  const outbox = createLedgerOutbox({
    store,
    ledger: options.ledger,
    what: 'rows of certificates and agents',
    onFault: (reason) =>
      reason === null
        ? options.logger.info({ event: 'ledger_rows_delivered' }, 'the ledger has every row of a certificate or agent')
        : options.logger.error(
            { event: 'ledger_rows_wait', reason },
            'rows of certificates or agents wait for the ledger',
          ),
  });
  const service = createService({
    name: 'identity',
    governed: 'identity',
    logger: options.logger,
    registry: options.registry,
    trustDomain,
    bodyLimit: BODY_LIMIT,
    readiness: {
      storage: () => store.ready(),
      ca: () => {
        if (signer.notAfterMs <= clock()) throw new Error('the certificate of the CA has ended');
      },
      outbox_worker: outbox.ready,
      attestation: () => verifiersSay(verifiers),
      ...options.readiness,
    },
    // An agent without a certificate brings a token, and a verifier brings nothing of Gate's. The table of callers knows both.
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'asked' as const } }),
    ...(options.bootstrapCas !== undefined && { bootstrapCas: options.bootstrapCas }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  const issuing = createIssuing({ store, signer, trustDomain, clock });
  const metrics = identityMetrics(options.registry);
  service.app.addHook('onReady', async () => outbox.begin());
  service.app.addHook('onClose', () => outbox.close());
  // Nobody waits for this: rows that are stored are sent, now or later.
  const tell = (): void => void outbox.flush().catch(() => undefined);
  const { signList, revocationLifeMs: lifeMs = REVOCATION_LIFE_MS } = options;
  const people = peopleOf({ operators: [], ...options.people, administratorOf, clock });
  const attesting = createAttesting({ store, verifiers, signer: options.tokenSigner, trustDomain, clock });
  svidRoutes(service.app, {
    issuing,
    attesting,
    readRequest: readCertificateRequest,
    administratorOf,
    metrics,
    trustDomain,
    onIssued: tell,
  });
  // Its refusals are those of the contract of attestation.
  void service.app.register((scope, _options, done) => {
    attestationRoutes(scope as unknown as ServiceApp, {
      attesting,
      issuing,
      store,
      readRequest: readCertificateRequest,
      people,
      metrics,
      clock,
      trustDomain,
      onChanged: tell,
    });
    done();
  });
  const pinned = options.pinned ?? (() => Promise.resolve([]));
  workloadRoutes(service.app, {
    issuing: createWorkloadIssuing({ store, signer, trustDomain, clock, pinned }),
    readRequest: readCertificateRequest,
    administratorOf,
    metrics,
    clock,
    onIssued: tell,
  });
  revocationRoutes(service.app, {
    store,
    administratorOf,
    people,
    clock,
    trustDomain,
    signList,
    lifeMs,
    onRevoked: tell,
  });
  const { forceHilMs = FORCE_HIL_MS } = options;
  const { tokenSigner, verifyDelegator, peers = NO_PEERS } = options;
  agentRoutes(service.app, { store, people, signer: tokenSigner, clock, forceHilMs, onChanged: tell });
  const granting = createGranting({ store, verify: verifyDelegator, signer: tokenSigner, trustDomain, clock });
  grantRoutes(service.app, { store, granting, people, clock, onGranted: tell });
  actorTokenRoutes(service.app, createActorTokens({ store, signer: tokenSigner, peers, trustDomain, clock }));
  toolDefinitionRoutes(service.app, { store, trustDomain, clock, onPinned: tell });
  // Its bodies are forms, and its refusals those of OAuth.
  void service.app.register((scope, _options, done) => {
    tokenRoutes(scope as unknown as ServiceApp, { granting, trustDomain, clock, onGranted: tell });
    done();
  });
  const sweep = createGrantSweep({
    store,
    clock,
    onFault: (reason) =>
      reason === null
        ? options.logger.info(
            { event: 'grants_swept' },
            'grants that are used up, or were not used in time, are marked as ended again',
          )
        : options.logger.error(
            { event: 'grants_unswept', reason },
            'grants that are used up, or were not used in time, are not marked as ended',
          ),
    onSwept: tell,
  });
  service.app.addHook('onReady', async () => sweep.begin());
  service.app.addHook('onClose', () => sweep.stop());
  const takingBack = createTakingBack({
    store,
    clock,
    onFault: (reason) =>
      reason === null
        ? options.logger.info(
            { event: 'certificates_taken_back' },
            'the certificates of stopped tenants are taken back',
          )
        : options.logger.error(
            { event: 'certificates_wait', reason },
            'the certificates of a stopped tenant are not taken back yet',
          ),
    onTaken: tell,
  });
  service.app.addHook('onReady', async () => takingBack.begin());
  service.app.addHook('onClose', () => takingBack.stop());
  const onStopped = (): void => {
    tell();
    void takingBack.once();
  };
  stopRoutes(service.app, { store, people, clock, onChanged: onStopped });
  const { upstreamsArePrivate: allowsPrivate = false } = options;
  upstreamRoutes(service.app, { store, people, allowsPrivate, clock, onChanged: tell });
  budgetRoutes(service.app, { store, people, clock, onChanged: tell });
  const containment = createDecoyContainment({
    store,
    forceHilMs,
    isReserved: isReservedPrincipal,
    onHit: ({ tenant, agent, hits, correlationId }, decoy, contained) =>
      options.logger.error(
        { event: 'decoy_tripped', tenant, agent, hits, correlation_id: correlationId, decoy: decoy.id, contained },
        'an agent touched a decoy: it may act for somebody else',
      ),
  });
  const { deploymentTenant } = options;
  decoyRoutes(service.app, { store, people, deploymentTenant, containment, clock, onChanged: tell });
  stopReportRoutes(service.app, { store, people, clock, trustDomain, sign: options.signReport, onMade: tell });
  const tenants = createTenantLifecycle({ store, clock, signWarrant: options.signWarrant, told: () => outbox.flush() });
  tenantRoutes(service.app, { tenants, people, onChanged: onStopped });
  publicKeyRoutes(service.app, options.published);
  keyRoutes(service.app, { keys: options.keys ?? null, administratorOf, onChanged: tell });
  return service;
}
