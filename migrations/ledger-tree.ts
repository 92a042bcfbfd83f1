import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: the Merkle tree over the entries (RFC 6962, C2SP tlog-checkpoint). `ledger_tree_nodes` stores only every 8th level: the roots of
 * complete subtrees of 2^8, 2^16, … entries; it is derived data and may be deleted. `ledger_checkpoints` holds what was signed and never
 * changes, because a log must not sign two histories. Cosignatures of witnesses are verified before they are stored. Locks: new tables
 * only.
 */
export const tree: Migration = {
  async up(db) {
    const { postgres, text, integer, strict } = dialectOf(db);
    await sql`
      create table if not exists ledger_tree_nodes (
        level ${integer} not null,
        idx ${integer} not null,
        hash ${text} not null,
        primary key (level, idx)
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists ledger_checkpoints (
        tree_size ${integer} not null primary key,
        note ${text} not null,
        signed_at ${text} not null
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists ledger_cosignatures (
        tree_size ${integer} not null references ledger_checkpoints (tree_size),
        witness ${text} not null,
        key_id ${text} not null,
        cosigned_at ${integer} not null,
        line ${text} not null,
        primary key (tree_size, witness, key_id)
      ) ${strict}`.execute(db);
    if (postgres) {
      await sql`
        create or replace trigger ledger_checkpoints_append_only before update or delete on ledger_checkpoints
        for each row execute function ledger_refuse_change()`.execute(db);
    } else {
      await sql`
        create trigger if not exists ledger_checkpoints_no_update before update on ledger_checkpoints
        begin select raise(abort, 'ledger_checkpoints is append-only: UPDATE refused'); end`.execute(db);
      await sql`
        create trigger if not exists ledger_checkpoints_no_delete before delete on ledger_checkpoints
        begin select raise(abort, 'ledger_checkpoints is append-only: DELETE refused'); end`.execute(db);
    }
  },
};
