import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';

/** Rows that are read, and whose MACs are verified, within one turn of the event loop: some milliseconds. */
export const ROWS_AT_ONCE = 250;

/** Rows of policies, some at a time in the order of tenant and name, which `read` keeps. Calls go on between two reads. */
export async function* pagesOf<Row extends { readonly tenant: string; readonly name: string }>(
  read: (isBehind: RawBuilder<boolean>) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let isBehind = sql<boolean>`1 = 1`;
  for (;;) {
    const rows = await read(isBehind);
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    isBehind = sql<boolean>`(tenant, name) > (${last.tenant}, ${last.name})`;
    await nextTurn();
  }
}
