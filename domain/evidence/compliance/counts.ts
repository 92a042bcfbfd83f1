import type { LedgerEntry } from '../../../contracts/ledger.js';
import { type Tally, tally } from '../reports/report-rows.js';
import { isDenial, isRehearsal, judgedBy } from '../reports/outcome.js';

const SAMPLES = 5;
/** Provenances in which the person authenticated strongly (docs/architecture/ledger-reads.md#compliance-register). */
const ATTESTED = new Set(['webauthn', 'oidc', 'saml']);
/** Provenances of decisions that no person took. */
const NOBODY = new Set(['system', 'auth-disabled']);

/** A count of rows, and the places of the first few of them. */
export interface Count {
  count: number;
  readonly samples: number[];
}

/** What the rows of a window say, counted without judging it. */
export interface WindowCounts {
  rows: number;
  readonly verdicts: Count;
  /** Calls refused for good, by the verdict or later by a person, as the reports count them. */
  readonly denials: Count;
  readonly signedDenials: Count;
  readonly denySignals: Count;
  readonly humanDecisions: Count;
  readonly attestedDecisions: Count;
  readonly otherDecisions: Count;
  readonly narrowed: Count;
  readonly committedPayloads: Count;
  readonly committedEvidence: Count;
  readonly signedRows: Count;
  readonly provenance: Tally;
  readonly signals: Tally;
}

const none = (): Count => ({ count: 0, samples: [] });

export const noCounts = (): WindowCounts => ({
  rows: 0,
  verdicts: none(),
  denials: none(),
  signedDenials: none(),
  denySignals: none(),
  humanDecisions: none(),
  attestedDecisions: none(),
  otherDecisions: none(),
  narrowed: none(),
  committedPayloads: none(),
  committedEvidence: none(),
  signedRows: none(),
  provenance: tally(),
  signals: tally(),
});

function seen(into: Count, seq: number): void {
  into.count += 1;
  if (into.samples.length < SAMPLES) into.samples.push(seq);
}

/** Counts one row. Rows must come in chain order; the same rows give the same counts. */
export function countRow(counts: WindowCounts, row: LedgerEntry): void {
  const { seq, event_kind: kind } = row;
  const text = (field: string) => (typeof row[field] === 'string' ? row[field] : null);
  const signal = text('signal');
  const signed = text('signature') !== null;
  counts.rows += 1;
  if (signed) seen(counts.signedRows, seq);
  if (text('payload_sha256') !== null) seen(counts.committedPayloads, seq);
  if (text('brain_evidence_sha256') !== null) seen(counts.committedEvidence, seq);
  if (kind === 'agent.envelope_narrowed') seen(counts.narrowed, seq);
  if (kind === 'proxy.verdict') seen(counts.verdicts, seq);
  // What follows is of calls, and of decisions about them.
  if (isRehearsal({ event_kind: kind, method: row.method, source: row['source'] })) return;
  if (isDenial(judgedBy(row))) {
    seen(counts.denials, seq);
    if (signed) seen(counts.signedDenials, seq);
    if (signal !== null) {
      seen(counts.denySignals, seq);
      counts.signals.add(signal);
    }
  }
  if (kind === 'hil.approved' || kind === 'hil.denied') {
    const said = row.policy_decision?.['approver_provenance'];
    const provenance = typeof said === 'string' ? said : 'unrecorded';
    counts.provenance.add(provenance);
    if (NOBODY.has(provenance)) seen(counts.otherDecisions, seq);
    else seen(counts.humanDecisions, seq);
    if (ATTESTED.has(provenance)) seen(counts.attestedDecisions, seq);
  }
}
