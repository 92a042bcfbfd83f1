import type avro from 'avsc';
import { COLD_COLUMNS, SEQ_FIELD_ID } from './columns.js';

/** Types of the Iceberg table (Iceberg table specification, format version 2): unpartitioned, one data file per snapshot. */

const TYPES = { int: 'long', bool: 'boolean', text: 'string', json: 'string', instant: 'timestamptz' } as const;

export const ICEBERG_SCHEMA = {
  type: 'struct',
  'schema-id': 0,
  fields: COLD_COLUMNS.map(({ id, name, kind, required }) => ({ id, name, required, type: TYPES[kind] })),
} as const;

/** One snapshot, as stored. File names are relative to the table. */
export interface TableVersion {
  /** 1, 2, 3…: the Iceberg sequence number, and the version of the metadata file. */
  readonly version: number;
  readonly icebergSnapshotId: number;
  readonly writtenAtMs: number;
  readonly dataFile: string;
  readonly dataSha256: string;
  readonly byteSize: number;
  readonly rowCount: number;
  readonly seqLo: number;
  readonly seqHi: number;
  readonly manifestFile: string;
  readonly manifestSize: number;
  readonly manifestListFile: string;
}

type AvroSchema = Readonly<Record<string, unknown>>;
const optional = (type: unknown) => ['null', type];
const field = (name: string, id: number, type: unknown) => ({ name, type, 'field-id': id });
const maybe = (name: string, id: number, type: unknown) => ({ ...field(name, id, optional(type)), default: null });
const boundsOf = (name: string, id: number, key: number, value: number) =>
  maybe(name, id, {
    type: 'array',
    logicalType: 'map',
    items: {
      type: 'record',
      name: `k${key}_v${value}`,
      fields: [field('key', key, 'int'), field('value', value, 'bytes')],
    },
  });

const MANIFEST_ENTRY: AvroSchema = {
  type: 'record',
  name: 'manifest_entry',
  fields: [
    field('status', 0, 'int'),
    maybe('snapshot_id', 1, 'long'),
    maybe('sequence_number', 3, 'long'),
    maybe('file_sequence_number', 4, 'long'),
    field('data_file', 2, {
      type: 'record',
      name: 'r2',
      fields: [
        field('content', 134, 'int'),
        field('file_path', 100, 'string'),
        field('file_format', 101, 'string'),
        field('partition', 102, { type: 'record', name: 'r102', fields: [] }),
        field('record_count', 103, 'long'),
        field('file_size_in_bytes', 104, 'long'),
        boundsOf('lower_bounds', 125, 126, 127),
        boundsOf('upper_bounds', 128, 129, 130),
      ],
    }),
  ],
};

const MANIFEST_FILE: AvroSchema = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    field('manifest_path', 500, 'string'),
    field('manifest_length', 501, 'long'),
    field('partition_spec_id', 502, 'int'),
    field('content', 517, 'int'),
    field('sequence_number', 515, 'long'),
    field('min_sequence_number', 516, 'long'),
    field('added_snapshot_id', 503, 'long'),
    field('added_files_count', 504, 'int'),
    field('existing_files_count', 505, 'int'),
    field('deleted_files_count', 506, 'int'),
    field('added_rows_count', 512, 'long'),
    field('existing_rows_count', 513, 'long'),
    field('deleted_rows_count', 514, 'long'),
  ],
};

/** An Avro object container file. The schema is passed unparsed, because parsing it would drop the Iceberg field ids. */
async function avroFile(
  schema: AvroSchema,
  metadata: Readonly<Record<string, string>>,
  records: readonly unknown[],
): Promise<Buffer> {
  // Loaded on first use: every start opens the ledger, but few export.
  const { streams } = (await import('avsc')).default;
  const encoder = new streams.BlockEncoder(
    schema as unknown as avro.Schema,
    {
      codec: 'null',
      metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value)])),
    } as ConstructorParameters<typeof avro.streams.BlockEncoder>[1],
  );
  return new Promise<Buffer>((resolve, reject) => {
    const parts: Buffer[] = [];
    encoder.on('data', (part: Buffer) => parts.push(part));
    encoder.on('end', () => resolve(Buffer.concat(parts)));
    encoder.on('error', reject);
    for (const record of records) encoder.write(record);
    encoder.end();
  });
}

/** Iceberg's single-value serialization of a long. */
function longBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(value));
  return bytes;
}

