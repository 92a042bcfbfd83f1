import type { BackupErasureReceipt } from '../../contracts/tenant-dispositions.js';
import { canonicalDigest } from '../crypto/digest.js';
import type { Dispositions, OpenedReviews, ReviewRetention } from './ports.js';

/**
 * Brings a store to what was decided since it was copied, before anything of it is served (docs/architecture/reviews.md#restored-stores):
 * rows of tenants that have left are deleted, also those that waited, and what is past its date. Ended in the middle, it begins again.
 * Throws, with the reason, where that cannot be known: the dispositions are missing, forged or older than the store.
 */
export async function bringUpToDate(
  reviews: Pick<OpenedReviews, 'tenants' | 'retention'>,
  dispositions: Dispositions,
  clock: () => number,
): Promise<BackupErasureReceipt> {
  const standing = await reviews.tenants.standing();
  const latest = dispositions.read() ?? dispositions.begin(standing);
  const said = new Map(latest.tenants.map((each) => [each.tenant, each]));
  if (standing.some(({ tenant, generation }) => generation > (said.get(tenant)?.generation ?? 0)))
    throw new Error('the file of dispositions is older than the store: put the latest one back');
  const known = new Map(standing.map(({ tenant, generation }) => [tenant, generation]));
  const behind = latest.tenants.filter(({ tenant, generation }) => generation > (known.get(tenant) ?? 0));
  const rows = { deleted: 0, held: 0 };
  for (const one of behind) {
    if (one.left_in > (known.get(one.tenant) ?? 0)) {
      const { deleted, held, complete } = await reviews.retention.erase(
        { tenant: one.tenant, waiting: true },
        LEFT,
        Infinity,
      );
      if (!complete) throw new Error('rows of a tenant that has left cannot be deleted: a key may be missing');
      rows.deleted += deleted;
      rows.held += held;
    }
    // Last, so that whoever begins again finds what is left.
    await reviews.tenants.stand(one);
  }
  const swept = await reviews.retention.sweep();
  const { generation, key_id } = latest;
  return {
    contract: 'gate.hil-backup-erasure/v1',
    disposition_generation: generation,
    disposition_key_id: key_id,
    disposition_sha256: canonicalDigest(latest).replace('sha256:', ''),
    tenants_behind: behind.length,
    payloads_purged: swept.purged,
    rows_deleted: rows.deleted + swept.deleted,
    rows_held: rows.held,
    evaluated_at: new Date(clock()).toISOString(),
  };
}

const LEFT = 'tenant_offboard' satisfies Parameters<ReviewRetention['erase']>[1];
