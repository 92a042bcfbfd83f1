import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: copies of the chain's root that third parties hold, with their proofs (docs/architecture/ledger-rows.md#anchors). `noted` says that
 * the row about it is in the chain. Nothing here is trusted: proofs are verified, and roots compared with the chain, at every read. Locks:
 * new tables only.
 */
export const anchors: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`
      create table if not exists chain_anchors (
        id ${text} not null primary key,
        anchored_seq ${integer} not null,
        anchored_entry_hash ${text} not null,
        source ${text} not null check (source in ('rfc3161', 'webhook', 'identity')),
        status ${text} not null check (status in ('pending', 'anchored', 'failed')),
        requested_at ${text} not null,
        attempts ${integer} not null,
        next_attempt_at ${text} not null,
        last_error ${text},
        gen_time ${text},
        proof ${bytes},
        proof_sha256 ${text},
        anchored_at ${text},
        noted ${integer} not null
      ) ${strict}`.execute(db);
    await sql`
      create unique index if not exists chain_anchors_place on chain_anchors (source, anchored_seq)
      where status <> 'failed'`.execute(db);
    await sql`create index if not exists chain_anchors_by_place on chain_anchors (anchored_seq)`.execute(db);
  },
};
