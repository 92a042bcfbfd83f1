import { describe, expect, it } from '@jest/globals';
import { pagesOf } from './pages.js';

const AT_ONCE = 3;

describe('rows that are read page by page', () => {
  it.each([
    [0, [0]],
    [2, [2]],
    [3, [3, 0]],
    [7, [3, 3, 1]],
  ])('are all of them, each once and in order: %s', async (many, sizes) => {
    const rows = Array.from({ length: many }, (_, at) => at + 1);
    const [read, found]: [number[], number[]] = [[], []];
    for await (const page of pagesOf(AT_ONCE, (last: number | undefined) =>
      Promise.resolve(rows.filter((row) => row > (last ?? 0)).slice(0, AT_ONCE)),
    )) {
      read.push(page.length);
      found.push(...page);
    }
    expect([read, found]).toEqual([sizes, rows]);
  });

  it('leave others their turn between two reads, and nothing is read once nobody wants more', async () => {
    let [reads, turns] = [0, 0];
    setImmediate(() => void (turns += 1));
    for await (const _page of pagesOf(1, () => Promise.resolve([(reads += 1)]))) if (reads === 2) break;
    expect([reads, turns]).toEqual([2, 1]);
  });
});
