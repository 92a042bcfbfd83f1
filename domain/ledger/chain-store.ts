import type { AppendReceipt } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { storeFaultText } from '../store-faults.js';
import { canonicalContent, CONTENT_FIELDS } from './canonical-bytes.js';
import { answers, type AppendCall, type ChainedRow, type ChainHead, type Judgement, type StoredRow } from './chain.js';
import type { SidecarKind } from './entry.js';
import type { VacuumCursor, VacuumedRow } from './vacuum/cursor.js';
import { type Cell, contentValues } from './cells.js';

/** Columns of `ledger_entries` in the order in which both stores read and write them: position, content, hash. */
export const ENTRY_COLUMNS: readonly string[] = [
  'seq',
  'chain_version',
  'id',
  'timestamp',
  'prev_hash',
  ...CONTENT_FIELDS.map(([name]) => name),
  'entry_hash',
];

export interface RawEntry {
  /** Values of ENTRY_COLUMNS. */
  readonly cells: readonly Cell[];
  /** False when the stored bytes differ from the text that was read (bytes after a NUL, invalid UTF-8). */
  readonly exact: boolean;
}

export interface RawSidecar {
  readonly seq: number;
  readonly kind: SidecarKind;
  readonly entryId: string;
  readonly sealedBytes: number;
  readonly purgedAt: string | null;
  readonly purgeSeal: Uint8Array | null;
}

/** The retained head, the first and last place, and the newest vacuum cursor, read in one snapshot. */
export interface ChainBounds {
  readonly head: (ChainHead & { readonly seal: Uint8Array | null }) | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly cursor: VacuumCursor | null;
}

/**
 * An entry that the database itself rendered for hashing, which costs a third of reading its columns. `hashed` is `null` when a column
 * holds an invalid value. If it hashes to `entryHash`, the columns are what was hashed, because the rendering is reversible. Otherwise the
 * entry must be read column by column.
 */
export interface RenderedEntry {
  readonly seq: number;
  readonly id: string;
  readonly prevHash: string;
  readonly entryHash: string;
  readonly hashed: Uint8Array | string | null;
  readonly committed: CommittedDigests;
}
/** The digests an entry committed to, by kind of sidecar. */
export type CommittedDigests = Readonly<Record<SidecarKind, string | null>>;

/** What a verifier reads. It trusts none of it. */
export interface ChainReader {
  bounds(): Promise<ChainBounds>;
  /** Entries with `from <= seq <= to`, ordered by seq. */
  page(from: number, to: number): Promise<RawEntry[]>;
  /** The same entries, rendered by the database. Throws on values that it cannot render. */
  rendered?(from: number, to: number): Promise<RenderedEntry[]>;
  /** The lowest seq above `seq`; `null` when there is none. */
  nextSeq(seq: number): Promise<number | null>;
  /** The sidecars of the entries in that range, without their bytes. */
  sidecars(from: number, to: number): Promise<RawSidecar[]>;
  sealedSidecar(seq: number, kind: SidecarKind): Promise<Uint8Array | null>;
  /** The sealed bytes of a whole range, by `sidecarKey`. Only for ranges that fit into memory. */
  sealedSidecars?(from: number, to: number): Promise<ReadonlyMap<string, Uint8Array>>;
  /** The cursors of all vacuum batches, ordered by seq. */
  cursors(): Promise<VacuumCursor[]>;
  /** What is kept of vacuumed entries with `from <= seq <= to`, ordered by seq, at most `limit`. */
  vacuumed(from: number, to: number, limit: number): Promise<VacuumedRow[]>;
}

export const sidecarKey = (seq: number, kind: SidecarKind): string => `${seq}:${kind}`;

/** Takes rows of `entry_seq, kind, sealed`. */
export const sealedByKey = (rows: readonly Cell[][]): ReadonlyMap<string, Uint8Array> =>
  new Map(
    rows.map(([seq, kind, sealed]) => [sidecarKey(Number(seq), kind as SidecarKind), sealed as Uint8Array] as const),
  );

export interface CommitOutcome {
  /** Per call: its receipts, or the reason for its refusal. */
  readonly answers: readonly (AppendReceipt[] | GateError)[];
  /** Entries that this transaction added, including alarms. */
  readonly rows: number;
  readonly conflicts: number;
}

