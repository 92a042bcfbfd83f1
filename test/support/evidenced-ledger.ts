import {
  type Evidence,
  type EvidenceOptions,
  openLedgerWithEvidence,
  openLedgerWithEvidenceThread,
} from '../../adapters/evidence/evidence.js';
import type { OpenedLedger, OpenLedgerOptions } from '../../adapters/ledger/ledger-store.js';
import { type WholeLedger, wholeLedger } from './whole-ledger.js';

/** A ledger and its evidence as one object, for tests that use both side by side. `vacuum` is the ledger's, for whoever passes it parts. */
export type EvidencedLedger = WholeLedger &
  Omit<Evidence, 'vacuum'> & { vacuum: OpenedLedger['vacuum'] & Evidence['vacuum'] };

const evidenced = (ledger: OpenedLedger, evidence: Evidence): EvidencedLedger => ({
  ...wholeLedger(ledger),
  ...evidence,
  vacuum: Object.assign((pass: Parameters<Evidence['vacuum']>[0]) => evidence.vacuum(pass), ledger.vacuum),
});

export async function openEvidencedLedger(options: OpenLedgerOptions & EvidenceOptions): Promise<EvidencedLedger> {
  const { ledger, evidence } = await openLedgerWithEvidence(options);
  return evidenced(ledger, evidence);
}

export type LikeProductOptions = Parameters<typeof openLedgerWithEvidenceThread>[0] & Pick<EvidenceOptions, 'clock'>;

/** The same with what reads many rows in its thread. `tick` tells the thread what time the test's clock shows by now. */
export async function openLikeProduct({
  clock,
  ...options
}: LikeProductOptions): Promise<{ readonly ledger: EvidencedLedger; tick(): void }> {
  const time = clock && new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const tick = () => void (time && clock && time.fill(clock()));
  tick();
  const { ledger, evidence } = await openLedgerWithEvidenceThread({ ...options, ...(clock && { clock }), time });
  return { ledger: evidenced(ledger, evidence), tick };
}
