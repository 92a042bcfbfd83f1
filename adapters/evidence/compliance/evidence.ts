import type { ComplianceRegister } from '../../../contracts/compliance.js';
import type { Assurance } from '../../ledger/assurance/assurance.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import { countRow, noCounts } from '../../../domain/evidence/compliance/counts.js';
import { complianceRegister } from '../../../domain/evidence/compliance/register.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import type { LedgerReader } from '../../../domain/ledger/ports.js';

export interface EvidenceWindow extends Pick<RowFilter, 'tenant' | 'demoPrefix'> {
  readonly from: string;
  readonly to: string;
}

export interface EvidenceOptions {
  readonly reader: Pick<LedgerReader, 'pages'>;
  readonly assurance: Pick<Assurance, 'verifyAssured'>;
  readonly head: () => Promise<{ readonly length: number }>;
  /** Number of cold exports that hold rows of the window. */
  readonly coldExports: (window: { readonly from: string; readonly to: string }) => Promise<number>;
  /** Which rows of a window were vacuumed. */
  readonly goneFrom: GoneFrom;
  readonly clock: () => number;
}

/**
 * The register of a window (docs/architecture/ledger-reads.md#compliance-register), after a walk of the whole chain. Rows behind the end of
 * the walk are not counted. As in the regulatory bundle, rows of erased tenants are left out and rows of a cleaned demonstration are
 * counted. Throws `window_vacuumed` when rows of the window are gone, because counts of the rest would pass for the whole, and
 * `ledger_store_unavailable`.
 */
export type ComplianceEvidence = (window: EvidenceWindow) => Promise<ComplianceRegister>;

export const createComplianceEvidence =
  ({ reader, assurance, head, coldExports, goneFrom, clock }: EvidenceOptions): ComplianceEvidence =>
  async ({ from, to, ...scope }) => {
    const { length } = await head();
    let verification = await assurance.verifyAssured();
    // A walk that somebody else began may be too short. The next one begins after the head was read.
    if (verification.commitment && verification.commitment.length < length)
      verification = await assurance.verifyAssured();
    const seqTo = verification.commitment?.length ?? length;
    const counts = noCounts();
    for await (const page of reader.pages({ ...scope, from, to, seqTo, hiding: 'erased' }))
      for (const row of page) countRow(counts, row);
    // Checked after reading: rows that were vacuumed meanwhile are missing too.
    const tenant = scope.demoPrefix === undefined ? scope.tenant : undefined;
    const gone = await reading(() => goneFrom({ from, to, tenant }));
    if (gone) throw windowVacuumed(gone);
    return complianceRegister({
      window: { from, to },
      counts,
      verification,
      coldExports: await coldExports({ from, to }),
      generatedAt: new Date(clock()).toISOString(),
    });
  };
