import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerMigrations } from '../../../migrations/ledger.js';
import { ledgerPlace, type TestLedgerPlace } from '../../../test/support/ledger.js';
import { openStore, type Store } from '../../store/database.js';
import type { Bundle } from '../regulatory/bundle.js';
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
