import type { KeyObject } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { ConsistencyProof, CosignResult, InclusionProof } from '../../../contracts/ledger-proof.js';
import { errorText, GateError } from '../../../domain/errors.js';
import { type HeldKey, heldKey } from '../../../domain/identity/held-key.js';
import type { ChainHead } from '../../../domain/ledger/chain.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { type Checkpoint, parseCheckpoint, signCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import {
  consistencyHolds,
  consistencySpans,
  inclusionHolds,
  inclusionSpans,
  leafHash,
} from '../../../domain/ledger/tlog/merkle.js';
import { formatVkey, noteKey, type NoteKey, signNote, verifiedSignatures } from '../../../domain/ledger/tlog/note.js';
import { ledgerTree, type TreeTables } from './tree.js';

export interface LogTables extends TreeTables {
  ledger_entries: TreeTables['ledger_entries'] & { id: string };
  ledger_vacuumed_rows: TreeTables['ledger_vacuumed_rows'] & { id: string };
  ledger_checkpoints: { tree_size: number | string; note: string; signed_at: string };
  ledger_cosignatures: {
    tree_size: number | string;
    witness: string;
    key_id: string;
    cosigned_at: number | string;
    line: string;
  };
}

/** How this log signs, and whose cosignatures it accepts. */
export interface CheckpointKeys {
  /** The log's identity, and the name of its key. */
  readonly origin: string;
  /** A function where another one may take its place while the log runs. */
  readonly privateKey: KeyObject | HeldKey | (() => HeldKey);
  readonly witnesses: readonly NoteKey[];
}

/** The log's public key, and its private key; without the private key only stored checkpoints are served. */
export interface LogKey {
  readonly key: NoteKey;
  readonly privateKey: HeldKey | null;
}

/** The key of the log `origin`. Throws unless it is an Ed25519 key and `origin` is a name that notes allow. */
export function signingLogKey(origin: string, privateKey: KeyObject | HeldKey): LogKey {
  const held = heldKey(privateKey);
  return { key: noteKey(origin, held.publicKey), privateKey: held };
}

/** The key of the log now. */
export function logKeyNow({ origin, privateKey }: CheckpointKeys): () => LogKey {
  if (typeof privateKey !== 'function') {
    const fixed = signingLogKey(origin, privateKey);
    return () => fixed;
  }
  let last = signingLogKey(origin, privateKey());
  return () => {
    const held = privateKey();
    if (held !== last.privateKey) last = signingLogKey(origin, held);
    return last;
  };
}

export interface TransparencyLogOptions {
  /** The key that signs now, and that what is served verifies with. */
  readonly by: () => LogKey;
  readonly witnesses: readonly NoteKey[];
  /** The head of the chain, after a walk that found it valid up to there. Throws when the chain is not valid. */
  readonly verifiedHead: () => Promise<ChainHead>;
  readonly entry: (id: string) => Promise<LedgerEntry | null>;
  readonly clock: () => number;
}

/**
 * The ledger as a transparency log: one row can be proved without the rest, and anyone who kept a checkpoint can verify that the log only
 * grew. It signs only heads of a verified chain, and never two histories (C2SP tlog-checkpoint). Store faults are
 * `ledger_store_unavailable`.
 */
export interface TransparencyLog {
  /** The key that verifies this log's checkpoints. */
  readonly vkey: string;
  /**
   * The newest checkpoint with its cosignatures. Signs a new one when the chain grew, at most once a second. Throws
   * `chain_verification_incomplete` when the chain does not verify, and `checkpoint_inconsistent` when it contradicts an earlier
   * checkpoint.
   */
  checkpoint(): Promise<string>;
  /**
   * Proves an entry in the newest checkpoint, or in the stored one of `size`. Throws `not_found` when entry or checkpoint does not exist.
   */
  inclusion(of: EntryName, size?: number): Promise<InclusionProof>;
  /**
   * Proves that the tree of `to` entries (by default the newest checkpoint's) begins with the tree of `from`. Throws `proof_out_of_range`.
   */
  consistency(from: number, to?: number): Promise<ConsistencyProof>;
  /**
   * Stores cosignatures of configured witnesses for a checkpoint of this log. Lines of other keys are ignored. A cosignature that does not
   * verify, a checkpoint of another log, and a note without a known witness are `cosignature_invalid`, and nothing is stored. Safe to
   * repeat.
   */
  cosign(note: string): Promise<CosignResult>;
}

interface SignedHead {
  readonly size: number;
  readonly root: Buffer;
  readonly signedAtMs: number;
}

const SIGN_EVERY_MS = 1_000;
/** How far the clocks of witnesses may be ahead. */
const CLOCK_SKEW_SECS = 300;

export const inconsistent = (why: string): GateError =>
  new GateError('checkpoint_inconsistent', `${why}; run \`gate verify\` and compare with checkpoints kept elsewhere`);

/** One entry, by one of its names. */
export type EntryName = { readonly seq: number } | { readonly id: string } | { readonly entry_hash: string };

