import type { Kysely } from 'kysely';
import { type LegalHoldReceipt, legalHoldReceipt, type LegalHoldRequest } from '../../contracts/legal-hold.js';
import { canonicalDigest, canonicalJson } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import type { HeldBy } from '../../domain/review/ports.js';
import { type LegalHold, legalHoldOf, overdue } from '../../domain/review/retention.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { HoldOperation, holdRecords } from './hold-records.js';
import type { reviewRetention, RetentionOptions } from './retention.js';
import type { ReviewTables } from './tables.js';

const ATTEMPTS = 5;

export interface LegalHoldsOptions<Row extends StoredReview> extends Pick<RetentionOptions<Row>, 'rowOf' | 'change'> {
  readonly db: Kysely<ReviewTables>;
  readonly records: ReturnType<typeof holdRecords>;
  readonly clock: () => number;
  readonly asked: <Result>(query: () => Promise<Result>) => Promise<Result>;
  readonly retention: Pick<ReturnType<typeof reviewRetention<Row>>, 'deleteOverdue' | 'cleaned'>;
}

/** Legal holds on rows (docs/how-to/run-retention.md). Each operation is kept with its receipt, for good. */
export function legalHolds<Row extends StoredReview>(options: LegalHoldsOptions<Row>) {
  const { db, records, clock, asked, rowOf, change, retention } = options;

  /** The receipt of an operation that was done already; `null` when none has this id. */
  async function receiptOf(wanted: Pick<HoldOperation, 'operation_id' | 'pending_id' | 'request'>, tenant?: string) {
    const done = await asked(() =>
      db.selectFrom('review_holds').selectAll().where('operation_id', '=', wanted.operation_id).executeTakeFirst(),
    );
    if (!done) return null;
    const same = done.pending_id === wanted.pending_id && done.request === wanted.request;
    if (!same || (tenant !== undefined && done.tenant !== tenant)) throw new GateError('operation_conflict');
    if (!records.isOwn(done)) throw new GateError('review_tampered');
    return legalHoldReceipt.parse(JSON.parse(done.receipt));
  }

  /** The row after the operation, or what speaks against it. */
  function assertFits(held: LegalHold | null, { action, hold_id }: LegalHoldRequest): void {
    if (held !== null && held.hold_id !== hold_id)
      throw new GateError('hold_conflict', `the row is under another hold: ${held.hold_id}`);
    if (held === null && action === 'release') throw new GateError('hold_conflict', 'the row is under no hold');
  }

  /**
   * The hold that a row is under, and the tenant whose row it is. Of a tampered row the recorded operations are believed, not the row. If there are
   * none and the row itself names a hold, a release of any hold ends that one.
   */
  async function standing(row: Row, { hold_id }: LegalHoldRequest): Promise<{ held: LegalHold | null; of: string }> {
    if (row.status !== 'tampered') return { held: legalHoldOf(row), of: row.tenant };
    const own = await records.heldBy(row.id);
    if (own) return { held: own.hold, of: own.tenant };
    return { held: row.hold === null ? null : { hold_id, by: '', since: '' }, of: row.tenant };
  }

  async function attempt(id: string, tenant: string | undefined, request: LegalHoldRequest, by: HeldBy) {
    const { operation_id, action, hold_id, authority_reason_sha256 } = request;
    const told = canonicalJson({ action, hold_id, authority_reason_sha256 });
    const known = await receiptOf({ operation_id, pending_id: id, request: told }, tenant);
    // Where the log could not be emptied then, it is now.
    if (known?.deletion_disposition === 'deleted') await retention.cleaned();
    if (known) return known;
    const row = await rowOf(id);
    const { held, of = null } = row ? await standing(row, request) : { held: null };
    // Of a withdrawn row nothing is shown, but its hold can be released.
    if (!row || (tenant !== undefined && of !== tenant) || (row.withdrawn_at !== null && held === null))
      throw new GateError('not_found');
    // What is left of a row that is not Gate's own can be let go, and nothing else.
    if (row.status === 'tampered' && (action === 'apply' || held === null)) throw new GateError('review_tampered');
    assertFits(held, request);
    const now = clock();
    const late = overdue(row, now) !== null;
    const said = {
      contract: 'gate.hil-legal-hold/v1',
      operation_id,
      action,
      hold_id,
      state: action === 'apply' ? 'held' : 'released',
      deletion_disposition: !late ? 'retained' : action === 'apply' ? 'deferred' : 'deleted',
      updated_at: new Date(now).toISOString(),
    } as const;
    const receipt: LegalHoldReceipt = { ...said, receipt_sha256: canonicalDigest(said) };
    const operation = {
      operation_id,
      tenant: of ?? row.tenant,
      pending_id: id,
      request: told,
      receipt: canonicalJson(receipt),
    };
    const also = [db.insertInto('review_holds').values(records.sealed(operation))];
    const hold: LegalHold | null =
      action === 'apply' ? (held ?? { hold_id, by: by(row.tenant), since: said.updated_at }) : null;
    const to = { hold: hold && JSON.stringify(hold) };
    const done =
      action === 'release' && late
        ? await retention.deleteOverdue(row, 'hold_released', { to, also })
        : await change(row, to, { also, quiet: true });
    if (!done) return null;
    if (action === 'release' && late) await retention.cleaned();
    return receipt;
  }

  return async (
    id: string,
    tenant: string | undefined,
    request: LegalHoldRequest,
    by: HeldBy,
  ): Promise<LegalHoldReceipt> => {
    for (let attempts = 1; ; attempts += 1)
      try {
        const receipt = await attempt(id.toLowerCase(), tenant, request, by);
        if (receipt) return receipt;
        if (attempts === ATTEMPTS)
          throw new GateError('store_unavailable', 'the review changes faster than a hold can be written');
      } catch (error) {
        // The same operation, sent twice at once, may have been stored meanwhile: the next attempt reads its receipt.
        const again = error instanceof GateError && error.code === 'store_unavailable' && attempts < ATTEMPTS;
        if (!again) throw error;
      }
  };
}
