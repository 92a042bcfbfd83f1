import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { EntryTable } from '../../../domain/ledger/tables.js';
import { COLD_COLUMNS } from '../../../domain/evidence/cold-tier/columns.js';
import { ICEBERG_SCHEMA } from '../../../domain/evidence/cold-tier/iceberg.js';

type Cell = EntryTable[keyof EntryTable];

const TYPES: Readonly<Record<(typeof COLD_COLUMNS)[number]['kind'], Partial<SchemaElement>>> = {
  int: { type: 'INT64' },
  bool: { type: 'BOOLEAN' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
};

const SCHEMA: SchemaElement[] = [
  { name: 'table', num_children: COLD_COLUMNS.length },
  ...COLD_COLUMNS.map(
    ({ id, name, kind, required }): SchemaElement => ({
      name,
      field_id: id,
      repetition_type: required ? 'REQUIRED' : 'OPTIONAL',
      ...TYPES[kind],
    }),
  ),
];

const VALUES: Readonly<Record<(typeof COLD_COLUMNS)[number]['kind'], (cell: NonNullable<Cell>) => unknown>> = {
  int: (cell) => BigInt(cell),
  bool: (cell) => Number(cell) === 1,
  text: String,
  json: String,
  instant: (cell) => BigInt(Date.parse(String(cell))) * 1_000n,
};

/**
 * Entries as one Parquet file, in the order given, with one row group per page. Holds one page besides the bytes already written, and
 * yields to other work between pages.
 */
export async function parquetOf(pages: AsyncIterable<readonly EntryTable[]>): Promise<Uint8Array> {
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: SCHEMA,
    // Readers skip files by these bounds. Truncated bounds would be wrong for readers that compare whole values.
    statisticsTruncateLength: Infinity,
    kvMetadata: [{ key: 'iceberg.schema', value: JSON.stringify(ICEBERG_SCHEMA) }],
    createdBy: 'gate',
  });
  for await (const rows of pages) {
    await file.write({
      columnData: COLD_COLUMNS.map(({ name, from, kind }) => ({
        name,
        data: rows.map((row) => {
          const cell = row[from];
          return cell === null ? null : VALUES[kind](cell);
        }),
      })),
      rowGroupSize: rows.length,
    });
  }
  await file.finish();
  return writer.getBytes();
}
