import { sha256Hex } from '../../crypto/digest.js';
import type { KeyRing } from '../../crypto/key-ring.js';
import type { Cell } from '../cells.js';

/** Where a batch of the vacuum ended: the entries up to `seq` are no longer in the chain (docs/architecture/ledger-reads.md#vacuum). */
export interface VacuumCursor {
  readonly seq: number;
  /** Hash of the newest removed entry, which the first kept entry points back to. */
  readonly entryHash: string;
  /** Digest over what is kept of the entries of its batch. */
  readonly rowsSha256: string;
  /** Earliest and latest timestamp of those entries. */
  readonly timeLo: string;
  readonly timeHi: string;
  readonly vacuumedAt: string;
  readonly seal: Uint8Array;
}

/** What is kept of a removed entry: enough to recognise a repeated append, and the leaf of the Merkle tree. */
export interface VacuumedRow {
  readonly seq: number;
  readonly id: string;
  readonly timestamp: string;
  readonly tenant: string | null;
  readonly entryHash: string;
}

export const CURSOR_COLUMNS = [
  'seq',
  'entry_hash',
  'rows_sha256',
  'time_lo',
  'time_hi',
  'vacuumed_at',
  'seal',
] as const;
export const VACUUMED_COLUMNS = ['seq', 'id', 'timestamp', 'tenant', 'entry_hash'] as const;

/** Reads the values of CURSOR_COLUMNS; all of them are NULL when there is no cursor. */
export function readCursor([seq, hash, rows, low, high, at, seal]: readonly Cell[]): VacuumCursor | null {
  if (seq === null || seq === undefined) return null;
  return {
    seq: Number(seq),
    entryHash: String(hash),
    rowsSha256: String(rows),
    timeLo: String(low),
    timeHi: String(high),
    vacuumedAt: String(at),
    seal: seal as Uint8Array,
  };
}

/** Reads the values of VACUUMED_COLUMNS. */
export const readVacuumedRow = ([seq, id, timestamp, tenant, hash]: readonly Cell[]): VacuumedRow => ({
  seq: Number(seq),
  id: String(id),
  timestamp: String(timestamp),
  tenant: (tenant ?? null) as string | null,
  entryHash: String(hash),
});

/** SHA-256 over what is kept of the entries of one batch. */
export const vacuumedDigest = (rows: readonly VacuumedRow[]): string =>
  sha256Hex(
    rows
      .map(
        ({ seq, id, timestamp, tenant, entryHash }) => `${JSON.stringify([seq, id, timestamp, tenant, entryHash])}\n`,
      )
      .join(''),
  );

const CONTEXT = 'ledger-vacuum';
type Unsealed = Omit<VacuumCursor, 'seal'>;
const cursorText = ({ seq, entryHash, rowsSha256, timeLo, timeHi, vacuumedAt }: Unsealed): string =>
  [seq, entryHash, rowsSha256, timeLo, timeHi, vacuumedAt].join('|');

/** The seal keeps somebody who can edit the store but has no key from deleting entries and calling them vacuumed. */
export const sealCursor = (keys: KeyRing, cursor: Unsealed): Buffer => keys.seal(cursorText(cursor), CONTEXT);

export function cursorSealHolds(keys: KeyRing, cursor: VacuumCursor): boolean {
  try {
    return keys.open(cursor.seal, CONTEXT).toString('utf8') === cursorText(cursor);
  } catch {
    return false;
  }
}
