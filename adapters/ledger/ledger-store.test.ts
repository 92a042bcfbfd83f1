import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import type { AppendReceipt, NewLedgerRow } from '../../contracts/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testKeys, testRow } from '../../test/support/ledger.js';
import { sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import type { GateError } from '../../domain/errors.js';
import { CONTENT_FIELDS } from '../../domain/ledger/canonical-bytes.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const id = (name: string) => uuidFromDigest('test', name);
const refusal = (append: Promise<unknown>): Promise<GateError> =>
  append.then(
    () => {
      throw new Error('the append was accepted');
    },
    (error: unknown) => error as GateError,
  );

describe.each(STORES)('the ledger on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let now: number;
  const open = (on = place) => openLedger({ target: on.target, sidecarKeys: on.keys, clock: () => now });

  beforeEach(async () => {
    now = AT;
    place = await ledgerPlace(kind);
    ledger = await open();
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('starts empty: genesis head, valid, no chain version', async () => {
    expect(await ledger.head()).toEqual({ length: 0, hash: '0'.repeat(64) });
    expect(await ledger.verify()).toMatchObject({
      valid: true,
      entries_checked: 0,
      first_invalid_seq: null,
      commitment: { contract: 'gate.verified-chain/v1', head_hash: '0'.repeat(64), length: 0 },
    });
    expect((await ledger.verify()).commitment).not.toHaveProperty('tail_chain_version');
  });

  it('chains rows in order, the rows of one call adjacent, and says where each one stands', async () => {
    const first = await ledger.append([testRow({ id: id('a') })]);
    const second = await ledger.append([testRow({ id: id('b') }), testRow({ id: id('c'), authorized: false })]);
    expect([...first, ...second]).toEqual([
      { status: 'created', id: id('a'), seq: 1, entry_hash: expect.stringMatching(/^[0-9a-f]{64}$/), chain_version: 6 },
      { status: 'created', id: id('b'), seq: 2, entry_hash: expect.any(String), chain_version: 6 },
      { status: 'created', id: id('c'), seq: 3, entry_hash: expect.any(String), chain_version: 6 },
    ]);
    const rows = await ledger.byCorrelation('55555555-5555-4555-8555-555555555555');
    expect(rows.map((row) => [row.seq, row.id, row.authorized])).toEqual([
      [1, id('a'), true],
      [2, id('b'), true],
      [3, id('c'), false],
    ]);
    expect(rows[2]?.prev_hash).toBe(rows[1]?.entry_hash);
    expect(await ledger.head()).toEqual({ length: 3, hash: second[1]?.entry_hash });
    expect(await ledger.verify()).toMatchObject({
      valid: true,
      entries_checked: 3,
      commitment: { length: 3, head_hash: second[1]?.entry_hash, tail_chain_version: 6 },
    });
  });

  it('appends nothing for no rows', async () => {
    expect(await ledger.append([])).toEqual([]);
    expect((await ledger.head()).length).toBe(0);
  });

  it('goes on where it stopped after a restart', async () => {
    await ledger.append([testRow(), testRow()]);
    await ledger.close();
    ledger = await open();
    expect((await ledger.append([testRow()]))[0]?.seq).toBe(3);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 3 });
  });

  it('stamps rows with the commit time, never before the row in front', async () => {
    await ledger.append([testRow()]);
    now = AT - 60_000;
    await ledger.append([testRow()]);
    await ledger.close();
    ledger = await open();
    await ledger.append([testRow()]);
    now = AT + 1;
    await ledger.append([testRow()]);
    expect((await ledger.newest(4)).map((row) => row.timestamp)).toEqual([
      '2026-01-02T03:04:05.007Z',
      '2026-01-02T03:04:05.006Z',
      '2026-01-02T03:04:05.006Z',
      '2026-01-02T03:04:05.006Z',
    ]);
  });

  it('gives 200 concurrent appends a chain without gaps, and to each caller its own rows', async () => {
    const calls = Array.from({ length: 200 }, (_, call) =>
      Array.from({ length: (call % 3) + 1 }, (_row, row) =>
        testRow({ id: id(`${call}/${row}`), agent_id: `agent-${call}` }),
      ),
    );
    const commits: number[] = [];
    ledger.observe(({ rows }) => commits.push(rows));
    const receipts = await Promise.all(calls.map((rows) => ledger.append(rows)));
    receipts.forEach((receipt, call) => {
      expect(receipt.map((row) => row.id)).toEqual(calls[call]?.map((row) => row.id));
      const [first] = receipt;
      expect(receipt.map((row) => row.seq)).toEqual(receipt.map((_, index) => (first?.seq ?? 0) + index));
    });
    const seqs = receipts.flat().map((row) => row.seq);
    expect(seqs.sort((a, b) => a - b)).toEqual(seqs.map((_, index) => index + 1));
    // Without shared transactions a busy ledger would need one sync to disk per caller.
    expect(commits.length).toBeLessThan(20);
    expect(commits.reduce((sum, rows) => sum + rows, 0)).toBe(seqs.length);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: seqs.length });
  });

  it('two ledgers over one store take turns and never fork the chain', async () => {
    const other = await open();
    const appends: Promise<AppendReceipt[]>[] = [];
    for (let round = 0; round < 20; round++) {
      appends.push(ledger.append([testRow(), testRow()]), other.append([testRow(), testRow()]));
      if (round % 5 === 0) await Promise.all(appends);
    }
    const seqs = (await Promise.all(appends)).flat().map((row) => row.seq);
    expect(seqs.sort((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1));
    expect(await other.verify()).toMatchObject({ valid: true, entries_checked: 80 });
    await other.close();
  });

  describe('idempotency by row id', () => {
    it('answers a repeated row with `retained` and its first place', async () => {
      const [created] = await ledger.append([testRow({ id: id('a') })]);
      await ledger.append([testRow()]);
      now += 5_000;
      expect(await ledger.append([testRow({ id: id('a') })])).toEqual([{ ...created, status: 'retained' }]);
      expect((await ledger.head()).length).toBe(2);
    });

    it('appends only what is new of a call that is partly known', async () => {
      await ledger.append([testRow({ id: id('a') })]);
      const again = await ledger.append([testRow({ id: id('a') }), testRow({ id: id('b') })]);
      expect(again.map(({ status, seq }) => [status, seq])).toEqual([
        ['retained', 1],
        ['created', 2],
      ]);
    });

    it('takes rows that differ only in how their JSON was written for the same row', async () => {
      await ledger.append([testRow({ id: id('a'), policy_decision: { a: 1, b: [2] }, tenant: null })]);
      const { tenant: _, ...absent } = testRow({ id: id('a'), policy_decision: { b: [2], a: 1.0 } });
      expect((await ledger.append([absent]))[0]?.status).toBe('retained');
    });

    it('counts a row that one call, or one moment, offers twice only once', async () => {
      const twice = await ledger.append([testRow({ id: id('a') }), testRow({ id: id('a') })]);
      expect(twice.map(({ status, seq }) => [status, seq])).toEqual([
        ['created', 1],
        ['retained', 1],
      ]);
      const racing = await Promise.all(Array.from({ length: 8 }, () => ledger.append([testRow({ id: id('b') })])));
      expect(racing.flat().map((receipt) => receipt.seq)).toEqual(Array(8).fill(2));
      expect(racing.flat().filter((receipt) => receipt.status === 'created')).toHaveLength(1);
    });

    it('always appends a row without an id', async () => {
      await ledger.append([testRow()]);
      await ledger.append([testRow()]);
      expect((await ledger.head()).length).toBe(2);
    });
  });

  describe('a known id with other content', () => {
    it('is refused with the id, stores nothing of its call, and leaves one alarm row', async () => {
      await ledger.append([testRow({ id: id('a') })]);
      const forged = [testRow({ id: id('b') }), testRow({ id: id('a'), authorized: false })];
      for (let attempt = 0; attempt < 3; attempt++) {
        const error = await refusal(ledger.append(forged));
        expect([error.code, error.status, error.fields]).toEqual(['ledger_entry_conflict', 409, { id: id('a') }]);
      }
      expect(await ledger.get(id('b'))).toBeNull();
      expect(await ledger.get(id('a'))).toMatchObject({ authorized: true });
      const [alarm, first] = await ledger.newest(10);
      expect(first).toMatchObject({ id: id('a'), seq: 1 });
      expect(alarm).toMatchObject({
        seq: 2,
        agent_id: 'gate-ledger',
        method: 'alarm.row_conflict',
        event_kind: 'alarm.row_conflict',
        authorized: false,
        tenant: 'acme',
        correlation_id: '55555555-5555-4555-8555-555555555555',
        policy_decision: {
          entry_id: id('a'),
          kept_content_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          offered_content_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      });
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 2 });
    });

    it('raises another alarm for yet other content', async () => {
      await ledger.append([testRow({ id: id('a') })]);
      await refusal(ledger.append([testRow({ id: id('a'), reasoning: 'x' })]));
      await refusal(ledger.append([testRow({ id: id('a'), reasoning: 'y' })]));
      expect((await ledger.newest(10)).map((row) => row.method)).toEqual([
        'alarm.row_conflict',
        'alarm.row_conflict',
        'proxy.verdict',
      ]);
    });

    it('leaves the other callers of the same commit alone', async () => {
      await ledger.append([testRow({ id: id('a') })]);
      const outcomes = await Promise.allSettled([
        ledger.append([testRow({ id: id('b') })]),
        ledger.append([testRow({ id: id('a'), authorized: false })]),
        ledger.append([testRow({ id: id('c') }), testRow({ id: id('a') })]),
        ledger.append([testRow({ id: id('b'), authorized: false }), testRow({ id: id('d') })]),
      ]);
      expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
      expect(
        (await ledger.newest(10)).map((row) => (row.method === 'alarm.row_conflict' ? 'alarm' : row.id)).reverse(),
      ).toEqual([id('a'), id('b'), id('c'), 'alarm', 'alarm']);
      expect(await ledger.verify()).toMatchObject({ valid: true });
    });

    it('inside one call refuses the call', async () => {
      const error = await refusal(ledger.append([testRow({ id: id('a') }), testRow({ id: id('a'), reasoning: 'x' })]));
      expect(error.code).toBe('ledger_entry_conflict');
      expect((await ledger.head()).length).toBe(0);
    });
  });

  describe('a row that cannot be hashed', () => {
    it('is refused before anything is stored, the rest of its call with it', async () => {
      const error = await refusal(ledger.append([testRow(), testRow({ reasoning: '\ud800' })]));
      expect([error.code, error.fields]).toEqual(['invalid_log_request', { field: 'reasoning' }]);
      expect((await ledger.head()).length).toBe(0);
    });

    it('cannot be made afterwards out of one that could', async () => {
      const decision = { note: 'as sent' };
      const appended = ledger.append([testRow({ id: id('a'), policy_decision: decision })]);
      decision.note = 'changed';
      await appended;
      expect((await ledger.get(id('a')))?.policy_decision).toEqual({ note: 'as sent' });
    });
  });

  it('keeps every storable text byte for byte', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => !value.includes('\0'));
    const samples = fc.sample(fc.record({ reasoning: text, key: text, value: text }), 150);
    const rows = samples.map(({ reasoning, key, value }) =>
      testRow({ reasoning, tool_name: value, policy_decision: { [key]: value } }),
    );
    rows.push(testRow({ reasoning: '\ufffd \u2028 \u007f \u0001 {"a"} \\ \' " , NULL ?, $1' }));
    await ledger.append(rows);
    const stored = (await ledger.newest(rows.length)).reverse();
    expect(stored.map((row) => [row.reasoning, row['tool_name'], row.policy_decision])).toEqual(
      rows.map((row) => [row.reasoning, row.tool_name, row.policy_decision]),
    );
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: rows.length });
  });

  describe('append-only by trigger', () => {
    it.each([
      ['changing an entry', 'update ledger_entries set reasoning = ?', ['x']],
      ['changing its hash', 'update ledger_entries set entry_hash = ?', ['x']],
      ['deleting an entry', 'delete from ledger_entries where seq > ?', [0]],
      ['changing a sidecar', 'update entry_payloads set sealed = ?', [Buffer.from('x')]],
      ['purging a sidecar without a note', 'update entry_payloads set sealed = null where entry_seq > ?', [0]],
      ['deleting a sidecar', 'delete from entry_payloads where entry_seq > ?', [0]],
    ])('refuses %s', async (_, text, values) => {
      const payload = '{"full":"request"}';
      await ledger.append([testRow({ payload_sha256: sha256Hex(payload), payload_canonical_json: payload })]);
      await expect(place.sql(text, values)).rejects.toThrow(/append-only|foreign key/i);
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 1 });
    });

    it('refuses a change of any hashed column beside the one that hides an entry', async () => {
      await ledger.append([testRow({ tenant: 'acme' })]);
      const others: Readonly<Record<string, string>> = {
        bool: '1 - authorized',
        int: '7',
        json: `'{"a":1}'`,
        text: "'x'",
      };
      for (const [column, type] of CONTENT_FIELDS) {
        const text = `update ledger_entries set deleted_at = '2026-01-01T00:00:00.000Z', ${column} = ${others[type]}`;
        await expect(place.sql(text).then(() => column)).rejects.toThrow(/append-only/);
      }
      await place.sql("update ledger_entries set deleted_at = '2026-01-01T00:00:00.000Z'");
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 1 });
    });

    it(kind === 'sqlite' ? 'refuses INSERT OR REPLACE' : 'refuses TRUNCATE', async () => {
      await ledger.append([testRow({ id: id('a') })]);
      const text =
        kind === 'sqlite'
          ? 'insert or replace into ledger_entries select * from ledger_entries'
          : 'truncate ledger_entries cascade';
      await expect(place.sql(text)).rejects.toThrow(/append-only/);
      expect((await ledger.newest(2)).map((row) => row.id)).toEqual([id('a')]);
    });
  });

  describe('sidecars', () => {
    const payload = '{"params":{"name":"files.read","note":"secret-word"}}';
    const digest = sha256Hex(payload);

    it('come back as they were sent, are encrypted in the store, and count as checked', async () => {
      await ledger.append([
        testRow({ id: id('a'), payload_sha256: digest, payload_canonical_json: payload }),
        testRow({ id: id('b'), brain_evidence_sha256: digest, brain_evidence_canonical_json: payload }),
        testRow({ id: id('c') }),
      ]);
      expect(await ledger.sidecar(id('a'))).toEqual({ kind: 'payload', text: payload, purged_at: null });
      expect(await ledger.sidecar(id('b'))).toEqual({ kind: 'brain_evidence', text: payload, purged_at: null });
      expect(await ledger.sidecar(id('c'))).toBeNull();
      const stored = await place.sql('select sealed from entry_payloads');
      expect(stored).toHaveLength(2);
      for (const { sealed } of stored) expect(Buffer.from(sealed as Buffer).includes('secret-word')).toBe(false);
      expect(await ledger.verify()).toMatchObject({ valid: true, sidecars: { checked: 2, purged: 0, unchecked: 0 } });
    });

    it('can be purged: the bytes are gone, the entry stands, the chain stays valid', async () => {
      await ledger.append([testRow({ id: id('a'), payload_sha256: digest, payload_canonical_json: payload })]);
      now += 1_000;
      expect(await ledger.purgeSidecar(id('a'))).toBe(true);
      expect(await ledger.purgeSidecar(id('a'))).toBe(false);
      expect(await ledger.purgeSidecar(id('b'))).toBe(false);
      expect(await ledger.sidecar(id('a'))).toEqual({
        kind: 'payload',
        text: null,
        purged_at: '2026-01-02T03:04:06.006Z',
      });
      expect(await ledger.verify()).toMatchObject({ valid: true, sidecars: { checked: 0, purged: 1, unchecked: 0 } });
      const again = testRow({ id: id('a'), payload_sha256: digest, payload_canonical_json: payload });
      expect((await ledger.append([again]))[0]?.status).toBe('retained');
    });

    it('do not open with other keys: verify says so, reading throws', async () => {
      await ledger.append([testRow({ id: id('a'), payload_sha256: digest, payload_canonical_json: payload })]);
      const stranger = await open({ ...place, keys: testKeys() });
      expect(await stranger.verify()).toMatchObject({
        valid: false,
        first_invalid_seq: 1,
        first_invalid_reason: 'sidecar_digest',
      });
      await expect(stranger.sidecar(id('a'))).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
      await stranger.close();
    });
  });

  describe('reads', () => {
    it('shows tool, decider and status beside the hashed fields', async () => {
      const decision = { decided_by: 'operator:dev', status: 'approved' };
      await ledger.append([
        testRow({ id: id('a'), policy_decision: decision, brain_scores: { drift_bp: 120 }, cost_micros: 7 }),
      ]);
      expect(await ledger.get(id('a'))).toMatchObject({
        chain_version: 6,
        tool_type: 'files.read',
        decided_by: 'operator:dev',
        status: 'approved',
        policy_decision: decision,
        brain_scores: { drift_bp: 120 },
        cost_micros: 7,
        source: null,
      });
    });

    it('finds a call by correlation id, for its own tenant only where one is named', async () => {
      const correlationId = '77777777-7777-4777-8777-777777777777';
      await ledger.append([
        testRow({ correlation_id: correlationId }),
        testRow(),
        testRow({ correlation_id: correlationId }),
      ]);
      const seqs = async (scope?: { tenant?: string }) =>
        (await ledger.byCorrelation(correlationId, scope)).map((row) => row.seq);
      expect(await seqs()).toEqual([1, 3]);
      expect(await seqs({ tenant: 'acme' })).toEqual([1, 3]);
      expect(await seqs({ tenant: 'other' })).toEqual([]);
      expect(await ledger.byCorrelation('unknown')).toEqual([]);
    });

    it('knows which rows it holds, those that readers do not see included, and no others', async () => {
      await ledger.append([testRow({ id: id('a') }), testRow({ id: id('b') }), testRow({ id: id('c') })]);
      await place.unlock();
      await place.sql("update ledger_entries set deleted_at = '2026-01-02T03:04:05.006Z' where id = ?", [id('b')]);
      await place.sql("update ledger_entries set correlation_id = 'x', tenant = 'y' where id = ?", [id('c')]);
      expect(await ledger.held(['a', 'b', 'c', 'd'].map(id))).toEqual(new Set(['a', 'b', 'c'].map(id)));
      expect(await ledger.held([id('d')])).toEqual(new Set());
      expect(await ledger.held([])).toEqual(new Set());
    });

    it('pages through the rows of an agent from either end', async () => {
      for (let index = 0; index < 6; index++) {
        now += 1_000;
        await ledger.append([
          testRow({ signal: index === 2 ? 'grant_expired' : null, method: index < 3 ? 'm1' : 'm2' }),
        ]);
        await ledger.append([testRow({ agent_id: 'agent-b', tenant: 'other' })]);
      }
      const seqs = async (query?: Parameters<WholeLedger['byAgent']>[1]) =>
        (await ledger.byAgent('agent-a', query)).map((row) => row.seq);
      expect(await seqs()).toEqual([1, 3, 5, 7, 9, 11]);
      expect(await seqs({ limit: 2 })).toEqual([11, 9]);
      expect(await seqs({ limit: 2, offset: 2 })).toEqual([7, 5]);
      expect(await seqs({ limit: 2, before: 7 })).toEqual([5, 3]);
      expect(await seqs({ limit: 2, after: 3 })).toEqual([5, 7]);
      expect(await seqs({ from: '2026-01-02T03:04:07.006Z', to: '2026-01-02T03:04:09.006Z' })).toEqual([3, 5]);
      expect(await seqs({ seqFrom: 3, seqTo: 8 })).toEqual([3, 5, 7]);
      expect(await seqs({ methods: ['m2', 'm3'] })).toEqual([7, 9, 11]);
      expect(await seqs({ signal: 'grant_expired' })).toEqual([5]);
      expect(await seqs({ tenant: 'other' })).toEqual([]);
      expect(await seqs({ source: 'simulator' })).toEqual([]);
    });
  });

  it('is ready while it can append, and says what is wrong when the tail was cut', async () => {
    await ledger.append([testRow(), testRow()]);
    await ledger.ready();
    await place.unlock();
    await place.sql('delete from ledger_entries where seq = ?', [2]);
    await expect(ledger.ready()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await expect(ledger.append([testRow()])).rejects.toThrow(/newest entry is not the retained head/);
  });

  it('takes no rows after close, and answers those that waited', async () => {
    const waiting = Promise.all(Array.from({ length: 50 }, () => ledger.append([testRow()])));
    const closing = ledger.close();
    await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await closing;
    expect((await waiting).flat()).toHaveLength(50);
    ledger = await open();
    expect((await ledger.head()).length).toBe(50);
  });
});

