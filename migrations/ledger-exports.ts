import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: the cold tier (docs/architecture/ledger-reads.md#cold-tier). One row per pass is both the export record and the version of the
 * Iceberg table that it made: the table's metadata is written from these rows, so record and table cannot disagree. `version` is counted
 * by the store: of two passes at once one fails. Locks: a new table only.
 */
export const exports: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`
      create table if not exists ledger_exports (
        version ${integer} not null primary key,
        snapshot_id ${text} not null unique,
        iceberg_snapshot_id ${integer} not null,
        written_at ${text} not null,
        data_file ${text} not null,
        data_sha256 ${text} not null,
        byte_size ${integer} not null,
        row_count ${integer} not null,
        seq_lo ${integer} not null,
        seq_hi ${integer} not null,
        time_lo ${text} not null,
        time_hi ${text} not null,
        manifest_file ${text} not null,
        manifest_size ${integer} not null,
        manifest_list_file ${text} not null
      ) ${strict}`.execute(db);
  },
};
