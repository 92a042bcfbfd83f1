import { createPublicKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { ConsistencyProof, InclusionProof } from '../contracts/ledger-proof.js';
import { errorText } from '../domain/errors.js';
import { verifyRegulatoryBundle } from '../domain/ledger/regulatory/verify-bundle.js';
import { parseCheckpoint } from '../domain/ledger/tlog/checkpoint.js';
import { type NoteKey, parseVkey } from '../domain/ledger/tlog/note.js';
import { type BundleVerdict, makeProofBundle, verifyProofBundle } from '../domain/ledger/tlog/proof-bundle.js';
import { CliError } from './target.js';

/** Keys the reader brings along; none is taken from the bundle where one is given. */
export interface EvidenceTrust {
  readonly key?: string;
  readonly witness?: readonly string[];
  readonly witnesses?: number;
}

/** What is handed over as evidence, told apart by how the file begins. */
type EvidenceKind = 'proof bundle' | 'regulatory bundle';
function kindOf(bytes: Buffer): EvidenceKind | null {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'regulatory bundle';
  return /^\s*\{/.test(bytes.toString('utf8', 0, 64)) ? 'proof bundle' : null;
}

/**
 * Checks a file of evidence offline, whichever kind it is. Exit codes: 0 it holds, 2 it does not, 1 it cannot be read or is no evidence.
 * Throws CliError for the last two.
 */
export async function verifyEvidence(file: string, trust: EvidenceTrust): Promise<BundleVerdict> {
  const bytes = readEvidence(file);
  const kind = kindOf(bytes);
  if (kind === null) throw new CliError(`${file} is neither a proof bundle (JSON) nor a regulatory bundle (tar.gz)`);
  if (kind === 'regulatory bundle') return verifyRegulatory(file, trust);
  return verifyProof(file, bytes, trust);
}

/** Signed by one key; that key is PEM and comes from elsewhere than the bundle. */
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

function verifyProof(file: string, bytes: Buffer, { key, witness = [], witnesses }: EvidenceTrust): BundleVerdict {
  let bundle: unknown;
  try {
    bundle = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new CliError(`${file} is not JSON (${errorText(error)})`);
  }
  try {
    return verifyProofBundle(bundle, {
      ...(key !== undefined && { logKey: vkeyOf(key) }),
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
    throw new CliError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? errorText(error)})`);
  }
}

/** A verifier key as text, or the file that holds it. */
function vkeyOf(given: string): NoteKey {
  try {
    return parseVkey(existsSync(given) ? readFileSync(given, 'utf8') : given);
  } catch (error) {
    throw new CliError(errorText(error));
  }
}

/** The verdict as a person reads it. */
export function verdictText({ valid, checks, notes }: BundleVerdict): string {
  const lines = checks.map(({ what, holds, detail }) => `${holds ? 'ok     ' : 'BROKEN '} ${what}: ${detail}`);
  return `${[...lines, ...notes.map((note) => `note    ${note}`), valid ? 'the bundle holds' : 'INVALID: this is not what the ledger signed'].join('\n')}\n`;
}

/** Fetches what proves an entry and returns it as one bundle. `since` is a checkpoint that was kept earlier. */
export async function proveEntry(
  ask: <Answer>(path: string) => Promise<Answer>,
  entry: { readonly seq: number } | { readonly id: string },
  since?: string,
) {
  const query = 'id' in entry ? `id=${entry.id}` : `seq=${entry.seq}`;
  const inclusion = await ask<InclusionProof>(`/proof/inclusion?${query}`);
  if (since === undefined) return makeProofBundle(inclusion);
  const { size } = keptCheckpoint(since);
  if (size > inclusion.tree_size)
    throw new CliError(
      `the checkpoint that was kept is over ${size} entries, the ledger has ${inclusion.tree_size}`,
      2,
    );
  const proof = await ask<ConsistencyProof>(`/proof/consistency?from=${size}&to=${inclusion.tree_size}`);
  return makeProofBundle(inclusion, { checkpoint: since, proof });
}

function keptCheckpoint(text: string) {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw new CliError(`--since: ${errorText(error)}`);
  }
}
