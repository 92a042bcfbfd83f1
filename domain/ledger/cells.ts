import { CONTENT_FIELDS, type ContentValues } from './canonical-bytes.js';

/**
 * A value as the store returns it. Integers may be bigint or digits. A value that its column should not hold is passed on, so that
 * verification finds it.
 */
export type Cell = string | number | bigint | null | Uint8Array;

/** Stored cells as content values. Throws TypeError on a value that its column cannot hold. */
export const contentValues = (cells: readonly Cell[]): ContentValues =>
  CONTENT_FIELDS.map(([, kind], index) => {
    const cell = cells[index] as Cell;
    if (cell === null) return null;
    if (kind === 'int' || kind === 'bool') return integerCell(cell);
    if (typeof cell !== 'string') throw new TypeError('not a value of this column');
    return cell;
  });

/** A stored integer. Throws TypeError when the cell is not a safe integer. */
export function integerCell(cell: Cell | undefined): number {
  const value = typeof cell === 'string' && /^-?[0-9]{1,16}$/.test(cell) ? Number(cell) : cell;
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw new TypeError('not an integer');
  return number;
}
