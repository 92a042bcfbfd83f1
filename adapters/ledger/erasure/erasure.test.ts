import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerMigrations } from '../../../migrations/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { openStore, type Store } from '../../store/database.js';
import { ledgerOver, type WholeLedger } from '../../../test/support/whole-ledger.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { createErasure } from './erasure.js';

describe.each(STORES)('erasure on %s, while others append', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<LedgerTables>;
  let ledger: WholeLedger;
  beforeEach(async () => {
    place = await ledgerPlace(kind);
    store = await openStore<LedgerTables>(place.target, ledgerMigrations);
    ledger = ledgerOver(store, { sidecarKeys: place.keys });
    await ledger.append([testRow(), testRow({ state_namespace: 'demo' })]);
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });
  /** Another append follows right after the row about the erasure. */
  const erasure = () =>
    createErasure({
      store,
      clock: Date.now,
      append: async (rows) => {
        const receipts = await ledger.append(rows);
        await ledger.append([testRow({ state_namespace: 'demo' })]);
        return receipts;
      },
    });
  const visible = async () => (await ledger.byAgent('agent-a')).map(({ seq }) => seq);

  it('hides the rows that were there when it was asked for, and no later one', async () => {
    expect(await erasure().tombstoneTenant('acme')).toBe(2);
    expect(await visible()).toEqual([4]);
  });

  it('cleans up the demonstration as it was when it was asked for', async () => {
    expect(await erasure().cleanUpDemo()).toMatchObject({ selected: 2, tombstoned: 1 });
    expect(await visible()).toEqual([1, 4]);
  });

  if (kind === 'sqlite')
    it('gives others their turn after each step, over a store that answers at once', async () => {
      await ledger.append(Array.from({ length: 10_500 }, () => testRow()));
      let turns = 0;
      let done = false;
      const tick = () => {
        turns += 1;
        if (!done) setImmediate(tick);
      };
      // Here the row about the erasure only waits for its commit; a tick counts only after that.
      const quiet = createErasure({
        store,
        clock: Date.now,
        append: async (rows) => {
          const receipts = await ledger.append(rows);
          setImmediate(tick);
          return receipts;
        },
      });
      expect(await quiet.tombstoneTenant('acme')).toBe(10_502);
      done = true;
      expect(turns).toBeGreaterThanOrEqual(3);
    });

  it('leaves its note even when hiding is cut off, and the next call finishes the work', async () => {
    const cut = createErasure({
      store,
      clock: Date.now,
      append: async (rows) => {
        await ledger.append(rows);
        throw new Error('cut off');
      },
    });
    await expect(cut.tombstoneTenant('acme')).rejects.toThrow('cut off');
    expect(await visible()).toEqual([1, 2]);
    expect((await ledger.newest(1))[0]?.event_kind).toBe('tenant.tombstoned');
    expect(await ledger.erasure.tombstoneTenant('acme')).toBe(2);
  });
});
