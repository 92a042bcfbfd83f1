import type { StopCall, StopCalls, StopReport, StopReportContent } from '../../contracts/identity.js';
import type { Json } from '../../contracts/json.js';
import { canonicalJson, uuidFromDigest } from '../crypto/digest.js';

/** What was stopped: an agent, a tool for everybody of a tenant, or a tenant whole. */
export type StoppedKind = StopReportContent['stopped']['kind'];

/** A report of which nobody has said yet what was running (docs/architecture/identity.md#reports). */
export interface DueReport {
  readonly id: string;
  readonly tenant: string;
  readonly kind: StoppedKind;
  /** The agent or the tool; `null` for the tenant whole. */
  readonly name: string | null;
  readonly stoppedMs: number;
}

/** A report as it is kept: `taking-back` until the certificates are taken back, then `due` until somebody said what was running. */
export interface KeptReport extends DueReport {
  readonly stoppedId: string;
  readonly stoppedBy: string;
  readonly reason: string | null;
  readonly state: 'taking-back' | 'due' | 'made';
  readonly revokedCertificates: number;
  readonly madeMs: number | null;
  readonly sha256: string | null;
}

/** Each stop has one report, by what was stopped and when. */
export const stopReportIdOf = (stoppedId: string, stoppedMs: number): string =>
  uuidFromDigest('gate.stop-report', stoppedId, String(stoppedMs));

/** So long after a stop every proxy that hears identity has heard of it, and lets nothing in any more. */
export const HEARD_MS = 2_000;

/** The bytes of a report that are signed: their beginning tells them from everything else that a CA signs. */
export const stopReportBytes = (content: StopReportContent): Buffer =>
  Buffer.from(`${content.schema}\n${canonicalJson(content as Json)}`, 'utf8');

/** A report as one text, which its digest in the ledger is of. */
export const stopReportText = (report: StopReport): string => canonicalJson(report as Json);

/** How many of each there were. */
export function countsOf(calls: readonly Pick<StopCall, 'was'>[], leftOut: number): StopReportContent['counts'] {
  const of = (was: StopCall['was']): number => calls.filter((call) => call.was === was).length;
  return {
    running: of('running'),
    parked: of('parked'),
    judged: of('judged'),
    started: of('started'),
    left_out: leftOut,
  };
}

export interface StopReportStore {
  /** Those of which a proxy may say by now what was running, the oldest first. */
  reportsDue(nowMs: number): Promise<readonly DueReport[]>;
  /**
   * Keeps what was running, signed, with its row for the ledger. A report is made once: whatever is said of it later changes nothing. Throws
   * `not_found` where none is due.
   */
  makeReport(
    id: string,
    said: StopCalls,
    by: { readonly nowMs: number; readonly trustDomain: string; sign(content: StopReportContent): Promise<StopReport> },
  ): Promise<void>;
  /** Those of a tenant, the newest first, at most `STOP_REPORTS_LISTED`. */
  stopReports(tenant: string, beforeMs: number | undefined): Promise<readonly KeptReport[]>;
  /** Throws `not_found` for what is another tenant's, as for what is not there. */
  stopReport(id: string, tenant: string): Promise<KeptReport & { readonly report: StopReport | null }>;
  /**
   * Takes back the certificates of one more agent of a tenant that was stopped; `false` where nothing is left. Ended in the middle, it goes on where it
   * was.
   */
  takeBackOne(nowMs: number): Promise<boolean>;
}
