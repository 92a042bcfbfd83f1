import { z } from 'zod';

const seq = z.number().int().min(0);

/** One export to the cold tier (docs/architecture/ledger-reads.md#cold-tier): a data file, and the table snapshot that added it. */
export const exportRecord = z.object({
  snapshot_id: z.string(),
  written_at: z.string(),
  data_uri: z.string(),
  manifest_uri: z.string(),
  /** SHA-256 of the Parquet file, in hex. */
  data_sha256: z.string(),
  byte_size: z.number().int(),
  row_count: z.number().int(),
  /** Both inclusive. */
  seq_lo: seq,
  seq_hi: seq,
});
export type ExportRecord = z.infer<typeof exportRecord>;

export const exportPass = z.union([z.literal('NothingToExport'), z.object({ Wrote: exportRecord })]);
export type ExportPass = z.infer<typeof exportPass>;

/** Which rows of a window are in the table. Counts are of the window's rows; files may hold more. */
export const icebergExport = z.object({
  contract: z.literal('gate.iceberg-export/v1'),
  window: z.object({ from: z.string(), to: z.string() }),
  row_count: z.number().int(),
  seq_lo: seq.nullable(),
  seq_hi: seq.nullable(),
  table: z.object({
    location: z.string(),
    /** `null` before the first export. */
    metadata_uri: z.string().nullable(),
    format_version: z.literal(2),
    current_snapshot_id: z.number().int().nullable(),
  }),
  files: z.array(exportRecord),
});
export type IcebergExport = z.infer<typeof icebergExport>;
