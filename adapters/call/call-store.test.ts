import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import type { CallInput } from '../../contracts/call.js';
import { callMigrations } from '../../migrations/calls.js';
import type { JsonObject } from '../../contracts/json.js';
import { batchRequest, callsOf } from '../../test/support/batch-request.js';
import { callInput } from '../../test/support/call-input.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { foundInFiles } from '../../test/support/file-bytes.js';
import { writeMigrated, writeMigratedTogether } from '../../test/support/migrated-file.js';
import { startPostgres } from '../../test/support/postgres.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { openLocalFile } from '../store/local-file.js';
import { callStoreInFile, callStoreOver, openCallStore } from './call-store.js';
import type { CallTraits } from '../../domain/inspection/behaviour/traits.js';
import { foldVerdict } from '../../domain/call/verdict.js';
import { NotAsStaged, type RecordedOutcome, type VerdictEvidence } from '../../domain/call/record.js';
import { sealCalls } from './seal-calls.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallTables } from './tables.js';

const KEYS = `k1:${'0123456789abcdef'.repeat(4)}`;
const T0 = Date.parse('2026-03-02T10:00:00Z');
const NO_LIMIT = { limit: 0, windowMs: 60_000 };
const MINUTE = 60_000;

let clock = T0;
const callOf = (change: Partial<CallInput> = {}): CallInput => callInput(clock, { digest: 'sha256:one', ...change });
const body: JsonObject = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'read_file', arguments: { path: 'secret-path' } },
};
const staged = { body, callback_url: null };
const batchOf = (size: number): JsonObject => batchRequest(callsOf('read_file', size));
const evidenceOf = (call: CallInput): VerdictEvidence => ({
  call,
  verdict: null,
  inspection: null,
  inspection_failure: null,
  policy_failure: null,
  decision: null,
  facts: null,
  params_sha256: 'a'.repeat(64),
  callback_url: null,
});
const outcomeOf = (stage: RecordedOutcome['stage'], error: string | null = null): RecordedOutcome => ({
  stage,
  status_code: 200,
  duration_ms: 5,
  result_sha256: null,
  error,
  at: new Date(clock).toISOString(),
});

