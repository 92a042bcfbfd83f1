import type { VerifyResult } from '../../contracts/ledger.js';
import { sha256Hex } from '../crypto/digest.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { canonicalContent, canonicalEntry, CHAIN_VERSION, CONTENT_FIELDS, contentIndex } from './canonical-bytes.js';
import type { ContentValues, Position } from './canonical-bytes.js';
import { type ChainHead, EMPTY_CHAIN } from './chain.js';
import {
  type ChainBounds,
  type ChainReader,
  type CommittedDigests,
  headSealHolds,
  opensTo,
  purgeContext,
  type RawEntry,
  type RawSidecar,
  type RenderedEntry,
  sidecarContext,
  sidecarKey,
} from './chain-store.js';
import type { SidecarKind } from './entry.js';
import { entryHash, renderedHash } from './entry-hash.js';
import { cursorSealHolds, type VacuumCursor, vacuumedDigest, type VacuumedRow } from './vacuum/cursor.js';
import { contentValues, integerCell } from './cells.js';

/** Entries per read; the event loop runs between reads. */
const PAGE = 256;

/** How far an earlier walk found everything valid. */
export interface Checkpoint {
  readonly head: ChainHead;
  readonly checked: number;
}

/** Why the walk stopped; `first_invalid_reason` in the result. */
export type InvalidReason =
  | 'seq'
  | 'prev_hash'
  | 'entry_hash'
  | 'columns'
  | 'sidecar_missing'
  | 'sidecar_unexpected'
  | 'sidecar_digest'
  | 'vacuum'
  | 'head';

/** The state of committed bytes beside the chain. `unchecked`: no key was given. */
export interface SidecarCounts {
  checked: number;
  purged: number;
  unchecked: number;
}

/**
 * Walks the chain as it is at the time of the call, and reports whether it is what was appended
 * (docs/architecture/ledger-rows.md#verification). Trusts no stored value: it recomputes every hash from the columns, opens and hashes
 * sidecars, and compares the newest entry with the sealed head. So it finds a change, removal, insertion or reordering anywhere. Reads in
 * pages and lets other work run between them. Without `keys`, sidecars and seals stay unchecked, and the result counts them as such. When
 * entries were vacuumed, the walk starts after the newest cursor. Throws when the store cannot be read.
 */
export async function verifyChain(
  reader: ChainReader,
  keys: KeyRing | null,
  from: Checkpoint | null = null,
  walkElsewhere: WalkRange = () => null,
): Promise<VerifyResult> {
  for (;;) {
    const { result, keptFrom } = await walkOnce(reader, keys, from, walkElsewhere);
    // A vacuum removed entries during the walk: walk again from the new beginning.
    if (result.valid || ((await reader.bounds()).cursor?.seq ?? 0) <= keptFrom) return result;
  }
}

async function walkOnce(
  reader: ChainReader,
  keys: KeyRing | null,
  from: Checkpoint | null,
  walkElsewhere: WalkRange,
): Promise<{ readonly result: VerifyResult; readonly keptFrom: number }> {
  const bounds = await reader.bounds();
  return { result: await walkFrom(reader, keys, from, walkElsewhere, bounds), keptFrom: bounds.cursor?.seq ?? 0 };
}

