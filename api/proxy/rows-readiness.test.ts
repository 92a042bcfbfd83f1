import { describe, expect, it } from '@jest/globals';
import { oldestRowSecs, rowsReadiness } from './rows-readiness.js';

describe('a row that the ledger does not have', () => {
  it('is told in the readiness, and logged once it is late; calls are refused only where nobody writes it', async () => {
    let secs = 0;
    const logged: string[] = [];
    const log = ({ event }: { event: string }) => void logged.push(event);
    const logger = { warn: log, info: log } as unknown as Parameters<typeof rowsReadiness>[1];
    const check = rowsReadiness(() => Promise.resolve(secs), logger)['ledger_rows'];
    const at = async (age: number) => {
      secs = age;
      return check?.();
    };
    expect(await at(0)).toBe('oldest unappended row: 0 s');
    expect(await at(30)).toBe('oldest unappended row: 30 s');
    expect(logged).toEqual([]);
    for (const age of [31, 180, 900])
      expect(await at(age)).toBe(`oldest unappended row: ${age} s, late: reconciliation appends it`);
    await expect(at(901)).rejects.toThrow('the oldest unappended row is 901 s old');
    expect(await at(2)).toBe('oldest unappended row: 2 s');
    expect(logged).toEqual(['ledger_rows_late', 'ledger_rows_appended']);
  });

  it('is as old as it is due, never younger than now', () => {
    expect([oldestRowSecs(null, 5_000), oldestRowSecs(9_000, 5_000), oldestRowSecs(1_000, 95_400)]).toEqual([0, 0, 94]);
  });
});
