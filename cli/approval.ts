import { createPublicKey } from 'node:crypto';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { errorText } from '../domain/errors.js';
import { oneLine } from '../domain/printable.js';
import { type ApprovalFinding, approvalFindings } from '../domain/review/approval-evidence.js';
import { hasUuidForm } from '../domain/uuid.js';
import { CliError } from './errors.js';
import { textOf } from './named-file.js';
import { gateCommand, print } from './output.js';
import { rowOfCall, type StackTarget } from './stack-target.js';
import type { FileTarget } from './target.js';

/** `gate verify --approval`: what the approvers of a call signed, checked with the rows and the public keys alone. */
export async function verifyApproval(
  target: StackTarget | FileTarget,
  given: string,
  { approverKeys, asJson = false }: { readonly approverKeys?: readonly string[]; readonly asJson?: boolean },
): Promise<void> {
  const keys = approverKeys?.map(readKey);
  const { call, rows } = target.kind === 'file' ? await inFile(target, given) : await inStack(target, given);
  const findings = approvalFindings(rows, keys);
  if (findings.length === 0) throw new CliError(`the ledger has no decision about ${call}; ${WANTED}`, 4);
  if (asJson) print(findings);
  else
    process.stdout.write(
      `${call === given.toLowerCase() ? '' : `the call ${call}, whose review is ${given}\n`}${findings.map((finding) => `${oneLine(lineOf(finding))}\n`).join('')}${target.kind === 'file' ? '' : HOW_OFFLINE}`,
    );
  if (findings.some(({ fault }) => fault !== null)) process.exitCode = 2;
}

interface Found {
  /** Its correlation id. */
  readonly call: string;
  readonly rows: readonly LedgerEntry[];
}

const WANTED = `--approval wants the whole correlation id of a call that a person decided: \`${gateCommand()} approvals\` and \`${gateCommand()} audit\` list it, and the agent has it as X-Gate-Correlation-Id`;

/** What was given, as a whole id. Others can make an id that begins alike, and a proof of another call proves nothing. */
function wholeIn(given: string): string {
  const id = given.toLowerCase();
  if (hasUuidForm(id)) return id;
  throw new CliError(
    `${given} is no whole id, which has 36 characters; ${WANTED}. Of the beginning of an id, \`${gateCommand()} pending <beginning>\` shows the call`,
    2,
  );
}

/** A file of rows does not say which call a review was about. */
async function inFile(target: FileTarget, given: string): Promise<Found> {
  const call = wholeIn(given);
  return { call, rows: await target.read((opened) => opened.byCorrelation(call)) };
}

/** Of a running stack also by the id of the call's review. Throws CliError for an id that is of two calls: agents choose those of theirs. */
async function inStack(target: StackTarget, given: string): Promise<Found> {
  const id = wholeIn(given);
  const rowsOf = (call: string) => target.ask<LedgerEntry[]>('ledger', 'GET', `/audit/correlation/${call}`);
  const rows = await rowsOf(id);
  const reviewed = await callOf(target, id, rows.length > 0);
  if (reviewed === null || reviewed === id) return { call: id, rows };
  if (rows.length === 0) return { call: reviewed, rows: await rowsOf(reviewed) };
  const other = await rowOfCall(target, id);
  throw new CliError(
    `${id} is the id of two calls, and neither was checked; give the other id of the one that is meant:\n  ${reviewed}  the call whose review has this id\n${other === null ? '' : `  ${other.id}  the review of the call that has this id\n`}`.trimEnd(),
    2,
  );
}

/** The call of a review; `null` where there is no such review or, with `isEnough`, where nobody says. */
async function callOf({ ask }: StackTarget, reviewId: string, isEnough: boolean): Promise<string | null> {
  try {
    return (await ask<PendingRequest>('hil', 'GET', `/pending/${reviewId}`)).correlation_id;
  } catch (error) {
    if (error instanceof CliError && (error.exitCode === 4 || isEnough)) return null;
    throw error;
  }
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
