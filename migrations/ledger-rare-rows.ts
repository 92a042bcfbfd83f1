import { sql, type Migration } from 'kysely';

/**
 * Why: pages look for rows of which there are few in a long chain (docs/architecture/ledger-reads.md#hunt-and-corpus): those that are hidden, which
 * sums of closed stretches ask for; alarms, of which every story of an agent is told; and calls that were stopped, by tenant. Without these
 * indexes each such look reads the chain. All three are partial: an ordinary row is in none of them. Locks: each index reads the table once.
 */
export const rareRows: Migration = {
  async up(db) {
    await sql`
      create index if not exists ledger_entries_hidden on ledger_entries (seq)
      where deleted_at is not null or demo_deleted_at is not null`.execute(db);
    await sql`
      create index if not exists ledger_entries_alarms on ledger_entries (event_kind, seq)
      where event_kind >= 'alarm.' and event_kind < 'alarm/'`.execute(db);
    await sql`
      create index if not exists ledger_entries_stopped on ledger_entries (tenant, seq)
      where policy_decision like '%"deny"%' or policy_decision like '%"park"%' or policy_decision like '%"rate_limited"%'`.execute(
      db,
    );
  },
};