/** The names of an entry, also of one that is hidden or was vacuumed; `null` when there is none. */
export async function entryNamed(
  db: Kysely<LogTables>,
  of: EntryName,
): Promise<{ readonly seq: number; readonly id: string; readonly entry_hash: string } | null> {
  for (const table of ['ledger_entries', 'ledger_vacuumed_rows'] as const) {
    const query = db.selectFrom(table).select(['seq', 'id', 'entry_hash']).limit(1);
    const row = await ('seq' in of
      ? query.where('seq', '=', of.seq)
      : 'id' in of
        ? query.where('id', '=', of.id)
        : query.where('entry_hash', '=', of.entry_hash)
    ).executeTakeFirst();
    if (row) return { ...row, seq: Number(row.seq) };
  }
  return null;
}

/** Number of entries under the longest checkpoint ever signed; 0 without one. */
export async function checkpointedLength(db: Kysely<LogTables>): Promise<number> {
  const row = await db
    .selectFrom('ledger_checkpoints')
    .select('tree_size')
    .orderBy('tree_size', 'desc')
    .limit(1)
    .executeTakeFirst();
  return Number(row?.tree_size ?? 0);
}

export function createTransparencyLog(
  db: Kysely<LogTables>,
  { by, witnesses, verifiedHead, entry, clock }: TransparencyLogOptions,
): TransparencyLog {
  const tree = ledgerTree(db as unknown as Kysely<TreeTables>);
  /** The head that this process signed or compared with the tree. The stored nodes below it lead to its root. */
  let newest: SignedHead | null = null;
  let growing: Promise<SignedHead> | null = null;

  const rootOf = async (size: number): Promise<Buffer> => (await tree.roots([{ from: 0, to: size }]))[0] as Buffer;

  /** The newest stored checkpoint, compared with the tree. Stored nodes that do not lead to its root are recomputed from the entries. */
  async function fromStore({ key }: LogKey): Promise<SignedHead | null> {
    const row = await db
      .selectFrom('ledger_checkpoints')
      .selectAll()
      .orderBy('tree_size', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (!row) return null;
    const checkpoint = parseCheckpoint(row.note);
    const { size, root } = checkpoint;
    // Signed by an earlier key, or not at all. The stored nodes are then not trusted, but what was published must still hold.
    if (!isSignedBy(checkpoint, key) || !(await rootOf(size)).equals(root)) await recompute(size, root);
    return { size, root, signedAtMs: Date.parse(row.signed_at) };
  }

  async function recompute(size: number, root: Buffer): Promise<void> {
    await tree.grow(0, size);
    if (!(await rootOf(size)).equals(root))
      throw inconsistent(`the first ${size} entries are not those of the checkpoint that was signed over them`);
  }

  async function grow(): Promise<SignedHead> {
    const head = await verifiedHead();
    const signing = by();
    const { key, privateKey } = signing;
    const last = newest ?? (await fromStore(signing));
    if (last && last.size > head.length)
      throw inconsistent(`a checkpoint over ${last.size} entries was signed, the chain has ${head.length}`);
    if (last && (last.size === head.length || privateKey === null)) {
      newest = last;
      return last;
    }
    if (privateKey === null)
      throw new GateError(
        'signing_unavailable',
        `no checkpoint by ${formatVkey(key)} is stored, and no key to sign one with was given`,
      );
    await tree.grow(last?.size ?? 0, head.length);
    const root = await rootOf(head.length);
    const signedAtMs = clock();
    await db
      .insertInto('ledger_checkpoints')
      .values({
        tree_size: head.length,
        note: await signCheckpoint({ origin: key.name, size: head.length, root }, privateKey),
        signed_at: new Date(signedAtMs).toISOString(),
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    // Another process may have stored one first. Ed25519 is deterministic, so any other root is a second history.
    const stored = parseCheckpoint(await noteOf(head.length));
    if (!stored.root.equals(root)) throw inconsistent(`two roots were signed over ${head.length} entries`);
    newest = { size: head.length, root, signedAtMs };
    return newest;
  }

  const grown = (): Promise<SignedHead> => {
    growing ??= grow().finally(() => {
      growing = null;
    });
    return growing;
  };

  async function noteOf(size: number): Promise<string> {
    const row = await db
      .selectFrom('ledger_checkpoints')
      .select('note')
      .where('tree_size', '=', size)
      .executeTakeFirst();
    if (!row) throw new GateError('not_found', `no checkpoint over ${size} entries was signed`);
    return row.note;
  }

  async function cosigned(size: number): Promise<string> {
    const lines = await db
      .selectFrom('ledger_cosignatures')
      .select('line')
      .where('tree_size', '=', size)
      .orderBy('witness')
      .orderBy('key_id')
      .execute();
    return `${await ownNote(await noteOf(size))}${lines.map(({ line }) => `${line}\n`).join('')}`;
  }

  /**
   * The stored note; when an earlier key signed it, with the present key's signature above the old one, so that whatever is served verifies with
   * `vkey`.
   */
  async function ownNote(stored: string): Promise<string> {
    const checkpoint = parseCheckpoint(stored);
    const { key, privateKey } = by();
    if (privateKey === null || checkpoint.origin !== key.name || isSignedBy(checkpoint, key)) return stored;
    const { text, signatures } = checkpoint.note;
    return [await signNote(text, key.name, privateKey), ...signatures.map(({ line }) => `${line}\n`)].join('');
  }

  /** Runs `prove` and verifies the proof. If it fails, the nodes are recomputed from the entries and it runs once more. */
  async function checked<Proof>(
    head: SignedHead,
    prove: () => Promise<{ proof: Proof; holds: boolean }>,
  ): Promise<Proof> {
    const first = await prove();
    if (first.holds) return first.proof;
    await recompute(head.size, head.root);
    const second = await prove();
    if (!second.holds) throw inconsistent('the entries do not lead to the root that was signed');
    return second.proof;
  }

  const current = async (): Promise<SignedHead> =>
    newest && clock() - newest.signedAtMs < SIGN_EVERY_MS ? newest : grown();

  return {
    get vkey() {
      return formatVkey(by().key);
    },
    checkpoint: () => reading(async () => cosigned((await current()).size)),
    inclusion: (of, size) =>
      reading(async () => {
        const row = await entryNamed(db, of);
        if (!row) throw new GateError('not_found', 'there is no such entry');
        const { seq } = row;
        let head = await current();
        if (seq > head.size) head = await grown();
        const at = size ?? head.size;
        if (seq > at || at > head.size)
          throw new GateError('proof_out_of_range', `entry ${seq} is not in a tree of ${at} entries`);
        const checkpoint = await cosigned(at);
        const { root } = parseCheckpoint(checkpoint);
        const proof = await checked(head, async () => {
          const path = await tree.roots(inclusionSpans(seq - 1, at));
          const leaf = leafHash(Buffer.from(row.entry_hash, 'hex'));
          return { proof: path, holds: inclusionHolds({ leaf, index: seq - 1, size: at, root, proof: path }) };
        });
        return {
          contract: 'gate.inclusion-proof/v1' as const,
          seq,
          leaf_index: seq - 1,
          entry_hash: row.entry_hash,
          tree_size: at,
          proof: proof.map((node) => node.toString('hex')),
          checkpoint,
          log_key: formatVkey(by().key),
          entry: await entry(row.id),
        };
      }),
    consistency: (from, to) =>
      reading(async () => {
        const head = to !== undefined && newest && to <= newest.size ? newest : await grown();
        const size = to ?? head.size;
        if (from > size || size > head.size)
          throw new GateError('proof_out_of_range', `take 0 <= from <= to <= ${head.size}`);
        return checked(head, async () => {
          const path = await tree.roots(consistencySpans(from, size));
          const [oldRoot, root] = (await Promise.all([rootOf(from), rootOf(size)])) as [Buffer, Buffer];
          return {
            proof: {
              contract: 'gate.consistency-proof/v1' as const,
              from,
              to: size,
              from_root: oldRoot.toString('hex'),
              to_root: root.toString('hex'),
              proof: path.map((node) => node.toString('hex')),
            },
            // Both trees must be beginnings of the tree whose root was signed.
            holds:
              consistencyHolds({ old: from, oldRoot, size, root, proof: path }) &&
              consistencyHolds({
                old: size,
                oldRoot: root,
                size: head.size,
                root: head.root,
                proof: await tree.roots(consistencySpans(size, head.size)),
              }),
          };
        });
      }),
    cosign: (text) =>
      reading(async () => {
        const refuse = (why: string, cause?: unknown) => new GateError('cosignature_invalid', why, { cause });
        const { note, size } = readCheckpoint(text, refuse);
        const known = await db
          .selectFrom('ledger_checkpoints')
          .select('note')
          .where('tree_size', '=', size)
          .executeTakeFirst();
        if (!known || parseCheckpoint(known.note).note.text !== note.text)
          throw refuse(`this log signed no such checkpoint over ${size} entries`);
        let verified: ReturnType<typeof verifiedSignatures>;
        try {
          verified = verifiedSignatures(note, witnesses).filter(({ time }) => time !== null);
        } catch (error) {
          throw refuse(errorText(error), error);
        }
        if (verified.length === 0) throw refuse('no line is of a witness in GATE_LEDGER_WITNESSES');
        const latest = clock() / 1000 + CLOCK_SKEW_SECS;
        if (verified.some(({ time }) => Number(time) > latest)) throw refuse('a cosignature is dated in the future');
        await db
          .insertInto('ledger_cosignatures')
          .values(
            verified.map(({ key: { name, id }, line, time }) => ({
              tree_size: size,
              witness: name,
              key_id: id,
              cosigned_at: Number(time),
              line,
            })),
          )
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        return {
          tree_size: size,
          accepted: verified.map(({ key: { name }, time }) => ({ witness: name, cosigned_at: Number(time) })),
        };
      }),
  };
}

function readCheckpoint(text: string, refuse: (why: string, cause?: unknown) => GateError) {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    throw refuse(errorText(error), error);
  }
}

/** Whether this is a checkpoint of the log with that key, with a valid signature. */
export function isSignedBy({ origin, note }: Checkpoint, key: NoteKey): boolean {
  try {
    return origin === key.name && verifiedSignatures(note, [key]).length > 0;
  } catch {
    return false;
  }
}
