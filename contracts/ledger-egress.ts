import { z } from 'zod';
import { ledgerEntry } from './ledger.js';

const seq = z.number().int().min(0);

/** Rows after a cursor in chain order, as a stream to a sink reads them. Hidden rows are skipped. */
export const egressPage = z.object({
  rows: z.array(ledgerEntry),
  /** The last place that was looked at; the next page starts after it. */
  through: seq,
  /** The newest entry of the chain. */
  head: seq,
});
export type EgressPage = z.infer<typeof egressPage>;

/** Where streams read their rows: from the ledger in process, or over mutual TLS. */
export interface EgressSource {
  /** Rows after `after`. Naming a sink confirms all rows up to `after` for it. */
  egressPage(after: number, limit: number, sink?: string): Promise<EgressPage>;
}