export const outcomeOf = (
  judgement: Judgement,
  rows: readonly ChainedRow[],
  stored: ReadonlyMap<string, StoredRow>,
): CommitOutcome => ({
  answers: answers(judgement, rows, stored),
  rows: rows.length,
  conflicts: judgement.verdicts.filter((verdict) => !verdict.accepted).length,
});

/** The statements of one transaction, for either store (`?` for each value). Each statement can depend on the rows of those before it. */
export type Steps<Result> = Generator<
  { readonly text: string; readonly values: readonly Cell[] },
  Result,
  readonly Cell[][]
>;

/** One store's side of the chain: the writer, and what the verifier reads. */
export interface ChainStore extends ChainReader {
  /** Commits all calls in one durable transaction. When it throws, the rows may or may not be stored; repeating the calls is safe by id. */
  commit(calls: readonly AppendCall[], nowMs: number): Promise<CommitOutcome>;
  /**
   * Runs one durable transaction during which nothing can be appended, after checking that the newest entry is the retained head. Other
   * processes' writers read the head again afterwards. Throws what a step throws, with nothing changed.
   */
  exclusively<Result>(steps: (head: ChainHead) => Steps<Result>): Promise<Result>;
  /** Throws unless the newest entry is the retained head and the store is writable. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

const headText = ({ length, hash }: ChainHead): string => `${length}|${hash}`;
const HEAD_CONTEXT = 'ledger-head';
export const sidecarContext = (id: string, kind: SidecarKind): string => `${id}:${kind}`;
export const purgeContext = (id: string, kind: SidecarKind): string => `${id}:${kind}:purged`;

/**
 * The seal over the retained head. Somebody who can edit the store but has no key cannot make the head match an edited chain, so a
 * truncated or recomputed chain is detected. Restoring an old file with its old seal is not; external anchors are for that.
 */
export const sealHead = (keys: KeyRing, head: ChainHead): Buffer => keys.seal(headText(head), HEAD_CONTEXT);

/** An empty chain has no seal. */
export function headSealHolds(keys: KeyRing, head: ChainHead & { readonly seal: Uint8Array | null }): boolean {
  if (head.seal === null) return head.length === 0;
  return opensTo(keys, head.seal, HEAD_CONTEXT, headText(head));
}

export function opensTo(keys: KeyRing, sealed: Uint8Array, context: string, text: string): boolean {
  try {
    return keys.open(sealed, context).toString('utf8') === text;
  } catch {
    return false;
  }
}

/** The end of the chain was changed from outside. Appends stop, because new rows would cover the traces. */
export const brokenTail = (fault: string): GateError =>
  new GateError('ledger_store_unavailable', `${fault}; appends stop until it is explained (run \`gate verify\`)`);

/** Gives every store fault its one error code. */
export const asUnavailable = (error: unknown): GateError =>
  error instanceof GateError
    ? error
    : new GateError('ledger_store_unavailable', `the ledger store failed: ${storeFaultText(error)}`, { cause: error });

/** Runs a read. Everything it throws, synchronously or later, becomes `ledger_store_unavailable`. */
export async function reading<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw asUnavailable(error);
  }
}

/**
 * What is kept of a vacuumed entry with a known id, from the columns of VACUUMED_ROW. Its hash shows whether offered content is its own.
 */
export const vacuumedStoredRow = ([id, seq, hash, timestamp, prevHash]: readonly Cell[]): StoredRow => ({
  id: String(id),
  seq: Number(seq),
  entryHash: String(hash),
  content: null,
  timestamp: String(timestamp),
  prevHash: String(prevHash),
});

/** A stored row from `id, seq, entry_hash` and the content columns. Content that cannot be rendered equals no other content. */
export function storedRow([id, seq, hash, ...cells]: readonly Cell[]): StoredRow {
  let content = '';
  try {
    content = canonicalContent(contentValues(cells));
  } catch {
    // The stored row was changed. Verification reports that, and the append is a conflict.
  }
  return { id: String(id), seq: Number(seq), entryHash: String(hash), content };
}
export const STORED_ROW_COLUMNS: readonly string[] = [
  'id',
  'seq',
  'entry_hash',
  ...CONTENT_FIELDS.map(([name]) => name),
];
