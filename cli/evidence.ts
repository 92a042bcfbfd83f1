import { createPrivateKey, createPublicKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ConsistencyProof, InclusionProof, ProofBundle } from '../contracts/ledger-proof.js';
import { errorText, GateError } from '../domain/errors.js';
import type { ReadOnlyLedger } from '../adapters/ledger/read-only.js';
import { verifyRegulatoryBundle } from '../adapters/evidence/regulatory/verify-bundle.js';
import { parseCheckpoint } from '../domain/ledger/tlog/checkpoint.js';
import { type NoteKey, noteKey, parseVkey } from '../domain/ledger/tlog/note.js';
import { type BundleVerdict, makeProofBundle, verifyProofBundle } from '../domain/ledger/tlog/proof-bundle.js';
import { type LogKey, signingLogKey, type TransparencyLog } from '../adapters/ledger/tlog/transparency-log.js';
import { stopReportVerifier } from '../adapters/identity/stop-report-signature.js';
import { stopReport } from '../contracts/identity.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { stopReportText } from '../domain/identity/stop-reports.js';
import { parseJsonOnce, parseStrictJson, StrictJsonError } from '../domain/mcp/strict-json.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { unreadable } from './named-file.js';

/** Keys the reader gives. If any is given, none is taken from the bundle. */
export interface EvidenceTrust {
  readonly key?: string;
  /** A file of verifier keys, one per line. */
  readonly trustedLogs?: string;
  readonly witness?: readonly string[];
  readonly witnesses?: number;
}

