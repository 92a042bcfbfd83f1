import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Ledger, NewLedgerRow } from '../../contracts/ledger.js';
import { createLedgerOutbox } from './outbox.js';

describe('rows that wait for a ledger that is away', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each([5, 33, 600])('are in it at most ten seconds after it is back, also after %d s', async (seconds) => {
    let isAway = true;
    let asked = 0;
    const sent: unknown[] = [];
    const told: (string | null)[] = [];
    const waiting = [{ row: { id: 'a' } as unknown as NewLedgerRow }];
    const outbox = createLedgerOutbox({
      store: {
        undelivered: async () => ({ waiting: [...waiting], tampered: [] }),
        delivered: async () => void waiting.pop(),
      },
      ledger: {
        append: async (rows: readonly unknown[]) => {
          asked += 1;
          if (isAway) throw new Error('away');
          sent.push(...rows);
          return [{ seq: 1 }];
        },
      } as unknown as Ledger,
      onFault: (reason) => void told.push(reason),
      what: 'rows',
    });
    outbox.begin();
    await jest.advanceTimersByTimeAsync(seconds * 1_000);
    expect(outbox.ready).toThrow('rows wait for the ledger: away');
    // It is asked less often the longer it is away.
    expect(asked).toBeLessThanOrEqual(4 + seconds / 10);
    isAway = false;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent).toEqual([{ id: 'a' }]);
    expect(outbox.ready()).toBeUndefined();
    expect(told).toEqual(['away', null]);
    await outbox.close();
  });
});
