import { createPublicKey } from 'node:crypto';
import type { LedgerEntry } from '../contracts/ledger.js';
import { errorText } from '../domain/errors.js';
import { oneLine } from '../domain/printable.js';
import { type ApprovalFinding, approvalFindings } from '../domain/review/approval-evidence.js';
import { CliError } from './errors.js';
import { textOf } from './named-file.js';
import { print } from './output.js';
import { type ledgerTarget, UUID } from './target.js';

/** `gate verify --approval`: what the approvers of a call signed, checked with the rows and the public keys alone. */
export async function verifyApproval(
  target: ReturnType<typeof ledgerTarget>,
  correlationId: string,
  { approverKeys, asJson = false }: { readonly approverKeys?: readonly string[]; readonly asJson?: boolean },
): Promise<void> {
  if (!UUID.test(correlationId)) throw new CliError(`${correlationId} is not a correlation id`, 2);
  const keys = approverKeys?.map(readKey);
  const rows =
    target.kind === 'file'
      ? await target.read((opened) => opened.byCorrelation(correlationId))
      : await target.ask<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${correlationId}`);
  const findings = approvalFindings(rows, keys);
  if (findings.length === 0) throw new CliError(`the ledger has no decision about ${correlationId}`, 4);
  if (asJson) print(findings);
  else
    process.stdout.write(
      `${findings.map((finding) => `${oneLine(lineOf(finding))}\n`).join('')}${target.kind === 'file' ? '' : HOW_OFFLINE}`,
    );
  if (findings.some(({ fault }) => fault !== null)) process.exitCode = 2;
}

function readKey(file: string): Uint8Array {
  const pem = textOf('--approver-key', file);
  try {
    return createPublicKey(pem).export({ format: 'der', type: 'spki' });
  } catch (error) {
    throw new CliError(`${file}: not a public key in PEM (${errorText(error)})`, 2);
  }
}

const HOW_OFFLINE =
  'the rows are as the running ledger tells them; to check offline, name a copy of it, which gate backup makes: --ledger <file> (docs/how-to/set-up-passkeys.md)\n';
const NOT_COMPARED =
  '; the rows, of an earlier Gate, do not say what the approver was shown, and what ran was compared with the rows alone where the signature names no tool';
const lineOf = ({ seq, event, decided_by, fault, key_sha256, origin, counter, shown_compared }: ApprovalFinding) =>
  fault === null
    ? `seq ${seq} ${event} by ${decided_by}: signed by the passkey ${key_sha256?.slice(0, 16)} at ${origin}, counter ${counter}${shown_compared ? '' : NOT_COMPARED}`
    : `seq ${seq} ${event} by ${decided_by}: NOT PROVED: ${fault}`;
