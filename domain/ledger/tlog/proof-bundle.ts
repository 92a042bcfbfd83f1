import type { Json, JsonObject } from '../../../contracts/json.js';
import {
  type ConsistencyProof,
  type InclusionProof,
  type ProofBundle,
  proofBundle,
} from '../../../contracts/ledger-proof.js';
import { canonicalJson } from '../../crypto/digest.js';
import { errorText } from '../../errors.js';
import { canonicalContent, canonicalEntry, CHAIN_VERSION, CONTENT_FIELDS } from '../canonical-bytes.js';
import { entryHash } from '../entry-hash.js';
import { type Checkpoint, parseCheckpoint } from './checkpoint.js';
import { consistencyHolds, inclusionHolds, leafHash } from './merkle.js';
import { type NoteKey, parseVkey, verifiedSignatures } from './note.js';

/** One check, in words for a reader. */
export interface BundleCheck {
  readonly what: string;
  readonly holds: boolean;
  readonly detail: string;
}
export interface BundleVerdict {
  /** Nothing in the bundle contradicts the rest of it or a key that the reader gave. */
  readonly valid: boolean;
  /** Valid, and signed by a key that the reader gave. Without one, anybody can make a consistent bundle. */
  readonly proved: boolean;
  /** In order. Checking stops at the first that fails. */
  readonly checks: readonly BundleCheck[];
  /** What was not checked, and why. */
  readonly notes: readonly string[];
}

const POSITION_FIELDS = ['chain_version', 'id', 'timestamp', 'seq', 'prev_hash'] as const;
const HASHED_FIELDS: readonly string[] = [...POSITION_FIELDS, ...CONTENT_FIELDS.map(([name]) => name)];

/**
 * Puts the ledger's answers into one file. `older` is a checkpoint that the reader kept, with the consistency proof from it to this one.
 */
export function makeProofBundle(
  { checkpoint, log_key, seq, tree_size, entry_hash, proof, entry }: InclusionProof,
  older?: { readonly checkpoint: string; readonly proof: ConsistencyProof },
): ProofBundle {
  const hashed = entry as JsonObject | null;
  return {
    contract: 'gate.proof-bundle/v1',
    log_key,
    checkpoint,
    inclusion: { seq, tree_size, entry_hash, proof },
    // Fields that read routes add are not covered by the hash. A bundle holds nothing that it does not prove.
    entry:
      hashed &&
      (Object.fromEntries([...HASHED_FIELDS, 'entry_hash'].map((name) => [name, hashed[name] ?? null])) as Record<
        string,
        Json
      >),
    ...(older && {
      consistency: {
        checkpoint: older.checkpoint,
        from: older.proof.from,
        to: older.proof.to,
        proof: older.proof.proof,
      },
    }),
  };
}

class Broken extends Error {}

export interface BundleTrust {
  /** Keys of logs the reader trusts. The checkpoint must be signed by the one of its origin. Without any, the key in the bundle is used. */
  readonly logKeys?: readonly NoteKey[];
  readonly witnesses?: readonly NoteKey[];
  /** How many of the witnesses must have cosigned. */
  readonly quorum?: number;
}

/**
 * Checks a proof bundle with nothing but the bundle and the given keys: the row against its hash
 * (docs/architecture/ledger-rows.md#canonical-bytes), the hash against the root (RFC 6962), the root against the signatures of the log and
 * its witnesses (C2SP), and the older checkpoint against this one. Needs no network and no store. Throws TypeError when `bundle` is not a
 * proof bundle; any check that fails is part of the verdict.
 */
