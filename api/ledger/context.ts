import type { Logger } from 'pino';
import type { Evidence } from '../../adapters/evidence/evidence.js';
import type { LedgerStore } from '../../adapters/ledger/ledger-store.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';
import type { ServiceApp } from '../plugins/app.js';
import type { SharedWalk } from './shared-walk.js';

/** What a route needs that asks the chain, or what is kept beside it; each module registers its routes by name. */
export interface LedgerReadContext {
  readonly app: ServiceApp;
  readonly ledger: LedgerReader &
    Pick<LedgerStore, 'head' | 'verifyAssured'> & {
      /** `listener` is called with each commit. */
      observe(listener: () => void): void;
    };
  readonly evidence: Pick<
    Evidence,
    'activeAgents' | 'cases' | 'coldTier' | 'complianceEvidence' | 'reports' | 'silence'
  >;
  readonly sharedWalk: SharedWalk;
}

/** What a route needs that only the service of the ledger has. */
export interface LedgerContext extends LedgerReadContext {
  readonly ledger: LedgerStore;
  readonly evidence: Evidence;
  readonly logger: Logger;
}
