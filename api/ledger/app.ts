import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { LedgerWithEvidence } from '../../adapters/evidence/evidence.js';
import type { Caller } from '../plugins/app.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import type { LedgerContext } from './context.js';
import { ledgerMetrics } from './metrics.js';
import { READ_ROUTES } from './reads.js';
import { egressRoutes } from './routes/egress.js';
import { erasureRoutes } from './routes/erasure.js';
import { logRoutes } from './routes/log.js';
import { proofRoutes } from './routes/proof.js';
import { regulatoryRoutes } from './routes/regulatory.js';
import { createSharedWalk } from './shared-walk.js';

/** The ledger's routes, one module per resource. */
const ROUTES: readonly ((context: LedgerContext) => void)[] = [
  ...READ_ROUTES,
  // One line per module, in alphabetical order.
  egressRoutes,
  erasureRoutes,
  logRoutes,
  proofRoutes,
  regulatoryRoutes,
];

/** `ledger` and `evidence` must be open. The caller closes them after the service. */
export interface LedgerServiceOptions extends LedgerWithEvidence {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly now?: () => number;
}

/**
 * The ledger service (docs/architecture/ledger-reads.md#routes). The proxy appends rows; every caller with a certificate of the CA may
 * verify the chain.
 */
export function createLedgerService(options: LedgerServiceOptions): Service {
  const { ledger, evidence, registry } = options;
  const service = createService({
    name: 'ledger',
    governed: 'ledger',
    logger: options.logger,
    registry,
    trustDomain: options.trustDomain,
    readiness: { storage: () => ledger.ready() },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  ledgerMetrics(registry, options);
  const context = {
    app: service.app,
    ledger,
    evidence,
    logger: options.logger,
    sharedWalk: createSharedWalk(options.now),
  };
  for (const register of ROUTES) register(context);
  return service;
}