async function walkFrom(
  reader: ChainReader,
  keys: KeyRing | null,
  from: Checkpoint | null,
  walkElsewhere: WalkRange,
  { head, first, last, cursor }: ChainBounds,
): Promise<VerifyResult> {
  const sidecars: SidecarCounts = { checked: 0, purged: 0, unchecked: 0 };
  // Nothing up to this place is in the chain any more.
  const gone = cursor?.seq ?? 0;
  const start = from && from.head.length > gone ? from : null;
  let checked = start ? Math.min(start.checked, start.head.length - gone) : 0;
  const invalid = (seq: number, reason: InvalidReason): VerifyResult => ({
    valid: false,
    entries_checked: checked,
    first_invalid_seq: seq,
    first_invalid_reason: reason,
    anchor_mismatch: null,
    sidecars,
  });

  const cursorFault = await checkCursors(reader, keys, cursor, from);
  if (cursorFault !== null) return invalid(Math.max(cursorFault, 1), 'vacuum');
  if (first !== null && first <= gone) return invalid(first, cursor ? 'vacuum' : 'seq');
  const end = last ?? 0;
  // A vacuum never removes the newest entry.
  if (cursor && end <= gone) return invalid(gone + 1, 'head');
  const beginning = cursor ? { length: gone, hash: cursor.entryHash } : EMPTY_CHAIN;
  let { length: seq, hash } = start?.head ?? beginning;
  if (start) {
    const [anchor] = await reader.page(seq, seq);
    const entry = anchor && readEntry(anchor);
    if (!entry) return invalid(anchor ? seq : end < seq ? end + 1 : seq, anchor ? 'columns' : 'seq');
    if (
      entry.entryHash !== hash ||
      entryHash(entry.position.prevHash, canonicalEntry(entry.position, entry.content)) !== hash
    )
      return invalid(seq, 'entry_hash');
  }

  const range = { from: seq + 1, to: end, prev: hash };
  const walked = await (walkElsewhere(range) ?? walkRange(reader, keys, range));
  checked += walked.checked;
  add(sidecars, walked.sidecars);
  if (walked.stop) {
    if ('reason' in walked.stop) return invalid(walked.stop.seq, walked.stop.reason);
    return {
      valid: false,
      entries_checked: checked,
      first_invalid_seq: null,
      unsupported_chain_version: walked.stop.version,
      anchor_mismatch: null,
      sidecars,
    };
  }
  hash = walked.last;

  if (!head || head.length > end) return invalid(end + 1, 'head');
  if (head.length < end) return invalid(head.length + 1, 'head');
  if (head.hash !== hash || (keys && !headSealHolds(keys, head))) return invalid(Math.max(end, 1), 'head');
  return {
    valid: true,
    entries_checked: checked,
    first_invalid_seq: null,
    commitment: {
      contract: 'gate.verified-chain/v1',
      head_hash: hash,
      length: end,
      ...(end > 0 && { tail_chain_version: CHAIN_VERSION }),
    },
    anchor_mismatch: null,
    sidecars,
  };
}

/** Vacuumed entries per read. */
const VACUUMED_PAGE = 2_000;

/**
 * Checks the vacuum's own records: the cursors' seals hold, and what is kept of every vacuumed entry matches its cursor. A walk that
 * continues an earlier one checks only the newest cursor and the entry where the earlier walk ended. Returns the place of the first fault;
 * `null` when there is none.
 */
async function checkCursors(
  reader: ChainReader,
  keys: KeyRing | null,
  newest: VacuumCursor | null,
  from: Checkpoint | null,
): Promise<number | null> {
  const sealed = (cursor: VacuumCursor) => !keys || cursorSealHolds(keys, cursor);
  if (from) {
    if (!newest) return null;
    if (!sealed(newest)) return newest.seq;
    const { length, hash } = from.head;
    if (length > newest.seq || length === 0) return null;
    const [end] = await reader.vacuumed(length, length, 1);
    return end?.entryHash === hash ? null : length;
  }
  let before = 0;
  for (const cursor of newest ? await reader.cursors() : []) {
    if (cursor.seq > (newest?.seq ?? 0)) break;
    if (!sealed(cursor)) return cursor.seq;
    const rows: VacuumedRow[] = [];
    while (before + rows.length < cursor.seq) {
      const page = await reader.vacuumed(before + rows.length + 1, cursor.seq, VACUUMED_PAGE);
      if (page.length === 0) return cursor.seq;
      rows.push(...page);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const end = rows.at(-1);
    if (end?.seq !== cursor.seq || end.entryHash !== cursor.entryHash || vacuumedDigest(rows) !== cursor.rowsSha256)
      return cursor.seq;
    before = cursor.seq;
  }
  if (before !== (newest?.seq ?? 0)) return newest?.seq ?? 0;
  const [stray] = [
    ...(await reader.vacuumed(Number.MIN_SAFE_INTEGER, 0, 1)),
    ...(await reader.vacuumed(before + 1, Number.MAX_SAFE_INTEGER, 1)),
  ];
  return stray ? stray.seq : null;
}

/** A range of the chain. `prev` is the hash before it; with `null` the first entry's own claim is taken, and the caller must check it. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly prev: string | null;
}

export interface RangeWalk {
  /** Number of valid entries before the walk stopped. */
  readonly checked: number;
  /** The `prev_hash` of the first entry. */
  readonly first: string | null;
  /** Hash of the last valid entry. */
  readonly last: string;
  readonly sidecars: SidecarCounts;
  readonly stop: { readonly seq: number; readonly reason: InvalidReason } | { readonly version: number } | null;
}

/** Walks a range elsewhere, or returns `null` when it is too short for that. */
export type WalkRange = (range: Range) => Promise<RangeWalk> | null;