it('the same rows give byte-identical chains on both stores', async () => {
  const rows: NewLedgerRow[] = Array.from({ length: 30 }, (_, index) =>
    testRow({
      id: id(`same-${index}`),
      reasoning: `é\u{1f600}\u2028 ${index}`,
      policy_decision: { z: index / 3, a: ['ß', null] },
      ...(index % 5 === 0 && { payload_sha256: sha256Hex(`{"i":${index}}`), payload_canonical_json: `{"i":${index}}` }),
    }),
  );
  const heads = await Promise.all(
    STORES.map(async (kind) => {
      const place = await ledgerPlace(kind);
      let now = AT;
      const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => (now += 7) });
      for (let index = 0; index < rows.length; index += 3) await ledger.append(rows.slice(index, index + 3));
      const chain = (await ledger.newest(100)).map((row) => row.entry_hash);
      await ledger.close();
      await place.remove();
      return chain;
    }),
  );
  expect(heads[0]).toHaveLength(30);
  expect(heads[1]).toEqual(heads[0]);
});

it('waits once for a process that keeps the SQLite file of the ledger locked, then shortly, and goes on when the lock is gone', async () => {
  const place = await ledgerPlace('sqlite');
  const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  const other = new DatabaseSync((place.target as { readonly file: string }).file);
  const took = async (step: Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await expect(step).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    return performance.now() - began;
  };
  try {
    await ledger.append([testRow()]);
    other.exec('begin immediate');
    const first = await took(ledger.append([testRow()]));
    const next = await took(ledger.append([testRow()]));
    expect(next).toBeLessThan(first / 2);
    other.exec('rollback');
    await ledger.append([testRow()]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 2 });
  } finally {
    other.close();
    await ledger.close();
    await place.remove();
  }
});
