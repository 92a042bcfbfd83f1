import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { CallGrant } from '../../contracts/call-grant.js';
import type { CallStore } from '../../domain/call/ports.js';
import { callMigrations } from '../../migrations/calls.js';
import { batchRequest, callsOf } from '../../test/support/batch-request.js';
import { callInput } from '../../test/support/call-input.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { seededRandom } from '../../test/support/random.js';
import { openCallStore } from './call-store.js';

const NO_LIMIT = { limit: 0, windowMs: 60_000 };
const BODY = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file', arguments: {} } };
const EXHAUSTED = { admitted: false, exhausted: true };

describe.each(STORES)('the uses of a grant, counted in %s', (kind) => {
  let place: TestLedgerPlace;
  let store: CallStore;
  let now: number;
  const open = () => openCallStore({ target: place.target, keys: place.keys, now: () => now });
  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: callMigrations });
  });
  afterAll(() => place.remove());
  beforeEach(async () => {
    now = Date.now();
    store = await open();
    for (const table of ['grant_uses', 'grant_used_calls', 'call_requests', 'rate_hits'])
      await place.sql(`delete from ${table}`);
  });
  afterEach(() => store.close());
  const grantOf = (over: Partial<CallGrant> = {}): CallGrant => ({
    jti: randomUUID(),
    act_sub: 'user:ada',
    idp: 'corp',
    scope: ['tool:read_file'],
    yellow_scope: [],
    exp: Math.floor(now / 1_000) + 600,
    ...over,
  });
  const callOf = (grant: CallGrant, over: Partial<CallInput> = {}) => callInput(now, { grant, ...over });
  const admit = (call: CallInput, window = NO_LIMIT, from = store) =>
    from.admit(call, { body: BODY, callback_url: null }, window);
  const usesOf = async ({ jti }: CallGrant) =>
    Number((await place.sql('select uses from grant_uses where jti = ?', [jti]))[0]?.['uses'] ?? 0);

  it('are one for each call that is let in, and none for the same call again', async () => {
    const grant = grantOf({ max_uses: 2 });
    const first = callOf(grant);
    expect(await admit(first)).toMatchObject({ admitted: true });
    for (let times = 0; times < 3; times += 1) expect(await admit(first)).toMatchObject({ admitted: true });
    expect(await admit(callOf(grant))).toMatchObject({ admitted: true });
    expect(await admit(callOf(grant))).toEqual(EXHAUSTED);
    // What it was used for before goes on.
    expect(await admit(first)).toMatchObject({ admitted: true });
    expect(await usesOf(grant)).toBe(2);
    expect(await admit(callOf(grantOf({ max_uses: 1 })))).toMatchObject({ admitted: true });
  });

  it('are counted also where nothing limits them', async () => {
    const grant = grantOf();
    for (let times = 0; times < 3; times += 1) await admit(callOf(grant));
    expect(await usesOf(grant)).toBe(3);
  });

  it('are as many as a batch has calls, or none where fewer are left', async () => {
    const grant = grantOf({ max_uses: 3 });
    const batch = (size: number) => {
      const body = batchRequest(callsOf('read_file', size));
      return store.admit(callOf(grant, { method: BATCH_METHOD }), { body, callback_url: null }, NO_LIMIT);
    };
    expect(await batch(2)).toMatchObject({ admitted: true });
    expect(await batch(2)).toEqual(EXHAUSTED);
    expect(await usesOf(grant)).toBe(2);
    expect(await batch(1)).toMatchObject({ admitted: true });
  });

  it('are none for what the velocity limit refuses', async () => {
    const grant = grantOf({ max_uses: 5 });
    const window = { limit: 1, windowMs: 60_000 };
    expect(await admit(callOf(grant), window)).toMatchObject({ admitted: true });
    expect(await admit(callOf(grant), window)).toMatchObject({ admitted: false, retryAfterSecs: expect.any(Number) });
    expect(await usesOf(grant)).toBe(1);
  });

  it('let nothing in where somebody edited them', async () => {
    const grant = grantOf({ max_uses: 1 });
    const first = callOf(grant);
    await admit(first);
    await place.sql('update grant_uses set uses = 0');
    await expect(admit(callOf(grant))).rejects.toMatchObject({ code: 'control_state_unavailable' });
    await place.sql('update grant_uses set uses = 1');
    // A call that somebody wrote there has not used it.
    const written = callOf(grant);
    await place.sql('insert into grant_used_calls (jti, correlation_id, expires_ms, mac) values (?, ?, 1, ?)', [
      grant.jti,
      written.correlation_id,
      'k1:00',
    ]);
    expect(await admit(written)).toEqual(EXHAUSTED);
    expect(await admit(first)).toMatchObject({ admitted: true });
  });

  it('are told once each, and again when there are more', async () => {
    const [one, two] = [grantOf(), grantOf()];
    await admit(callOf(one));
    await admit(callOf(two));
    await admit(callOf(two));
    const untold = await store.grantUsesUntold(10);
    expect(untold.toSorted((a, b) => a.uses - b.uses)).toEqual([
      { jti: one.jti, uses: 1 },
      { jti: two.jti, uses: 2 },
    ]);
    expect(await store.grantUsesUntold(1)).toHaveLength(1);
    await admit(callOf(one));
    await store.grantUsesTold(untold);
    expect(await store.grantUsesUntold(10)).toEqual([{ jti: one.jti, uses: 2 }]);
  });

  it('are kept for a day after the end of the grant', async () => {
    const grant = grantOf();
    await admit(callOf(grant));
    const purge = () => store.purge({ hitsMs: 0, stagedMs: 0, recordsMs: 0 });
    now += 86_400_000;
    await purge();
    expect(await usesOf(grant)).toBe(1);
    now += 86_400_000;
    await purge();
    expect([await usesOf(grant), await place.sql('select jti from grant_used_calls')]).toEqual([0, []]);
  });

  it.each(['grant_uses', 'grant_used_calls'])(
    'that ended are found in %s without a look at every one',
    async (table) => {
      if (kind === 'sqlite') {
        const plan = await place.sql(`explain query plan delete from ${table} where expires_ms < 5`);
        expect(JSON.stringify(plan)).toContain(`${table}_ended`);
      } else {
        // The few rows of a test are read one by one whatever there is.
        const found = await place.sql(`select indexdef from pg_indexes where indexname = '${table}_ended'`);
        expect(JSON.stringify(found)).toContain('(expires_ms)');
      }
    },
  );

  it('are never more than it has, however calls of two processes fall together', async () => {
    const random = seededRandom(`grant uses, ${kind}`);
    const other = await open();
    try {
      for (let round = 0; round < 5; round += 1) {
        const most = 1 + Math.floor(random.next() * 6);
        const grant = grantOf({ max_uses: most });
        const calls = Array.from({ length: 8 }, () => callOf(grant));
        const asked = [...calls, ...calls.slice(0, 3)];
        const came = await Promise.all(
          asked.map(async (call) => {
            const admission = await admit(call, NO_LIMIT, random.next() < 0.5 ? store : other);
            return admission.admitted ? call.correlation_id : null;
          }),
        );
        const used = new Set(came.filter((id) => id !== null));
        expect([used.size, await usesOf(grant)]).toEqual([most, most]);
        // Whoever was let in still is, and nobody else.
        for (const call of calls) expect((await admit(call)).admitted).toBe(used.has(call.correlation_id));
      }
    } finally {
      await other.close();
    }
  });
});
