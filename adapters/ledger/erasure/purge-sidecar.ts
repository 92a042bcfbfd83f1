import type { Kysely } from 'kysely';
import type { KeyRing } from '../../../domain/crypto/key-ring.js';
import { purgeContext, reading } from '../../../domain/ledger/chain-store.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';

/**
 * Deletes the bytes an entry committed to and leaves a sealed note in their place. The entry and the chain do not change. False when there
 * was nothing to delete. Safe to repeat.
 */
export type PurgeSidecar = (id: string) => Promise<boolean>;

export const createPurgeSidecar =
  (db: Kysely<LedgerTables>, keys: KeyRing, clock: () => number): PurgeSidecar =>
  (id) =>
    reading(async () => {
      const held = await db
        .selectFrom('entry_payloads as p')
        .innerJoin('ledger_entries as e', 'e.seq', 'p.entry_seq')
        .select(['p.entry_seq', 'p.kind'])
        .where('e.id', '=', id)
        .where('p.sealed', 'is not', null)
        .executeTakeFirst();
      if (!held) return false;
      const purgedAt = new Date(clock()).toISOString();
      const { numUpdatedRows } = await db
        .updateTable('entry_payloads')
        .set({ sealed: null, purged_at: purgedAt, purge_seal: keys.seal(purgedAt, purgeContext(id, held.kind)) })
        .where('entry_seq', '=', held.entry_seq)
        .where('kind', '=', held.kind)
        .where('sealed', 'is not', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
