import type { Kysely, Selectable } from 'kysely';
import { spiffeBundle } from '../../contracts/identity.js';
import { assertFollows, type KeptBundle, type PeerBundleStore } from '../../domain/identity/peer-bundles.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
const TABLE = 'identity_peer_bundles';
type Row = Selectable<IdentityTables[typeof TABLE]>;

/** What the store of identity has for other Gates. */
export interface PeerBundleParts {
  readonly db: Database;
  fault(table: typeof TABLE, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: typeof TABLE, values: Values): Values & { readonly mac: string };
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
}

/** What other Gates said last of what their tokens are verified with. */
export function openPeerBundleStore({ db, fault, marked, inTransaction, asked }: PeerBundleParts): PeerBundleStore {
  const keptOf = (row: Row): KeptBundle => ({
    trustDomain: row.id,
    bundle: spiffeBundle.parse(JSON.parse(row.content)),
    pinnedSha256: row.pinned_sha256,
    fetchedMs: Number(row.fetched_ms),
  });
  return {
    peerBundles: () =>
      asked(async () => {
        const rows = await db.selectFrom(TABLE).selectAll().orderBy('id').execute();
        return rows.flatMap((row) => (fault(TABLE, row) === null ? [keptOf(row)] : []));
      }),
    keepPeerBundle: ({ trustDomain, bundle, pinnedSha256, fetchedMs }) =>
      inTransaction(async (within) => {
        const values = marked(TABLE, {
          id: trustDomain,
          bundle_sequence: bundle.spiffe_sequence,
          content: JSON.stringify(bundle),
          pinned_sha256: pinnedSha256,
          fetched_ms: fetchedMs,
        });
        const made = await within
          .insertInto(TABLE)
          .values(values)
          .onConflict((conflict) => conflict.column('id').doNothing())
          .executeTakeFirst();
        if (made.numInsertedOrUpdatedRows === 1n) return;
        // Behind its lock: several processes ask one Gate.
        const row = await within
          .updateTable(TABLE)
          .set({ id: trustDomain })
          .where('id', '=', trustDomain)
          .returningAll()
          .executeTakeFirstOrThrow();
        if (fault(TABLE, row) === null && row.pinned_sha256 === pinnedSha256) {
          const before = keptOf(row);
          assertFollows(before.bundle, bundle);
          if (before.fetchedMs > fetchedMs && before.fetchedMs - fetchedMs < 60_000) return;
        }
        await within.updateTable(TABLE).set(values).where('id', '=', trustDomain).execute();
      }),
  };
}
