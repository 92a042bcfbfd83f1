import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { RowsQuery } from '../../services.js';
import { pagesOf, searched } from './search.js';

const LONG = 1_000_000;
/** A chain of that many rows, in which the tool `rare` has those of these places; what was asked of it. */
function chain(rare: readonly number[], rows = LONG) {
  const asked: RowsQuery[] = [];
  const at = (seq: number) => ({ seq }) as unknown as LedgerEntry;
  return {
    asked,
    rows: (query: RowsQuery) => {
      asked.push(query);
      const { before = rows + 1, seqFrom = 1, limit, tool } = query;
      if (tool === undefined) return Promise.resolve(rows === 0 ? [] : [at(Math.min(rows, before - 1))]);
      const found = rare.filter((seq) => seq < before && seq >= seqFrom).toSorted((one, other) => other - one);
      return Promise.resolve(found.slice(0, limit).map(at));
    },
  };
}
const search = { agent: '*', tool: 'rare', limit: 2 };

describe('a search of the ledger', () => {
  it('looks at 200,000 rows, says where it ended, and goes on from there', async () => {
    const ledger = chain([900_000, 700_000, 1]);
    const first = await searched(ledger, search);
    expect(first).toMatchObject({ rows: [{ seq: 900_000 }], lookedDownTo: 800_001 });
    const next = await searched(ledger, { ...search, before: first.lookedDownTo ?? 0 });
    expect(next).toMatchObject({ rows: [{ seq: 700_000 }], lookedDownTo: 600_001 });
    let before: number | null = next.lookedDownTo;
    const seen: unknown[] = [];
    while (before !== null) {
      const found = await searched(ledger, { ...search, before });
      seen.push(...found.rows.map(({ seq }) => seq));
      before = found.lookedDownTo;
    }
    expect(seen).toEqual([1]);
  });

  it('says nothing of an end where the page is full, or the chain was looked at from end to end', async () => {
    expect(await searched(chain([999_999, 999_998, 5]), search)).toMatchObject({ lookedDownTo: null });
    expect(await searched(chain([7], 150_000), search)).toMatchObject({ rows: [{ seq: 7 }], lookedDownTo: null });
    expect(await searched(chain([], 0), search)).toEqual({ rows: [], lookedDownTo: null });
  });

  it('begins at the end of a window', async () => {
    const ledger = chain([]);
    await searched(ledger, { ...search, to: '2026-11-02T00:00:00Z' });
    expect(ledger.asked[0]).toEqual({ agent: '*', limit: 1, to: '2026-11-02T00:00:00Z' });
  });

  it('asks once, and without an end, for what an index leads to', async () => {
    const ledger = chain([]);
    await searched(ledger, { agent: '*', limit: 2 });
    await searched(ledger, { agent: 'pay-bot', limit: 2, from: '2026-11-02T00:00:00Z' });
    expect(ledger.asked.map(({ seqFrom }) => seqFrom)).toEqual([undefined, undefined]);
  });
});

describe('all rows of a query', () => {
  const all = async (ledger: ReturnType<typeof chain>, query: RowsQuery) => {
    const seen: number[] = [];
    for await (const rows of pagesOf(ledger, query)) seen.push(...rows.map(({ seq }) => Number(seq)));
    return seen;
  };

  it('are found from end to end, though no request looks at more than 200,000', async () => {
    const rare = [999_999, 999_998, 999_997, 700_000, 400_001, 3, 2, 1];
    const ledger = chain(rare);
    expect(await all(ledger, search)).toEqual(rare);
    const searches = ledger.asked.filter(({ tool }) => tool !== undefined);
    for (const { before = 0, seqFrom = 0 } of searches) expect(before - seqFrom).toBeLessThanOrEqual(200_000);
    expect(await all(chain(rare), { ...search, before: 400_001 })).toEqual([3, 2, 1]);
  });

  it('are none where there are none', async () => {
    expect(await all(chain([]), search)).toEqual([]);
    expect(await all(chain([], 0), search)).toEqual([]);
  });
});
