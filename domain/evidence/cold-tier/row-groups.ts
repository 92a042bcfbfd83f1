import type { EntryTable } from '../../ledger/tables.js';

/** Rows that are written together, and their approximate size in memory. */
export interface RowGroup {
  readonly rows: readonly EntryTable[];
  readonly bytes: number;
}

const GROUP_ROWS = 2_000;

/** Joins pages and cuts them into groups: large enough to read fast, and at most `maxBytes` plus one row. */
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
