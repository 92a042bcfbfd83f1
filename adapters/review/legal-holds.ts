import type { Kysely } from 'kysely';
import { type LegalHoldReceipt, legalHoldReceipt, type LegalHoldRequest } from '../../contracts/legal-hold.js';
import { canonicalDigest, canonicalJson } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { HeldBy } from '../../domain/review/ports.js';
import { type LegalHold, legalHoldOf, overdue } from '../../domain/review/retention.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { reviewRetention, RetentionOptions } from './retention.js';
import type { ReviewTables } from './tables.js';

const MAC_FORM = 'gate.legal-hold/1';
const MAC_USE = 'legal-hold';
const ATTEMPTS = 5;

type Operation = ReviewTables['review_holds'];

export interface LegalHoldsOptions<Row extends StoredReview> extends Pick<RetentionOptions<Row>, 'rowOf' | 'change'> {
  readonly db: Kysely<ReviewTables>;
  readonly keys: KeyRing;
  readonly clock: () => number;
  readonly asked: <Result>(query: () => Promise<Result>) => Promise<Result>;
  readonly retention: Pick<ReturnType<typeof reviewRetention<Row>>, 'deleteOverdue' | 'cleaned'>;
}

/** Legal holds on rows (docs/how-to/run-retention.md). Each operation is kept with its receipt, for good. */
export function legalHolds<Row extends StoredReview>(options: LegalHoldsOptions<Row>) {
  const { db, keys, clock, asked, rowOf, change, retention } = options;

  const authenticated = (operation: Omit<Operation, 'mac'>): string => {
    const { operation_id, tenant, pending_id, request, receipt } = operation;
    return JSON.stringify([MAC_FORM, operation_id, tenant, pending_id, request, receipt]);
  };

  function isOwn(done: Operation): boolean {
    try {
      return keys.authentic(done.mac, authenticated(done), MAC_USE);
    } catch (cause) {
      throw new GateError('payload_unavailable', 'the key of this receipt is not here', { cause });
    }
  }

  /** The receipt of an operation that was done already; `null` when none has this id. */
  async function receiptOf(wanted: Pick<Operation, 'operation_id' | 'pending_id' | 'request'>, tenant?: string) {
    const done = await asked(() =>
      db.selectFrom('review_holds').selectAll().where('operation_id', '=', wanted.operation_id).executeTakeFirst(),
    );
    if (!done) return null;
    const same = done.pending_id === wanted.pending_id && done.request === wanted.request;
    if (!same || (tenant !== undefined && done.tenant !== tenant)) throw new GateError('operation_conflict');
    if (!isOwn(done)) throw new GateError('review_tampered');
    return legalHoldReceipt.parse(JSON.parse(done.receipt));
  }

  /** The row after the operation, or what speaks against it. */
  function assertFits(held: LegalHold | null, { action, hold_id }: LegalHoldRequest): void {
    if (held !== null && held.hold_id !== hold_id)
      throw new GateError('hold_conflict', `the row is under another hold: ${held.hold_id}`);
    if (held === null && action === 'release') throw new GateError('hold_conflict', 'the row is under no hold');
  }

  async function attempt(id: string, tenant: string | undefined, request: LegalHoldRequest, by: HeldBy) {
    const { operation_id, action, hold_id, authority_reason_sha256 } = request;
    const told = canonicalJson({ action, hold_id, authority_reason_sha256 });
    const known = await receiptOf({ operation_id, pending_id: id, request: told }, tenant);
    if (known) return known;
    const row = await rowOf(id);
    const held = row && legalHoldOf(row);
    // Of a withdrawn row nothing is shown, but its hold can be released.
    if (!row || (tenant !== undefined && row.tenant !== tenant) || (row.withdrawn_at !== null && held === null))
      throw new GateError('not_found');
    if (row.status === 'tampered') throw new GateError('review_tampered');
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
      tenant: row.tenant,
      pending_id: id,
      request: told,
      receipt: canonicalJson(receipt),
    };
    const stored = { ...operation, mac: keys.authenticate(authenticated(operation), MAC_USE) };
    const also = [db.insertInto('review_holds').values(stored)];
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
