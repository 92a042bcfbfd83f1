import type { Kysely } from 'kysely';
import { canonicalDigest } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { sealStore } from '../store/seal-store.js';
import { reviewIdOf, reviewSealing, type StoredReview } from '../../domain/review/sealed-review.js';
import type { ReviewTables } from './tables.js';

/** Rows are read with their payloads, which may be a megabyte each. */
const PAGE = 20;

/**
 * Run once at every opening (`adapters/store/seal-store.ts`). A review of an earlier Gate gets its MAC unchanged. A pending one gets it only
 * if its payload decrypts and matches its digest, because somebody is about to decide it.
 */
export function sealReviews(store: Store<ReviewTables>, keys: KeyRing, now: () => number = Date.now): Promise<void> {
  const sealing = reviewSealing(keys);
  return sealStore(store, {
    keys,
    table: 'review_seal',
    message: 'gate.review-store/1: every review has a mac',
    use: 'review-store',
    rows: 'reviews',
    keysAre: 'payload keys',
    anyWithMac: async (transaction) =>
      (await transaction
        .selectFrom('reviews')
        .select('id')
        .where('mac', 'is not', null)
        .limit(1)
        .executeTakeFirst()) !== undefined,
    adoptAll,
  });

  async function adoptAll(transaction: Kysely<ReviewTables>): Promise<void> {
    for (let after = ''; ; ) {
      const rows = await transaction
        .selectFrom('reviews')
        .selectAll()
        .where('id', '>', after)
        .orderBy('id')
        .limit(PAGE)
        .execute();
      for (const row of rows)
        await transaction.updateTable('reviews').set(adopted(row)).where('id', '=', row.id).execute();
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  }

  function adopted(row: StoredReview): Partial<StoredReview> {
    const waits = row.status === 'pending' && row.withdrawn_at === null && now() < Number(row.deadline_ms);
    const payload = row.payload && resealed(row.payload, row);
    if (waits && (!payload || reviewIdOf(row.correlation_id) !== row.id))
      return sealing.changed(row, { status: 'tampered' });
    return sealing.changed(row, payload ? { payload } : {});
  }

  function resealed(sealed: Uint8Array, { id, original_payload_digest: digest }: StoredReview): Buffer | null {
    try {
      const payload = sealing.resealed(sealed, id);
      return canonicalDigest(JSON.parse(sealing.openPayload(payload, { id, data_key: null }).toString('utf8'))) ===
        digest
        ? payload
        : null;
    } catch {
      return null;
    }
  }
}