export function verifyProofBundle(
  bundle: unknown,
  { logKeys = [], witnesses = [], quorum = 0 }: BundleTrust = {},
): BundleVerdict {
  const parsed = proofBundle.safeParse(bundle);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new TypeError(`not a proof bundle: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
  }
  const { log_key: ownKey, checkpoint: text, inclusion, entry, consistency } = parsed.data;
  const checks: BundleCheck[] = [];
  const notes: string[] = [];
  const check = <Result>(what: string, look: () => [Result, string]): Result => {
    try {
      const [result, detail] = look();
      checks.push({ what, holds: true, detail });
      return result;
    } catch (error) {
      checks.push({ what, holds: false, detail: errorText(error) });
      throw new Broken();
    }
  };

  const checkRow = (): [void, string] => {
    const computed = hashOf(entry as Readonly<Record<string, Json>>);
    expectThat(
      entry?.['seq'] === inclusion.seq,
      `the row says seq ${JSON.stringify(entry?.['seq'])}, the proof ${inclusion.seq}`,
    );
    expectThat(entry?.['entry_hash'] === computed, 'the row does not hash to its entry_hash');
    expectThat(computed === inclusion.entry_hash, 'the row does not hash to what the proof is about');
    return [undefined, `seq ${inclusion.seq}, entry hash ${computed}`];
  };

  try {
    if (entry) check('row', checkRow);
    else notes.push('the content of the row is hidden; its hash and place are proved');
    const keys = logKeys.length > 0 ? logKeys : [check('log key', () => [parseVkey(ownKey), ownKey])];
    const checkpoint = check('checkpoint', () => readSigned(text, keys));
    if (logKeys.length === 0) notes.push(`the log's key came with the bundle: ${ownKey}`);
    check('inclusion', () => {
      const { seq, tree_size: size, entry_hash: hash, proof } = inclusion;
      expectThat(size === checkpoint.size, `the proof is for ${size} entries, the checkpoint for ${checkpoint.size}`);
      const leaf = leafHash(Buffer.from(hash, 'hex'));
      expectThat(
        inclusionHolds({ leaf, index: seq - 1, size, root: checkpoint.root, proof: bytesOf(proof) }),
        'the path does not lead from the entry to the root',
      );
      return [undefined, `entry ${seq} of ${size}`];
    });
    if (consistency)
      check('consistency', () => {
        const [older] = readSigned(consistency.checkpoint, keys);
        const { from, to, proof } = consistency;
        expectThat(from === older.size && to === checkpoint.size, 'the proof is between other sizes');
        expectThat(
          consistencyHolds({ old: from, oldRoot: older.root, size: to, root: checkpoint.root, proof: bytesOf(proof) }),
          'the log of the older checkpoint is not the beginning of this one',
        );
        return [undefined, `the ${to} entries begin with the ${from} of the older checkpoint`];
      });
    const known = checkpoint.note.signatures.length - 1;
    if (witnesses.length > 0 || quorum > 0)
      check('witnesses', () => {
        const names = new Set(
          verifiedSignatures(checkpoint.note, witnesses).flatMap(({ key: { name }, time }) =>
            time === null ? [] : [name],
          ),
        );
        expectThat(names.size >= quorum, `${names.size} of the ${quorum} witnesses that are asked for cosigned`);
        return [undefined, `cosigned by ${[...names].join(', ') || 'none of those given'}`];
      });
    else if (known > 0) notes.push(`${known} cosignatures were not checked; give the keys of witnesses with --witness`);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
  }
  const valid = checks.every(({ holds }) => holds);
  // An unmet quorum is a failed check, so a met one counts as a key that the reader named.
  const named = logKeys.length > 0 || (witnesses.length > 0 && quorum > 0);
  return { valid, proved: valid && named, checks, notes };
}

function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

const bytesOf = (proof: readonly string[]): Buffer[] => proof.map((node) => Buffer.from(node, 'hex'));

function readSigned(text: string, keys: readonly NoteKey[]): [Checkpoint, string] {
  const checkpoint = parseCheckpoint(text);
  const ofOrigin = keys.filter(({ name }) => name === checkpoint.origin);
  const names = [...new Set(keys.map(({ name }) => name))].join(', ');
  expectThat(ofOrigin.length > 0, `the checkpoint is of ${checkpoint.origin}, the key of ${names}`);
  expectThat(
    verifiedSignatures(checkpoint.note, ofOrigin).length > 0,
    `no signature of the key ${ofOrigin.map(({ id }) => id).join(', ')} of ${checkpoint.origin}`,
  );
  return [checkpoint, `${checkpoint.origin}, ${checkpoint.size} entries, root ${checkpoint.root.toString('hex')}`];
}

/** The hash of a row, recomputed from its fields. Throws on unknown fields and on values that no row can hold. */
function hashOf(entry: Readonly<Record<string, Json>>): string {
  const unknown = Object.keys(entry).find((name) => name !== 'entry_hash' && !HASHED_FIELDS.includes(name));
  expectThat(unknown === undefined, `the field ${unknown} is not covered by the hash`);
  const { chain_version: version, id, timestamp, seq, prev_hash: prevHash } = entry;
  expectThat(version === CHAIN_VERSION, `chain version ${JSON.stringify(version)} is not known; upgrade this verifier`);
  if (
    typeof id !== 'string' ||
    typeof timestamp !== 'string' ||
    typeof seq !== 'number' ||
    typeof prevHash !== 'string'
  )
    throw new Error('the row has no position');
  const values = CONTENT_FIELDS.map(([name, kind]) => {
    const value = entry[name] ?? null;
    if (value === null) return null;
    if (kind === 'json') return canonicalJson(value);
    if (kind === 'bool' && typeof value === 'boolean') return value ? 1 : 0;
    if (kind === 'text' && typeof value === 'string') return value;
    if (kind === 'int' && typeof value === 'number') return value;
    throw new Error(`${name} holds what no row holds`);
  });
  return entryHash(
    prevHash,
    canonicalEntry({ chainVersion: CHAIN_VERSION, id, timestamp, seq, prevHash }, canonicalContent(values)),
  );
}