/** Joins the walks of adjacent ranges. The result stops where a single walk would have stopped, for the same reason. */
export function joinWalks({ prev, ...whole }: Range, parts: readonly { range: Range; walk: RangeWalk }[]): RangeWalk {
  const sidecars: SidecarCounts = { checked: 0, purged: 0, unchecked: 0 };
  const joined = { checked: 0, first: prev, last: prev ?? '', sidecars };
  for (const { range, walk } of parts) {
    const link = range.from === whole.from ? prev : joined.last;
    // A single walk reports a wrong link before everything else, except wrong columns or a wrong place.
    if (walk.first !== null && link !== null && walk.first !== link)
      return { ...joined, stop: { seq: range.from, reason: 'prev_hash' } };
    joined.first ??= walk.first;
    joined.checked += walk.checked;
    if (walk.checked > 0) joined.last = walk.last;
    add(sidecars, walk.sidecars);
    if (walk.stop) return { ...joined, stop: walk.stop };
  }
  return { ...joined, stop: null };
}

function add(counts: SidecarCounts, more: SidecarCounts): void {
  counts.checked += more.checked;
  counts.purged += more.purged;
  counts.unchecked += more.unchecked;
}

/** Walks one range of the chain from its first entry to the last, or to the first invalid one. */
export async function walkRange(
  reader: ChainReader,
  keys: KeyRing | null,
  { from, to: end, prev }: Range,
): Promise<RangeWalk> {
  const sidecars: SidecarCounts = { checked: 0, purged: 0, unchecked: 0 };
  let seq = from - 1;
  let hash = prev;
  let first = prev;
  const stopped = (stop: RangeWalk['stop']): RangeWalk => ({
    checked: seq - from + 1,
    first,
    last: hash ?? '',
    sidecars,
    stop,
  });
  const stopAt = (at: number, reason: InvalidReason) => stopped({ seq: at, reason });

  // The next page is read while this one is hashed.
  const sealedToo = keys !== null;
  let ahead = readPage(reader, from, end, sealedToo);
  while (seq < end) {
    const { to, entries, beside, sealed } = await ahead;
    ahead = readPage(reader, to + 1, end, sealedToo);
    for (const { seq: at, id, prevHash, entryHash: claimed, hashed, committed } of entries) {
      if (at !== seq + 1 || (hash !== null && prevHash !== hash)) break;
      if (hashed === null || renderedHash(hashed) !== claimed) break;
      first ??= prevHash;
      const fault = await checkSidecars(
        reader,
        keys,
        { seq: at, id, committed },
        beside.get(at) ?? [],
        sealed,
        sidecars,
      );
      if (fault) return stopAt(at, fault);
      hash = claimed;
      seq += 1;
    }
    // Entries that the database could not render, or whose rendering has another hash, are read column by column; that decides.
    for (const raw of seq < to ? await reader.page(seq + 1, to) : []) {
      const version = raw.cells[1];
      if (isInteger(version) && integerCell(version) !== CHAIN_VERSION)
        return stopped({ version: integerCell(version) });
      const entry = readEntry(raw);
      if (!entry) return stopAt(Number(raw.cells[0]), 'columns');
      const { position, content } = entry;
      if (position.seq !== seq + 1) return stopAt(position.seq, 'seq');
      first ??= position.prevHash;
      if (hash !== null && position.prevHash !== hash) return stopAt(position.seq, 'prev_hash');
      if (entryHash(position.prevHash, canonicalEntry(position, content)) !== entry.entryHash)
        return stopAt(position.seq, 'entry_hash');
      const place = { seq: position.seq, id: position.id, committed: committedBy(entry.values) };
      const fault = await checkSidecars(reader, keys, place, beside.get(position.seq) ?? [], sealed, sidecars);
      if (fault) return stopAt(position.seq, fault);
      hash = entry.entryHash;
      seq += 1;
    }
    if (seq < to) return stopAt((await reader.nextSeq(seq)) ?? seq + 1, 'seq');
    await new Promise((resolve) => setImmediate(resolve));
  }
  return stopped(null);
}

interface Page {
  readonly to: number;
  readonly entries: readonly RenderedEntry[];
  readonly beside: ReadonlyMap<number, RawSidecar[]>;
  /** The sealed bytes of the page's sidecars, if they are small enough to be read at once. */
  readonly sealed: ReadonlyMap<string, Uint8Array>;
}

/** A page's sidecars are read in one query up to this size; above it, one by one. */
const SEALED_BYTES = 8_388_608;

function readPage(reader: ChainReader, from: number, end: number, sealedToo: boolean): Promise<Page> {
  const to = Math.min(from + PAGE - 1, end);
  // A page that the database cannot render is no store fault; reading its columns will tell.
  const rendered = async () => (await reader.rendered?.(from, to).catch(() => [])) ?? [];
  const read = async (): Promise<Page> => {
    const nothing = { to, entries: [], beside: new Map<number, RawSidecar[]>(), sealed: new Map<string, Uint8Array>() };
    if (from > end) return nothing;
    const [entries, sidecars] = await Promise.all([rendered(), reader.sidecars(from, to)]);
    const bytes = sidecars.reduce((sum, { sealedBytes }) => sum + sealedBytes, 0);
    const sealed =
      sealedToo && bytes > 0 && bytes <= SEALED_BYTES ? await reader.sealedSidecars?.(from, to) : undefined;
    return { to, entries, beside: groupBySeq(sidecars), sealed: sealed ?? nothing.sealed };
  };
  const page = read();
  // A walk that stops early never awaits this page; one that continues gets the error then.
  page.catch(() => undefined);
  return page;
}

