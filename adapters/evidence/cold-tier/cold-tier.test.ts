import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetReadObjects } from 'hyparquet';
import { icebergMetadata, icebergRead } from 'icebird';
import type { ExportRecord } from '../../../contracts/ledger-export.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { needs } from '../../../test/support/needs.js';
import { canonicalContent, canonicalEntry, CONTENT_FIELDS } from '../../../domain/ledger/canonical-bytes.js';
import { entryHash } from '../../../domain/ledger/entry-hash.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { folderFiles } from './folder.js';

const HOUR = 3_600_000;
const FIRST = Date.parse('2026-01-02T03:04:05.006Z');
const WIDE = { from: '2020-01-01T00:00:00.000Z', to: '2030-01-01T00:00:00.000Z' };

/** Whether pyiceberg, an independent reader, is installed on this machine. */
const pyiceberg = (() => {
  try {
    execFileSync('python3', ['-c', 'import pyiceberg, pyarrow'], { stdio: 'ignore', timeout: 60_000 });
    return true;
  } catch {
    return false;
  }
})();

describe.each(STORES)('the cold tier over %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  let directory: string;
  let server: Server;
  let uri: string;
  let now: number;

  const open = async ({
    bytesPerFile,
    ...over
  }: {
    readonly directory?: string;
    readonly uri?: undefined;
    readonly bytesPerFile?: number;
  } = {}) => {
    ledger = await openEvidencedLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => now,
      coldSink: {
        files: folderFiles({ directory, uri, ...over }),
        retentionMs: HOUR,
        ...(bytesPerFile !== undefined && { bytesPerFile }),
      },
    });
  };
  const append = async (count: number) => {
    await ledger.append(
      Array.from({ length: count }, (_, index) =>
        testRow({
          authorized: index % 2 === 0,
          reasoning: `é "quoted" \u2028 ${index}`,
          brain_scores: index % 3 === 0 ? { drift_bp: index, nested: { b: [1.5, null], a: 'ü' } } : null,
          cost_micros: index % 4 === 0 ? null : 2 ** 40 + index,
        }),
      ),
    );
    now += HOUR;
  };
  const wrote = async (): Promise<ExportRecord> => {
    const pass = await ledger.coldTier.export();
    if (pass === 'NothingToExport') throw new Error('nothing was exported');
    return pass.Wrote;
  };
  const fileOf = ({ data_uri: data }: ExportRecord) => join(directory, data.slice(uri.length));
  const readTable = async (): Promise<Record<string, unknown>[]> => {
    const metadata = await icebergMetadata({ tableUrl: uri });
    return icebergRead({ tableUrl: uri, metadata });
  };

  beforeEach(async () => {
    now = FIRST;
    directory = mkdtempSync(join(tmpdir(), 'gate-cold-'));
    server = createServer((request, response) => {
      try {
        const whole = readFileSync(join(directory, new URL(request.url ?? '', 'http://x').pathname));
        const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
        const part = range ? whole.subarray(Number(range[1]), Number(range[2]) + 1) : whole;
        response.writeHead(range ? 206 : 200, { 'content-length': part.length }).end(part);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    place = await ledgerPlace(kind);
    await open();
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    rmSync(directory, { recursive: true, force: true });
  });

  it('has nothing to export of an empty ledger, nor of rows that are too young', async () => {
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    await ledger.append([testRow()]);
    now += HOUR - 1;
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    now += 2;
    expect(await wrote()).toMatchObject({ row_count: 1, seq_lo: 1, seq_hi: 1 });
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
  });

  it('ends a file where it takes no more bytes, and takes no window that is larger', async () => {
    await ledger.close();
    await open({ bytesPerFile: 100_000 });
    const large = { policy_decision: { text: 'x'.repeat(10_000) } };
    for (let round = 0; round < 5; round++) await ledger.append(Array.from({ length: 5 }, () => testRow(large)));
    now += HOUR;
    const passes = [await wrote(), await wrote(), await wrote()];
    expect(passes.map(({ seq_lo, seq_hi }) => [seq_lo, seq_hi])).toEqual([
      [1, 10],
      [11, 20],
      [21, 25],
    ]);
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    expect((await readTable()).length).toBe(25);
    await expect(ledger.coldTier.parquet(WIDE)).rejects.toMatchObject({ code: 'payload_too_large' });
    await ledger.close();
    await open();
    const { buffer } = Uint8Array.from((await ledger.coldTier.parquet(WIDE)).bytes);
    expect(await parquetReadObjects({ file: buffer })).toHaveLength(25);
  });

  it('writes a table that icebird reads, every pass a snapshot that adds to the one before', async () => {
    await append(5);
    const first = await wrote();
    expect(first).toMatchObject({ row_count: 5, seq_lo: 1, seq_hi: 5, written_at: new Date(now).toISOString() });
    const bytes = readFileSync(fileOf(first));
    expect([first.byte_size, first.data_sha256]).toEqual([
      bytes.length,
      createHash('sha256').update(bytes).digest('hex'),
    ]);
    await append(4);
    const second = await wrote();
    expect(second).toMatchObject({ row_count: 4, seq_lo: 6, seq_hi: 9 });
    expect(await ledger.coldTier.exports()).toEqual([second, first]);

    const rows = await readTable();
    expect(rows.map(({ seq }) => Number(seq))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const metadata = await icebergMetadata({ tableUrl: uri });
    expect(metadata).toMatchObject({ 'format-version': 2, location: uri, 'last-sequence-number': 2 });
    expect(metadata.snapshots?.map(({ summary }) => summary)).toMatchObject([
      { operation: 'append', 'total-records': '5', 'gate.parquet-sha256': first.data_sha256 },
      { operation: 'append', 'total-records': '9', 'gate.parquet-sha256': second.data_sha256 },
    ]);
    // The table version of the first pass can still be read.
    const older = await icebergMetadata({ tableUrl: uri, metadataFileName: 'v1.metadata.json' });
    expect(await icebergRead({ tableUrl: uri, metadata: older })).toHaveLength(5);
  });

  it('holds all that was hashed: every hash can be computed again from the file', async () => {
    await append(9);
    await wrote();
    let prev = '0'.repeat(64);
    for (const row of await readTable()) {
      const values = CONTENT_FIELDS.map(([name, column]) => {
        const value = (row[name] ?? null) as string | bigint | boolean | null;
        if (value === null) return null;
        if (column === 'bool') return value ? 1 : 0;
        return column === 'int' ? Number(value) : String(value);
      });
      const position = {
        chainVersion: Number(row['chain_version']),
        id: String(row['id']),
        timestamp: String(row['timestamp_text']),
        seq: Number(row['seq']),
        prevHash: String(row['prev_hash']),
      };
      expect(entryHash(prev, canonicalEntry(position, canonicalContent(values)))).toBe(row['entry_hash']);
      expect(row['timestamp']).toEqual(new Date(position.timestamp));
      prev = String(row['entry_hash']);
    }
    expect(prev).toBe((await ledger.head()).hash);
  });

  it('is read by DuckDB with the types it says', async () => {
    await append(6);
    const record = await wrote();
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const ask = async (query: string) => (await connection.runAndReadAll(query)).getRowObjectsJson();
    const from = `from read_parquet('${fileOf(record)}')`;
    expect(await ask(`select count(*) as n, sum(seq) as s, max(cost_micros) as c ${from}`)).toEqual([
      { n: '6', s: '21', c: String(2 ** 40 + 5) },
    ]);
    expect(await ask(`select authorized, count(*) as n ${from} group by all order by 1`)).toEqual([
      { authorized: false, n: '3' },
      { authorized: true, n: '3' },
    ]);
    expect(
      await ask(`select distinct typeof(timestamp) as t, typeof(reasoning) as r, typeof(seq) as s ${from}`),
    ).toEqual([{ t: 'TIMESTAMP WITH TIME ZONE', r: 'VARCHAR', s: 'BIGINT' }]);
    expect(await ask(`select reasoning, brain_scores ${from} where seq = 4`)).toEqual([
      { reasoning: 'é "quoted" \u2028 3', brain_scores: '{"drift_bp":3,"nested":{"a":"ü","b":[1.5,null]}}' },
    ]);
    connection.closeSync();
  });

  (pyiceberg ? it : it.skip)(`is read by pyiceberg${needs('pyiceberg', pyiceberg)}`, async () => {
    // pyiceberg reads files and object stores, but not plain HTTP.
    await ledger.close();
    await open({ uri: undefined });
    await append(5);
    await wrote();
    await append(3);
    await wrote();
    const metadata = (await ledger.coldTier.table(WIDE)).table.metadata_uri;
    const program = `
import sys
from pyiceberg.table import StaticTable
table = StaticTable.from_metadata(sys.argv[1])
print(len(table.scan().to_arrow()), sum(table.scan(row_filter='seq > 6').to_arrow()['seq'].to_pylist()))`;
    const out = execFileSync('python3', ['-c', program, String(metadata)], { encoding: 'utf8', timeout: 60_000 });
    expect(out.trim()).toBe('8 15');
  });

  it('says what of a window is in the table', async () => {
    await append(5);
    const first = await wrote();
    await append(4);
    const second = await wrote();
    await append(2);
    const at = (hours: number) => new Date(FIRST + hours * HOUR).toISOString();
    const both = await ledger.coldTier.table({ from: at(0), to: at(9) });
    expect(both).toMatchObject({
      contract: 'gate.iceberg-export/v1',
      window: { from: at(0), to: at(9) },
      row_count: 9,
      seq_lo: 1,
      seq_hi: 9,
      files: [first, second],
      table: { location: uri, metadata_uri: `${uri}/metadata/v2.metadata.json`, format_version: 2 },
    });
    expect(await ledger.coldTier.overlapping({ from: at(1), to: at(2) })).toEqual([second]);
    expect(await ledger.coldTier.table({ from: at(1), to: at(2) })).toMatchObject({
      row_count: 4,
      seq_lo: 6,
      seq_hi: 9,
      files: [second],
    });
    expect(await ledger.coldTier.table({ from: at(20), to: at(21) })).toMatchObject({
      row_count: 0,
      seq_lo: null,
      seq_hi: null,
      files: [],
    });
  });

  it('gives the rows of a window as one Parquet file, exported or not', async () => {
    await append(3);
    const { bytes, sha256 } = await ledger.coldTier.parquet(WIDE);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
    const rows = (await parquetReadObjects({ file })) as { seq: bigint }[];
    expect(rows.map(({ seq }) => seq)).toEqual([1n, 2n, 3n]);
    const none = await ledger.coldTier.parquet({ from: '2020-01-01T00:00:00.000Z', to: '2020-01-02T00:00:00.000Z' });
    const empty = none.bytes.buffer.slice(none.bytes.byteOffset, none.bytes.byteOffset + none.bytes.length);
    expect(await parquetReadObjects({ file: empty as ArrayBuffer })).toEqual([]);
  });

  it('copies rows that are hidden from readers too', async () => {
    await append(2);
    await ledger.erasure.tombstoneTenant('acme');
    now += HOUR;
    expect((await wrote()).row_count).toBe((await ledger.head()).length);
  });

  it('makes its table whole again after a crash between the commit and the metadata', async () => {
    await append(3);
    await wrote();
    const before = readFileSync(join(directory, 'metadata/v1.metadata.json'), 'utf8');
    rmSync(join(directory, 'metadata/v1.metadata.json'));
    rmSync(join(directory, 'metadata/version-hint.text'));
    await ledger.close();
    await open();
    await ledger.coldTier.table(WIDE);
    expect(readFileSync(join(directory, 'metadata/v1.metadata.json'), 'utf8')).toBe(before);
    expect(await readTable()).toHaveLength(3);
    await append(1);
    await wrote();
    writeFileSync(join(directory, 'metadata/version-hint.text'), '1');
    expect(await ledger.coldTier.export()).toBe('NothingToExport');
    expect(await readTable()).toHaveLength(4);
    expect(readdirSync(join(directory, 'metadata')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('writes nowhere but in a table of its own, and none that is ahead of it', async () => {
    await append(2);
    await wrote();
    const before = readdirSync(join(directory, 'metadata'));
    const elsewhere = await ledgerPlace('sqlite');
    const coldSink = { files: folderFiles({ directory, uri }), retentionMs: 0 };
    const other = await openEvidencedLedger({ target: elsewhere.target, sidecarKeys: elsewhere.keys, coldSink });
    await other.append([testRow()]);
    await expect(other.coldTier.export()).rejects.toMatchObject({
      code: 'export_sink_unavailable',
      message: expect.stringContaining('holds the table of another ledger'),
    });
    await other.close();
    await elsewhere.remove();
    expect(readdirSync(join(directory, 'metadata'))).toEqual(before);
    writeFileSync(join(directory, 'metadata/version-hint.text'), '2');
    await expect(ledger.coldTier.export()).rejects.toMatchObject({
      code: 'export_sink_unavailable',
      message: expect.stringContaining('has a version 2 that this ledger, which knows 1, did not make'),
    });
  });

  it('passes take turns; none copies a row twice', async () => {
    await append(4);
    const passes = await Promise.all([ledger.coldTier.export(), ledger.coldTier.export(), ledger.coldTier.export()]);
    expect(passes.filter((pass) => pass !== 'NothingToExport')).toHaveLength(1);
    expect(await readTable()).toHaveLength(4);
  });

  it('is `export_sink_unavailable` without a folder, and with one that cannot be written', async () => {
    await append(1);
    await ledger.close();
    await open({ directory: join(directory, 'file') });
    writeFileSync(join(directory, 'file'), '');
    await expect(ledger.coldTier.export()).rejects.toMatchObject({ code: 'export_sink_unavailable', status: 503 });
    chmodSync(join(directory, 'file'), 0o600);
    await ledger.close();
    ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
    for (const ask of [ledger.coldTier.export(), ledger.coldTier.exports(), ledger.coldTier.table(WIDE)])
      await expect(ask).rejects.toMatchObject({ code: 'export_sink_unavailable' });
    expect(await ledger.coldTier.overlapping(WIDE)).toEqual([]);
    expect((await ledger.coldTier.parquet(WIDE)).bytes.length).toBeGreaterThan(0);
  });
});
