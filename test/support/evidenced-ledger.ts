import { type Evidence, type EvidenceOptions, openLedgerWithEvidence } from '../../domain/evidence/evidence.js';
import type { LedgerStore, OpenLedgerOptions } from '../../domain/ledger/ledger-store.js';

/** A ledger and its evidence as one object, for tests that use both side by side. */
export type EvidencedLedger = Omit<LedgerStore, 'vacuum'> & Evidence;

export async function openEvidencedLedger(options: OpenLedgerOptions & EvidenceOptions): Promise<EvidencedLedger> {
  const { ledger, evidence } = await openLedgerWithEvidence(options);
  return { ...ledger, ...evidence };
}
