import {
  type Evidence,
  type EvidenceOptions,
  openLedgerWithEvidence,
  openLedgerWithEvidenceThread,
} from '../../adapters/evidence/evidence.js';
import type { LedgerStore, OpenLedgerOptions } from '../../adapters/ledger/ledger-store.js';

/** A ledger and its evidence as one object, for tests that use both side by side. */
export type EvidencedLedger = Omit<LedgerStore, 'vacuum'> & Evidence;

export async function openEvidencedLedger(options: OpenLedgerOptions & EvidenceOptions): Promise<EvidencedLedger> {
  const { ledger, evidence } = await openLedgerWithEvidence(options);
  return { ...ledger, ...evidence };
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
  return { ledger: { ...ledger, ...evidence }, tick };
}
