import { sql, type Migration } from 'kysely';

/**
 * Why: a signed row carries its signer's time, which may be earlier than that of the rows before it
 * (docs/architecture/ledger-rows.md#signatures). Reads by time look such rows up here, and the check of signatures walks only them.
 * Unsigned rows are in neither index and cost nothing. Locks: each index reads the table once.
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