/** The manifest of one snapshot's data file. `uri` turns file names into addresses. */
export const manifestOf = (added: Omit<TableVersion, 'manifestSize'>, uri: (file: string) => string): Promise<Buffer> =>
  avroFile(
    MANIFEST_ENTRY,
    {
      schema: JSON.stringify(ICEBERG_SCHEMA),
      'schema-id': '0',
      'partition-spec': '[]',
      'partition-spec-id': '0',
      'format-version': '2',
      content: 'data',
    },
    [
      {
        status: 1,
        snapshot_id: added.icebergSnapshotId,
        sequence_number: added.version,
        file_sequence_number: added.version,
        data_file: {
          content: 0,
          file_path: uri(added.dataFile),
          file_format: 'PARQUET',
          partition: {},
          record_count: added.rowCount,
          file_size_in_bytes: added.byteSize,
          lower_bounds: [{ key: SEQ_FIELD_ID, value: longBytes(added.seqLo) }],
          upper_bounds: [{ key: SEQ_FIELD_ID, value: longBytes(added.seqHi) }],
        },
      },
    ],
  );

/** The manifest list of the newest snapshot. It names the manifests of all versions. */
export function manifestListOf(versions: readonly TableVersion[], uri: (file: string) => string): Promise<Buffer> {
  const newest = versions.at(-1) as TableVersion;
  const parent = versions.at(-2);
  return avroFile(
    MANIFEST_FILE,
    {
      'snapshot-id': String(newest.icebergSnapshotId),
      'parent-snapshot-id': parent ? String(parent.icebergSnapshotId) : 'null',
      'sequence-number': String(newest.version),
      'format-version': '2',
    },
    versions.map((added) => ({
      manifest_path: uri(added.manifestFile),
      manifest_length: added.manifestSize,
      partition_spec_id: 0,
      content: 0,
      sequence_number: added.version,
      min_sequence_number: added.version,
      added_snapshot_id: added.icebergSnapshotId,
      added_files_count: 1,
      existing_files_count: 0,
      deleted_files_count: 0,
      added_rows_count: added.rowCount,
      existing_rows_count: 0,
      deleted_rows_count: 0,
    })),
  );
}

/** `v<N>.metadata.json` of the newest version. A pure function of the versions, so it can be written again at any time. */
export function tableMetadata(
  versions: readonly TableVersion[],
  { tableUuid, location, uri }: { tableUuid: string; location: string; uri(file: string): string },
): string {
  const newest = versions.at(-1) as TableVersion;
  let [rows, bytes] = [0, 0];
  const snapshots = versions.map((added, index) => {
    rows += added.rowCount;
    bytes += added.byteSize;
    return {
      'snapshot-id': added.icebergSnapshotId,
      ...(index > 0 && { 'parent-snapshot-id': versions[index - 1]?.icebergSnapshotId }),
      'sequence-number': added.version,
      'timestamp-ms': added.writtenAtMs,
      'manifest-list': uri(added.manifestListFile),
      summary: {
        operation: 'append',
        'added-data-files': '1',
        'added-records': String(added.rowCount),
        'added-files-size': String(added.byteSize),
        'changed-partition-count': '1',
        'total-records': String(rows),
        'total-files-size': String(bytes),
        'total-data-files': String(index + 1),
        'total-delete-files': '0',
        'total-position-deletes': '0',
        'total-equality-deletes': '0',
        'gate.parquet-sha256': added.dataSha256,
      },
      'schema-id': 0,
    };
  });
  return JSON.stringify(
    {
      'format-version': 2,
      'table-uuid': tableUuid,
      location,
      'last-sequence-number': newest.version,
      'last-updated-ms': newest.writtenAtMs,
      'last-column-id': COLD_COLUMNS.length,
      'current-schema-id': 0,
      schemas: [ICEBERG_SCHEMA],
      'default-spec-id': 0,
      'partition-specs': [{ 'spec-id': 0, fields: [] }],
      'last-partition-id': 999,
      'default-sort-order-id': 1,
      'sort-orders': [
        {
          'order-id': 1,
          fields: [{ transform: 'identity', 'source-id': SEQ_FIELD_ID, direction: 'asc', 'null-order': 'nulls-last' }],
        },
      ],
      properties: { 'write.format.default': 'parquet' },
      'current-snapshot-id': newest.icebergSnapshotId,
      refs: { main: { 'snapshot-id': newest.icebergSnapshotId, type: 'branch' } },
      snapshots,
      'snapshot-log': versions.map((added) => ({
        'timestamp-ms': added.writtenAtMs,
        'snapshot-id': added.icebergSnapshotId,
      })),
      'metadata-log': [],
      statistics: [],
    },
    null,
    2,
  );
}
