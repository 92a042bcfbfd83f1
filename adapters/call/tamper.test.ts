import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput, CallState } from '../../contracts/call.js';
import { CALL_STATES } from '../../contracts/call.js';
import { callMigrations } from '../../migrations/calls.js';
import { callInput } from '../../test/support/call-input.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import { writeMigrated, writeMigratedTogether } from '../../test/support/migrated-file.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { openLocalFile } from '../store/local-file.js';
import { callStoreInFile, openCallStore } from './call-store.js';
import { type CallRecord, NotAsStaged, type RecordedOutcome, type VerdictEvidence } from '../../domain/call/record.js';
import { sealCalls } from './seal-calls.js';
import { AUTHENTICATED, NOT_AUTHENTICATED } from '../../domain/call/sealed-record.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallTables } from './tables.js';

const key = (name: string): [string, Buffer] => [name, Buffer.alloc(32, name)];
const KEYS = keyRing(new Map([key('records')]));
const ROTATED = keyRing(new Map([key('newer'), key('records')]));
const T0 = Date.parse('2026-03-02T10:00:00Z');
const NO_LIMIT = { limit: 0, windowMs: 60_000 };
const RESULT = Buffer.from('{"done":true}');
const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file', arguments: {} } };
const now = () => T0;

/** What an editor of each table can change, and why what he changes decides nothing. A new column is to be put here. */
const BOOKKEEPING: Readonly<Record<string, readonly string[]>> = {
  // Sealed and bound to id and digest; an altered digest is a conflict for its caller, and no other call. So is a kept inspection: taken away
  // it is made again, and what does not open closes the call (activities/inspection.test.ts).
  call_requests: ['correlation_id', 'tenant', 'agent', 'digest', 'sealed', 'created_ms', 'inspection_sealed'],
  // Counts: taking them away gives an agent more calls, each of them judged (SECURITY.md).
  rate_hits: ['key', 'at_ms', 'correlation_id'],
  // Takes a sensitive step out of an agent's history, or puts one in; the call itself was judged (SECURITY.md).
  sensitive_steps: ['tenant', 'agent', 'tool', 'at_ms'],
  // Makes what an answer brought in unknown, or every address that nothing vouches for wait (docs/architecture/information-flow.md).
  agent_flows: ['correlation_id', 'tenant', 'agent', 'at_ms', 'digests', 'sealed'],
  agent_profiles: ['tenant', 'agent', 'tool', 'sealed', 'version', 'updated_ms'],
  // Puts a try of reconciliation off, or has it made again.
  call_setbacks: ['correlation_id', 'duty', 'attempts', 'since_ms', 'next_ms', 'reason', 'state', 'alarmed'],
  call_seal: ['id', 'mac'],
  // Under a mark: what was edited is found, and the grant counts for nothing. Of a row that was deleted uses are counted anew, up to what was granted
  // (docs/architecture/identity.md).
  grant_uses: ['jti', 'uses', 'told', 'expires_ms', 'mac'],
  grant_used_calls: ['correlation_id', 'jti', 'expires_ms', 'mac'],
  // Counts: lowering one keeps an agent from being contained, whose call was denied and stands in the ledger (SECURITY.md).
  decoy_hits: ['decoy_id', 'tenant', 'agent', 'hits', 'told', 'correlation_id', 'last_ms', 'contain'],
  // Sums: lowering them gives an agent more calls, each of them judged, and what was spent stands in the records and the ledger (SECURITY.md).
  spend_totals: ['tenant', 'agent', 'month', 'spent', 'reserved'],
  spend_calls: [
    'correlation_id',
    'tenant',
    'agent',
    'month',
    'reserved',
    'spent',
    'paid',
    'not_after_ms',
    'updated_ms',
  ],
  // Taking one away is as if the call had not been; lite asks the ledger as well (SECURITY.md).
  call_tombstones: ['correlation_id', 'digest', 'purged_ms'],
};

interface Place extends EditedStore {
  open(keys?: KeyRing): Promise<CallStore>;
  remove(): Promise<void>;
}

