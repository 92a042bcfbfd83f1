import type { AppendReceipt } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { wordsOf } from '../store/words.js';
import { CONTENT_FIELDS, canonicalContent, type ContentValues } from './canonical-bytes.js';
import { answers, type AppendCall, type ChainedRow, type ChainHead, type Judgement, type StoredRow } from './chain.js';
import type { SidecarKind } from './entry.js';
import { GENESIS_HASH } from './entry-hash.js';
import { CURSOR_COLUMNS, type VacuumCursor, type VacuumedRow } from './vacuum/cursor.js';

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

/**
 * A value as the store holds it. Integers may come as bigint or digits; a value that its column may not hold is passed on, so that the
 * check refuses it.
 */
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

/** The retained head, the extent of the entries and where the newest vacuum ended, read at one instant. */
export interface ChainBounds {
  readonly head: (ChainHead & { readonly seal: Uint8Array | null }) | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly cursor: VacuumCursor | null;
}

/**
 * An entry as the database itself renders it for hashing, which costs a third of reading its columns. `hashed` is `null` where a value is
 * not one its column may hold. Bytes that hash to `entryHash` are those of the columns, because the rendering is reversible; anything
 * else is to be looked at column by column.
 */
export interface RenderedEntry {
  readonly seq: number;
  readonly id: string;
  readonly prevHash: string;
  readonly entryHash: string;
  readonly hashed: Uint8Array | string | null;
  readonly committed: CommittedDigests;
}
/** What the entry committed to, by kind of sidecar. */
export type CommittedDigests = Readonly<Record<SidecarKind, string | null>>;

/** What a verifier reads. Nothing here trusts what it reads. */
export interface ChainReader {
  bounds(): Promise<ChainBounds>;
  /** Entries with `from <= seq <= to`, by seq. */
  page(from: number, to: number): Promise<RawEntry[]>;
  /** The same entries rendered by the database. Throws on values that it cannot render. */
  rendered?(from: number, to: number): Promise<RenderedEntry[]>;
  /** The lowest seq above `seq`. */
  nextSeq(seq: number): Promise<number | null>;
  /** What lies beside the entries of that range, without the bytes. */
  sidecars(from: number, to: number): Promise<RawSidecar[]>;
  sealedSidecar(seq: number, kind: SidecarKind): Promise<Uint8Array | null>;
  /** The same for all of a range, by `sidecarKey`. Only for ranges whose bytes fit into memory. */
  sealedSidecars?(from: number, to: number): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Where each batch of the vacuum ended, by seq. */
  cursors(): Promise<VacuumCursor[]>;
  /** What stayed of vacuumed entries with `from <= seq <= to`, by seq, at most `limit` of them. */
  vacuumed(from: number, to: number, limit: number): Promise<VacuumedRow[]>;
}

export const sidecarKey = (seq: number, kind: SidecarKind): string => `${seq}:${kind}`;

/** Rows of `entry_seq, kind, sealed`. */
export const sealedByKey = (rows: readonly Cell[][]): ReadonlyMap<string, Uint8Array> =>
  new Map(
    rows.map(([seq, kind, sealed]) => [sidecarKey(Number(seq), kind as SidecarKind), sealed as Uint8Array] as const),
  );

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

/** Statements of one transaction in either store (`?` for each value), each made knowing the rows of those before it. */
export type Steps<Result> = Generator<
  { readonly text: string; readonly values: readonly Cell[] },
  Result,
  readonly Cell[][]
>;

