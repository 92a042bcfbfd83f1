import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Assurance } from '../../adapters/ledger/assurance/assurance.js';
import { type Caller, createService, type Service } from '../plugins/service.js';
import { auditRoutes } from './routes/audit.js';
import { verifyRoutes } from './routes/verify.js';
import { createSharedWalk } from './shared-walk.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

export interface LedgerReadsOptions {
  readonly ledger: LedgerReader & Pick<Assurance, 'verifyAssured'>;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resolveCaller: (request: FastifyRequest) => Caller | null;
  readonly now: () => number;
}

/** The routes of the ledger's service that read the chain and nothing else, under the same table of callers. Nobody listens for it. */
export function createLedgerReads({ ledger, now, ...options }: LedgerReadsOptions): Service {
  const service = createService({ ...options, name: 'ledger', governed: 'ledger' });
  const context = { app: service.app, ledger, sharedWalk: createSharedWalk(now) };
  auditRoutes(context);
  verifyRoutes(context);
  return service;
}
