import type { LedgerEntry } from '../../../contracts/ledger.js';
import { type Tally, tally } from '../reports/facts.js';
import { isDenial, judgedBy } from '../reports/outcome.js';

const SAMPLES = 5;
/** Provenances in which the person authenticated strongly (docs/architecture/ledger-reads.md#compliance-register). */
const ATTESTED = new Set(['webauthn', 'oidc', 'saml']);
/** Provenances of decisions that no person took. */
const NOBODY = new Set(['system', 'auth-disabled']);

/** A count of rows, and the places of the first few of them. */
export interface Fact {
  count: number;
  readonly samples: number[];
}

/** What the rows of a window say, counted without judging it. */
export interface Facts {
  rows: number;
  readonly verdicts: Fact;
  /** Calls refused for good, by the verdict or later by a person, as the reports count them. */
  readonly denials: Fact;
  readonly signedDenials: Fact;
  readonly denySignals: Fact;
  readonly humanDecisions: Fact;
  readonly attestedDecisions: Fact;
  readonly otherDecisions: Fact;
  readonly narrowed: Fact;
  readonly committedPayloads: Fact;
  readonly committedEvidence: Fact;
  readonly signedRows: Fact;
  readonly provenance: Tally;
  readonly signals: Tally;
}

const fact = (): Fact => ({ count: 0, samples: [] });

export const noFacts = (): Facts => ({
  rows: 0,
  verdicts: fact(),
  denials: fact(),
  signedDenials: fact(),
  denySignals: fact(),
  humanDecisions: fact(),
  attestedDecisions: fact(),
  otherDecisions: fact(),
  narrowed: fact(),
  committedPayloads: fact(),
  committedEvidence: fact(),
  signedRows: fact(),
  provenance: tally(),
  signals: tally(),
});

function seen(into: Fact, seq: number): void {
  into.count += 1;
  if (into.samples.length < SAMPLES) into.samples.push(seq);
}

/** Counts one row. Rows must come in chain order; the same rows give the same facts. */
export function countFact(facts: Facts, row: LedgerEntry): void {
  const { seq, event_kind: kind } = row;
  const text = (field: string) => (typeof row[field] === 'string' ? row[field] : null);
  const signal = text('signal');
  const signed = text('signature') !== null;
  facts.rows += 1;
  if (signed) seen(facts.signedRows, seq);
  if (text('payload_sha256') !== null) seen(facts.committedPayloads, seq);
  if (text('brain_evidence_sha256') !== null) seen(facts.committedEvidence, seq);
  if (kind === 'agent.envelope_narrowed') seen(facts.narrowed, seq);
  if (kind === 'proxy.verdict') seen(facts.verdicts, seq);
  if (isDenial(judgedBy(row))) {
    seen(facts.denials, seq);
    if (signed) seen(facts.signedDenials, seq);
    if (signal !== null) {
      seen(facts.denySignals, seq);
      facts.signals.add(signal);
    }
  }
  if (kind === 'hil.approved' || kind === 'hil.denied') {
    const said = row.policy_decision?.['approver_provenance'];
    const provenance = typeof said === 'string' ? said : 'unrecorded';
    facts.provenance.add(provenance);
    if (NOBODY.has(provenance)) seen(facts.otherDecisions, seq);
    else seen(facts.humanDecisions, seq);
    if (ATTESTED.has(provenance)) seen(facts.attestedDecisions, seq);
  }
}
