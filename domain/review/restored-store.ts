import type { JsonObject } from '../../contracts/json.js';
import type { BackupErasureReceipt, KnownDisposition, TenantDisposition } from '../../contracts/tenant-dispositions.js';
import { canonicalDigest } from '../crypto/digest.js';
import type { Dispositions, OpenedReviews, ReviewRetention } from './ports.js';

/**
 * Brings a store to what was decided since it was copied, before anything of it is served (docs/architecture/reviews.md#restored-stores):
 * rows of tenants that have left are deleted, also those that waited, and what is past its date; who was taken out is taken out again. Ended in the middle, it begins again.
 * Throws, with the reason, where that cannot be known: the dispositions are missing, forged or older than the store.
 */
export async function bringUpToDate(
  reviews: Pick<OpenedReviews, 'tenants' | 'sweeping' | 'retention' | 'passkeys'>,
  dispositions: Dispositions,
  clock: () => number,
): Promise<BackupErasureReceipt> {
  const standing = await reviews.tenants.standing();
  await recordCutShort(reviews, standing, dispositions);
  if (dispositions.read() === null) dispositions.begin(standing);
  await recordDone(reviews, standing, dispositions);
  const latest = dispositions.read() ?? dispositions.begin(standing);
  const known = new Map(standing.map((one) => [one.tenant, one]));
  /** Whether the store is from before the tenant was gone: it does not know that the tenant left, or is in the middle of it. */
  const isBeforeGone = async ({
    tenant,
    generation,
    left_in,
    left_done = false,
  }: KnownDisposition): Promise<boolean> => {
    const here = known.get(tenant);
    if (left_in !== here?.generation) return left_in > (here?.generation ?? 0);
    // One that a later operation overtook is not finished any more: what it had denied and deleted by then waits here still.
    return (left_done || generation > left_in) && (await reviews.tenants.isUnfinished(here.operation_id));
  };
  const rows = { deleted: 0, held: 0 };
  let tenants_behind = 0;
  for (const one of latest.tenants) {
    const leaves = await isBeforeGone(one);
    if (!leaves && one.generation <= (known.get(one.tenant)?.generation ?? 0)) continue;
    tenants_behind += 1;
    if (leaves) {
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
  let people_behind = 0;
  for (const person of latest.people ?? []) if (await reviews.passkeys.standTakenOut(person)) people_behind += 1;
  // Those of a Gate that did not record them, or of a file that was begun anew.
  for (const person of await reviews.passkeys.takenOut()) dispositions.recordTakenOut(person);
  // By a clock that is in doubt nothing is deleted; that is told by the sweeps that follow.
  const time = await reviews.sweeping.timeToSweep();
  const swept = time.doubt === null ? await reviews.sweeping.sweep(time.atMs) : { purged: 0, deleted: 0 };
  const { generation, key_id } = latest;
  return {
    contract: 'gate.hil-backup-erasure/v1',
    disposition_generation: generation,
    disposition_key_id: key_id,
    disposition_sha256: canonicalDigest(latest as unknown as JsonObject).replace('sha256:', ''),
    tenants_behind,
    people_behind,
    payloads_purged: swept.purged,
    rows_deleted: rows.deleted + swept.deleted,
    rows_held: rows.held,
    evaluated_at: new Date(clock()).toISOString(),
  };
}

/**
 * Records the operation that a process began in the store and did not live to record: the last one of its tenant, and without a receipt.
 * Throws where the store knows more than that, because then the file is an older one.
 */
async function recordCutShort(
  reviews: Pick<OpenedReviews, 'tenants'>,
  standing: readonly TenantDisposition[],
  dispositions: Dispositions,
): Promise<void> {
  const said = dispositions.read();
  if (said === null) return;
  for (const one of standing) {
    const ahead = one.generation - (said.tenants.find(({ tenant }) => tenant === one.tenant)?.generation ?? 0);
    if (ahead <= 0) continue;
    if (ahead > 1 || !(await reviews.tenants.isUnfinished(one.operation_id)))
      throw new Error('the file of dispositions is older than the store: put the latest one back');
    dispositions.record(one);
  }
}

/** Records of departures that were finished when the file could not say so yet, or was begun anew. */
async function recordDone(
  reviews: Pick<OpenedReviews, 'tenants'>,
  standing: readonly TenantDisposition[],
  dispositions: Dispositions,
): Promise<void> {
  const said = new Map(dispositions.read()?.tenants.map((one) => [one.tenant, one]));
  for (const one of standing) {
    const { left_in, left_done = false } = said.get(one.tenant) ?? {};
    if (one.state !== 'offboarded' || left_in !== one.generation || left_done) continue;
    if (!(await reviews.tenants.isUnfinished(one.operation_id))) dispositions.record(one, true);
  }
}

const LEFT = 'tenant_offboard' satisfies Parameters<ReviewRetention['erase']>[1];
