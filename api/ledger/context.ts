import type { Logger } from 'pino';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { LedgerStore } from '../../adapters/ledger/ledger-store.js';
import type { ServiceApp } from '../plugins/app.js';
import type { SharedWalk } from './shared-walk.js';

/** What every route module of the ledger gets; each registers its routes by name. */
export interface LedgerContext {
  readonly app: ServiceApp;
  readonly ledger: LedgerStore;
  readonly evidence: Evidence;
  readonly logger: Logger;
  readonly sharedWalk: SharedWalk;
}
