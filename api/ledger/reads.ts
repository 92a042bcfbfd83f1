import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type Caller, createService, type Service } from '../plugins/service.js';
import type { LedgerReadContext } from './context.js';
import { activeAgentRoutes } from './routes/active-agents.js';
import { analysisRoutes } from './routes/analysis.js';
import { auditRoutes } from './routes/audit.js';
import { caseRoutes } from './routes/cases.js';
import { complianceRoutes } from './routes/compliance.js';
import { exportRoutes } from './routes/export.js';
import { huntRoutes } from './routes/hunt.js';
import { narrativeRoutes } from './routes/narrative.js';
import { silenceRoutes } from './routes/silence.js';
import { streamRoutes } from './routes/stream.js';
import { verifyRoutes } from './routes/verify.js';
import { createSharedWalk } from './shared-walk.js';

/** The modules whose reads any ledger answers, also one that is a part of something else. */
export const READ_ROUTES: readonly ((context: LedgerReadContext) => void)[] = [
  // One line per module, in alphabetical order.
  activeAgentRoutes,
  analysisRoutes,
  auditRoutes,
  caseRoutes,
  complianceRoutes,
  exportRoutes,
  huntRoutes,
  narrativeRoutes,
  silenceRoutes,
  streamRoutes,
  verifyRoutes,
];

export interface LedgerReadsOptions extends Omit<LedgerReadContext, 'app' | 'sharedWalk'> {
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
export function createLedgerReads({ ledger, evidence, now, ...options }: LedgerReadsOptions): Service {
  const service = createService({ ...options, name: 'ledger', governed: 'ledger' });
  const context = { app: service.app, ledger, evidence, sharedWalk: createSharedWalk(now) };
  for (const register of READ_ROUTES) register(context);
  return service;
}
