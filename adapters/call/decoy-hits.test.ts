import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import type { CallStore } from '../../domain/call/ports.js';
import { callMigrations } from '../../migrations/calls.js';
import { callInput } from '../../test/support/call-input.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openCallStore } from './call-store.js';

const BODY = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file', arguments: {} } };

describe.each(STORES)('how often calls touched decoys, counted in %s', (kind) => {
  let place: TestLedgerPlace;
  let store: CallStore;
  let now: number;
  let decoy: NonNullable<CallInput['decoy']>;
  const open = () => openCallStore({ target: place.target, keys: place.keys, now: () => now });
  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: callMigrations });
  });
  afterAll(() => place.remove());
  beforeEach(async () => {
    now = Date.now();
    decoy = { id: randomUUID(), kind: 'tool', action: 'suspend' };
    store = await open();
    for (const table of ['decoy_hits', 'call_requests']) await place.sql(`delete from ${table}`);
  });
  afterEach(() => store.close());
  const callOf = (over: Partial<CallInput> = {}) => callInput(now, { decoy, ...over });
  const admit = (call: CallInput, from = store) =>
    from.admit(call, { body: BODY, callback_url: null }, { limit: 0, windowMs: 60_000 });

  it('is once for each call, also where it comes again or to another process', async () => {
    const first = callOf();
    await admit(first);
    await admit(first);
    const other = await open();
    const last = callOf();
    await admit(last, other);
    await other.close();
    expect(await store.decoyHitsUntold(10)).toEqual([
      {
        decoyId: decoy.id,
        tenant: last.tenant,
        agent: last.agent,
        hits: 2,
        correlationId: last.correlation_id,
        lastMs: last.received_ms,
        contain: true,
      },
    ]);
    await admit(callInput(now, {}));
    expect(await store.decoyHitsUntold(10)).toHaveLength(1);
  });

  it('is counted of one that was refused and not admitted too', async () => {
    const call = callOf();
    await store.decoyTouched(call, decoy);
    await store.decoyTouched(call, decoy);
    const found = await store.decoyHitsUntold(10);
    expect(found).toMatchObject([{ decoyId: decoy.id, hits: 1, correlationId: call.correlation_id, contain: true }]);
  });

  it('is told until somebody heard it, and again with the next one', async () => {
    await admit(callOf());
    const heard = await store.decoyHitsUntold(10);
    await admit(callOf());
    await store.decoyHitsTold(heard);
    const next = await store.decoyHitsUntold(10);
    expect(next).toMatchObject([{ hits: 2 }]);
    await store.decoyHitsTold(next);
    // What was told before and is said again changes nothing.
    await store.decoyHitsTold(heard);
    expect(await store.decoyHitsUntold(10)).toEqual([]);
  });

  it('contains nobody for what came in observe mode alone', async () => {
    await admit(callOf({ mode: 'observe' }));
    expect(await store.decoyHitsUntold(10)).toMatchObject([{ contain: false }]);
    await admit(callOf());
    await admit(callOf({ mode: 'observe' }));
    // One that waits to be told was not.
    expect(await store.decoyHitsUntold(10)).toMatchObject([{ hits: 3, contain: true }]);
    await store.decoyHitsTold(await store.decoyHitsUntold(10));
    await admit(callOf({ mode: 'observe' }));
    expect(await store.decoyHitsUntold(10)).toMatchObject([{ hits: 4, contain: false }]);
  });

  it('is kept by decoy and agent, the oldest first', async () => {
    await admit(callOf({ received_ms: now + 2 }));
    await admit(callOf({ received_ms: now + 1, agent: 'other-bot' }));
    expect((await store.decoyHitsUntold(10)).map(({ agent }) => agent)).toEqual(['other-bot', callOf().agent]);
    expect(await store.decoyHitsUntold(1)).toHaveLength(1);
  });

  it('is forgotten of a tenant that goes, told or not, and of no other', async () => {
    await admit(callOf());
    await store.decoyHitsTold(await store.decoyHitsUntold(10));
    await admit(callOf({ agent: 'other-bot' }));
    await admit(callOf({ tenant: 'other' }));
    await store.forgetDecoyHits(callOf().tenant);
    await store.forgetDecoyHits(callOf().tenant);
    expect((await place.sql('select tenant from decoy_hits')).map(({ tenant }) => tenant)).toEqual(['other']);
  });
});
