import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ledgerPlace, STORES, type TestLedgerPlace, testKeys, testRow } from '../../../test/support/ledger.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import type { AnchorSource } from '../anchors/anchors.js';
import { exportChain } from '../export-chain.js';
import type { LedgerOptions } from '../ledger-store.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { folderFiles } from '../../evidence/cold-tier/folder.js';
import { openLedgerReadOnly } from '../read-only.js';
import { keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import { signingLogKey } from '../tlog/transparency-log.js';
import { parseCheckpoint } from '../../../domain/ledger/tlog/checkpoint.js';
import { consistencyHolds, inclusionHolds, leafHash } from '../../../domain/ledger/tlog/merkle.js';
import { eventually } from '../../../test/support/waiting.js';

const START = Date.parse('2026-01-02T03:04:05.006Z');
const DAY = 86_400_000;
const RETENTION = 30 * DAY;
const id = (name: string) => uuidFromDigest('vacuum', name);
const payload = '{"path":"notes.txt"}';
/** Every tenth row has a sidecar. */
const named = (index: number, change = {}) =>
  testRow({
    id: id(String(index)),
    correlation_id: `call-${index}`,
    ...(index % 10 === 0 && index > 0 && { payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
    ...change,
  });

describe('two writers on Postgres', () => {
  it('an append that waited for the vacuum looks again: its row is the one that went', async () => {
    let now = START;
    const place = await ledgerPlace('postgres');
    const folder = mkdtempSync(join(tmpdir(), 'gate-vacuum-test-'));
    const ledger = await openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      coldSink: { files: folderFiles({ directory: folder }), retentionMs: 0 },
      checkpoints: {
        origin: 'gate.test/ledger',
        privateKey: generateKeyPairSync('ed25519').privateKey,
        witnesses: [],
      },
    });
    await ledger.append([named(1), named(2), named(3)]);
    now += RETENTION + DAY;
    await ledger.append([named(4)]);
    await ledger.coldTier.export();

    const { url } = place.target as { url: string };
    const holder = new pg.Client({ connectionString: url, options: '-c search_path=ledger' });
    await holder.connect();
    await holder.query('begin');
    await holder.query('select 1 from ledger_head for update');
    const waiting = (count: number) =>
      eventually(`${count} that wait for the lock`, async () => {
        const [row] = await place.sql(
          "select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return Number(row?.['waiting']) >= count;
      });
    const vacuumed = ledger.vacuum({ retentionMs: RETENTION });
    await waiting(1);
    const again = ledger.append([named(2)]);
    await waiting(2);
    await holder.query('commit');
    await holder.end();
    expect(await vacuumed).toBe(3);
    expect(await again).toMatchObject([{ seq: 2, status: 'retained' }]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 1, commitment: { length: 4 } });
    await ledger.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);
});

describe.each(STORES)('the vacuum, on %s', (kind) => {
  let place: TestLedgerPlace;
  let folder: string;
  let now: number;
  let logKey: KeyObject;
  let ledger: EvidencedLedger;
  const open = (change: Partial<LedgerOptions> = {}) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const signer = keyFileSigner({
      privateKey,
      keyId: 'gate-ledger:v1',
      issuer: 'spiffe://gate.local/service/ledger',
      clock: () => now,
    });
    return openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      coldSink: { files: folderFiles({ directory: folder }), retentionMs: 0 },
      checkpoints: { origin: 'gate.test/ledger', privateKey: logKey, witnesses: [] },
      signer,
      keySet: signer.keySet,
      ...change,
    });
  };
  beforeEach(async () => {
    now = START;
    place = await ledgerPlace(kind);
    folder = mkdtempSync(join(tmpdir(), 'gate-vacuum-test-'));
    logKey = generateKeyPairSync('ed25519').privateKey;
    ledger = await open();
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Appends `old` rows, past the retention and copied, and then `young` ones. */
  async function filled(old: number, young: number): Promise<void> {
    for (let index = 1; index <= old; index += 1)
      if (index % 100 === 1)
        await ledger.append(
          Array.from({ length: Math.min(100, old - index + 1) }, (_, offset) => named(index + offset)),
        );
    now += RETENTION + DAY;
    await ledger.append(Array.from({ length: young }, (_, index) => named(old + index + 1)));
    await ledger.coldTier.export();
  }
  const pass = (change: { batchRows?: number; sinks?: string[]; signal?: AbortSignal } = {}) =>
    ledger.vacuum({ retentionMs: RETENTION, ...change });
  const places = async () =>
    (await place.sql('select seq from ledger_entries order by seq')).map(({ seq }) => Number(seq));
  const cursors = async () =>
    (await place.sql('select seq from ledger_vacuum_cursors order by seq')).map(({ seq }) => Number(seq));

  it('deletes what is old, copied and signed over, in batches, with the bytes beside it', async () => {
    await filled(25, 5);
    const { hash } = await ledger.head();
    const seen: number[] = [];
    ledger.vacuum.observe((entries) => seen.push(entries));
    expect(await pass({ batchRows: 10 })).toBe(25);
    expect(seen).toEqual([10, 10, 5]);
    expect(await places()).toEqual([26, 27, 28, 29, 30]);
    expect(await cursors()).toEqual([10, 20, 25]);
    expect(await place.sql('select * from entry_payloads where entry_seq <= 25')).toEqual([]);
    expect(await pass()).toBe(0);
    expect(await ledger.verify()).toMatchObject({
      valid: true,
      entries_checked: 5,
      commitment: { length: 30, head_hash: hash },
    });
    expect((await ledger.append([testRow()]))[0]?.seq).toBe(31);
    await ledger.ready();
  });

  it('goes on where the last pass ended, and verifies after a restart, since a checkpoint and in full alike', async () => {
    await filled(12, 3);
    await ledger.verify();
    await pass();
    expect(await ledger.verify({ sinceCheckpoint: true })).toMatchObject({ valid: true, entries_checked: 3 });
    await ledger.append([testRow()]);
    expect(await ledger.verify({ sinceCheckpoint: true })).toMatchObject({ valid: true, entries_checked: 4 });
    now += RETENTION + DAY;
    await ledger.append([testRow()]);
    await ledger.coldTier.export();
    await ledger.close();
    ledger = await open();
    expect(await pass()).toBe(4);
    expect(await cursors()).toEqual([12, 16]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 1, commitment: { length: 17 } });
  });

  it('keeps the newest entry, however old it is', async () => {
    await filled(5, 0);
    expect(await pass()).toBe(4);
    expect(await places()).toEqual([5]);
    expect((await ledger.append([named(5)]))[0]).toMatchObject({ seq: 5, status: 'retained' });
    expect((await ledger.append([named(6)]))[0]).toMatchObject({ seq: 6, status: 'created' });
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 2 });
  });

  it.each([
    [
      'younger than the retention',
      async () => {
        await filled(0, 5);
      },
    ],
    [
      'not copied to the cold tier',
      async () => {
        await ledger.append([named(1), named(2)]);
        now += RETENTION + DAY;
        await ledger.append([named(3)]);
      },
    ],
    [
      'not confirmed by a sink that asked for rows',
      async () => {
        await filled(5, 1);
        await ledger.sinkCursors.confirmed('splunk', 0);
        await ledger.sinkCursors.confirmed('generic', 6);
      },
    ],
  ])('deletes nothing that is %s', async (_, arrange) => {
    await arrange();
    expect(await pass()).toBe(0);
    expect(await cursors()).toEqual([]);
  });

  it('goes as far as the slowest sink, and waits for no other than those named', async () => {
    await filled(10, 2);
    await ledger.sinkCursors.confirmed('splunk', 4);
    await ledger.sinkCursors.confirmed('datadog', 7);
    expect(await pass()).toBe(4);
    expect(await pass({ sinks: ['datadog'] })).toBe(3);
    expect(await pass({ sinks: ['generic'] })).toBe(0);
    await ledger.sinkCursors.confirmed('splunk', 2);
    expect(await pass()).toBe(0);
    expect(await cursors()).toEqual([4, 7]);
  });

  it('deletes nothing under a legal hold, nor after it was told to stop', async () => {
    await filled(5, 1);
    expect(await pass({ signal: AbortSignal.abort() })).toBe(0);
    await ledger.close();
    ledger = await open({ legalHold: true });
    expect(await pass()).toBe(0);
    expect(await places()).toHaveLength(6);
  });

  it('refuses without checkpoints, and where the copy is missing or is another file', async () => {
    await filled(5, 1);
    const [file] = readdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', file as string), 'something else');
    await expect(pass()).rejects.toMatchObject({ code: 'export_sink_unavailable' });
    rmSync(join(folder, 'data', file as string));
    await expect(pass()).rejects.toMatchObject({ code: 'export_sink_unavailable' });
    await ledger.close();
    ledger = await openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      coldSink: { files: folderFiles({ directory: folder }), retentionMs: 0 },
    });
    await expect(pass()).rejects.toMatchObject({ code: 'chain_verification_incomplete' });
    expect(await places()).toHaveLength(6);
  });

  it('stops in front of an entry that does not hold: nothing is cleared away with the traces', async () => {
    await filled(20, 5);
    // This process verified the whole chain before the change; the vacuum's own walk must find it.
    await ledger.verify();
    await ledger.transparency?.checkpoint();
    await place.unlock();
    await place.sql("update ledger_entries set reasoning = 'x' where seq = 12");
    await expect(pass({ batchRows: 10 })).rejects.toMatchObject({ code: 'chain_verification_incomplete' });
    expect(await cursors()).toEqual([10]);
    expect(await ledger.verify()).toMatchObject({ valid: false, first_invalid_seq: 12 });
  });

  it('is one after the other where two are under way', async () => {
    await filled(40, 2);
    const other = await open();
    const counts = await Promise.all([pass({ batchRows: 5 }), other.vacuum({ retentionMs: RETENTION, batchRows: 3 })]);
    await other.close();
    expect(counts[0] + counts[1]).toBe(40);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 2 });
  });

  it('lets appends and walks go on meanwhile', async () => {
    await filled(60, 2);
    const appended = Promise.all(Array.from({ length: 30 }, (_, index) => ledger.append([named(1_000 + index)])));
    const walks = Promise.all(Array.from({ length: 5 }, () => ledger.verify()));
    expect(await pass({ batchRows: 7 })).toBe(60);
    expect(new Set((await appended).map(([receipt]) => receipt?.seq)).size).toBe(30);
    for (const walk of await walks) expect(walk.valid).toBe(true);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 32 });
  });

  describe('of the store', () => {
    it('refuses to delete what is kept, and to change what the vacuum wrote', async () => {
      await filled(10, 3);
      const refused = (text: string) => expect(place.sql(text)).rejects.toThrow(/append-only|only grows/);
      await refused('delete from ledger_entries where seq = 1');
      await refused('delete from entry_payloads where entry_seq = 10');
      await pass();
      await refused('delete from ledger_entries where seq = 11');
      await refused('delete from ledger_entries');
      await refused('update ledger_vacuum_cursors set seq = 11');
      await refused('delete from ledger_vacuum_cursors');
      await refused("update ledger_vacuumed_rows set id = 'x'");
      await refused('delete from ledger_vacuumed_rows where seq = 3');
      await refused(
        'insert into ledger_vacuum_cursors select 9, entry_hash, rows_sha256, time_lo, time_hi, vacuumed_at, seal from ledger_vacuum_cursors',
      );
      if (kind === 'postgres') {
        await refused('truncate ledger_vacuum_cursors');
        await refused('truncate ledger_vacuumed_rows');
      } else {
        await refused('insert or replace into ledger_vacuum_cursors select * from ledger_vacuum_cursors');
        await refused('insert or replace into ledger_vacuumed_rows select * from ledger_vacuumed_rows');
      }
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 3 });
    });
  });

  describe('a repeated append', () => {
    it('of a vacuumed row is that row, and with other content a conflict', async () => {
      const [first] = await ledger.append([named(0)]);
      await filled(10, 3);
      await pass();
      // A ledger that knows the head and one that was just opened give the same answer.
      for (let round = 0; round < 2; round++) {
        expect(await ledger.append([named(0)])).toEqual([{ ...first, status: 'retained' }]);
        expect(await ledger.append([named(4)])).toMatchObject([{ seq: 5, status: 'retained' }]);
        await expect(ledger.append([named(4, { reasoning: 'other' })])).rejects.toMatchObject({
          code: 'ledger_entry_conflict',
        });
        expect(await ledger.append([named(100 + round)])).toMatchObject([{ seq: 16 + round, status: 'created' }]);
        await ledger.close();
        ledger = await open();
      }
      const alarms = await place.sql(
        "select policy_decision from ledger_entries where event_kind = 'alarm.row_conflict'",
      );
      expect(alarms).toHaveLength(1);
      expect(JSON.parse(alarms[0]?.['policy_decision'] as string)).toMatchObject({
        entry_id: id('4'),
        kept_content_sha256: null,
      });
      expect(await ledger.verify()).toMatchObject({ valid: true });
    });

    it('that meets the vacuum in the middle is still one row', async () => {
      await filled(40, 2);
      const passed = pass({ batchRows: 4 });
      const again = await Promise.all(Array.from({ length: 40 }, (_, index) => ledger.append([named(index + 1)])));
      await passed;
      expect(again.map(([receipt]) => [receipt?.seq, receipt?.status])).toEqual(
        Array.from({ length: 40 }, (_, index) => [index + 1, 'retained']),
      );
      expect((await ledger.head()).length).toBe(42);
    });
  });

  describe('what others see', () => {
    it('reads of vacuumed calls are empty, cases and reports stand', async () => {
      const opened = await ledger.cases.open(
        { title: 'c', agent_ids: ['agent-a'], correlation_ids: ['call-3'] },
        'console',
      );
      await filled(10, 3);
      await pass();
      expect(await ledger.byCorrelation('call-3')).toEqual([]);
      expect(await ledger.get(id('3'))).toBeNull();
      expect(await ledger.sidecar(id('10'))).toBeNull();
      expect(await ledger.byCorrelation('call-11')).toHaveLength(1);
      expect(await ledger.byAgent('agent-a')).toHaveLength(3);
      expect(await ledger.cases.get(opened.id, {})).toMatchObject({ title: 'c', correlation_ids: ['call-3'] });
      expect(await ledger.reports.hunt({}, 10)).toMatchObject({ returned: 1 });
      expect(await ledger.reports.spend({ limit: 10 })).toMatchObject({ total_requests: 3 });
      expect(await ledger.purgeSidecars({ extendedMs: 1 })).toBe(0);
    });

    it('anchors of vacuumed rows match nothing and mismatch nothing', async () => {
      const source: AnchorSource = {
        source: 'webhook',
        anchor: () => Promise.resolve({ bytes: Buffer.from('kept'), genTime: null }),
      };
      await ledger.append([named(0)]);
      await ledger.anchors.sweep({ source, intervalMs: 1 });
      await filled(10, 3);
      await pass();
      await ledger.append([named(99)]);
      await ledger.anchors.sweep({ source, intervalMs: 1 });
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: true,
        anchor_mismatch: false,
        anchors: [{ chain_match: true }, { anchored_seq: 1, chain_match: null }],
      });
    });

    it('proofs of kept and vacuumed rows hold under checkpoints that stay what they were', async () => {
      const log = () => ledger.transparency as NonNullable<EvidencedLedger['transparency']>;
      await filled(600, 20);
      const before = await log().checkpoint();
      const { size } = parseCheckpoint(before);
      await pass();
      expect(await places()).toHaveLength(20);
      now += 2_000;
      await ledger.append([named(5_000)]);
      for (let restart = 0; restart < 2; restart++) {
        expect(await log().checkpoint()).not.toBe(before);
        for (const which of [{ seq: 1 }, { id: id('300') }, { seq: 600 }, { seq: 601 }, { seq: 621 }]) {
          const proof = await log().inclusion(which);
          expect(
            inclusionHolds({
              leaf: leafHash(Buffer.from(proof.entry_hash, 'hex')),
              index: proof.leaf_index,
              size: proof.tree_size,
              root: parseCheckpoint(proof.checkpoint).root,
              proof: proof.proof.map((node) => Buffer.from(node, 'hex')),
            }),
          ).toBe(true);
          expect(proof.entry === null).toBe(proof.seq <= 600);
        }
        const older = await log().inclusion({ seq: 7 }, size);
        expect(older.checkpoint).toBe(before);
        const { from_root, to_root, proof, to } = await log().consistency(size, undefined);
        expect(from_root).toBe(parseCheckpoint(before).root.toString('hex'));
        expect(
          consistencyHolds({
            old: size,
            oldRoot: Buffer.from(from_root, 'hex'),
            size: to,
            root: Buffer.from(to_root, 'hex'),
            proof: proof.map((node) => Buffer.from(node, 'hex')),
          }),
        ).toBe(true);
        // Stored nodes are derived, so they can also be recomputed from what is kept of vacuumed entries.
        await place.sql('delete from ledger_tree_nodes');
        await ledger.close();
        ledger = await open();
      }
    });

    it('a window with vacuumed rows is refused where the rest would pass for the whole', async () => {
      await filled(10, 3);
      await pass();
      const all = { from: '2026-01-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' };
      const behind = { from: new Date(START + DAY).toISOString(), to: all.to };
      const refused = { code: 'window_vacuumed', fields: { kept_from_seq: 11 } };
      await expect(ledger.exportRegulatory({ tenant: 'acme', ...all })).rejects.toMatchObject(refused);
      await expect(ledger.complianceEvidence(all)).rejects.toMatchObject(refused);
      await expect(ledger.complianceEvidence({ ...all, tenant: 'acme' })).rejects.toMatchObject(refused);
      await expect(ledger.coldTier.parquet(all)).rejects.toMatchObject(refused);
      await expect(
        ledger.activeAgents.invoice({
          tenant: 'acme',
          asOf: '2026-01-20T00:00:00Z',
          observedThrough: '2026-01-20T00:00:00Z',
        }),
      ).rejects.toMatchObject(refused);
      const as = { asOf: '2026-02-02T03:04:00Z', observedThrough: '2026-02-02T03:04:00Z' };
      expect(await ledger.activeAgents.invoice({ tenant: 'acme', ...as })).toMatchObject({
        source: { chain_length: 10 },
      });
      // No rows of the other tenant were vacuumed, and none after the cursor.
      expect(await ledger.complianceEvidence({ ...all, tenant: 'other' })).toMatchObject({ row_count: 0 });
      const bundle = await ledger.exportRegulatory({ tenant: 'acme', ...behind });
      expect(bundle.manifest).toMatchObject({
        row_count: 3,
        seq_lo: 11,
        verified_chain: { commitment: { length: 13 } },
      });
      expect(bundle.manifest).not.toHaveProperty('vacuumed');
      await bundle.discard();
      expect((await ledger.coldTier.parquet(behind)).bytes.length).toBeGreaterThan(0);
    });

    it('the table of cold copies counts vacuumed rows of a window as before', async () => {
      await filled(10, 3);
      const window = { from: '2026-01-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' };
      const before = await ledger.coldTier.table(window);
      await pass();
      expect(await ledger.coldTier.table(window)).toEqual(before);
      const first = { from: window.from, to: new Date(START + DAY).toISOString() };
      expect(await ledger.coldTier.table(first)).toMatchObject({ row_count: 10, seq_lo: 1, seq_hi: 10 });
    });

    it('a tenant can leave: the final export says what is not in it', async () => {
      await filled(10, 3);
      await pass();
      const operation = id('operation');
      const receipt = await ledger.tenantLifecycle.step('acme', operation, 'final_export');
      expect(receipt).toMatchObject({ state: 'exported', rows_affected: 3 });
      const [note] = await ledger.byAgent('tenant:acme');
      expect(note?.policy_decision).toMatchObject({ row_count: 3, vacuumed_rows: 10 });
      expect(await ledger.tenantLifecycle.step('acme', operation, 'tombstone')).toMatchObject({ state: 'tombstoned' });
    });
  });

  describe('a hand in the store', () => {
    const broken = async (seq: number, reason: string) => {
      expect(await ledger.verify()).toMatchObject({
        valid: false,
        first_invalid_seq: seq,
        first_invalid_reason: reason,
      });
    };
    const forge = (seq: number) =>
      place.sql(
        `insert into ledger_vacuum_cursors (seq, entry_hash, rows_sha256, time_lo, time_hi, vacuumed_at, seal)
         select seq, entry_hash, '00', timestamp, timestamp, timestamp, ? from ledger_entries where seq = ?`,
        [Buffer.from('seal'), seq],
      );
    beforeEach(async () => {
      await filled(20, 5);
      await pass({ batchRows: 10 });
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 5 });
    });

    it('that deletes rows behind a cursor of its own is found', async () => {
      await forge(22);
      await place.sql('delete from entry_payloads where entry_seq <= 22');
      await place.sql('delete from ledger_entries where seq <= 22');
      await broken(22, 'vacuum');
      expect((await ledger.verify({ sinceCheckpoint: true })).valid).toBe(false);
    });

    it('that raises a cursor and deletes nothing is found', async () => {
      await forge(22);
      await broken(22, 'vacuum');
    });

    it.each([
      ['another hash', "update ledger_vacuum_cursors set entry_hash = 'ff' where seq = 20", 20],
      ['another hash in an older one', "update ledger_vacuum_cursors set entry_hash = 'ff' where seq = 10", 10],
      ['another time', "update ledger_vacuum_cursors set time_hi = '2020' where seq = 20", 20],
      ['no older one', 'delete from ledger_vacuum_cursors where seq = 10', 20],
      ['an id of a vacuumed row changed', "update ledger_vacuumed_rows set id = 'x' where seq = 4", 10],
      ['the tenant of a vacuumed row changed', "update ledger_vacuumed_rows set tenant = 'other' where seq = 14", 20],
      ['a vacuumed row missing', 'delete from ledger_vacuumed_rows where seq = 20', 20],
      ['a vacuumed row too many', "insert into ledger_vacuumed_rows values (26, 'x', '2026', null, 'ff')", 26],
    ])('that leaves %s is found', async (_, change, seq) => {
      await place.unlock();
      await place.sql(change);
      await broken(seq, 'vacuum');
    });

    it('that takes the cursors away, or the first kept row, or puts a vacuumed one back is found', async () => {
      await place.unlock();
      const columns = '*';
      await place.sql(`create table kept_cursors as select ${columns} from ledger_vacuum_cursors`);
      await place.sql('delete from ledger_vacuum_cursors where seq = 20');
      await broken(11, 'vacuum');
      await place.sql('delete from ledger_vacuum_cursors');
      await broken(1, 'vacuum');
      await place.sql('insert into ledger_vacuum_cursors select * from kept_cursors');
      expect((await ledger.verify()).valid).toBe(true);
      await place.sql('update ledger_entries set seq = 3 where seq = 21');
      await broken(3, 'vacuum');
      await place.sql('delete from ledger_entries where seq = 3');
      await broken(22, 'seq');
    });

    it('that brings the head back to the newest cursor is found', async () => {
      await place.unlock();
      const [head] = await place.sql('select * from ledger_head');
      await place.sql('delete from entry_payloads');
      await place.sql('delete from ledger_entries');
      await place.sql(
        'update ledger_head set length = 20, head_hash = (select entry_hash from ledger_vacuum_cursors where seq = 20)',
      );
      await broken(21, 'head');
      expect(head).toBeDefined();
      await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    });

    it('is found in threads as well, and without keys as far as that goes', async () => {
      const several = await openEvidencedLedger({
        target: place.target,
        sidecarKeys: place.keys,
        verifyThreads: {
          threads: 3,
          rowsPerThread: 1,
          script: new URL('../../../dist/adapters/ledger/walk-thread.js', import.meta.url),
        },
      });
      expect(await several.verify()).toEqual(await ledger.verify());
      await forge(22);
      expect(await several.verify()).toEqual(await ledger.verify());
      await several.close();
      if (kind === 'sqlite') {
        const blind = openLedgerReadOnly((place.target as { file: string }).file);
        expect(await blind.verify()).toMatchObject({ valid: false, first_invalid_reason: 'vacuum' });
        await blind.close();
      }
    });

    it('with other keys is no vacuum of this ledger', async () => {
      const foreign = await openEvidencedLedger({ target: place.target, sidecarKeys: testKeys() });
      expect(await foreign.verify()).toMatchObject({ valid: false, first_invalid_reason: 'vacuum' });
      await foreign.close();
    });
  });

  it('is the same chain in a file of its own', async () => {
    await filled(20, 5);
    await pass({ batchRows: 10 });
    const copy = kind === 'sqlite' ? (place.target as { file: string }).file : join(folder, 'copy.db');
    if (kind === 'postgres') {
      const counts = await exportChain(place.target as { url: string; schema: string }, copy);
      expect(counts.entries).toBe(5);
    }
    const shown = openLedgerReadOnly(copy, { sidecarKeys: place.keys });
    expect(await shown.verify()).toEqual(await ledger.verify());
    expect(await shown.byCorrelation('call-3')).toEqual([]);
    const log = await shown.transparencyLog(signingLogKey('gate.test/ledger', logKey));
    expect(await log.inclusion({ seq: 3 })).toMatchObject({ seq: 3, entry: null });
    await shown.close();
    if (kind === 'postgres') {
      const goesOn = await openEvidencedLedger({ target: { file: copy }, sidecarKeys: place.keys });
      expect(await goesOn.append([named(3), testRow()])).toMatchObject([
        { seq: 3, status: 'retained' },
        { seq: 26, status: 'created' },
      ]);
      expect(await goesOn.verify()).toMatchObject({ valid: true, entries_checked: 6 });
      await goesOn.close();
    }
  });
});
