import { sql, type Migration } from 'kysely';

/**
 * Why: a signed row carries the time its signer wrote down, which may lie before that of the rows ahead of it
 * (docs/architecture/ledger-rows.md#signatures); reads by time look such rows up, and the check of signatures walks them alone. Rows
 * without a signature are in neither index and cost nothing. Locks: each index reads the table once.
 */
export const signedRows: Migration = {
  async up(db) {
    await sql`
      create index if not exists ledger_entries_signed on ledger_entries (seq)
      where signature is not null or key_id is not null`.execute(db);
    await sql`
      create index if not exists ledger_entries_signed_time on ledger_entries (timestamp, seq)
      where signature is not null or key_id is not null`.execute(db);
  },
};
