import { setImmediate as nextTurn } from 'node:timers/promises';

/** What a query finds, `most` rows at a time, each read behind the last row of the one before. What else there is to do is done between two reads. */
export async function* pagesOf<Row>(
  most: number,
  read: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    const rows = await read(last);
    yield rows;
    if (rows.length < most) return;
    last = rows.at(-1);
    await nextTurn();
  }
}