/** One store's side of the chain: the writer and the verifier's reader. */
export interface ChainStore extends ChainReader {
  /** One durable transaction for all calls. Throws when it is not known to be stored; repeating the calls is then safe by id. */
  commit(calls: readonly AppendCall[], nowMs: number): Promise<CommitOutcome>;
  /**
   * One durable transaction that nobody appends in, over a newest entry that is the retained head. Writers of other processes look
   * at the store anew afterwards. Throws what a step throws, and then nothing was changed.
   */
  exclusively<Result>(steps: (head: ChainHead) => Steps<Result>): Promise<Result>;
  /** Throws unless the newest entry is the retained head and the store takes writes. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/**
 * SQL that renders what an entry's hash is over (docs/architecture/ledger-rows.md#canonical-bytes). Only for reading quickly: it may be
 * NULL or other text where the canonical bytes are not, never the same text for other columns.
 */
export function renderingSql(dialect: {
  /** JSON text of a text column that may be NULL. */
  quoted(column: string): string;
  /** Digits of an integer column, `null` for NULL, and neither for a value that is no integer. */
  digits(column: string): string;
  /** Whether a text column holds one whole JSON object. */
  holdsObject(column: string): string;
}): string {
  const literal = (text: string) => `'${text}'`;
  const value = ([name, kind]: (typeof CONTENT_FIELDS)[number]): string => {
    if (kind === 'text') return dialect.quoted(name);
    if (kind === 'bool') return `case ${name} when 1 then 'true' when 0 then 'false' else '?' end`;
    if (kind === 'int') return dialect.digits(name);
    return `case when ${name} is null then 'null' when ${dialect.holdsObject(name)} then ${name} else '?' end`;
  };
  const position = [
    ['chain_version', dialect.digits('chain_version')],
    ['id', dialect.quoted('id')],
    ['timestamp', dialect.quoted('timestamp')],
    ['seq', dialect.digits('seq')],
    ['prev_hash', dialect.quoted('prev_hash')],
  ] as const;
  const content = CONTENT_FIELDS.map((field) => [field[0], value(field)] as const);
  const members = [...position, ...content].flatMap(([name, rendered], index) => [
    literal(`${index === 0 ? '{' : ','}"${name}":`),
    rendered,
  ]);
  return ['prev_hash', literal('|'), ...members, literal('}')].join(', ');
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

/** Somebody else changed the end of the chain. Nothing is appended to it, because new rows would cover the traces. */
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

/** A stored integer. Throws TypeError when the cell is not an integer, or one that a double cannot hold. */
export function integerCell(cell: Cell | undefined): number {
  const value = typeof cell === 'string' && /^-?[0-9]{1,16}$/.test(cell) ? Number(cell) : cell;
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw new TypeError('not an integer');
  return number;
}

/** What is left of a vacuumed entry with a known id, as VACUUMED_ROW reads it: its hash tells whether content is its. */
export const vacuumedStoredRow = ([id, seq, hash, timestamp, prevHash]: readonly Cell[]): StoredRow => ({
  id: String(id),
  seq: Number(seq),
  entryHash: String(hash),
  content: null,
  timestamp: String(timestamp),
  prevHash: String(prevHash),
});
export const VACUUMED_ROW = `select v.id, v.seq, v.entry_hash, v.timestamp, coalesce(before.entry_hash, '${GENESIS_HASH}')
  from ledger_vacuumed_rows v left join ledger_vacuumed_rows before on before.seq = v.seq - 1`;

/** SQL of the newest cursor, to be put behind the columns of another question. */
export const NEWEST_CURSOR = `(select 1) one left join (select * from ledger_vacuum_cursors order by seq desc limit 1) v on true`;
export const cursorColumns = (from: string): string => CURSOR_COLUMNS.map((column) => `${from}.${column}`).join(', ');

/** `id, seq, entry_hash` and the content columns of an entry with a known id. Content that cannot be rendered equals nothing. */
export function storedRow([id, seq, hash, ...cells]: readonly Cell[]): StoredRow {
  let content = '';
  try {
    content = canonicalContent(contentValues(cells));
  } catch {
    // Somebody else changed it: verification reports that, and the append is a conflict.
  }
  return { id: String(id), seq: Number(seq), entryHash: String(hash), content };
}
export const STORED_ROW_COLUMNS: readonly string[] = [
  'id',
  'seq',
  'entry_hash',
  ...CONTENT_FIELDS.map(([name]) => name),
];
