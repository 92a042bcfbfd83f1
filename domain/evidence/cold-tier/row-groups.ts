import type { EntryTable } from '../../ledger/tables.js';

/** Rows that are written together, and about how large they are in memory. */
export interface RowGroup {
  readonly rows: readonly EntryTable[];
  readonly bytes: number;
}

const GROUP_ROWS = 2_000;

/** Pages joined and cut into groups that are large enough to be read quickly, and small enough to be held: `maxBytes` and a row. */
export async function* rowGroups(
  pages: AsyncIterable<readonly EntryTable[]>,
  maxBytes: number,
): AsyncGenerator<RowGroup> {
  let rows: EntryTable[] = [];
  let bytes = 0;
  for await (const page of pages)
    for (const row of page) {
      rows.push(row);
      bytes += bytesOf(row);
      if (rows.length < GROUP_ROWS && bytes < maxBytes) continue;
      yield { rows, bytes };
      rows = [];
      bytes = 0;
    }
  if (rows.length > 0) yield { rows, bytes };
}

function bytesOf(row: EntryTable): number {
  let bytes = 0;
  for (const cell of Object.values(row)) bytes += typeof cell === 'string' ? cell.length : 8;
  return bytes;
}
