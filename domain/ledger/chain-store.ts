import type { AppendReceipt } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { wordsOf } from '../store/words.js';
import { CONTENT_FIELDS, canonicalContent, type ContentValues } from './canonical-bytes.js';
import { answers, type AppendCall, type ChainedRow, type ChainHead, type Judgement, type StoredRow } from './chain.js';
import type { SidecarKind } from './entry.js';

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

/** A value as the store holds it. Integers may come as bigint or digits; anything a checked column cannot hold is kept to be refused. */
export type Cell = string | number | bigint | null | Uint8Array;

export interface RawEntry {
  /** Values of ENTRY_COLUMNS. */
  readonly cells: readonly Cell[];
  /** False when the stored bytes are not those of the text that was read (bytes behind a NUL, invalid UTF-8). */
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

/** The retained head and the extent of the entries, read at one instant. */
export interface ChainBounds {
  readonly head: (ChainHead & { readonly seal: Uint8Array | null }) | null;
  readonly first: number | null;
  readonly last: number | null;
}

/** What a verifier reads. Nothing here trusts what it reads. */
export interface ChainReader {
  bounds(): Promise<ChainBounds>;
  /** Entries with `from <= seq <= to`, by seq. */
  page(from: number, to: number): Promise<RawEntry[]>;
  /** The lowest seq above `seq`. */
  nextSeq(seq: number): Promise<number | null>;
  /** What lies beside the entries of that range, without the bytes. */
  sidecars(from: number, to: number): Promise<RawSidecar[]>;
  sealedSidecar(seq: number, kind: SidecarKind): Promise<Uint8Array | null>;
}

export interface CommitOutcome {
  /** Per call: its receipts, or why it was refused. */
  readonly answers: readonly (AppendReceipt[] | GateError)[];
  /** Entries this transaction added, alarms included. */
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

/** One store's side of the chain: the writer and the verifier's reader. */
export interface ChainStore extends ChainReader {
  /** One durable transaction for all calls. Throws when it is not known to be stored; repeating the calls is then safe by id. */
  commit(calls: readonly AppendCall[], nowMs: number): Promise<CommitOutcome>;
  /** Throws unless the newest entry is the retained head and the store takes writes. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

const headText = ({ length, hash }: ChainHead): string => `${length}|${hash}`;
const HEAD_CONTEXT = 'ledger-head';
export const sidecarContext = (id: string, kind: SidecarKind): string => `${id}:${kind}`;
export const purgeContext = (id: string, kind: SidecarKind): string => `${id}:${kind}:purged`;

/**
 * Whoever edits the store but holds no key cannot make the retained head match an edited chain: a cut tail and a chain computed anew
 * are both found. Restoring an old file with its old seal is not found; that is what anchors outside are for.
 */
export const sealHead = (keys: KeyRing, head: ChainHead): Buffer => keys.seal(headText(head), HEAD_CONTEXT);

/** An empty chain was never sealed. */
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

/** The tail was changed behind the ledger's back. Nothing is appended to it: new rows would cover the traces. */
export const brokenTail = (fault: string): GateError =>
  new GateError('ledger_store_unavailable', `${fault}; appends stop until it is explained (run \`gate verify\`)`);

/** Every store fault under its one code. */
export const asUnavailable = (error: unknown): GateError =>
  error instanceof GateError
    ? error
    : new GateError('ledger_store_unavailable', `the ledger store failed: ${wordsOf(error)}`, { cause: error });

/** Runs a read; what it throws, synchronously or later, is `ledger_store_unavailable`. */
export async function reading<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw asUnavailable(error);
  }
}

/** Stored cells as content values. Throws TypeError on a value its column cannot hold. */
export const contentValues = (cells: readonly Cell[]): ContentValues =>
  CONTENT_FIELDS.map(([, kind], index) => {
    const cell = cells[index] as Cell;
    if (cell === null) return null;
    if (kind === 'int' || kind === 'bool') return integerCell(cell);
    if (typeof cell !== 'string') throw new TypeError('not a value of this column');
    return cell;
  });

/** A stored integer. Throws TypeError when the cell is none or cannot be held exactly. */
export function integerCell(cell: Cell | undefined): number {
  const value = typeof cell === 'string' && /^-?[0-9]{1,16}$/.test(cell) ? Number(cell) : cell;
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw new TypeError('not an integer');
  return number;
}

/** `id, seq, entry_hash` and the content columns of an entry with a known id. Content that cannot be rendered equals nothing. */
export function storedRow([id, seq, hash, ...cells]: readonly Cell[]): StoredRow {
  let content = '';
  try {
    content = canonicalContent(contentValues(cells));
  } catch {
    // Changed behind the ledger's back; verify reports it, and the append is a conflict.
  }
  return { id: String(id), seq: Number(seq), entryHash: String(hash), content };
}
export const STORED_ROW_COLUMNS: readonly string[] = [
  'id',
  'seq',
  'entry_hash',
  ...CONTENT_FIELDS.map(([name]) => name),
];