/** A place for the store, and the hands of somebody who edits it from outside. */
interface Place {
  open(keys?: string): Promise<CallStore>;
  /** Where more than one process may write. */
  readonly target: StoreTarget | null;
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Where its files are; `null` on a server. */
  readonly folder: string | null;
  remove(): Promise<void>;
}
const shared = (target: StoreTarget) => ({
  target,
  open: (keys = KEYS) => openCallStore({ target, keys: parseKeyRing(keys), now: () => clock }),
});
async function sqlitePlace(migrated = (file: string) => writeMigrated(file, callMigrations)): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-calls-'));
  const file = join(folder, 'calls.db');
  await migrated(file);
  return {
    ...shared({ file }),
    folder,
    sql: async (text) => {
      const connection = new DatabaseSync(file);
      try {
        return connection.prepare(text).all() as Record<string, unknown>[];
      } finally {
        connection.close();
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
const IN_ONE_FILE = { calls: callMigrations };
async function inFilePlace(): Promise<Place> {
  const { sql, remove, target, folder } = await sqlitePlace((made) => writeMigratedTogether(made, IN_ONE_FILE));
  const { file } = target as { file: string };
  let durable: () => Promise<void> = () => Promise.resolve();
  return {
    target: null,
    async open(text = KEYS) {
      const keys = parseKeyRing(text);
      const opened = await openLocalFile({
        file,
        migrations: IN_ONE_FILE,
        prepare: (store) => sealCalls(store as unknown as Store<CallTables>, keys, () => clock),
      });
      const store = callStoreInFile(opened, { keys, now: () => clock, replica: 'gate-0' });
      durable = () => opened.durable();
      return {
        ...store,
        async close() {
          durable = () => Promise.resolve();
          await store.close();
          await opened.close();
        },
      };
    },
    sql: async (text) => (await durable(), sql(text)),
    folder,
    remove,
  };
}
async function postgresPlace(): Promise<Place> {
  const schema = 'calls';
  const { url, stop } = await startPostgres({ migrated: { schema, migrations: callMigrations } });
  return {
    ...shared({ url, schema }),
    folder: null,
    sql: async (text) => {
      const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(text)).rows;
      } finally {
        await client.end();
      }
    },
    remove: stop,
  };
}

const IN_FILE = 'a file that one process writes';

describe.each([
  ['SQLite', sqlitePlace],
  ['Postgres', postgresPlace],
  [IN_FILE, inFilePlace],
])('the call store on %s', (name, newPlace) => {
  let place: Place;
  let store: CallStore;
  const others: CallStore[] = [];
  const open = () => place.open();
  /** A second process over the same store; where there can be none, the next one. */
  const another = async () => {
    if (place.target === null) {
      await store.close();
      return (store = await open());
    }
    const opened = await open();
    others.push(opened);
    return opened;
  };
  beforeAll(async () => {
    // The server's first start belongs to nobody's test.
    await (await newPlace()).remove();
  }, 60_000);
  beforeEach(async () => {
    clock = T0;
    place = await newPlace();
    store = await open();
  });
  afterEach(async () => {
    for (const opened of others.splice(0)) await opened.close();
    await store.close();
    await place.remove();
  });

  const judged = async (
    state: 'decided' | 'denied' | 'allowed' | 'abandoned' = 'allowed',
    change: Partial<CallInput> = {},
  ) => {
    const call = callOf(change);
    await store.admit(call, staged, NO_LIMIT);
    await store.commitVerdict(state, evidenceOf(call));
    return call;
  };

  it('says what its database’s clock says, or nothing where it is a file of this host', async () => {
    const before = Date.now();
    const ms = await store.clockMs();
    if (name !== 'Postgres') return expect(ms).toBeNull();
    expect(ms).toBeGreaterThanOrEqual(before - 1_000);
    expect(ms).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it('refuses a verdict that it neither takes nor has, as somebody’s trigger may bring about', async () => {
    const call = callOf();
    await store.admit(call, staged, NO_LIMIT);
    if (name === 'Postgres') {
      await place.sql('create function drop_row() returns trigger language plpgsql as $$ begin return null; end $$');
      await place.sql(
        'create trigger drop_records before insert on call_records for each row execute function drop_row()',
      );
    } else {
      await place.sql('create trigger drop_records before insert on call_records begin select raise(ignore); end');
    }
    await expect(store.commitVerdict('allowed', evidenceOf(call))).rejects.toMatchObject({ code: 'store_unavailable' });
    await place.sql(name === 'Postgres' ? 'drop trigger drop_records on call_records' : 'drop trigger drop_records');
    expect(await store.commitVerdict('allowed', evidenceOf(call))).toMatchObject({ state: 'allowed' });
  });

  describe('what an inspection found', () => {
    const found = { asked_sha256: 'b'.repeat(64), inspection: inspectionOf(false) };
    const sealedOf = async () =>
      (await place.sql('select inspection_sealed from call_requests'))[0]?.['inspection_sealed'];

    it('is kept beside its request, for the next process, and for a later request of the same id', async () => {
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      expect(await store.inspection(call.correlation_id, call.digest)).toBeNull();
      await store.keepInspection(call, found);
      expect(await store.inspection(call.correlation_id, call.digest)).toEqual(found);
      const next = await another();
      expect(await next.inspection(call.correlation_id, call.digest)).toEqual(found);
      const third = await another();
      await third.admit({ ...call, received_ms: T0 + 5 }, staged, NO_LIMIT);
      expect(await third.inspection(call.correlation_id, call.digest)).toEqual(found);
      expect(await third.request(call.correlation_id, call.digest)).toEqual(staged);
    });

    it('is of one request: under another digest it is neither kept nor given', async () => {
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      await store.keepInspection({ ...call, digest: 'sha256:other' }, found);
      expect(await store.inspection(call.correlation_id, call.digest)).toBeNull();
      await store.keepInspection(call, found);
      expect(await store.inspection(call.correlation_id, 'sha256:other')).toBeInstanceOf(NotAsStaged);
    });

    it('cannot be read in the store, and what was changed there is not believed', async () => {
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      await store.keepInspection(call, found);
      expect(Buffer.from((await sealedOf()) as Uint8Array).toString('latin1')).not.toContain('Meta-Reasoning');
      await place.sql('update call_requests set inspection_sealed = sealed');
      const next = await another();
      expect(await next.inspection(call.correlation_id, call.digest)).toBeInstanceOf(NotAsStaged);
      expect(await next.request(call.correlation_id, call.digest)).toEqual(staged);
    });
  });

  describe('velocity: an exact sliding window', () => {
    const window = { limit: 3, windowMs: MINUTE };
    const admitAt = (ms: number, change: Partial<CallInput> = {}) =>
      store.admit(callOf({ received_ms: T0 + ms, ...change }), staged, window);

    it('admits the limit, counts this call in, and says when the oldest one leaves', async () => {
      expect(await admitAt(0)).toMatchObject({ admitted: true, recent: 1 });
      expect(await admitAt(20_000)).toMatchObject({ admitted: true, recent: 2 });
      expect(await admitAt(40_000)).toMatchObject({ admitted: true, recent: 3 });
      expect(await admitAt(40_001)).toEqual({ admitted: false, retryAfterSecs: 20, first: true });
      expect(await admitAt(59_999)).toEqual({ admitted: false, retryAfterSecs: 1, first: false });
      // The first call was made a whole window ago: it does not count any more.
      expect(await admitAt(60_000)).toMatchObject({ admitted: true, recent: 3 });
      expect(await admitAt(60_001)).toMatchObject({ admitted: false, retryAfterSecs: 20 });
    });

    it('counts each call of a batch, and lets a batch in as a whole or not at all', async () => {
      const batchAt = (ms: number, size: number, limit = 5) =>
        store.admit(
          callOf({ received_ms: T0 + ms, method: 'gate/tools.batch', tool: 'gate/tools.batch' }),
          { body: batchOf(size), callback_url: null },
          { ...window, limit },
        );
      expect(await batchAt(0, 2)).toMatchObject({ admitted: true, recent: 2 });
      expect(await batchAt(10_000, 2)).toMatchObject({ admitted: true, recent: 4 });
      // One place is free: for two calls one of the first batch has to leave, for four the second batch as well.
      expect(await batchAt(20_000, 2)).toEqual({ admitted: false, retryAfterSecs: 40, first: true });
      expect(await batchAt(20_000, 4)).toEqual({ admitted: false, retryAfterSecs: 50, first: false });
      expect(await batchAt(20_000, 1)).toMatchObject({ admitted: true, recent: 5 });
      expect(await batchAt(60_000, 2)).toMatchObject({ admitted: true, recent: 5 });
      // What never fits is asked to stay away for a whole window; the proxy says so before it comes here.
      expect(await batchAt(300_000, 6)).toMatchObject({ admitted: false, retryAfterSecs: 60 });
      expect(await batchAt(300_000, 5)).toMatchObject({ admitted: true, recent: 5 });
    });

    it('does not count what it refused', async () => {
      for (let ms = 0; ms < 3; ms += 1) await admitAt(ms);
      for (let ms = 0; ms < 20; ms += 1) expect(await admitAt(1_000 + ms)).toMatchObject({ admitted: false });
      expect(await admitAt(60_000)).toMatchObject({ admitted: true });
    });

    it('tells the first refusal of a window from the others, again in the next one', async () => {
      for (let ms = 0; ms < 3; ms += 1) await admitAt(ms);
      expect(await admitAt(10)).toMatchObject({ first: true });
      expect(await admitAt(11)).toMatchObject({ first: false });
      for (let ms = 0; ms < 3; ms += 1) await admitAt(70_000 + ms);
      expect(await admitAt(70_010)).toMatchObject({ admitted: false, first: true });
      expect(await admitAt(70_011)).toMatchObject({ admitted: false, first: false });
    });

    it('does not count what was counted before the clock was put back an hour, now or an hour later', async () => {
      for (let ms = 0; ms < 3; ms += 1) await admitAt(60 * MINUTE + ms);
      expect(await admitAt(60 * MINUTE + 10)).toMatchObject({ admitted: false });
      for (let ms = 0; ms < 3; ms += 1) expect(await admitAt(ms)).toMatchObject({ admitted: true, recent: ms + 1 });
      expect(await admitAt(10)).toMatchObject({ admitted: false, retryAfterSecs: 60 });
      expect(await admitAt(60 * MINUTE + 20)).toMatchObject({ admitted: true, recent: 1 });
    });

    it('counts each agent by itself, and the same name in another tenant too', async () => {
      for (let ms = 0; ms < 3; ms += 1) await admitAt(ms);
      expect(await admitAt(5)).toMatchObject({ admitted: false });
      expect(await admitAt(5, { agent: 'other' })).toMatchObject({ admitted: true, recent: 1 });
      expect(await admitAt(5, { tenant: 'rival' })).toMatchObject({ admitted: true, recent: 1 });
    });

    it('admits exactly the limit of many at once, also through two processes', async () => {
      const second = await another();
      const limit = { limit: 20, windowMs: MINUTE };
      const admissions = await Promise.all(
        Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? store : second).admit(callOf(), staged, limit)),
      );
      expect(admissions.filter(({ admitted }) => admitted)).toHaveLength(20);
      const recents = admissions.flatMap((admission) => (admission.admitted ? [admission.recent] : []));
      expect(recents.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
      expect(admissions.filter((admission) => 'first' in admission && admission.first)).toHaveLength(1);
    });

    it('of 0 counts nothing', async () => {
      for (let index = 0; index < 5; index += 1)
        expect(await store.admit(callOf(), staged, NO_LIMIT)).toMatchObject({ admitted: true, recent: 0 });
    });
  });

  describe('a staged request', () => {
    it('is given back under its own digest, also to another process', async () => {
      const call = callOf();
      expect(await store.admit(call, { body, callback_url: 'https://agent.example/hook' }, NO_LIMIT)).toMatchObject({
        digest: call.digest,
      });
      const second = await another();
      expect(await second.request(call.correlation_id, call.digest)).toEqual({
        body,
        callback_url: 'https://agent.example/hook',
      });
    });

    it('stays what it was when it is staged again; another one is told by its digest', async () => {
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      const other = { ...call, digest: 'sha256:two' };
      expect(await store.admit(other, { body: { changed: true }, callback_url: null }, NO_LIMIT)).toMatchObject({
        admitted: true,
        digest: 'sha256:one',
      });
      expect(await store.request(call.correlation_id, 'sha256:one')).toEqual(staged);
    });

    it('does not open under another digest or another call, and not with a changed byte', async () => {
      const [call, other] = [callOf(), callOf()];
      await store.admit(call, staged, NO_LIMIT);
      await store.admit(other, staged, NO_LIMIT);
      const second = await another();
      for (const one of [store, second])
        expect(await one.request(call.correlation_id, 'sha256:two')).toBeInstanceOf(NotAsStaged);
      await place.sql(
        `update call_requests set sealed = (select sealed from call_requests where correlation_id = '${other.correlation_id}') where correlation_id = '${call.correlation_id}'`,
      );
      expect(await second.request(call.correlation_id, call.digest)).toBeInstanceOf(NotAsStaged);
      // Who staged it goes on with what was staged.
      if (second !== store) expect(await store.request(call.correlation_id, call.digest)).toEqual(staged);
      expect(await store.request(randomUUID(), call.digest)).toBeNull();
    });

    it('lies in the store without a readable word of it', async () => {
      const call = await judged();
      await store.move(call.correlation_id, 'claim');
      await store.move(call.correlation_id, 'complete', {
        outcome: outcomeOf('completed', 'secret-error'),
        result: Buffer.from('secret-result'),
      });
      for (const table of ['call_requests', 'call_records']) {
        const [row] = await place.sql(`select * from ${table} where correlation_id = '${call.correlation_id}'`);
        const bytes = Object.values(row ?? {}).map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value as string | number),
        );
        expect(bytes.join('|')).not.toMatch(/secret/);
      }
      expect(String(await store.result(call.correlation_id))).toBe('secret-result');
    });
  });

  describe('the calls that had not ended at a time', () => {
    const MOST = 10;
    const of = (change: { agent?: string | null; tool?: string | null } = {}) => ({
      tenant: 'acme',
      agent: null,
      tool: null,
      ...change,
    });
    const idsOf = async (...asked: Parameters<CallStore['openSince']>) =>
      (await store.openSince(...asked)).records.map(({ correlation_id: id }) => id).sort();
    const done = (id: string) => store.move(id, 'complete', { outcome: outcomeOf('completed') });

    it('are those that are open, and those that ended since, of their tenant', async () => {
      const waits = await judged('decided');
      await store.move(waits.correlation_id, 'park', { pending_id: randomUUID(), deadline_ms: T0 + MINUTE });
      const runs = await judged();
      await store.move(runs.correlation_id, 'claim');
      const ended = await judged();
      await store.move(ended.correlation_id, 'claim');
      await done(ended.correlation_id);
      await judged('allowed', { tenant: 'other' });
      clock += MINUTE;
      const endsLater = await judged();
      await store.move(endsLater.correlation_id, 'claim');
      await done(endsLater.correlation_id);
      const open = [waits, runs, endsLater].map(({ correlation_id: id }) => id).sort();
      expect(await idsOf(of(), T0 + 30_000, MOST)).toEqual(open);
      store = await another();
      expect(await idsOf(of(), T0 + 30_000, MOST)).toEqual(open);
      expect(await idsOf(of(), T0, MOST)).toEqual([...open, ended.correlation_id].sort());
    });

    it('are those of an agent, or of a tool, in a batch too', async () => {
      const one = await judged();
      const others = await judged('allowed', { agent: 'another', tool: 'pay' });
      const batch = callOf({ method: 'gate/tools.batch', tool: 'gate/tools.batch' });
      await store.admit(batch, { body: batchOf(2), callback_url: null }, NO_LIMIT);
      await store.commitVerdict('allowed', { ...evidenceOf(batch), sibling_tools: ['read_file', 'pay'] });
      expect(await idsOf(of({ agent: 'another' }), T0, MOST)).toEqual([others.correlation_id]);
      expect(await idsOf(of({ tool: 'pay' }), T0, MOST)).toEqual([others.correlation_id, batch.correlation_id].sort());
      expect(await idsOf(of({ tool: 'read_file' }), T0, MOST)).toEqual(
        [one.correlation_id, batch.correlation_id].sort(),
      );
      expect(await idsOf(of({ tool: 'read' }), T0, MOST)).toEqual([]);
    });

    it('count as long as their host may begin them, where Gate only judges', async () => {
      const handed = await judged('allowed', { contract: 'gate.decision/v1' });
      expect(await idsOf(of(), T0 + MINUTE, MOST)).toEqual([handed.correlation_id]);
      expect(await idsOf(of(), T0 + MINUTE + 1, MOST)).toEqual([]);
    });

    it('may be at their tools, whatever of them can be read, but for those that wait and those that a host may not begin any more', async () => {
      await judged('allowed', { tenant: 'other' });
      const waits = await judged('decided');
      await store.move(waits.correlation_id, 'park', { pending_id: randomUUID(), deadline_ms: T0 + MINUTE });
      const ended = await judged();
      await store.move(ended.correlation_id, 'claim');
      await done(ended.correlation_id);
      expect(await store.atTool('acme')).toBeNull();
      const handed = await judged('allowed', { contract: 'gate.decision/v1' });
      expect(await store.atTool('acme')).toBe(handed.correlation_id);
      clock += 2 * MINUTE;
      expect(await store.atTool('acme')).toBeNull();
      const runs = await judged();
      await store.move(runs.correlation_id, 'claim');
      await place.sql("update call_records set agent = 'another'");
      store = await another();
      expect(await store.atTool('acme')).toBe(runs.correlation_id);
    });

    it('are so many at most, and it is said how many others there are', async () => {
      for (let made = 0; made < 4; made += 1) await judged();
      const ended = await judged();
      await store.move(ended.correlation_id, 'claim');
      await done(ended.correlation_id);
      const { records, leftOut } = await store.openSince(of(), T0, 3);
      expect([records.length, leftOut]).toEqual([3, 2]);
    });

    it('are as Gate wrote them: one that somebody edited is told as closed', async () => {
      const { correlation_id: id } = await judged();
      await place.sql("update call_records set agent = 'another'");
      store = await another();
      const { records } = await store.openSince(of(), T0, MOST);
      expect(records.map(({ correlation_id, state }) => [correlation_id, state])).toEqual([[id, 'tampered']]);
    });
  });

  describe('the record', () => {
    it('keeps the first verdict, whatever a second look says, also through two processes', async () => {
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      const second = await another();
      const states = ['denied', 'allowed', 'decided', 'denied', 'allowed'] as const;
      const committed = await Promise.all(
        states.map((state, index) => (index % 2 === 0 ? store : second).commitVerdict(state, evidenceOf(call))),
      );
      const stands = await store.find(call.correlation_id);
      expect(new Set(committed.map(({ state }) => state))).toEqual(new Set([stands?.state]));
      expect(await store.commitVerdict('allowed', evidenceOf(call))).toMatchObject({ state: stands?.state });
    });

    it('gives back what was put in', async () => {
      const call = await judged('decided');
      await store.move(call.correlation_id, 'park', { pending_id: 'p-1', deadline_ms: T0 + 600_000 });
      const second = await another();
      expect(await second.find(call.correlation_id)).toMatchObject({
        correlation_id: call.correlation_id,
        state: 'parked',
        digest: call.digest,
        pending_id: 'p-1',
        deadline_ms: T0 + 600_000,
        not_after_ms: call.not_after_ms,
        created_ms: T0,
        evidence: evidenceOf(call),
        decision: null,
        outcome: null,
      });
      expect(await store.find(randomUUID())).toBeNull();
    });

    it('does not open where somebody moved its parts to another call', async () => {
      const [one, two] = [await judged('denied'), await judged('allowed')];
      await place.sql(
        `update call_records set verdict_sealed = (select verdict_sealed from call_records where correlation_id = '${two.correlation_id}') where correlation_id = '${one.correlation_id}'`,
      );
      for (const look of [await another(), store]) {
        expect((await look.find(one.correlation_id))?.state).toBe('tampered');
        expect((await look.find(two.correlation_id))?.state).toBe('allowed');
      }
    });

    it('moves once: the claim has one holder among fifty at once, through two processes', async () => {
      const call = await judged();
      const second = await another();
      const claims = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? store : second).move(call.correlation_id, 'claim')),
      );
      expect(claims.filter(({ applied }) => applied)).toHaveLength(1);
      for (const { record } of claims) expect(record.state).toBe('intended');
    });

    it('takes one of two moves that exclude each other', async () => {
      for (let round = 0; round < 10; round += 1) {
        const call = await judged('decided');
        await store.move(call.correlation_id, 'park', { pending_id: `p-${round}`, deadline_ms: T0 + MINUTE });
        const second = await another();
        const moved = await Promise.all([
          store.move(call.correlation_id, 'approve'),
          second.move(call.correlation_id, 'deny'),
          store.move(call.correlation_id, 'expire'),
        ]);
        expect(moved.filter(({ applied }) => applied)).toHaveLength(1);
        expect(new Set(moved.map(({ record }) => record.state)).size).toBe(1);
      }
    });

    it('does not make a move that comes too late, nor one the table does not have', async () => {
      const call = await judged();
      clock = T0 + 1_001;
      expect(await store.move(call.correlation_id, 'claim', { before_ms: T0 + 1_000 })).toMatchObject({
        applied: false,
        record: { state: 'allowed' },
      });
      expect(await store.move(call.correlation_id, 'complete', { result: Buffer.from('x') })).toMatchObject({
        applied: false,
        record: { state: 'allowed' },
      });
      expect(await store.result(call.correlation_id)).toBeNull();
      clock = T0 + 1_000;
      expect(await store.move(call.correlation_id, 'claim', { before_ms: T0 + 1_000 })).toMatchObject({
        applied: true,
      });
      await expect(store.move(randomUUID(), 'claim')).rejects.toThrow(/no call record/);
    });

    it('leaves the clock behind only forwards: a later move has a later time', async () => {
      const call = await judged();
      const before = (await store.find(call.correlation_id))?.updated_ms ?? 0;
      clock = T0 - 5_000;
      const { record } = await store.move(call.correlation_id, 'claim');
      expect(record.updated_ms).toBe(before + 1);
    });

    it('retains a result of ten megabytes byte for byte', async () => {
      const call = await judged();
      const result = Buffer.alloc(10_000_000, 'ü');
      await store.move(call.correlation_id, 'claim');
      await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed'), result });
      expect((await store.result(call.correlation_id))?.equals(result)).toBe(true);
    });
  });

  describe("an agent's history", () => {
    const ran = async (tool: string, agent = 'bot') => {
      const call = await judged('allowed', { tool, agent });
      await store.move(call.correlation_id, 'claim');
      await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed'), counted_ms: clock });
      clock += 10;
    };

    it('holds what succeeded, oldest first, and nothing that was denied, lost or failed', async () => {
      await ran('first');
      await judged('denied', { tool: 'denied_one' });
      const lost = await judged('allowed', { tool: 'lost_one' });
      await store.move(lost.correlation_id, 'claim');
      await store.move(lost.correlation_id, 'lose', { outcome: outcomeOf('uncertain') });
      await ran('second');
      const history = await store.history('acme', 'bot', T0 - 1);
      expect(history.recent_sequence.map(({ tool }) => tool)).toEqual(['first', 'second']);
      expect(history.last_tool).toBe('second');
    });

    it('holds each call of a batch as a step of its own, in its order', async () => {
      await ran('first');
      const call = callOf({ contract: 'gate.decision/v1', method: 'gate/tools.batch', tool: 'gate/tools.batch' });
      await store.admit(call, { body: batchOf(2), callback_url: null }, NO_LIMIT);
      await store.commitVerdict('allowed', { ...evidenceOf(call), sibling_tools: ['read_secret', 'list_files'] });
      clock += 10;
      await ran('last');
      const { recent_sequence, last_tool } = await store.history('acme', 'bot', T0 - 1);
      expect(recent_sequence.map(({ tool }) => tool)).toEqual(['first', 'read_secret', 'list_files', 'last']);
      expect(last_tool).toBe('last');
    });

    it('counts an allowed decision: the host executes it', async () => {
      await judged('allowed', { tool: 'decided_one', contract: 'gate.decision/v1' });
      expect((await store.history('acme', 'bot', T0 - 1)).last_tool).toBe('decided_one');
    });

    it('is of this agent alone, within the window, and sixteen steps at most', async () => {
      for (let index = 0; index < 20; index += 1) await ran(`tool_${index}`);
      await ran('foreign', 'other');
      const { recent_sequence } = await store.history('acme', 'bot', T0 - 1);
      expect(recent_sequence.map(({ tool }) => tool)).toEqual(
        Array.from({ length: 16 }, (_, index) => `tool_${index + 4}`),
      );
      expect((await store.history('acme', 'bot', clock)).recent_sequence).toEqual([]);
      expect(await store.history('rival', 'bot', 0)).toEqual({ last_tool: null, recent_sequence: [] });
    });

    /** A call that counts with its verdict, as policy judged it. */
    const decided = async (tool: string, sensitive_tools?: string[], siblings?: string[]) => {
      const call = callOf({ tool, contract: 'gate.decision/v1' });
      await store.admit(call, staged, NO_LIMIT);
      const evidence = evidenceOf(call);
      await store.commitVerdict('allowed', {
        ...evidence,
        ...(siblings && { sibling_tools: siblings }),
        decision: { ...decisionOf('green'), ...(sensitive_tools && { sensitive_tools }) },
      });
    };

    it.each([16, 100, 10_000])(
      'keeps a sensitive step behind %s harmless ones, also after a restart',
      async (harmless) => {
        await decided('read_secret', ['read_secret']);
        const at = clock;
        clock += 10;
        // The many as calls of batches: each of them is a step.
        const names = Array.from({ length: 100 }, (_, index) => `tool_${index}`);
        if (harmless > 100)
          for (let done = 0; done < harmless; done += 100) await decided('gate/tools.batch', undefined, names);
        else for (const tool of names.slice(0, harmless)) await decided(tool);
        const kept = [{ tool: 'read_secret', method: 'tools/call', ts_ms: at, replica: 'gate-0' }];
        for (const opened of [() => store, another]) {
          const one = await opened();
          const { recent_sequence, sensitive_steps } = await one.history('acme', 'bot', T0 - 1);
          expect(recent_sequence.map(({ tool }) => tool)).not.toContain('read_secret');
          expect(recent_sequence).toHaveLength(16);
          expect(sensitive_steps).toEqual(kept);
          expect(await one.history('acme', 'bot', at)).not.toHaveProperty('sensitive_steps');
          expect(await one.history('acme', 'other', 0)).not.toHaveProperty('sensitive_steps');
        }
      },
      120_000,
    );

    it('keeps the newest of each sensitive tool, sixteen at most, those of a batch too, and none that did not succeed', async () => {
      for (let index = 0; index < 20; index += 1) {
        await decided(`secret_${index}`, [`secret_${index}`]);
        clock += 1;
      }
      await decided('secret_3', ['secret_3']);
      clock += 1;
      await decided('gate/tools.batch', ['secret_4'], ['a', 'secret_4', 'b']);
      const call = callOf({ tool: 'secret_5' });
      await store.admit(call, staged, NO_LIMIT);
      const decision = { ...decisionOf('green'), sensitive_tools: ['never_ran'] };
      await store.commitVerdict('allowed', { ...evidenceOf(call), decision });
      const steps = (await store.history('acme', 'bot', 0)).sensitive_steps ?? [];
      expect(steps.map(({ tool }) => tool)).toEqual([
        ...Array.from({ length: 14 }, (_, index) => `secret_${index + 6}`),
        'secret_3',
        'secret_4',
      ]);
      await store.move(call.correlation_id, 'claim');
      await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed'), counted_ms: clock + 1 });
      expect((await store.history('acme', 'bot', 0)).sensitive_steps?.at(-1)).toMatchObject({ tool: 'never_ran' });
    });
  });

  describe("an agent's profile", () => {
    const traits = (tool: string): CallTraits => ({
      tool,
      after: null,
      amounts: [{ unit: 'EUR', size: 50 }],
      destinations: [{ key: 'aaaa', look: 'bbbb' }],
      shape: 'cccc',
      large: false,
    });
    const GREEN = foldVerdict(inspectionOf(true), decisionOf('green'), 'enforce');
    const observed = async (
      state: 'denied' | 'allowed' | 'decided',
      change: Partial<CallInput> = {},
      more: Partial<VerdictEvidence> = {},
    ) => {
      const call = callOf({ tool: 'pay', ...change });
      await store.admit(call, staged, NO_LIMIT);
      await store.commitVerdict(state, {
        ...evidenceOf(call),
        verdict: GREEN,
        observed: [traits(call.tool)],
        ...more,
      });
      return call.correlation_id;
    };
    const run = async (id: string, counts = true) => {
      await store.move(id, 'claim');
      const ran = counts && { counted_ms: clock };
      await store.move(id, 'complete', { outcome: outcomeOf('completed'), ...ran });
    };
    const samples = async (tool = 'pay', one = store, agent = 'bot') =>
      (await one.profiles('acme', agent, [tool])).tools.get(tool)?.samples.length ?? 0;

    it('is taught by what ran, and by nothing that was denied, waits, failed or only was let through', async () => {
      expect(await store.profiles('acme', 'bot', ['pay'])).toEqual({ agent: null, tools: new Map() });
      await observed('denied');
      await observed('decided');
      const waits = await observed('allowed');
      expect(await samples()).toBe(0);
      await run(waits);
      expect(await samples()).toBe(1);
      await run(await observed('allowed'), false);
      await run(await observed('allowed', {}, { verdict: { ...GREEN, would: 'pend' } }));
      expect(await samples()).toBe(1);
      await observed('allowed', { contract: 'gate.decision/v1' });
      expect(await samples()).toBe(2);
      expect([await samples('other'), await samples('pay', store, 'other')]).toEqual([0, 0]);
    });

    it('is taught once by a call, however often its end is told', async () => {
      const id = await observed('allowed');
      await run(id);
      await run(id);
      expect(await samples()).toBe(1);
    });

    it('is taught nothing by a batch of which not everything ran', async () => {
      const two = [traits('pay'), traits('list')];
      const tools = ['pay', 'list'];
      const part = await observed('allowed', {}, { observed: two, sibling_tools: tools });
      await store.move(part, 'claim');
      const ended = { outcome: outcomeOf('completed'), counted_ms: clock };
      await store.move(part, 'complete', { ...ended, counted_tools: ['list'] });
      expect([await samples('pay'), await samples('list')]).toEqual([0, 0]);
      const whole = await observed('allowed', {}, { observed: two, sibling_tools: tools });
      await store.move(whole, 'claim');
      await store.move(whole, 'complete', { ...ended, counted_tools: tools });
      expect([await samples('pay'), await samples('list')]).toEqual([1, 1]);
    });

    it('is the same in another process and after a restart, goes on from there, and is sealed', async () => {
      await run(await observed('allowed'));
      const before = await store.profiles('acme', 'bot', ['pay']);
      const other = await another();
      expect(await other.profiles('acme', 'bot', ['pay'])).toEqual(before);
      await run(await observed('allowed'));
      expect([await samples('pay', other), await samples()]).toEqual([2, 2]);
      const rows = await place.sql('select sealed from agent_profiles');
      expect(rows).toHaveLength(2);
      for (const { sealed } of rows)
        expect(Buffer.from(sealed as Uint8Array).toString('latin1')).not.toMatch(/EUR|aaaa/);
    });

    it('counts as none where somebody gave it another version', async () => {
      await run(await observed('allowed'));
      await place.sql(`update agent_profiles set version = 7 where agent = 'bot' and tool = 'pay' returning 1`);
      expect(await samples('pay', await another())).toBe(0);
    });

    it('is deleted once it learned nothing for as long as records are kept', async () => {
      await run(await observed('allowed'));
      await store.purge({ hitsMs: clock, stagedMs: clock, recordsMs: clock - 1 });
      expect(await samples()).toBe(1);
      await store.purge({ hitsMs: clock, stagedMs: clock, recordsMs: clock + 1 });
      expect(await samples()).toBe(0);
    });
  });

  describe('what is still to be done', () => {
    it('is every row of a record, until they are in the ledger, and again after each move', async () => {
      const call = await judged();
      expect(await store.rowsDue(T0 + 1, 10)).toEqual([{ correlation_id: call.correlation_id, due_ms: T0 }]);
      expect(await store.oldestRowsDueMs()).toBe(T0);
      const seen = (await store.find(call.correlation_id))?.updated_ms ?? 0;
      clock = T0 + 500;
      await store.move(call.correlation_id, 'claim');
      // Appended as of before the move: the new row is still due.
      await store.rowsAppended(call.correlation_id, seen);
      expect(await store.rowsDue(T0 + 1_000, 10)).toMatchObject([{ correlation_id: call.correlation_id }]);
      expect(await store.oldestRowsDueMs()).toBe(T0 + 500);
      await store.rowsAppended(call.correlation_id, (await store.find(call.correlation_id))?.updated_ms ?? 0);
      expect(await store.rowsDue(T0 + 1_000, 10)).toEqual([]);
      expect(await store.oldestRowsDueMs()).toBeNull();
    });

    it('is every call without an end, oldest first; an allowed decision is at its end', async () => {
      const open = [];
      for (const state of ['decided', 'allowed'] as const) {
        open.push((await judged(state)).correlation_id);
        clock += 10;
      }
      await judged('denied');
      await judged('allowed', { contract: 'gate.decision/v1' });
      const parkedDecision = await judged('decided', { contract: 'gate.decision/v1' });
      await store.move(parkedDecision.correlation_id, 'park', { pending_id: 'p', deadline_ms: clock });
      open.push(parkedDecision.correlation_id);
      const found = await store.openCalls(clock + 10, 10);
      expect(found.map(({ correlation_id }) => correlation_id)).toEqual(open);
      expect(await store.openCalls(T0, 10)).toEqual([]);
      expect(await store.openCalls(clock + 10, 1)).toHaveLength(1);
    });

    it("is again the review of each of the given calls that waits no more: HIL's rows may be of an earlier day", async () => {
      const parked = async () => {
        const { correlation_id: id } = await judged('decided');
        await store.move(id, 'park', { pending_id: `of ${id}`, deadline_ms: T0 + MINUTE });
        return id;
      };
      const [ended, other, waits] = [await parked(), await parked(), await parked()];
      const { correlation_id: opening } = await judged('decided');
      for (const id of [ended, other]) {
        await store.move(id, 'expire', {});
        await store.followedUp(id, 'review');
      }
      expect(await store.followUpsDue('review', T0 + MINUTE, 10)).toEqual([]);
      // More than one question takes, with the ended one in the last of them.
      await store.reviewsOwed([opening, waits, ...Array.from({ length: 1_200 }, () => randomUUID()), ended]);
      const due = await store.followUpsDue('review', T0 + MINUTE, 10);
      expect(due).toEqual([{ correlation_id: ended, due_ms: (await store.find(ended))?.updated_ms }]);
      await store.reviewsOwed([ended]);
      await store.reviewsOwed([]);
      expect(await store.followUpsDue('review', T0 + MINUTE, 10)).toEqual(due);
      await store.followedUp(ended, 'review');
      expect(await store.followUpsDue('review', T0 + MINUTE, 10)).toEqual([]);
    });

    it('survives a restart', async () => {
      const call = await judged('decided');
      await store.move(call.correlation_id, 'park', { pending_id: 'p', deadline_ms: T0 + MINUTE });
      await store.close();
      store = await open();
      expect(await store.find(call.correlation_id)).toMatchObject({ state: 'parked', pending_id: 'p' });
      expect(await store.openCalls(T0 + MINUTE, 10)).toHaveLength(1);
      expect(await store.request(call.correlation_id, call.digest)).toEqual(staged);
    });
  });

  describe('walking by places', () => {
    it('meets every call once, oldest first, also where many moved in the same millisecond', async () => {
      const made: string[] = [];
      for (let at = 0; at < 7; at += 1) {
        made.push((await judged('allowed')).correlation_id);
        if (at % 3 === 2) clock += 1;
      }
      type Walk = (after?: { ms: number; id: string }) => Promise<{ ms: number; id: string }[]>;
      const open: Walk = async (after) =>
        (await store.openCalls(clock + 10, 2, after)).map((call) => ({ ms: call.updated_ms, id: call.correlation_id }));
      const rows: Walk = async (after) =>
        (await store.rowsDue(clock + 10, 2, after)).map((call) => ({ ms: call.due_ms, id: call.correlation_id }));
      for (const page of [open, rows]) {
        const met: { ms: number; id: string }[] = [];
        for (let found = await page(); found.length > 0; found = await page(met.at(-1))) met.push(...found);
        expect(met.map(({ id }) => id).toSorted()).toEqual(made.toSorted());
        expect(met.map(({ ms }) => ms)).toEqual(met.map(({ ms }) => ms).toSorted((a, b) => a - b));
      }
    });

    it('lets others run while it opens many', async () => {
      for (let made = 0; made < 40; made += 1) await judged('allowed');
      let turns = 0;
      let walking = true;
      const turning = (async () => {
        for (; walking; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      })();
      expect(await store.openCalls(clock + 10, 40)).toHaveLength(40);
      walking = false;
      await turning;
      expect(turns).toBeGreaterThanOrEqual(5);
    });
  });

  describe('setbacks', () => {
    const setback = (correlation_id: string, change: object = {}) => ({
      correlation_id,
      duty: 'rows' as const,
      attempts: 1,
      since_ms: T0,
      next_ms: T0 + MINUTE,
      reason: 'no key k1 in this ring',
      state: null,
      alarmed: false,
      ...change,
    });

    it('are remembered by call and duty, over a restart, and forgotten when they are cleared', async () => {
      const { correlation_id: id } = await judged('allowed');
      await store.setbacks.put(setback(id));
      await store.setbacks.put(setback(id, { duty: 'open' }));
      await store.setbacks.put(setback(id, { attempts: 2, alarmed: true, next_ms: T0 + 2 * MINUTE }));
      await store.close();
      store = await open();
      expect((await store.setbacks.all()).toSorted((a, b) => (a.duty < b.duty ? -1 : 1))).toEqual([
        setback(id, { duty: 'open' }),
        setback(id, { attempts: 2, alarmed: true, next_ms: T0 + 2 * MINUTE }),
      ]);
      expect(await store.setbacks.stuck()).toEqual({ calls: 1, since_ms: T0 });
      await store.setbacks.clear(id, 'open');
      await store.setbacks.clear(id, 'rows');
      expect(await store.setbacks.stuck()).toEqual({ calls: 0, since_ms: null });
    });

    it('of rows keep a call from making everything look late; an alarm that is merely owed counts as none', async () => {
      const { correlation_id: id } = await judged('denied');
      expect(await store.oldestRowsDueMs()).toBe(T0);
      await store.setbacks.put(setback(id));
      expect(await store.oldestRowsDueMs()).toBeNull();
      await store.setbacks.clear(id, 'rows');
      await store.setbacks.put(setback(id, { duty: 'alarm', attempts: 0 }));
      expect(await store.setbacks.stuck()).toEqual({ calls: 0, since_ms: null });
      expect(await store.oldestRowsDueMs()).toBe(T0);
    });

    it('go when nothing is owed any more, and with their record', async () => {
      const { correlation_id: id } = await judged('denied');
      for (const duty of ['open', 'rows', 'review', 'callback', 'alarm'] as const)
        await store.setbacks.put(setback(id, { duty }));
      await store.setbacks.put(setback(randomUUID(), { duty: 'alarm' }));
      await store.setbacks.prune();
      expect((await store.setbacks.all()).map(({ duty }) => duty).toSorted()).toEqual(['alarm', 'rows']);
    });
  });

  describe('purging', () => {
    it('takes what is past its time, and nothing that is open or owes rows', async () => {
      const finished = await judged('denied');
      const owing = await judged('denied');
      const parked = await judged('decided');
      await store.move(parked.correlation_id, 'park', { pending_id: 'p', deadline_ms: T0 + MINUTE });
      const running = await judged('allowed');
      await store.move(running.correlation_id, 'claim');
      const orphan = callOf();
      await store.admit(orphan, staged, { limit: 5, windowMs: MINUTE });
      for (const { correlation_id } of [finished, parked, running])
        await store.rowsAppended(correlation_id, (await store.find(correlation_id))?.updated_ms ?? 0);

      const later = T0 + 31 * 86_400_000;
      expect(await store.purge({ hitsMs: T0, stagedMs: T0, recordsMs: T0 })).toBe(0);
      // One hit, one record, and the staged requests of the record and of the call that never got one.
      expect(await store.purge({ hitsMs: later, stagedMs: later, recordsMs: later })).toBe(4);
      expect(await store.find(finished.correlation_id)).toBeNull();
      expect(await store.request(finished.correlation_id, finished.digest)).toBeNull();
      expect(await store.request(orphan.correlation_id, orphan.digest)).toBeNull();
      for (const kept of [owing, parked, running]) {
        expect(await store.find(kept.correlation_id)).not.toBeNull();
        expect(await store.request(kept.correlation_id, kept.digest)).toEqual(staged);
      }
    });
  });

  it('purging leaves no byte of the request, the verdict or the result in the file, or in its log', async () => {
    const call = await judged('allowed');
    await store.move(call.correlation_id, 'claim');
    const result = Buffer.from('what the tool answered');
    await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed'), result });
    await store.rowsAppended(call.correlation_id, (await store.find(call.correlation_id))?.updated_ms ?? 0);
    const rows = [
      ...(await place.sql(`select sealed from call_requests where correlation_id = '${call.correlation_id}'`)),
      ...(await place.sql(
        `select verdict_sealed, outcome_sealed, result_sealed from call_records where correlation_id = '${call.correlation_id}'`,
      )),
    ];
    const probes = rows
      .flatMap((row) => Object.values(row))
      .filter((value) => value !== null)
      .map((value) => Buffer.from(value as Uint8Array).subarray(-16));
    expect(probes.length).toBe(4);
    if (place.folder) expect(await foundInFiles(place.folder, probes)).toBe(probes.length);
    const later = T0 + 31 * 86_400_000;
    await store.purge({ hitsMs: later, stagedMs: later, recordsMs: later });
    expect(await store.request(call.correlation_id, call.digest)).toBeNull();
    if (place.folder) expect(await foundInFiles(place.folder, probes)).toBe(0);
  });

  describe('waiting for a record', () => {
    it('ends with the move of this process, and with that of another', async () => {
      const second = await another();
      for (const mover of [store, second]) {
        const call = await judged();
        const waiting = store.waitFor(call.correlation_id, ({ state }) => state === 'intended', Date.now() + 10_000);
        await mover.move(call.correlation_id, 'claim');
        expect(await waiting).toMatchObject({ state: 'intended' });
      }
    });

    it('ends at its deadline with what stands, also where there is nothing', async () => {
      const call = await judged();
      expect(
        await store.waitFor(call.correlation_id, ({ state }) => state === 'completed', Date.now() + 50),
      ).toMatchObject({
        state: 'allowed',
      });
      expect(await store.waitFor(randomUUID(), () => true, Date.now() + 50)).toBeNull();
    });
  });

  it('is ready while it is open, and keys that cannot open it say so', async () => {
    await expect(store.ready()).resolves.toBeUndefined();
    const call = await judged();
    const stranger = async (text: string) => {
      // A file whose transaction is open is locked, and this process would wait for itself.
      await place.sql('select 1');
      return (await place.open(text)).close();
    };
    // A Gate with other keys would take every record for somebody else's; it does not start.
    await expect(stranger(`k2:${'fedcba9876543210'.repeat(4)}`)).rejects.toThrow('no key k1 in this ring');
    await expect(stranger(`k1:${'fedcba9876543210'.repeat(4)}`)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect((await store.find(call.correlation_id))?.state).toBe('allowed');
  });

  it('keeps no request of a call that was closed as tampered: what lies there is looked at again', async () => {
    const [one, two] = [await judged(), await judged('allowed', { correlation_id: randomUUID() })];
    const [at, from] = [one.correlation_id, two.correlation_id];
    expect(await store.request(at, one.digest)).toEqual(staged);
    await place.sql(
      `update call_requests set sealed = (select sealed from call_requests where correlation_id = '${from}') where correlation_id = '${at}'`,
    );
    expect(await store.request(at, one.digest)).toEqual(staged);
    await store.condemn(at, 'another store says otherwise');
    expect(await store.request(at, one.digest)).toBeInstanceOf(NotAsStaged);
    expect(await store.request(from, two.digest)).toEqual(staged);
  });

  // Where one process writes, nothing comes between a verdict and the look at what was in its way.
  if (name !== IN_FILE)
    it('stores the verdict it returns, also where the one in its way is taken back before it is found', async () => {
      const opened = await openStore<CallTables>(place.target as StoreTarget, callMigrations);
      let committed: () => Promise<void> = async () => undefined;
      /** As the store sees its database, with a pause behind each commit. */
      const db = new Proxy(opened.db, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (name !== 'connection') return typeof member === 'function' ? (member.bind(target) as unknown) : member;
          return () => ({
            async execute(work: Parameters<ReturnType<(typeof target)['connection']>['execute']>[0]) {
              await target.connection().execute(work);
              await committed();
            },
          });
        },
      });
      const slow = callStoreOver({ ...opened, db }, { keys: parseKeyRing(KEYS), now: () => clock });
      others.push(slow);
      const call = callOf();
      await store.admit(call, staged, NO_LIMIT);
      await store.commitVerdict('decided', evidenceOf(call));
      let commits = 0;
      committed = async () => {
        if ((commits += 1) === 1) await store.takeBack(call.correlation_id);
      };
      expect(await slow.commitVerdict('allowed', evidenceOf(call))).toMatchObject({ state: 'allowed', version: 1 });
      expect(await store.find(call.correlation_id)).toMatchObject({ state: 'allowed' });
      expect(await slow.move(call.correlation_id, 'claim')).toMatchObject({ applied: true });
    });

  it('takes back a verdict that nothing followed, and no other', async () => {
    const undecided = callOf();
    await store.admit(undecided, staged, NO_LIMIT);
    await store.commitVerdict('decided', evidenceOf(undecided));
    await store.takeBack(undecided.correlation_id);
    expect(await store.find(undecided.correlation_id)).toBeNull();
    expect(await store.openCalls(clock + MINUTE, 10)).toEqual([]);
    expect(await store.request(undecided.correlation_id, undecided.digest)).not.toBeNull();
    await store.takeBack(undecided.correlation_id);
    for (const state of ['allowed', 'denied'] as const) {
      const call = callOf({ correlation_id: randomUUID() });
      await store.admit(call, staged, NO_LIMIT);
      await store.commitVerdict(state, evidenceOf(call));
      await store.takeBack(call.correlation_id);
      expect(await store.find(call.correlation_id)).toMatchObject({ state });
    }
  });
});
