import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { ChainRows, ChainVerifier } from '../../adapters/ledger/ledger-store.js';
import type { TransparencyLog } from '../../adapters/ledger/tlog/transparency-log.js';
import { type Caller, createService, type Service, type ServiceApp } from '../plugins/service.js';
import { activeAgentRoutes } from './routes/active-agents.js';
import { analysisRoutes } from './routes/analysis.js';
import { auditRoutes } from './routes/audit.js';
import { caseRoutes } from './routes/cases.js';
import { complianceRoutes } from './routes/compliance.js';
import { exportRoutes } from './routes/export.js';
import { huntRoutes } from './routes/hunt.js';
import { narrativeRoutes } from './routes/narrative.js';
import { proofRoutes } from './routes/proof.js';
import { silenceRoutes } from './routes/silence.js';
import { streamRoutes } from './routes/stream.js';
import { verifyRoutes } from './routes/verify.js';
import { createSharedWalk, type SharedWalk } from './shared-walk.js';

/** What any ledger can show, also one that is a part of something else. */
export interface LedgerReadParts {
  readonly reader: ChainRows;
  /** Tells of each commit. */
  readonly writer: { observe(listener: () => void): void };
  readonly verifier: Pick<ChainVerifier, 'verifyAssured'>;
  /** `null` without a key that signs. */
  readonly transparency: TransparencyLog | null;
  readonly evidence: Pick<
    Evidence,
    'activeAgents' | 'cases' | 'coldTier' | 'complianceEvidence' | 'reports' | 'silence'
  >;
}

/** The modules whose reads any ledger answers, each with what it needs. */
export function readRoutes(app: ServiceApp, parts: LedgerReadParts, sharedWalk: SharedWalk): void {
  const { reader, writer, verifier, transparency, evidence } = parts;
  const { activeAgents, cases, coldTier, complianceEvidence, reports, silence } = evidence;
  // One line per module, in alphabetical order.
  activeAgentRoutes({ app, activeAgents });
  analysisRoutes({ app, reports });
  auditRoutes({ app, reader });
  caseRoutes({ app, cases });
  complianceRoutes({ app, complianceEvidence });
  exportRoutes({ app, coldTier });
  huntRoutes({ app, reports });
  narrativeRoutes({ app, reports });
  proofRoutes({ app, transparency, sharedWalk });
  silenceRoutes({ app, silence });
  streamRoutes({ app, writer, reader });
  verifyRoutes({ app, verifier, sharedWalk });
}

export interface LedgerReadsOptions extends LedgerReadParts {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resolveCaller: (request: FastifyRequest) => Caller | null;
  readonly now: () => number;
}

/**
 * The ledger's service without what only its writer may do, under the same table of callers. Nobody listens for it: whoever mounts it says
 * which of its routes are reached.
 */
export function createLedgerReads({
  reader,
  writer,
  verifier,
  transparency,
  evidence,
  now,
  ...options
}: LedgerReadsOptions): Service {
  const service = createService({ ...options, name: 'ledger', governed: 'ledger' });
  readRoutes(service.app, { reader, writer, verifier, transparency, evidence }, createSharedWalk(now));
  return service;
}
