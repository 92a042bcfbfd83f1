import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { LedgerWithEvidence } from '../../adapters/evidence/evidence.js';
import type { Caller } from '../plugins/app.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import type { LedgerContext } from './context.js';
import { ledgerMetrics } from './metrics.js';
import { activeAgentRoutes } from './routes/active-agents.js';
import { analysisRoutes } from './routes/analysis.js';
import { auditRoutes } from './routes/audit.js';
import { caseRoutes } from './routes/cases.js';
import { complianceRoutes } from './routes/compliance.js';
import { egressRoutes } from './routes/egress.js';
import { erasureRoutes } from './routes/erasure.js';
import { huntRoutes } from './routes/hunt.js';
import { exportRoutes } from './routes/export.js';
import { logRoutes } from './routes/log.js';
import { proofRoutes } from './routes/proof.js';
import { regulatoryRoutes } from './routes/regulatory.js';
import { silenceRoutes } from './routes/silence.js';
import { narrativeRoutes } from './routes/narrative.js';
import { streamRoutes } from './routes/stream.js';
import { verifyRoutes } from './routes/verify.js';
import { createSharedWalk } from './shared-walk.js';

/** The ledger's routes, one module per resource. */
const ROUTES: readonly ((context: LedgerContext) => void)[] = [
  // One line per module, in alphabetical order.
  activeAgentRoutes,
  analysisRoutes,
  auditRoutes,
  caseRoutes,
  complianceRoutes,
  egressRoutes,
  erasureRoutes,
  huntRoutes,
  exportRoutes,
  logRoutes,
  narrativeRoutes,
  proofRoutes,
  regulatoryRoutes,
  silenceRoutes,
  streamRoutes,
  verifyRoutes,
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
