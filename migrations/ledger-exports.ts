import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: the cold tier (docs/architecture/ledger-reads.md#cold-tier). One row per export is both its record and the version of the Iceberg
 * table: the table's metadata is written from these rows, so the two cannot disagree. `version` is the primary key, so one of two
 * concurrent exports fails. Locks: a new table only.
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
