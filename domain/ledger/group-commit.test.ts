import { describe, expect, it } from '@jest/globals';
import { testRow } from '../../test/support/ledger.js';
import type { AppendCall } from './chain.js';
import { prepareRow } from './entry.js';
import { createGroupCommit } from './group-commit.js';

const ROW = prepareRow(testRow());
const call = (rows: number): AppendCall => Array.from({ length: rows }, () => ROW);

/** How many rows each call of a transaction had. */
async function committed(sizes: readonly number[]): Promise<number[][]> {
  const groups: number[][] = [];
  const { append } = createGroupCommit(
    (calls) => {
      groups.push(calls.map(({ length }) => length));
      return Promise.resolve({ answers: calls.map(() => []), rows: 0, conflicts: 0 });
    },
    () => undefined,
  );
  await Promise.all(sizes.map((size) => append(call(size))));
  return groups;
}

describe('calls that wait together', () => {
  it('share a transaction of up to 512 rows, in their order', async () => {
    expect(await committed([256, 256, 1, 511, 1])).toEqual([[256, 256], [1, 511], [1]]);
  });

  it('are never split: a larger one has a transaction of its own', async () => {
    expect(await committed([600, 1, 600])).toEqual([[600], [1], [600]]);
  });

  it('are refused at once beyond 20,000 rows, alone and until there is room', async () => {
    let release = (): void => undefined;
    const stored = new Promise<void>((resolve) => (release = resolve));
    const { append } = createGroupCommit(
      async (calls) => {
        await stored;
        return { answers: calls.map(() => []), rows: 0, conflicts: 0 };
      },
      () => undefined,
    );
    const waiting = [append(call(20_000))];
    await expect(append(call(1))).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    release();
    await Promise.all(waiting);
    expect(await append(call(1))).toEqual([]);
  });
});