interface ReadEntry {
  readonly position: Position;
  readonly values: ContentValues;
  readonly content: string;
  readonly entryHash: string;
}

/** The entry from its columns; `null` when a column holds an impossible value. */
function readEntry({ cells, exact }: RawEntry): ReadEntry | null {
  if (!exact) return null;
  try {
    const [seq, chainVersion, id, timestamp, prevHash, ...rest] = cells;
    const hash = rest.pop();
    const values = contentValues(rest);
    const content = canonicalContent(values);
    for (let index = 0; index < values.length; index++) {
      if (CONTENT_FIELDS[index]?.[1] === 'json' && !holdsObject(values[index] as string | null)) return null;
    }
    if (
      typeof id !== 'string' ||
      typeof timestamp !== 'string' ||
      typeof prevHash !== 'string' ||
      typeof hash !== 'string'
    )
      return null;
    return {
      position: { chainVersion: integerCell(chainVersion), id, timestamp, seq: integerCell(seq), prevHash },
      values,
      content,
      entryHash: hash,
    };
  } catch {
    return null;
  }
}

/**
 * JSON columns are hashed as stored, so each must be one complete JSON object. Otherwise text could move across a column's border without
 * changing the hashed bytes.
 */
function holdsObject(text: string | null): boolean {
  if (text === null) return true;
  if (!text.startsWith('{')) return false;
  JSON.parse(text);
  return true;
}

const isInteger = (cell: RawEntry['cells'][number] | undefined): boolean => {
  try {
    integerCell(cell);
    return true;
  } catch {
    return false;
  }
};

function groupBySeq(sidecars: readonly RawSidecar[]): Map<number, RawSidecar[]> {
  const grouped = new Map<number, RawSidecar[]>();
  for (const sidecar of sidecars) grouped.set(sidecar.seq, [...(grouped.get(sidecar.seq) ?? []), sidecar]);
  return grouped;
}

const PAYLOAD = contentIndex('payload_sha256');
const EVIDENCE = contentIndex('brain_evidence_sha256');
const committedBy = (values: ContentValues): CommittedDigests => ({
  payload: values[PAYLOAD] as string | null,
  brain_evidence: values[EVIDENCE] as string | null,
});
const KINDS: readonly SidecarKind[] = ['payload', 'brain_evidence'];

async function checkSidecars(
  reader: ChainReader,
  keys: KeyRing | null,
  { seq, id, committed }: Pick<RenderedEntry, 'seq' | 'id' | 'committed'>,
  found: readonly RawSidecar[],
  read: ReadonlyMap<string, Uint8Array>,
  counts: SidecarCounts,
): Promise<InvalidReason | null> {
  const expected = KINDS.filter((kind) => committed[kind] !== null);
  if (found.length > expected.length) return 'sidecar_unexpected';
  for (const kind of expected) {
    const sidecar = found.find((candidate) => candidate.kind === kind && candidate.entryId === id);
    if (!sidecar) return 'sidecar_missing';
    const { purgedAt, purgeSeal } = sidecar;
    // A deliberate purge leaves a sealed note; bytes that just disappeared leave none.
    if (sidecar.sealedBytes === 0 && (purgedAt === null || purgeSeal === null)) return 'sidecar_missing';
    if (sidecar.sealedBytes > 0 && (purgedAt !== null || purgeSeal !== null)) return 'sidecar_unexpected';
    if (!keys) {
      counts.unchecked += 1;
    } else if (purgedAt !== null && purgeSeal !== null) {
      if (!opensTo(keys, purgeSeal, purgeContext(id, kind), purgedAt)) return 'sidecar_missing';
      counts.purged += 1;
    } else {
      const sealed = read.get(sidecarKey(seq, kind)) ?? (await reader.sealedSidecar(seq, kind));
      if (sealed === null || openedDigest(keys, sealed, sidecarContext(id, kind)) !== committed[kind]) {
        // Purged between the two reads; the next walk finds the note.
        const [now] = await reader.sidecars(seq, seq);
        if (!now || now.purgedAt === null) return 'sidecar_digest';
      }
      counts.checked += 1;
    }
  }
  return null;
}

function openedDigest(keys: KeyRing, sealed: Uint8Array, context: string): string | null {
  try {
    return sha256Hex(keys.open(sealed, context));
  } catch {
    return null;
  }
}