/** The kinds of evidence, recognised by how the file begins. */
type EvidenceKind = 'proof bundle' | 'regulatory bundle' | 'report of a stop';
function kindOf(bytes: Buffer): EvidenceKind | null {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'regulatory bundle';
  if (!/^\s*\{/.test(bytes.toString('utf8', 0, 64))) return null;
  return isStopReport(bytes) ? 'report of a stop' : 'proof bundle';
}

/** Verifies a file of evidence offline, whichever kind it is. Throws CliError (exit code 1) when it cannot be read or is no evidence. */
export async function verifyEvidence(file: string, trust: EvidenceTrust): Promise<BundleVerdict> {
  const bytes = readEvidence(file);
  const kind = kindOf(bytes);
  if (kind === null)
    throw new CliError(
      `${file} is neither a proof bundle or a report of a stop (JSON) nor a regulatory bundle (tar.gz)`,
    );
  if (kind === 'regulatory bundle') return verifyRegulatory(file, trust);
  if (kind === 'report of a stop') return verifyStopReport(file, bytes, trust);
  return verifyProof(file, bytes, trust);
}

function isStopReport(bytes: Buffer): boolean {
  try {
    return (JSON.parse(bytes.toString('utf8')) as { schema?: unknown }).schema === STOP_REPORT;
  } catch {
    return false;
  }
}
const STOP_REPORT = 'gate.stop-report/1';

/** Signed by the CA, whose certificate must come from elsewhere than the report. */
function verifyStopReport(file: string, bytes: Buffer, { key }: EvidenceTrust): BundleVerdict {
  if (key === undefined)
    throw new CliError(
      `${file} is the report of a stop; give the certificate of the CA that signed it: --key <ca.crt>`,
    );
  const trusted = existsSync(key) ? readFileSync(key, 'utf8') : key;
  const what = 'signature of the CA';
  try {
    const report = stopReport.parse(parseStrictJson(bytes.toString('utf8')));
    const { id, tenant, stopped, stopped_at: at } = verifierOf(trusted)(report);
    const name = oneLine(stopped.kind === 'tenant' ? `tenant ${tenant}` : `the ${stopped.kind} ${stopped.name}`);
    const detail = `report ${id}: what was running when ${name} was stopped, at ${at}`;
    const sha256 = sha256Hex(stopReportText(report));
    return {
      valid: true,
      proved: true,
      checks: [{ what, holds: true, detail }],
      notes: [`the row stop.reported of the ledger names its digest: ${sha256}`],
    };
  } catch (error) {
    if (error instanceof CliError) throw error;
    const detail = error instanceof z.ZodError ? 'it is no report of a stop' : errorText(error);
    return { valid: false, proved: false, checks: [{ what, holds: false, detail }], notes: [] };
  }
}

function verifierOf(trusted: string) {
  if (!trusted.includes('-----BEGIN CERTIFICATE-----')) throw new CliError('--key: no certificate in PEM');
  try {
    return stopReportVerifier(trusted);
  } catch (error) {
    throw new CliError(`--key: no certificate of a CA (${errorText(error)})`);
  }
}

/** Signed by one key. The key is PEM and must come from elsewhere than the bundle. */
function verifyRegulatory(file: string, { key }: EvidenceTrust): Promise<BundleVerdict> {
  if (key === undefined)
    throw new CliError(
      `${file} is a regulatory bundle; give the public key of whoever signs for the ledger: --key <PEM>`,
    );
  const publicKeyPem = existsSync(key) ? readFileSync(key, 'utf8') : key;
  try {
    createPublicKey(publicKeyPem);
  } catch {
    throw new CliError(`--key: ${key} is no public key in PEM`);
  }
  return verifyRegulatoryBundle(file, { publicKeyPem });
}

function verifyProof(
  file: string,
  bytes: Buffer,
  { key, trustedLogs, witness = [], witnesses }: EvidenceTrust,
): BundleVerdict {
  let bundle: unknown;
  try {
    bundle = parseJsonOnce(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof StrictJsonError)
      return {
        valid: false,
        proved: false,
        checks: [{ what: 'JSON', holds: false, detail: error.message }],
        notes: [],
      };
    throw new CliError(`${file} is not JSON (${errorText(error)})`);
  }
  try {
    return verifyProofBundle(bundle, {
      logKeys: [
        ...(key === undefined ? [] : [logKeyFor(key, bundle)]),
        ...(trustedLogs === undefined ? [] : keysIn(trustedLogs)),
      ],
      witnesses: witness.map(vkeyOf),
      quorum: witnesses ?? 0,
    });
  } catch (error) {
    throw error instanceof TypeError ? new CliError(`${file}: ${error.message}`) : error;
  }
}

export function readEvidence(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${unreadable(error)}`);
  }
}

/** A log's key, given as a verifier key or as the public key (PEM) that its operator published; the bundle then names the log. */
function logKeyFor(given: string, bundle: unknown): NoteKey {
  const text = existsSync(given) ? readFileSync(given, 'utf8') : given;
  if (!text.includes('-----BEGIN PUBLIC KEY-----')) return vkeyOf(given);
  const { checkpoint } = (bundle ?? {}) as { checkpoint?: unknown };
  const origin = typeof checkpoint === 'string' ? (checkpoint.split('\n', 1)[0] ?? '') : '';
  try {
    return noteKey(origin, createPublicKey(text));
  } catch {
    throw new CliError(`--key: no Ed25519 public key in PEM, or the bundle names no log`);
  }
}

/** The verifier keys in a file, one per line. Empty lines and lines that start with # are skipped. */
function keysIn(file: string): NoteKey[] {
  const lines = readEvidence(file)
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw new CliError(`${file} names no log that is trusted`);
  return lines.map((line) => {
    try {
      return parseVkey(line);
    } catch (error) {
      throw new CliError(`${file}: ${errorText(error)}`);
    }
  });
}

/** A verifier key, given as text or as the name of a file that holds it. */
function vkeyOf(given: string): NoteKey {
  const isFile = existsSync(given);
  try {
    return parseVkey(isFile ? readFileSync(given, 'utf8') : given);
  } catch (error) {
    throw new CliError(isFile ? errorText(error) : `no file of that name is here, and it is ${errorText(error)}`);
  }
}

/** The verdict as text for people. */
export function verdictText({ valid, proved, checks, notes }: BundleVerdict): string {
  const lines = checks.map(({ what, holds, detail }) => `${holds ? 'ok     ' : 'BROKEN '} ${what}: ${detail}`);
  return `${[...lines, ...notes.map((note) => `note    ${note}`), proved ? 'the bundle holds' : valid ? NOT_PROVED : 'INVALID: this is not what was signed'].join('\n')}\n`;
}

const NOT_PROVED =
  'NOT PROVED: the bundle agrees with itself, and anybody can make one that does. Name the log you trust: --key <its key>, --trusted-logs <file> or --witness <key>';

/** Where proofs come from: a ledger's routes, or a file. */
export type Prover = Pick<TransparencyLog, 'inclusion' | 'consistency'>;

/** A running ledger. */
export const proverOver = (ask: <Answer>(path: string) => Promise<Answer>): Prover => ({
  inclusion: (of) => {
    const [name, value] = Object.entries(of)[0] ?? [];
    return ask<InclusionProof>(`/proof/inclusion?${name}=${value}`);
  },
  consistency: (from, to) => ask<ConsistencyProof>(`/proof/consistency?from=${from}&to=${to}`),
});

/**
 * Makes a verified bundle that proves an entry. `since` is an earlier checkpoint. Throws CliError with exit code 2 when this log does not
 * extend that checkpoint, or when a check fails.
 */
export async function proveEntry(
  prover: Prover,
  entry: { readonly seq: number } | { readonly id: string },
  since?: string,
): Promise<ProofBundle> {
  const inclusion = await prover.inclusion(entry);
  const bundle = since === undefined ? makeProofBundle(inclusion) : await grownSince(prover, inclusion, since);
  const broken = verifyProofBundle(bundle, { logKeys: [parseVkey(bundle.log_key)] }).checks.find(({ holds }) => !holds);
  if (broken) throw new CliError(`nothing was written: ${broken.what}: ${broken.detail}`, 2);
  return bundle;
}

async function grownSince(prover: Prover, inclusion: InclusionProof, since: string): Promise<ProofBundle> {
  const { size } = keptCheckpoint(since);
  if (size > inclusion.tree_size)
    throw new CliError(
      `the checkpoint that was kept is over ${size} entries, the ledger has ${inclusion.tree_size}`,
      2,
    );
  const proof = await prover.consistency(size, inclusion.tree_size);
  return makeProofBundle(inclusion, { checkpoint: since, proof });
}

/** The identity under which a file is read as a log. */
export interface FileLogOptions {
  readonly key?: string;
  readonly origin?: string;
}
const DEFAULT_ORIGIN = 'gate.local/ledger';

/**
 * Reads a ledger file as a transparency log. `key` is either a private key in PEM, which signs a checkpoint over all entries, or a public
 * key or verifier key, with which the newest checkpoint in the file is used. Throws CliError with what is missing; exit code 2 when the
 * chain is invalid or contradicts an earlier checkpoint.
 */
export async function withLogOfFile<Result>(
  ledger: Pick<ReadOnlyLedger, 'newestCheckpoint' | 'transparencyLog'>,
  file: string,
  { key, origin }: FileLogOptions,
  use: (log: TransparencyLog) => Promise<Result>,
): Promise<Result> {
  try {
    const newest = ledger.newestCheckpoint();
    if (key === undefined)
      throw new CliError(
        newest
          ? `${file} has a checkpoint of ${newest.origin} over ${newest.size} entries; give --key with the public key (PEM) or the verifier key of that log, or with an Ed25519 key (PEM) that signs one over all entries`
          : `${file} has no signed checkpoint; give --key with an Ed25519 key (PEM) to sign one; \`openssl genpkey -algorithm ed25519 -out log.pem\` makes one`,
      );
    return await use(await ledger.transparencyLog(logKeyOf(key, origin ?? newest?.origin ?? DEFAULT_ORIGIN)));
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    throw new CliError(`${file}: ${error.message}`, BROKEN_CHAIN.includes(error.code) ? 2 : 1);
  }
}
const BROKEN_CHAIN: readonly string[] = ['chain_verification_incomplete', 'checkpoint_inconsistent'];

function logKeyOf(given: string, origin: string): LogKey {
  const inFile = existsSync(given);
  const text = inFile ? readFileSync(given, 'utf8') : given;
  const [, kind] = /-----BEGIN [A-Z ]*(PRIVATE|PUBLIC) KEY-----/.exec(text) ?? [];
  if (kind === undefined) return { key: vkeyOf(given), privateKey: null };
  try {
    if (kind === 'PUBLIC') return { key: noteKey(origin, createPublicKey(text)), privateKey: null };
    return signingLogKey(origin, createPrivateKey(text));
  } catch {
    // Do not print a key that was given as text; it is a secret.
    throw new CliError(`--key${inFile ? ` ${given}` : ''}: no Ed25519 key in PEM, or --origin is no name for a log`);
  }
}

function keptCheckpoint(text: string) {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CliError(`--since: ${errorText(error)}`);
  }
}
