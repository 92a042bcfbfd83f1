import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { callMigrations } from '../../migrations/calls.js';
import { callInput } from '../../test/support/call-input.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { callStoreOver } from './call-store.js';
import type { VerdictEvidence } from '../../domain/call/record.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallTables } from './tables.js';
import { eventually } from '../../test/support/waiting.js';

const keys = keyRing(new Map([['k', Buffer.alloc(32, 'k')]]));
const evidenceOf = (call: VerdictEvidence['call'], params = 'a'): VerdictEvidence => ({
  call,
  verdict: null,
  inspection: null,
  inspection_failure: null,
  policy_failure: null,
  decision: null,
  facts: null,
  params_sha256: params.repeat(64),
  callback_url: null,
});

let postgres: TestPostgres;
let folder: string;
let places = 0;
beforeAll(async () => {
  postgres = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), 'gate-handed-'));
}, 60_000);
afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What a process keeps opened between two steps is never taken for what stands: other processes write the store as well. */
describe.each<[string, () => StoreTarget]>([
  ['SQLite', () => ({ file: join(folder, `${(places += 1)}.db`) })],
  ['Postgres', () => ({ url: postgres.url, schema: `handed_${(places += 1)}` })],
])('a record that one step hands to the next, on %s', (_name, place) => {
  let store: Store<CallTables>;
  let here: CallStore;
  let there: CallStore;
  beforeEach(async () => {
    const target = place();
    store = await openStore<CallTables>(target, callMigrations);
    here = callStoreOver(store, { keys });
    there = callStoreOver(await openStore<CallTables>(target, callMigrations), { keys });
  });
  afterEach(async () => {
    await here.close();
    await there.close();
  });
  const decided = () => here.commitVerdict('decided', evidenceOf(callInput(Date.now())));
  const edited = (id: string) =>
    sql`update call_records set tool = 'rm' where correlation_id = ${id}`.execute(store.db);

  it('is that record, whatever became of it since; without a word of it, what stands is read', async () => {
    const { correlation_id: id, ...reached } = await decided();
    await there.move(id, 'park', { pending_id: 'p', deadline_ms: 5 });
    expect(await here.find(id, reached)).toMatchObject({ state: 'decided' });
    expect(await here.find(id)).toMatchObject({ state: 'parked', version: 2 });
    // By then the later one is what this process has opened.
    expect(await here.find(id, reached)).toMatchObject({ state: 'parked' });
  });

  it('is read where this process never had it', async () => {
    const record = await decided();
    expect(await there.find(record.correlation_id, record)).toEqual(record);
    expect(await there.find(record.correlation_id, {})).toEqual(record);
  });

  it('moves nothing that another process moved: the move goes on from what stands', async () => {
    const { correlation_id: id } = await decided();
    await there.move(id, 'park', { pending_id: 'p', deadline_ms: 5 });
    expect(await here.move(id, 'park', { pending_id: 'q', deadline_ms: 9 })).toMatchObject({
      applied: false,
      record: { pending_id: 'p', deadline_ms: 5 },
    });
    await there.move(id, 'approve');
    expect(await here.move(id, 'expire')).toMatchObject({ applied: false, record: { state: 'approved' } });
    // What this process last saw would not let it move; what stands does.
    const { correlation_id: other } = await decided();
    await there.move(other, 'park', { pending_id: 'p', deadline_ms: 5 });
    expect(await here.move(other, 'deny')).toMatchObject({ applied: true, record: { state: 'denied', version: 3 } });
    expect(await there.find(other)).toMatchObject({ state: 'denied', version: 3 });
  });

  it('is not the next one of its id, which began at the same version', async () => {
    const call = callInput(Date.now());
    const first = await here.commitVerdict('decided', evidenceOf(call));
    await there.takeBack(call.correlation_id);
    await eventually('a later moment', () => Date.now() > first.updated_ms);
    const second = await there.commitVerdict('decided', evidenceOf(call, 'b'));
    expect(second.version).toBe(first.version);
    expect(await here.find(call.correlation_id, second)).toEqual(second);
    const third = await here.commitVerdict('decided', evidenceOf(callInput(Date.now())));
    await there.takeBack(third.correlation_id);
    await eventually('a later moment', () => Date.now() > third.updated_ms);
    await there.commitVerdict('allowed', evidenceOf(third.evidence.call, 'b'));
    // The move begins at the one that was taken away, finds it gone, and goes on from the one that stands.
    expect(await here.move(third.correlation_id, 'park', { pending_id: 'p', deadline_ms: 5 })).toMatchObject({
      applied: false,
      record: { state: 'allowed', evidence: { params_sha256: 'b'.repeat(64) } },
    });
    expect((await there.find(third.correlation_id))?.state).toBe('allowed');
  });

  it('hides no edit from whoever looks before something happens', async () => {
    const record = await decided();
    await edited(record.correlation_id);
    expect(await here.find(record.correlation_id, record)).toEqual(record);
    expect(await here.find(record.correlation_id)).toMatchObject({ state: 'tampered' });
    expect(await here.move(record.correlation_id, 'park', { pending_id: 'p', deadline_ms: 5 })).toMatchObject({
      applied: false,
      record: { state: 'tampered' },
    });
  });

  it('does not make an edit its own: what moved over it is found at the next look', async () => {
    const record = await decided();
    await edited(record.correlation_id);
    expect(await here.move(record.correlation_id, 'park', { pending_id: 'p', deadline_ms: 5 })).toMatchObject({
      applied: true,
    });
    expect(await here.find(record.correlation_id)).toMatchObject({ state: 'tampered' });
  });

  it('gives a result once to whoever waits for it, and afterwards as the store has it', async () => {
    const { correlation_id: id } = await here.commitVerdict('allowed', evidenceOf(callInput(Date.now())));
    await here.move(id, 'claim');
    const result = Buffer.from('{"done":true}');
    await here.move(id, 'complete', { result });
    expect(await here.result(id)).toEqual(result);
    await sql`update call_records set result_sealed = verdict_sealed where correlation_id = ${id}`.execute(store.db);
    await expect(here.result(id)).rejects.toMatchObject({ code: 'call_tampered' });
  });
});