async function sqlitePlace(
  migrated: (file: string) => Promise<void>,
  opened: (file: string, keys: KeyRing) => Promise<CallStore>,
): Promise<Place> {
  let store: CallStore | null = null;
  const folder = await mkdtemp(join(tmpdir(), 'gate-tamper-'));
  const file = join(folder, 'calls.db');
  await migrated(file);
  return {
    async open(keys = KEYS) {
      store = null;
      const next = await opened(file, keys);
      store = next;
      return {
        ...next,
        close() {
          store = null;
          return next.close();
        },
      };
    },
    // Until what was written is in the file, nobody but its process can read it, and nobody at all write.
    ...editedSqlite(file, async () => store?.ready()),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

afterAll(stopEditedPostgres);
async function postgresPlace(): Promise<Place> {
  const { target, ...edited } = await editedPostgres('calls', callMigrations);
  return {
    open: (keys = KEYS) => openCallStore({ target, keys, now }),
    ...edited,
    remove: () => Promise.resolve(),
  };
}

const migratedAlone = (file: string) => writeMigrated(file, callMigrations);
const IN_ONE_FILE = { calls: callMigrations };
const migratedInOneFile = (file: string) => writeMigratedTogether(file, IN_ONE_FILE);
const inFile = async (file: string, keys: KeyRing): Promise<CallStore> => {
  const opened = await openLocalFile({
    file,
    migrations: IN_ONE_FILE,
    prepare: (store) => sealCalls(store as unknown as Store<CallTables>, keys, now),
  });
  const store = callStoreInFile(opened, { keys, now });
  return {
    ...store,
    ready: () => opened.durable(),
    async close() {
      await store.close();
      await opened.close();
    },
  };
};

const verdictOf = (outcome: 'allow' | 'park' | 'deny') => ({
  tier: outcome === 'allow' ? ('green' as const) : outcome === 'park' ? ('yellow' as const) : ('red' as const),
  outcome,
  would: null,
  layer: outcome === 'deny' ? ('policy' as const) : null,
  intent_category: 'Direct Execution',
  reasons: [],
  review_reasons: [],
  approval_tier: 'standard' as const,
});
const evidenceOf = (call: CallInput, outcome: 'allow' | 'park' | 'deny'): VerdictEvidence => ({
  call,
  verdict: verdictOf(outcome),
  inspection: null,
  inspection_failure: null,
  policy_failure: null,
  decision: null,
  facts: null,
  params_sha256: 'a'.repeat(64),
  callback_url: null,
});
const decisionOf = (status: 'approved' | 'denied' | 'expired') => ({
  status,
  decided_at: new Date(T0).toISOString(),
  decided_by: 'operator:dev',
  decided_via: 'console',
  reason: null,
  principal: null,
});
const outcomeOf = (stage: RecordedOutcome['stage']): RecordedOutcome => ({
  stage,
  status_code: stage === 'completed' ? 200 : null,
  duration_ms: 1,
  result_sha256: stage === 'completed' ? sha256Hex(RESULT) : null,
  error: null,
  at: new Date(T0).toISOString(),
});

/** A call brought to each state there is, as the pipeline brings it there. */
const TO: Readonly<Record<Exclude<CallState, 'tampered'>, (store: CallStore, call: CallInput) => Promise<unknown>>> = {
  decided: (store, call) => store.commitVerdict('decided', evidenceOf(call, 'park')),
  denied: (store, call) => store.commitVerdict('denied', evidenceOf(call, 'deny')),
  allowed: (store, call) => store.commitVerdict('allowed', evidenceOf(call, 'allow')),
  abandoned: (store, call) => store.commitVerdict('abandoned', evidenceOf(call, 'allow'), outcomeOf('abandoned')),
  async parked(store, call) {
    await TO.decided(store, call);
    await store.move(call.correlation_id, 'park', { pending_id: randomUUID(), deadline_ms: T0 + 600_000 });
  },
  async approved(store, call) {
    await TO.parked(store, call);
    await store.move(call.correlation_id, 'approve', { decision: decisionOf('approved') });
  },
  async expired(store, call) {
    await TO.parked(store, call);
    await store.move(call.correlation_id, 'expire', { decision: decisionOf('expired') });
  },
  async intended(store, call) {
    await TO.allowed(store, call);
    await store.move(call.correlation_id, 'claim');
  },
  async completed(store, call) {
    await TO.intended(store, call);
    await store.move(call.correlation_id, 'complete', { outcome: outcomeOf('completed'), result: RESULT });
  },
  async uncertain(store, call) {
    await TO.intended(store, call);
    await store.move(call.correlation_id, 'lose', { outcome: outcomeOf('uncertain') });
  },
  async not_run(store, call) {
    await TO.allowed(store, call);
    await store.move(call.correlation_id, 'not_run', { outcome: outcomeOf('not_run') });
  },
  async aborted(store, call) {
    await TO.allowed(store, call);
    await store.move(call.correlation_id, 'abort', { outcome: outcomeOf('aborted') });
  },
};
/** Columns whose own table refuses that nothing stands there. */
const NEVER_NULL: ReadonlySet<string> = new Set([
  'state',
  'tenant',
  'agent',
  'contract',
  'tool',
  'approval_tier',
  'digest',
  'not_after_ms',
  'verdict_sealed',
  'created_ms',
  'updated_ms',
]);
const STATES = CALL_STATES.filter((state) => state !== 'tampered');

describe.each([
  [
    'openCallStore on SQLite',
    () => sqlitePlace(migratedAlone, (file, keys) => openCallStore({ target: { file }, keys, now })),
  ],
  ['callStoreInFile', () => sqlitePlace(migratedInOneFile, inFile)],
  ['openCallStore on Postgres', postgresPlace],
])('whoever edits the call store decides nothing by it: %s', (_name, newPlace) => {
  let place: Place;
  let store: CallStore;
  let told: string[];
  const start = async (keys?: KeyRing) => {
    store = await place.open(keys);
    store.onTampered(({ correlation_id }) => told.push(correlation_id));
  };
  beforeEach(async () => {
    told = [];
    place = await newPlace();
    await start();
  }, 60_000);
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  const made = async (state: keyof typeof TO, change: Partial<CallInput> = {}): Promise<string> => {
    const call = callInput(T0, { digest: 'sha256:one', ...change });
    await store.admit(call, { body, callback_url: null }, NO_LIMIT);
    await TO[state](store, call);
    expect((await store.find(call.correlation_id))?.state).toBe(state);
    return call.correlation_id;
  };
  const rowOf = async (id: string) =>
    (await place.all('select * from call_records where correlation_id = ?', [id]))[0] as Record<string, unknown>;
  const put = (id: string, values: Record<string, unknown>) => place.put('call_records', 'correlation_id', id, values);
  const restarted = async (keys?: KeyRing) => {
    await store.close();
    await start(keys);
  };
  const stateOf = async (id: string) => (await store.find(id))?.state;
  /** Closed for good, told once, and neither claimed nor moved nor listed; the other calls of the store are as they were. */
  const isClosed = async (id: string, others: readonly string[] = []) => {
    const before = await Promise.all(others.map((other) => rowOf(other)));
    expect(await stateOf(id)).toBe('tampered');
    for (const move of ['claim', 'approve', 'complete', 'park'] as const)
      expect(await store.move(id, move)).toMatchObject({ applied: false, record: { state: 'tampered' } });
    expect((await store.openCalls(T0 + 1_000_000, 100)).map(({ correlation_id }) => correlation_id)).not.toContain(id);
    await new Promise((resolve) => setImmediate(resolve));
    expect(told.filter((one) => one === id)).toHaveLength(1);
    await restarted();
    expect(await stateOf(id)).toBe('tampered');
    const due = await store.rowsDue(T0 + 1_000_000, 100);
    expect(due.map(({ correlation_id }) => correlation_id)).toContain(id);
    expect(await Promise.all(others.map((other) => rowOf(other)))).toEqual(before);
  };

  it('has every column of every table classified', async () => {
    const tables = await place.columns();
    const known = { ...BOOKKEEPING, call_records: [...AUTHENTICATED, ...NOT_AUTHENTICATED] };
    expect(
      Object.fromEntries(Object.entries(tables).map(([table, columns]) => [table, Object.keys(columns).sort()])),
    ).toEqual(Object.fromEntries(Object.entries(known).map(([table, columns]) => [table, [...columns].sort()])));
  });

  it.each(STATES)('finds any change of any column of a %s record', async (state) => {
    const types = (await place.columns())['call_records'] as Record<string, string>;
    const edits: { readonly id: string; readonly column: string; readonly value: unknown }[] = [];
    for (const column of [...AUTHENTICATED, 'mac'] as const) {
      if (column === 'correlation_id') continue;
      const id = await made(state);
      const was = (await rowOf(id))[column];
      const type = types[column] as string;
      const value = /blob|bytea/.test(type)
        ? flipped(was as Uint8Array | null)
        : /int/.test(type)
          ? Number(was ?? 7) + 1
          : column === 'state'
            ? STATES[(STATES.indexOf(state) + 1) % STATES.length]
            : `${typeof was === 'string' ? was : ''}x`;
      edits.push({ id, column, value });
      if (was !== null && !NEVER_NULL.has(column)) edits.push({ id: await made(state), column, value: null });
    }
    await store.close();
    for (const { id, column, value } of edits) await put(id, { [column]: value });
    await start();
    for (const { id, column, value } of edits)
      expect([column, value, await stateOf(id)]).toEqual([column, value, 'tampered']);
  });

  it.each(STATES)('does not take a %s call for one in another state, running or after a restart', async (from) => {
    const other = await made('allowed');
    const turns = [];
    for (const to of (['approved', 'allowed', 'parked', 'completed'] as const).filter((state) => state !== from))
      turns.push({ to, live: await made(from), later: await made(from) });
    for (const { to, live } of turns) {
      await put(live, { state: to });
      // A store that keeps its records opened sees it when it moves the record, which is before anything runs.
      await store.move(live, to === 'parked' ? 'expire' : 'claim');
      await store.move(live, 'not_run');
      await store.move(live, 'complete');
    }
    await store.close();
    for (const { to, later } of turns) await put(later, { state: to });
    await start();
    for (const { to, live, later } of turns)
      expect([to, await stateOf(live), await stateOf(later)]).toEqual([to, 'tampered', 'tampered']);
    await isClosed(turns[0]?.later as string, [other]);
  });

  it('finds a row renamed to another call, and macs swapped between two rows', async () => {
    const [one, two, three] = [await made('denied'), await made('allowed'), randomUUID()];
    const [a, b] = [await rowOf(one), await rowOf(two)];
    await store.close();
    await put(one, { mac: b['mac'] });
    await put(two, { mac: a['mac'], correlation_id: three });
    await start();
    expect(await stateOf(two)).toBeUndefined();
    expect(await stateOf(three)).toBe('tampered');
    await isClosed(one);
  });

  it('what a review is bound to is under the MAC of its record from the moment it parks', async () => {
    const id = await made('decided');
    const unbound = await rowOf(id);
    const evidence = (await store.find(id))?.evidence as VerdictEvidence;
    const reviewed = { sha256: 'c'.repeat(64) };
    await store.move(id, 'park', {
      pending_id: randomUUID(),
      deadline_ms: T0 + 600_000,
      evidence: { ...evidence, reviewed },
    });
    expect((await store.find(id))?.evidence.reviewed).toEqual(reviewed);
    await store.close();
    await start();
    expect((await store.find(id))?.evidence.reviewed).toEqual(reviewed);
    await store.close();
    await put(id, { verdict_sealed: unbound['verdict_sealed'] });
    await start();
    await isClosed(id);
  });

  it('finds a whole row of another call under this id, and a decision copied from another call', async () => {
    const [denied, parked, approved] = [await made('denied'), await made('parked'), await made('approved')];
    const { correlation_id: _, ...whole } = await rowOf(approved);
    await store.close();
    await put(denied, whole);
    await put(parked, {
      state: 'approved',
      decision_sealed: whole['decision_sealed'],
      version: whole['version'],
      mac: whole['mac'],
    });
    await start();
    await isClosed(denied, [approved]);
    await isClosed(parked, [approved]);
  });

  it('finds an older row that was put back while it runs, and where the host knows better after a restart', async () => {
    const id = await made('allowed');
    const older = await rowOf(id);
    await store.move(id, 'claim');
    await put(id, older);
    // Kept opened or read anew: the next move of it, or the next look, is the last.
    expect(await store.move(id, 'complete')).toMatchObject({ applied: false, record: { state: 'tampered' } });

    const again = await made('allowed');
    const before = await rowOf(again);
    await store.move(again, 'claim');
    await store.close();
    await put(again, before);
    await start();
    expect(await store.move(again, 'claim', { version: 2 })).toMatchObject({
      applied: false,
      record: { state: 'tampered' },
    });
    await isClosed(again);
  });

  it('takes no missing mac for that of an earlier Gate once the store is marked, not even without the mark', async () => {
    const [one, two, good] = [await made('denied'), await made('denied'), await made('allowed')];
    await store.close();
    await put(one, { state: 'allowed', mac: null, version: null });
    await start();
    await isClosed(one, [good]);
    await store.close();
    await place.all('delete from call_seal');
    await put(two, { state: 'allowed', mac: null, version: null });
    await start();
    await isClosed(two, [good]);
    expect(await stateOf(good)).toBe('allowed');
    // Not even where every mac is taken away with the mark: what this Gate sealed is not what an earlier one sealed.
    await store.close();
    await place.all('delete from call_seal');
    await place.all(`update call_records set mac = null, version = null, state = 'allowed'`);
    await start();
    for (const id of [one, two, good]) expect(await stateOf(id)).toBe('tampered');
  });

  /** A record in the form of a Gate whose records had no MAC. */
  const asOfBefore = async (id: string) => {
    const { evidence, decision } = (await store.find(id)) as CallRecord;
    const sealed = (value: unknown, kind: string) => KEYS.seal(JSON.stringify(value), `${id}/${kind}`);
    return {
      verdict_sealed: sealed(evidence, 'verdict'),
      decision_sealed: decision && sealed(decision, 'decision'),
      outcome_sealed: null,
      mac: null,
      version: null,
    };
  };

  it('takes over what waits in a store of an earlier Gate as reviewed under no definition, and only at its first opening', async () => {
    const decision = { contract: 'gate.decision/v1' } as const;
    const waiting = [
      await made('parked'),
      await made('parked', decision),
      await made('approved'),
      await made('approved', decision),
    ];
    const [begun, later] = [await made('decided'), await made('allowed')];
    const all = [...waiting, begun, later];
    const before = new Map<string, Awaited<ReturnType<typeof asOfBefore>>>();
    for (const id of all) before.set(id, await asOfBefore(id));
    await store.close();
    await place.all('delete from call_seal');
    for (const [id, values] of before) await put(id, values);
    await start();
    for (const id of waiting) expect((await store.find(id))?.evidence.reviewed).toEqual({ unbound: true });
    // The review of one is opened by this Gate, and of another there is none.
    for (const id of [begun, later]) expect((await store.find(id))?.evidence).not.toHaveProperty('reviewed');
    expect(await stateOf(later)).toBe('allowed');
    await store.close();
    const [first = ''] = waiting;
    await put(first, before.get(first) ?? {});
    await start();
    await isClosed(first, waiting.slice(1));
  });

  it('does not start on a mark that another key made, and goes on under a new key in front of the old one', async () => {
    const id = await made('parked');
    await store.close();
    await expect(place.open(keyRing(new Map([key('records2')])))).rejects.toMatchObject({ code: 'store_unavailable' });
    await start(ROTATED);
    expect(await stateOf(id)).toBe('parked');
    await store.move(id, 'approve', { decision: decisionOf('approved') });
    expect(String((await rowOf(id))['mac'])).toMatch(/^newer:/);
    await restarted(ROTATED);
    expect(await stateOf(id)).toBe('approved');
  });

  it('answers with no retained result but the one of its outcome', async () => {
    const [one, two, three] = [await made('completed'), await made('completed'), await made('completed')];
    const other = (await rowOf(two))['result_sealed'];
    await store.close();
    await put(one, { result_sealed: other });
    await put(three, { result_sealed: null });
    await start();
    for (const id of [one, three]) {
      await expect(store.result(id)).rejects.toMatchObject({ code: 'call_tampered' });
      expect(await stateOf(id)).toBe('tampered');
    }
    expect(String(await store.result(two))).toBe(String(RESULT));
  });

  it('opens no request but the one that was staged for this digest', async () => {
    const [one, two] = [await made('allowed'), await made('allowed')];
    await store.close();
    await place.all(
      'update call_requests set sealed = (select sealed from call_requests where correlation_id = ?) where correlation_id = ?',
      [two, one],
    );
    await start();
    expect(await store.request(one, 'sha256:one')).toBeInstanceOf(NotAsStaged);
    expect(await store.request(two, 'sha256:two')).toBeInstanceOf(NotAsStaged);
  });

  it('does nothing by a due date that somebody set or took away', async () => {
    for (const column of NOT_AUTHENTICATED.filter((name) => name.endsWith('_due_ms'))) {
      const id = await made('denied');
      await store.close();
      await put(id, { [column]: column === 'rows_due_ms' ? null : 1 });
      await start();
      expect(await stateOf(id)).toBe('denied');
    }
  });

  it('one bad record keeps no other from being found', async () => {
    const ids = [await made('parked'), await made('allowed'), await made('approved')];
    const bad = await made('parked');
    await store.close();
    await put(bad, { verdict_sealed: Buffer.from('nothing'), created_ms: 0 });
    await start();
    const open = (await store.openCalls(T0 + 1_000_000, 100)).map(({ correlation_id }) => correlation_id);
    expect(open.sort()).toEqual([...ids].sort());
    expect(await stateOf(bad)).toBe('tampered');
  });

  it('purges a record to a tombstone, under which the same id is not taken again, for twelve times as long', async () => {
    const id = await made('completed');
    const record = await store.find(id);
    await store.rowsAppended(id, record?.updated_ms ?? 0);
    await store.purge({ hitsMs: T0, stagedMs: T0 + 10, recordsMs: T0 + 10 });
    expect(await stateOf(id)).toBeUndefined();
    const again = (digest: string) =>
      store.admit(callInput(T0, { correlation_id: id, digest }), { body, callback_url: null }, NO_LIMIT);
    expect(await again('sha256:one')).toEqual({ admitted: false, purged: true, digest: 'sha256:one' });
    await restarted();
    expect(await again('sha256:other')).toEqual({ admitted: false, purged: true, digest: 'sha256:one' });
    // Thirty days for records are a year for tombstones; the clock of this store stands still, so the retention moves.
    const day = 86_400_000;
    await place.all(`update call_tombstones set purged_ms = ${T0 - 389 * day}`);
    await store.purge({ hitsMs: T0, stagedMs: T0, recordsMs: T0 - 30 * day });
    expect(await again('sha256:one')).toMatchObject({ purged: true });
    await place.all(`update call_tombstones set purged_ms = ${T0 - 391 * day}`);
    await store.purge({ hitsMs: T0, stagedMs: T0, recordsMs: T0 - 30 * day });
    expect(await again('sha256:one')).toMatchObject({ admitted: true });
  });
});

/** The first and the last byte matter alike. */
const flipped = (bytes: Uint8Array | null): Buffer => {
  const copy = Buffer.from(bytes ?? Buffer.from('made up'));
  const at = copy.length >> 1;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};
