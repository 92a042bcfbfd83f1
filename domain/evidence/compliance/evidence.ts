import type { ComplianceRegister } from '../../../contracts/compliance.js';
import type { Assurance } from '../../ledger/assurance/assurance.js';
import type { LedgerReader } from '../../ledger/ledger-reader.js';
import type { RowFilter } from '../../ledger/rows.js';
import { reading } from '../../ledger/chain-store.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import { countFact, noFacts } from './facts.js';
import { complianceRegister } from './register.js';

export interface EvidenceWindow extends Pick<RowFilter, 'tenant' | 'demoPrefix'> {
  readonly from: string;
  readonly to: string;
}

export interface EvidenceOptions {
  readonly reader: Pick<LedgerReader, 'pages'>;
  readonly assurance: Pick<Assurance, 'verifyAssured'>;
  /** How many cold exports hold rows of that time. */
  readonly coldExports: (window: { readonly from: string; readonly to: string }) => Promise<number>;
  /** What of a window was vacuumed. */
  readonly goneFrom: GoneFrom;
  readonly clock: () => number;
}

/**
 * The register of a window (docs/architecture/ledger-reads.md#compliance-register), after a walk of the whole chain. The rows of erased
 * tenants are left out, those of a cleaned demonstration are not, as in the regulatory bundle. Throws `window_vacuumed` where rows of the
 * window are gone, because counts of the rest would be taken for the whole, and `ledger_store_unavailable`.
 */
export type ComplianceEvidence = (window: EvidenceWindow) => Promise<ComplianceRegister>;

export const createComplianceEvidence =
  ({ reader, assurance, coldExports, goneFrom, clock }: EvidenceOptions): ComplianceEvidence =>
  async ({ from, to, ...scope }) => {
    const verification = await assurance.verifyAssured();
    const facts = noFacts();
    for await (const page of reader.pages({ ...scope, from, to, hiding: 'erased' }))
      for (const row of page) countFact(facts, row);
    // Behind the rows: what went while they were read is gone too.
    const tenant = scope.demoPrefix === undefined ? scope.tenant : undefined;
    const gone = await reading(() => goneFrom({ from, to, tenant }));
    if (gone) throw windowVacuumed(gone);
    return complianceRegister({
      window: { from, to },
      facts,
      verification,
      coldExports: await coldExports({ from, to }),
      generatedAt: new Date(clock()).toISOString(),
    });
  };
