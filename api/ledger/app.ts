import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { ChainVacuum, OpenedLedger } from '../../adapters/ledger/ledger-store.js';
import { egressSource } from '../../domain/evidence/egress/source.js';
import type { Caller } from '../plugins/app.js';
import type { ReadinessChecks } from '../plugins/health.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import { ledgerMetrics } from './metrics.js';
import { readRoutes } from './reads.js';
import { egressRoutes } from './routes/egress.js';
import { erasureRoutes } from './routes/erasure.js';
import { logRoutes } from './routes/log.js';
import { regulatoryRoutes } from './routes/regulatory.js';
import { createSharedWalk } from './shared-walk.js';

/** What the routes show of a ledger. They sweep, anchor, vacuum and purge nothing. */
type ServedLedger = Pick<
  OpenedLedger,
  'writer' | 'reader' | 'verifier' | 'transparency' | 'erasure' | 'sinkCursors'
> & {
  readonly vacuum: Pick<ChainVacuum, 'observe'>;
};
type ServedEvidence = Omit<Evidence, 'coldCopies' | 'vacuum' | 'watchdogs'>;

/** `ledger` and `evidence` must be open. The caller closes them after the service. */
export interface LedgerServiceOptions {
  readonly ledger: ServedLedger;
  readonly evidence: ServedEvidence;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly now?: () => number;
  /** Beside that of its store. */
  readonly readiness?: ReadinessChecks;
}

/**
 * The ledger service (docs/architecture/ledger-reads.md#routes). The proxy appends rows; every caller with a certificate of the CA may
 * verify the chain.
 */
export function createLedgerService(options: LedgerServiceOptions): Service {
  const { writer, reader, verifier, vacuum, transparency, erasure } = options.ledger;
  const { evidence, registry } = options;
  const service = createService({
    name: 'ledger',
    governed: 'ledger',
    logger: options.logger,
    registry,
    trustDomain: options.trustDomain,
    readiness: { storage: () => writer.ready(), ...options.readiness },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  ledgerMetrics(registry, { writer, verifier, vacuum, evidence });
  const { app } = service;
  const sharedWalk = createSharedWalk(options.now);
  readRoutes(app, { reader, writer, verifier, transparency, evidence }, sharedWalk);
  // One line per module, in alphabetical order, with what it needs.
  egressRoutes({ app, egress: egressSource(options.ledger) });
  erasureRoutes({ app, erasure, tenantLifecycle: evidence.tenantLifecycle, tls: options.tls });
  logRoutes({ app, writer, reader });
  regulatoryRoutes({ app, exportRegulatory: evidence.exportRegulatory });
  return service;
}
