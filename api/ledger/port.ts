import type { HeldRows, Ledger } from '../../contracts/ledger.js';
import type { EgressSource } from '../../contracts/ledger-egress.js';
import type { DecisionSource } from '../../contracts/decided-calls.js';
import type { ReplaySource } from '../../contracts/replay-rows.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

/** What other services use the ledger through, in process or over mutual TLS. */
export interface LedgerPort {
  readonly ledger: Ledger & HeldRows & Pick<LedgerReader, 'byCorrelation'>;
  /** The rows that streams deliver to sinks. */
  readonly egress: EgressSource;
  /** Recorded evaluations, to be judged again. */
  readonly replay: ReplaySource;
  /** What people decided, and whether the chain verifies that says it. */
  readonly decisions: DecisionSource;
}
