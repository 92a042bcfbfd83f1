import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerMigrations } from '../../../migrations/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { ledgerOver, type WholeLedger } from '../../../test/support/whole-ledger.js';
import { openStore, type Store } from '../../store/database.js';
import type { Bundle } from '../regulatory/bundle.js';
import { createErasure } from '../../ledger/erasure/erasure.js';
import { tombstones } from '../../../migrations/ledger-tombstones.js';
import { createTenantLifecycle, type LifecycleTables } from './tenant-lifecycle.js';

const OPERATION = '0190a000-0000-4000-8000-000000000001';

describe('the final export of a tenant that leaves', () => {
  let place: TestLedgerPlace;
  let store: Store<LifecycleTables>;
  beforeEach(async () => {
    place = await ledgerPlace('sqlite');
    store = await openStore<LifecycleTables>(place.target, ledgerMigrations);
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  it.each([
    ['that is kept', () => Readable.from([Buffer.from('bytes')])],
    ['that cannot be kept', () => Readable.from([Promise.reject(new Error('the disk is full'))])],
    [
      'that is not even begun',
      () => {
        throw new Error('no folder');
      },
    ],
  ])('%s leaves nothing of the bundle behind', async (what, stream) => {
    let discarded = 0;
    const bundle = {
      manifest: { row_count: 1 },
      manifestSha256: 'ab'.repeat(32),
      stream,
      discard: async () => void (discarded += 1),
    } as unknown as Bundle;
    const lifecycle = createTenantLifecycle({
      store,
      append: () => Promise.resolve([]),
      erasure: { tombstoneTenant: () => Promise.resolve(0) },
      makeBundle: () => Promise.resolve(bundle),
      clock: () => 0,
    });
    const step = lifecycle.step('acme', OPERATION, 'final_export');
    if (what === 'that is kept') expect(await step).toMatchObject({ artifact_bytes: 5 });
    else await expect(step).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    expect(discarded).toBe(1);
  });
});

describe.each(STORES)('a tenant that has gone, in a ledger on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<LifecycleTables>;
  let ledger: WholeLedger;
  beforeEach(async () => {
    place = await ledgerPlace(kind);
    store = await openStore<LifecycleTables>(place.target, ledgerMigrations);
    ledger = ledgerOver(store, { sidecarKeys: place.keys });
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });
  const bundle = {
    manifest: { row_count: 1 },
    manifestSha256: 'ab'.repeat(32),
    stream: () => Readable.from([Buffer.from('bytes')]),
    discard: () => Promise.resolve(),
  } as unknown as Bundle;
  const lifecycleOf = (append = ledger.append.bind(ledger)) =>
    createTenantLifecycle({
      store,
      append,
      erasure: createErasure({ store, append, clock: Date.now }),
      makeBundle: () => Promise.resolve(bundle),
      clock: Date.now,
    });
  const gone = async (lifecycle = lifecycleOf()) => {
    await lifecycle.step('acme', OPERATION, 'final_export');
    return lifecycle.step('acme', OPERATION, 'tombstone');
  };
  const visible = async () => (await ledger.byAgent('agent-a')).map(({ tenant }) => tenant);

  it('shows no row of it that comes later, alone or among others, and the chain verifies', async () => {
    await ledger.append([testRow(), testRow({ tenant: 'other' })]);
    expect(await gone()).toMatchObject({ rows_affected: 1 });
    await ledger.append([testRow()]);
    await ledger.append(Array.from({ length: 12 }, (_, at) => testRow({ tenant: at === 5 ? 'other' : 'acme' })));
    expect(await visible()).toEqual(['other', 'other']);
    expect(await ledger.verify()).toMatchObject({ valid: true });
    const hidden = await place.sql("select seq from ledger_entries where tenant = 'acme' and deleted_at is null");
    expect(hidden).toEqual([]);
  });

  it('shows none that comes while its rows are being hidden', async () => {
    await ledger.append([testRow()]);
    let isCommitted = false;
    const lifecycle = lifecycleOf(async (rows) => {
      await ledger.append([testRow()]);
      if (rows[0]?.event_kind === 'tenant.tombstoned' && !isCommitted) {
        isCommitted = true;
        // As a statement that began before the tenant was marked, and is committed now.
        const [mark] = (await place.sql('select hidden_at from ledger_tombstones')) as { hidden_at: string }[];
        await place.sql('delete from ledger_tombstones');
        await ledger.append([testRow()]);
        await place.sql(`insert into ledger_tombstones values ('acme', '${mark?.hidden_at}')`);
      }
      const receipts = await ledger.append(rows);
      await ledger.append([testRow()]);
      return receipts;
    });
    await gone(lifecycle);
    expect(await visible()).toEqual([]);
  });

  it('hides at its next start what came behind the tombstone before this was so', async () => {
    await ledger.append([testRow()]);
    await gone();
    await place.sql('delete from ledger_tombstones');
    await ledger.append([testRow()]);
    expect(await visible()).toEqual(['acme']);
    await tombstones.up(store.db as never);
    await ledger.append([testRow()]);
    expect(await visible()).toEqual([]);
    expect(await ledger.verify()).toMatchObject({ valid: true });
  });
});
