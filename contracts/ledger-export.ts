import { z } from 'zod';

const seq = z.number().int().min(0);

/** One pass of the cold tier (docs/architecture/ledger-reads.md#cold-tier): a data file and the snapshot of the table that added it. */
export const exportRecord = z.object({
  snapshot_id: z.string(),
  written_at: z.string(),
  data_uri: z.string(),
  manifest_uri: z.string(),
  /** Hex, of the Parquet file's bytes. */
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

/** What of a window is in the table. Counts are of the rows of the window; files may hold more. */
export const icebergExport = z.object({
  contract: z.literal('gate.iceberg-export/v1'),
  window: z.object({ from: z.string(), to: z.string() }),
  row_count: z.number().int(),
  seq_lo: seq.nullable(),
  seq_hi: seq.nullable(),
  table: z.object({
    location: z.string(),
    /** `null` while nothing was exported. */
    metadata_uri: z.string().nullable(),
    format_version: z.literal(2),
    current_snapshot_id: z.number().int().nullable(),
  }),
  files: z.array(exportRecord),
});
export type IcebergExport = z.infer<typeof icebergExport>;
