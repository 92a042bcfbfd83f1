import type { HeldRows, Ledger } from '../../contracts/ledger.js';
import type { EgressSource } from '../../contracts/ledger-egress.js';
import type { LedgerReader } from '../../domain/ledger/ledger-reader.js';

/** What the ledger's neighbours use it by, in process or over mutual TLS. */
export interface LedgerPort {
  readonly ledger: Ledger & HeldRows & Pick<LedgerReader, 'byCorrelation'>;
  /** Rows for streams to sinks. */
  readonly egress: EgressSource;
}
