import { z } from 'zod';
import { ledgerEntry } from './ledger.js';

const seq = z.number().int().min(0);

/** Rows behind a cursor, in chain order, as a stream to a sink reads them. Hidden rows are passed over. */
export const egressPage = z.object({
  rows: z.array(ledgerEntry),
  /** Up to here the chain was looked at: where the next page begins. */
  through: seq,
  /** The newest entry there is. */
  head: seq,
});
export type EgressPage = z.infer<typeof egressPage>;

/** Where streams get their rows from: the ledger in process, or over mutual TLS. */
export interface EgressSource {
  /** Rows behind `after`. Who names a sink says that it has confirmed all rows up to there. */
  egressPage(after: number, limit: number, sink?: string): Promise<EgressPage>;
}
