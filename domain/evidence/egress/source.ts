import type { EgressPage, EgressSource } from '../../../contracts/ledger-egress.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { LedgerReader } from '../../ledger/ports.js';

interface StreamedLedger {
  readonly reader: Pick<LedgerReader, 'pages'> & { head(): Promise<{ readonly length: number }> };
  /** Remembers how far each sink has confirmed. */
  readonly sinkCursors: { confirmed(sink: string, seq: number): Promise<void> };
}

/** The ledger's rows for streams to sinks. Rows of an erased tenant that were not sent before the erasure are never sent. */
export const egressSource = ({ reader, sinkCursors }: StreamedLedger): EgressSource => ({
  async egressPage(after, limit, sink): Promise<EgressPage> {
    // Read before the rows: entries appended meanwhile belong to the next page.
    const { length: head } = await reader.head();
    // A cursor past the end belongs to another state of the chain (it was restored), so it confirms nothing.
    if (sink !== undefined && after <= head) await sinkCursors.confirmed(sink, after);
    const rows: LedgerEntry[] = [];
    if (after < head)
      for await (const page of reader.pages({ seqFrom: after + 1, seqTo: head })) {
        rows.push(...page.slice(0, limit - rows.length));
        if (rows.length === limit) break;
      }
    const full = rows.length === limit ? rows.at(-1) : undefined;
    return { rows, through: full?.seq ?? Math.max(after, head), head };
  },
});
