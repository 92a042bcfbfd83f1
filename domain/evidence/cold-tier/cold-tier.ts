import { hash, randomInt, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { ExportPass, ExportRecord, IcebergExport } from '../../../contracts/ledger-export.js';
import { canonicalJson, uuidFromDigest } from '../../crypto/digest.js';
import { GateError } from '../../errors.js';
import { reading } from '../../ledger/chain-store.js';
import { countRows, scan } from '../../ledger/rows.js';
import type { EntryTable, LedgerTables } from '../../ledger/tables.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import type { ColdCopies } from '../../ledger/vacuum/vacuum.js';
import { COLD_COLUMNS } from './columns.js';
import { type ColdFiles, sinkUnavailable } from './files.js';
import { manifestListOf, manifestOf, tableMetadata, type TableVersion } from './iceberg.js';
import { rowGroups } from './row-groups.js';

interface ExportTable {
  version: number | string;
  snapshot_id: string;
  iceberg_snapshot_id: number | string;
  written_at: string;
  data_file: string;
  data_sha256: string;
  byte_size: number | string;
  row_count: number | string;
  seq_lo: number | string;
  seq_hi: number | string;
  time_lo: string;
  time_hi: string;
  manifest_file: string;
  manifest_size: number | string;
  manifest_list_file: string;
}
export interface ColdTables extends LedgerTables {
  ledger_exports: ExportTable;
}

/** Where cold files go. */
export interface ColdSink {
  readonly files: ColdFiles;
  /** Only rows at least this old are exported. */
  readonly retentionMs: number;
  /** About how many bytes of rows one file takes; 256 MiB unless said otherwise. */
  readonly bytesPerFile?: number;
}

export interface Window {
  /** Half-open, as the chain writes times. */
  readonly from: string;
  readonly to: string;
}

/**
 * Copies of the chain for readers of another kind (docs/architecture/ledger-reads.md#cold-tier): an Iceberg v2 table of Parquet files,
 * hidden rows included. Nothing is taken out of the chain by it; the vacuum does that, behind it. Without a sink passes and the table are
 * `export_sink_unavailable`, also where it cannot be written.
 */
export interface ColdTier {
  /** One pass: the oldest rows that no pass has copied yet become one data file and one snapshot, as many as one file takes. */
  export(): Promise<ExportPass>;
  /** Newest first. */
  exports(): Promise<ExportRecord[]>;
  table(window: Window): Promise<IcebergExport>;
  /** Records of the passes that hold rows of the window; none where there is no sink. */
  overlapping(window: Window): Promise<ExportRecord[]>;
  /**
   * The window's rows as one Parquet file, exported or not. `payload_too_large` beyond what one file takes, `window_vacuumed` where some
   * of them are in the table's files only.
   */
  parquet(window: Window): Promise<{ readonly bytes: Uint8Array; readonly sha256: string }>;
}

/** What one file takes: a pass, and who asks for a window, holds it in memory. */
const ROWS_PER_FILE = 100_000;
const BYTES_PER_FILE = 256 * 1_048_576;
/** Rows of a file that are held uncompressed at a time are a small part of it. */
const GROUPS_PER_FILE = 8;
/** A row may have half a megabyte. */
const PAGE_ROWS = 250;
const COLUMNS = [...new Set(COLD_COLUMNS.map(({ from }) => from))];

export function createColdTier(
  db: Kysely<ColdTables>,
  {
    sink,
    goneFrom,
    clock,
  }: { readonly sink: ColdSink | null; readonly goneFrom: GoneFrom; readonly clock: () => number },
): ColdTier & ColdCopies {
  const ledger = db as unknown as Kysely<LedgerTables>;
  const bytesPerFile = sink?.bytesPerFile ?? BYTES_PER_FILE;
  let passes: Promise<unknown> = Promise.resolve();

  function sinkOf(): ColdSink {
    if (!sink)
      throw sinkUnavailable(
        'set GATE_LEDGER_EXPORT_DIR, or GATE_LEDGER_EXPORT_S3_ENDPOINT and its kind, to export entries',
      );
    return sink;
  }

  const versions = async (): Promise<TableVersion[]> =>
    (await db.selectFrom('ledger_exports').selectAll().orderBy('version').execute()).map(versionOf);

  const recordOf = (row: ExportTable, { location }: ColdFiles): ExportRecord => ({
    snapshot_id: row.snapshot_id,
    written_at: row.written_at,
    data_uri: `${location}/${row.data_file}`,
    manifest_uri: `${location}/${row.manifest_file}`,
    data_sha256: row.data_sha256,
    byte_size: Number(row.byte_size),
    row_count: Number(row.row_count),
    seq_lo: Number(row.seq_lo),
    seq_hi: Number(row.seq_hi),
  });

  async function overlapping({ from, to }: Window): Promise<ExportRecord[]> {
    const { files } = sinkOf();
    const rows = await db
      .selectFrom('ledger_exports')
      .selectAll()
      .where('time_hi', '>=', from)
      .where('time_lo', '<', to)
      .orderBy('version')
      .execute();
    return rows.map((row) => recordOf(row, files));
  }

  /** Pages of the rows to copy next, up to the first one that is too young. */
  async function* due(after: number, cutoff: string): AsyncGenerator<EntryTable[]> {
    const filter = { seqFrom: after + 1, seqTo: after + ROWS_PER_FILE, hiding: 'nothing' as const };
    for await (const page of scan(ledger, filter, COLUMNS, { pageRows: PAGE_ROWS })) {
      const young = page.findIndex((row) => row.timestamp > cutoff);
      const rows = (young < 0 ? page : page.slice(0, young)) as EntryTable[];
      if (rows.length > 0) yield rows;
      if (young >= 0) return;
    }
  }

  async function pass(): Promise<ExportPass> {
    const { files, retentionMs } = sinkOf();
    const uri = uriIn(files);
    const cutoff = new Date(clock() - retentionMs).toISOString();
    const before = await versions();
    const version = (before.at(-1)?.version ?? 0) + 1;
    const after = before.at(-1)?.seqHi ?? 0;
    const seen = { count: 0, seqLo: 0, seqHi: 0, timeLo: '', timeHi: '' };
    const counted = async function* () {
      let bytes = 0;
      for await (const group of rowGroups(due(after, cutoff), bytesPerFile / GROUPS_PER_FILE)) {
        const { rows } = group;
        for (const row of rows) {
          if (seen.count === 0) Object.assign(seen, { seqLo: Number(row.seq), timeLo: row.timestamp });
          seen.count += 1;
          seen.seqHi = Number(row.seq);
          // Signed rows carry their signer's time, so the first need not be the earliest.
          if (row.timestamp < seen.timeLo) seen.timeLo = row.timestamp;
          if (row.timestamp > seen.timeHi) seen.timeHi = row.timestamp;
        }
        yield rows;
        // The rest is for the next pass.
        bytes += group.bytes;
        if (bytes >= bytesPerFile) return;
      }
    };
    const { parquetOf } = await import('./parquet.js');
    const bytes = await parquetOf(counted());
    // A crash may have come between a commit and the table's metadata.
    await publish(before);
    if (seen.count === 0) return 'NothingToExport';
    await claim(files);
    if ((await files.read(metadataFile(version))) !== null) throw ahead(files, version, version - 1);

    const snapshotId = randomUUID();
    const writtenAtMs = clock();
    const added = {
      version,
      // Readers in JavaScript keep it exactly.
      icebergSnapshotId: randomInt(1, 2 ** 48 - 1),
      writtenAtMs,
      dataFile: `data/${String(seen.seqLo).padStart(12, '0')}-${snapshotId}.parquet`,
      dataSha256: hash('sha256', bytes, 'hex'),
      byteSize: bytes.length,
      rowCount: seen.count,
      seqLo: seen.seqLo,
      seqHi: seen.seqHi,
      manifestFile: `metadata/${snapshotId}-m0.avro`,
      manifestListFile: `metadata/snap-${snapshotId}.avro`,
    };
    const manifest = await manifestOf(added, uri);
    const all = [...before, { ...added, manifestSize: manifest.length }];
    // Files first: what is not in the store is in no table, and a crash here leaves files that nobody names.
    await files.write(added.dataFile, bytes);
    await files.write(added.manifestFile, manifest);
    await files.write(added.manifestListFile, await manifestListOf(all, uri));
    const row = {
      version,
      snapshot_id: snapshotId,
      iceberg_snapshot_id: added.icebergSnapshotId,
      written_at: new Date(writtenAtMs).toISOString(),
      data_file: added.dataFile,
      data_sha256: added.dataSha256,
      byte_size: added.byteSize,
      row_count: added.rowCount,
      seq_lo: added.seqLo,
      seq_hi: added.seqHi,
      time_lo: seen.timeLo,
      time_hi: seen.timeHi,
      manifest_file: added.manifestFile,
      manifest_size: manifest.length,
      manifest_list_file: added.manifestListFile,
    };
    // The record and the table's version, at once. Of two passes in two processes the second fails here.
    await db.insertInto('ledger_exports').values(row).execute();
    await publish(all);
    return { Wrote: recordOf(row, files) };
  }

  /** Nobody else writes where this ledger does: what it began with says whose table it is. */
  async function claim(files: ColdFiles): Promise<void> {
    const hashIn = (table: 'ledger_entries' | 'ledger_vacuumed_rows') =>
      ledger.selectFrom(table).select('entry_hash').where('seq', '=', 1).executeTakeFirst();
    const first = (await hashIn('ledger_entries')) ?? (await hashIn('ledger_vacuumed_rows'));
    const owner = canonicalJson({ contract: 'gate.cold-table/v1', ledger: first?.entry_hash ?? null });
    const created = await files.create(OWNER, owner);
    if (created && (await files.create(OWNER, owner)))
      throw sinkUnavailable(
        `${files.location} takes a conditional write (If-None-Match) twice: two writers could meet there`,
      );
    if (!created && (await files.read(OWNER)) !== owner)
      throw sinkUnavailable(`${files.location} holds the table of another ledger; give this one a place of its own`);
  }

  /** The newest version whose metadata this process has found to be its own. */
  let ours = 0;

  /**
   * Brings the table to its newest version. Its metadata is made of what is stored, so it can be written at any time; a version that somebody
   * else made is never replaced, nor built upon.
   */
  async function publish(all: readonly TableVersion[]): Promise<void> {
    const { files } = sinkOf();
    const newest = all.at(-1);
    if (!newest) return;
    const published = Number((await files.read(VERSION_HINT)) ?? 0);
    if (published > newest.version) throw ahead(files, published, newest.version);
    if (published === newest.version && ours === newest.version) return;
    await claim(files);
    const tableUuid = uuidFromDigest('ledger-cold-tier', String(all[0]?.icebergSnapshotId));
    const metadata = tableMetadata(all, { tableUuid, location: files.location, uri: uriIn(files) });
    const file = metadataFile(newest.version);
    if (!(await files.create(file, metadata)) && snapshotIn(await files.read(file)) !== newest.icebergSnapshotId)
      throw ahead(files, newest.version, newest.version - 1);
    if (published < newest.version) await files.write(VERSION_HINT, String(newest.version));
    ours = newest.version;
  }

  return {
    export() {
      const next = passes.then(() => reading(pass));
      passes = next.catch(() => undefined);
      return next;
    },
    exports: () =>
      reading(async () => {
        const { files } = sinkOf();
        const rows = await db.selectFrom('ledger_exports').selectAll().orderBy('version', 'desc').execute();
        return rows.map((row) => recordOf(row, files));
      }),
    table: ({ from, to }) =>
      reading(async () => {
        const { files } = sinkOf();
        const all = await versions();
        await publish(all);
        const newest = all.at(-1);
        const filter = { from, to, seqTo: newest?.seqHi ?? 0, hiding: 'nothing' as const };
        const kept = newest ? await countRows(ledger, filter) : 0;
        // What was vacuumed is in the files all the same.
        const gone = newest ? await goneFrom({ from, to, seqTo: newest.seqHi }) : null;
        const rowCount = kept + (gone?.rows ?? 0);
        return {
          contract: 'gate.iceberg-export/v1' as const,
          window: { from, to },
          row_count: rowCount,
          seq_lo: gone?.seqLo ?? (kept > 0 ? await endOf(ledger, filter, false) : null),
          seq_hi: kept > 0 ? await endOf(ledger, filter, true) : (gone?.seqHi ?? null),
          table: {
            location: files.location,
            metadata_uri: newest ? uriIn(files)(metadataFile(newest.version)) : null,
            format_version: 2 as const,
            current_snapshot_id: newest?.icebergSnapshotId ?? null,
          },
          files: rowCount > 0 ? await overlapping({ from, to }) : [],
        };
      }),
    overlapping: (window) => (sink ? reading(() => overlapping(window)) : Promise.resolve([])),
    parquet: ({ from, to }) =>
      reading(async () => {
        const filter = { from, to, hiding: 'nothing' as const };
        const tooLarge = (what: string) =>
          new GateError('payload_too_large', `one file takes at most ${what}; narrow the window`);
        if ((await countRows(ledger, filter)) > ROWS_PER_FILE) throw tooLarge(`${ROWS_PER_FILE} rows`);
        const pages = scan(ledger, filter, COLUMNS, { pageRows: PAGE_ROWS }) as AsyncGenerator<EntryTable[]>;
        const counted = async function* () {
          let held = 0;
          for await (const group of rowGroups(pages, bytesPerFile / GROUPS_PER_FILE)) {
            held += group.bytes;
            if (held > bytesPerFile) throw tooLarge(`${bytesPerFile} bytes of rows`);
            yield group.rows;
          }
        };
        const { parquetOf } = await import('./parquet.js');
        const bytes = await parquetOf(counted());
        // Behind the rows: what went while they were read is gone too.
        const gone = await goneFrom({ from, to });
        if (gone) throw windowVacuumed(gone);
        return { bytes, sha256: hash('sha256', bytes, 'hex') };
      }),
    copiedThrough: (after) =>
      reading(async () => {
        if (!sink) return after;
        let reach = after;
        for (const { seqLo, seqHi, rowCount } of await versions())
          if (seqLo <= reach + 1 && rowCount === seqHi - seqLo + 1) reach = Math.max(reach, seqHi);
        return reach;
      }),
    copyCheck() {
      const whole = new Set<string>();
      return (seqFrom, seqTo) =>
        reading(async () => {
          const { files } = sinkOf();
          const all = await versions();
          // A file that no table names is no copy: others may clear it away.
          await publish(all);
          for (const { dataFile, dataSha256, seqLo, seqHi } of all) {
            if (seqHi < seqFrom || seqLo > seqTo || whole.has(dataFile)) continue;
            if ((await files.digest(dataFile)) !== dataSha256)
              throw sinkUnavailable(`${dataFile} is not the file that was exported`);
            whole.add(dataFile);
          }
        });
    },
  };
}

const metadataFile = (version: number): string => `metadata/v${version}.metadata.json`;
const VERSION_HINT = 'metadata/version-hint.text';

/** Whose table it is. */
const OWNER = 'metadata/owner.json';

const uriIn =
  ({ location }: ColdFiles) =>
  (file: string): string =>
    `${location}/${file}`;

/** The snapshot that metadata makes the current one. Its id is random, so it tells whose version it is, in whichever release it was written. */
function snapshotIn(metadata: string | null): unknown {
  try {
    return (JSON.parse(metadata ?? '') as Record<string, unknown> | null)?.['current-snapshot-id'];
  } catch {
    return undefined;
  }
}

/** Two ledgers that were one write there: one of them was put back, or copied, and knows less. */
const ahead = ({ location }: ColdFiles, found: number, known: number): GateError =>
  sinkUnavailable(
    `the table at ${location} has a version ${found} that this ledger, which knows ${known}, did not make: a copy of it writes there, or it was restored; give it a place of its own`,
  );

async function endOf(
  db: Kysely<LedgerTables>,
  filter: Parameters<typeof scan>[1],
  newestFirst: boolean,
): Promise<number | null> {
  for await (const [row] of scan(db, filter, ['seq'], { newestFirst, pageRows: 1 })) return Number(row?.seq);
  return null;
}

const versionOf = (row: ExportTable): TableVersion => ({
  version: Number(row.version),
  icebergSnapshotId: Number(row.iceberg_snapshot_id),
  writtenAtMs: Date.parse(row.written_at),
  dataFile: row.data_file,
  dataSha256: row.data_sha256,
  byteSize: Number(row.byte_size),
  rowCount: Number(row.row_count),
  seqLo: Number(row.seq_lo),
  seqHi: Number(row.seq_hi),
  manifestFile: row.manifest_file,
  manifestSize: Number(row.manifest_size),
  manifestListFile: row.manifest_list_file,
});
