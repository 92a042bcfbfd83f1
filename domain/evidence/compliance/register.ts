import type { ComplianceControl, ComplianceRegister } from '../../../contracts/compliance.js';
import type { AssuredVerifyResult, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import type { Count, WindowCounts } from './counts.js';

const DISCLAIMER =
  'This register counts and samples facts that Gate logged. It is no statement that any law, standard or control is met, and its ' +
  'control names only say who may want to look at which rows. A count of zero means that nothing of the kind was logged in the window.';

export interface RegisterInput {
  readonly window: { readonly from: string; readonly to: string };
  readonly counts: WindowCounts;
  readonly verification: AssuredVerifyResult;
  /** Cold exports whose rows overlap the window. */
  readonly coldExports: number;
  readonly generatedAt: string;
}

/** The register of a window. A pure function of logged facts: the same window gives the same bytes, except for `generated_at`. */
export function complianceRegister(input: RegisterInput): ComplianceRegister {
  const { counts, verification, window, generatedAt } = input;
  const { cryptographic_verification: cryptography } = verification;
  return {
    schema_version: '3',
    generated_at: generatedAt,
    window: { from: window.from, to: window.to },
    row_count: counts.rows,
    chain_verify: {
      valid: verification.valid,
      entries_checked: verification.entries_checked,
      first_invalid_seq: verification.first_invalid_seq,
      cryptographic_status: cryptography.status,
      signed_rows: cryptography.signed_rows,
      nothing_signed: cryptography.nothing_signed,
      verified_signed_rows: cryptography.verified_signed_rows,
      tsa_verified: cryptography.tsa.verified,
      tsa_failed: cryptography.tsa.failed,
    },
    controls: controls(input),
    disclaimer: DISCLAIMER,
  };
}

const rows = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
const chainText = ({ valid }: AssuredVerifyResult): string =>
  valid ? 'the walk of the chain found every row as it was appended' : 'the walk of the chain found a fault';
/** Says "no row is signed" whatever the status, because without signatures nothing was verified. */
const signatureText = ({ status, nothing_signed }: CryptographicVerification): string =>
  nothing_signed ? `no row is signed${status === 'verified' ? '' : ` (${status})`}` : `row signatures: ${status}`;
const samplesOf = (...counts: readonly Count[]): number[] =>
  [...new Set(counts.flatMap(({ samples }) => samples))].sort((a, b) => a - b).slice(0, 5);

function controls({ counts, verification, coldExports }: RegisterInput): ComplianceControl[] {
  const { cryptographic_verification: cryptography, valid } = verification;
  const cryptographicStatus = cryptography.status;
  const control = (
    [control_id, framework, title]: readonly [string, string, string],
    applicable: number,
    metric: ComplianceControl['metric'],
    sample_seqs: number[],
    narrative: string,
  ): ComplianceControl => ({
    control_id,
    framework,
    title,
    status: applicable > 0 ? 'observed' : 'no_data',
    metric,
    sample_seqs,
    narrative,
  });
  const decisions = counts.humanDecisions.count;
  const oversight = {
    human_decisions: decisions,
    attested: counts.attestedDecisions.count,
    not_human: counts.otherDecisions.count,
    provenance_summary: counts.provenance.byKey(),
  };
  const oversightWords =
    `${rows(decisions, 'decision')} by a person, ${counts.attestedDecisions.count} of them by one who signed in ` +
    `with webauthn, oidc or saml; ${rows(counts.otherDecisions.count, 'decision')} by nobody.`;
  return [
    control(
      ['EU-AI-Act-Article-14', 'EU AI Act', 'Human oversight'],
      decisions,
      oversight,
      samplesOf(counts.humanDecisions),
      oversightWords,
    ),
    control(
      ['EU-AI-Act-Article-15', 'EU AI Act', 'Accuracy, robustness and cybersecurity'],
      counts.denials.count,
      {
        denials: counts.denials.count,
        denials_signed: counts.signedDenials.count,
        cryptographic_status: cryptographicStatus,
        nothing_signed: cryptography.nothing_signed,
      },
      samplesOf(counts.denials),
      `${rows(counts.denials.count, 'denied call')}, ${counts.signedDenials.count} of them in a signed row; ${signatureText(cryptography)}.`,
    ),
    control(
      ['EU-AI-Act-Article-50', 'EU AI Act', 'Transparency'],
      counts.verdicts.count,
      { interactions: counts.verdicts.count, chain_valid: valid },
      samplesOf(counts.verdicts),
      `${rows(counts.verdicts.count, 'call')} with a verdict row; ${chainText(verification)}.`,
    ),
    control(
      ['ISO-27001-8.13', 'ISO/IEC 27001', 'Information backup'],
      coldExports,
      { cold_exports: coldExports, chain_valid: valid },
      [],
      `${rows(coldExports, 'cold export')} with rows of the window; ${chainText(verification)}.`,
    ),
    control(
      ['SOC2-CC7.2', 'SOC 2', 'Monitoring for anomalies'],
      counts.verdicts.count,
      {
        verdicts: counts.verdicts.count,
        denials_with_signal: counts.denySignals.count,
        signals: counts.signals.byKey(),
      },
      samplesOf(counts.denySignals),
      `${rows(counts.verdicts.count, 'verdict')}, ${counts.denySignals.count} of them denied with a signal.`,
    ),
    control(
      ['SOC2-CC7.3', 'SOC 2', 'Evaluation of security events'],
      decisions,
      { human_decisions: decisions },
      samplesOf(counts.humanDecisions),
      `${rows(decisions, 'parked call')} decided by a person.`,
    ),
    control(
      ['SOC2-CC6.1', 'SOC 2', 'Logical access'],
      counts.narrowed.count,
      { envelopes_narrowed: counts.narrowed.count },
      samplesOf(counts.narrowed),
      `${rows(counts.narrowed.count, 'envelope')} of an agent narrowed.`,
    ),
    control(
      ['NIST-AI-RMF-MEASURE-2.7', 'NIST AI RMF', 'Security and resilience'],
      counts.verdicts.count,
      {
        verdicts: counts.verdicts.count,
        cryptographic_status: cryptographicStatus,
        nothing_signed: cryptography.nothing_signed,
        signed_rows: counts.signedRows.count,
      },
      samplesOf(counts.verdicts),
      `${rows(counts.verdicts.count, 'verdict')}; ${signatureText(cryptography)}.`,
    ),
    control(
      ['NIST-AI-RMF-MANAGE-4.1', 'NIST AI RMF', 'Post-deployment monitoring'],
      counts.denials.count + decisions + counts.narrowed.count,
      {
        denials: counts.denials.count,
        human_decisions: decisions,
        envelopes_narrowed: counts.narrowed.count,
      },
      samplesOf(counts.denials, counts.humanDecisions, counts.narrowed),
      `${rows(counts.denials.count, 'denial')}, ${rows(decisions, 'human decision')}, ${rows(counts.narrowed.count, 'narrowed envelope')}.`,
    ),
    control(
      ['NIST-AI-RMF-GOVERN-1.2', 'NIST AI RMF', 'Accountability'],
      decisions,
      oversight,
      samplesOf(counts.humanDecisions),
      oversightWords,
    ),
    control(
      ['NIST-GenAI-Profile-Content-Provenance', 'NIST AI 600-1', 'Content provenance'],
      counts.committedPayloads.count + counts.committedEvidence.count + counts.signedRows.count,
      {
        payload_sha256: counts.committedPayloads.count,
        brain_evidence_sha256: counts.committedEvidence.count,
        signed_rows: counts.signedRows.count,
        cryptographic_status: cryptographicStatus,
        nothing_signed: cryptography.nothing_signed,
      },
      samplesOf(counts.committedPayloads, counts.committedEvidence, counts.signedRows),
      `${rows(counts.committedPayloads.count, 'row')} committed to its payload, ${counts.committedEvidence.count} to evidence of the ` +
        `inspection, ${counts.signedRows.count} signed; ${signatureText(cryptography)}.`,
    ),
  ];
}
