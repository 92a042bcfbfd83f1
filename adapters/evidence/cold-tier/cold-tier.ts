import { hash, randomInt, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { ExportPass, ExportRecord, IcebergExport } from '../../../contracts/ledger-export.js';
import { canonicalJson, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { countRows, scan } from '../../ledger/rows.js';
import type { EntryTable, LedgerTables } from '../../../domain/ledger/tables.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import type { ColdCopies } from '../../ledger/vacuum/vacuum.js';
import { COLD_COLUMNS } from '../../../domain/evidence/cold-tier/columns.js';
import { type ColdFiles, sinkUnavailable } from '../../../domain/evidence/cold-tier/files.js';
import {
  manifestListOf,
  manifestOf,
  tableMetadata,
  type TableVersion,
} from '../../../domain/evidence/cold-tier/iceberg.js';
import { rowGroups } from '../../../domain/evidence/cold-tier/row-groups.js';

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
  /** Approximate size of the rows in one file, in bytes. Default: 256 MiB. */
  readonly bytesPerFile?: number;
}

export interface Window {
  /** Half-open, with timestamps as the chain writes them. */
  readonly from: string;
  readonly to: string;
}

/**
 * Copies of the chain for analytic readers (docs/architecture/ledger-reads.md#cold-tier): an Iceberg v2 table of Parquet files that
 * includes hidden rows. Exporting removes nothing from the chain; the vacuum does that later. Exports and the table fail with
 * `export_sink_unavailable` when there is no sink or it cannot be used.
 */
export interface ColdTier {
  /** One pass: copies the oldest rows not copied yet, as many as fit into one file, as one data file and one snapshot. */
  export(): Promise<ExportPass>;
  /** Newest first. */
  exports(): Promise<ExportRecord[]>;
  table(window: Window): Promise<IcebergExport>;
  /** Records of the exports that hold rows of the window; empty without a sink. */
  overlapping(window: Window): Promise<ExportRecord[]>;
  /**
   * The window's rows as one Parquet file, whether or not they were exported. Throws `payload_too_large` when they do not fit into one
   * file, and `window_vacuumed` when some of them are left only in the table's files.
   */
  parquet(window: Window): Promise<{ readonly bytes: Uint8Array; readonly sha256: string }>;
}

/** Limits of one file. An export, or a request for a window, holds the whole file in memory. */
const ROWS_PER_FILE = 100_000;
const BYTES_PER_FILE = 256 * 1_048_576;
/** Rows are compressed in groups, so that only a small part of a file is held uncompressed at a time. */
const GROUPS_PER_FILE = 8;
/** A row may be half a megabyte, so pages are small. */
const PAGE_ROWS = 200;
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
        'this ledger has no place for copies; its service takes one by GATE_LEDGER_EXPORT_DIR, or by GATE_LEDGER_EXPORT_S3_ENDPOINT and its kind',
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

  /** Pages of the rows to copy next. Stops at the first row that is too young. */
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
          // Signed rows carry their signer's time, so the first row need not be the earliest.
          if (row.timestamp < seen.timeLo) seen.timeLo = row.timestamp;
          if (row.timestamp > seen.timeHi) seen.timeHi = row.timestamp;
        }
        yield rows;
        // The file is full; the next pass copies the rest.
        bytes += group.bytes;
        if (bytes >= bytesPerFile) return;
      }
    };
    const { parquetOf } = await import('./parquet.js');
    const bytes = await parquetOf(counted());
    // A crash may have come between the last commit and the table's metadata. Repair that first.
    await publish(before);
    if (seen.count === 0) return 'NothingToExport';
    await claim(files);
    if ((await files.read(metadataFile(version))) !== null) throw ahead(files, version, version - 1);

    const snapshotId = randomUUID();
    const writtenAtMs = clock();
    const added = {
      version,
      // Below 2^53, so that JavaScript readers keep it exactly.
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
    // Files come before the record: a table never names a file that is not stored, and a crash here only leaves unreferenced files.
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
    // Records the file and takes the table version in one insert. When two processes export at once, the second fails here on the version.
    await db.insertInto('ledger_exports').values(row).execute();
    await publish(all);
    return { Wrote: recordOf(row, files) };
  }

  /** Refuses a place that belongs to another ledger. `owner.json` names the owner by the hash of its first entry. */
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

  /** The newest version whose metadata this process has checked to be its own. */
  let ours = 0;

  /**
   * Publishes the newest table version. The metadata is derived from stored rows, so it can be written again at any time. A version that
   * another ledger made is never replaced or built upon.
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
        // Vacuumed rows are still in the files.
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
        // Checked after reading: rows that were vacuumed meanwhile are missing too.
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
          // A file that no table version names is no copy: others may delete it.
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

/** Names the ledger that owns the table. */
const OWNER = 'metadata/owner.json';

const uriIn =
  ({ location }: ColdFiles) =>
  (file: string): string =>
    `${location}/${file}`;

/** The current snapshot in a metadata file. Its id is random, so it identifies the writer of the version, whichever release wrote it. */
function snapshotIn(metadata: string | null): unknown {
  try {
    return (JSON.parse(metadata ?? '') as Record<string, unknown> | null)?.['current-snapshot-id'];
  } catch {
    return undefined;
  }
}

/** Two ledgers with the same beginning write to one place: one is a copy, or was restored from a backup, and knows fewer versions. */
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
