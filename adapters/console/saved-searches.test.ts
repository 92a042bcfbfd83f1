import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { consoleMigrations } from '../../migrations/console.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import type { SavedSearches } from './saved-searches.js';
import { openSessionStore } from './session-store.js';

const ADA = { subject: 'oidc:ada', tenant: 'acme' };
const OTHERS = [
  { subject: 'oidc:ada', tenant: 'globex' },
  { subject: 'oidc:bob', tenant: 'acme' },
];

describe.each(STORES)('the searches that people keep, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Awaited<ReturnType<typeof openSessionStore>>;
  let searches: SavedSearches;
  const open = async () => {
    store = await openSessionStore({ target: place.target, key: Buffer.alloc(32, 9), idleMs: 60_000 });
    ({ searches } = store);
  };
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: consoleMigrations });
    await open();
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  it('are there after a restart, by name, of their person in his tenant alone', async () => {
    await searches.save(ADA, { name: 'b', query: { agent: 'x', verdict: 'deny' } });
    await searches.save(ADA, { name: 'a', query: {} });
    await store.close();
    await open();
    expect(await searches.list(ADA)).toEqual([
      { name: 'a', query: {} },
      { name: 'b', query: { agent: 'x', verdict: 'deny' } },
    ]);
    for (const other of OTHERS) {
      expect(await searches.list(other)).toEqual([]);
      await searches.forget(other, 'a');
    }
    expect(await searches.list(ADA)).toHaveLength(2);
  });

  it('are replaced by name, forgotten twice without harm, and fifty at most', async () => {
    for (let n = 0; n < 50; n += 1) await searches.save(ADA, { name: `n${n}`, query: { agent: 'a' } });
    await searches.save(ADA, { name: 'n7', query: { agent: 'b' } });
    await expect(searches.save(ADA, { name: 'more', query: {} })).rejects.toMatchObject({ code: 'invalid_request' });
    for (let twice = 0; twice < 2; twice += 1) await searches.forget(ADA, 'n8');
    await searches.save(ADA, { name: 'more', query: {} });
    const kept = await searches.list(ADA);
    expect([kept.length, kept.find(({ name }) => name === 'n7')?.query]).toEqual([50, { agent: 'b' }]);
  });

  it('are 503 while the store is gone, and what is there stays', async () => {
    await searches.save(ADA, { name: 'a', query: {} });
    await store.close();
    for (const asked of [searches.list(ADA), searches.save(ADA, { name: 'b', query: {} }), searches.forget(ADA, 'a')])
      await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' });
    await open();
    expect(await searches.list(ADA)).toHaveLength(1);
  });
});
