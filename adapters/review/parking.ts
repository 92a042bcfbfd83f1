import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import { createKeyedQueue } from '../../domain/keyed-queue.js';
import type { ReviewParking } from '../../domain/review/ports.js';
import type { QuorumRule } from '../../domain/decision/quorum.js';
import { datesOfEnd } from '../../domain/review/retention.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { mayMove } from '../../domain/decision/transitions.js';
import type { StoreKind } from '../store/database.js';
import { statement } from '../store/statement.js';
import { writeTogether } from '../store/write-together.js';
import { NEXT_CHANGE } from './changes.js';
import { alreadyDecided, asked, untilUnchanged } from './faults.js';
import { type NewRow, newRow } from './new-row.js';
import type { ReviewRows } from './rows.js';
import { keepKey, type Row, STORED_COLUMNS } from './stored-row.js';

const inserting = (kind: StoreKind) =>
  statement(
    `insert into reviews (${STORED_COLUMNS.join(', ')}, change_seq)
       values (${STORED_COLUMNS.map(() => '?').join(', ')}, ${NEXT_CHANGE[kind]})
       on conflict do nothing`,
  );
const insertReview = { sqlite: inserting('sqlite'), postgres: inserting('postgres') };

/** Whether two rows are of the same call. */
const isSame = (one: Row, other: Row): boolean =>
  (['original_payload_digest', 'agent_id', 'tenant'] as const).every((field) => one[field] === other[field]);

export interface ParkingOptions {
  readonly quorum: QuorumRule;
  readonly escalateShares: readonly number[];
  readonly assertOpen: ReviewParking['assertOpen'];
}

const hungUp = () =>
  new GateError('not_pending', 'whoever asked for this review left before it was open; nothing waits for it');

/** Rows begin to wait, and are withdrawn. */
export function reviewParking(rows: ReviewRows, { quorum, escalateShares, assertOpen }: ParkingOptions): ReviewParking {
  const { store, room, stored, change, check, views } = rows;
  const oneAtATime = createKeyedQueue();

  /** The row now belongs to this attempt; an older attempt that fails later cannot withdraw it. */
  const belongsTo = ({ id, attempt_ms }: Pick<NewRow, 'id' | 'attempt_ms'>) =>
    asked(() =>
      store.db
        .updateTable('reviews')
        .set({ attempt_ms })
        .where('id', '=', id)
        .where('withdrawn_at', 'is', null)
        .where((where) => where.or([where('attempt_ms', 'is', null), where('attempt_ms', '<', attempt_ms)]))
        .execute(),
    );

  async function create(
    review: NewReview,
    row: NewRow,
    isAwaited: () => boolean,
  ): Promise<{ row: PendingRequest; created: boolean }> {
    if (!isAwaited()) throw hungUp();
    const { data_key, ...columns } = row;
    const insert = { of: insertReview[store.kind], values: STORED_COLUMNS.map((column) => columns[column]) };
    const content = { payload: review.request_payload, report: review.sandbox_report ?? null, diff: null };
    // Row and key stand together: no request is without the key that can be taken from it.
    if (await asked(() => writeTogether(store, [insert, keepKey(row.id, data_key)]))) {
      room?.added(row);
      rows.changed();
      return { row: views.shown(check.remembered(row), content), created: true };
    }
    const there = await stored('id', row.id);
    const first = there && (await check.held(there));
    if (first && first.withdrawn_at !== null && Number(first.created_ms) < Number(row.created_ms)) {
      // What was told of the row is about its call; and what a legal hold keeps is not written over.
      if (!isSame(first, row)) throw new GateError('pending_conflict');
      if (first.hold !== null) throw new GateError('review_held');
      // Whoever holds the row holds what it becomes.
      if (await change(first, columns, { key: data_key })) return { row: views.shown(row, content), created: true };
    }
    if (row.attempt_ms !== null) await belongsTo(row);
    const now = await stored('id', row.id);
    const standing = now && (await check.held(now));
    if (!standing || standing.withdrawn_at !== null)
      throw new GateError('not_pending', 'This review was withdrawn; its call was answered 503.');
    if (!isSame(standing, row)) throw new GateError('pending_conflict');
    return { row: views.anyway(standing), created: false };
  }

  const withdraw: ReviewParking['withdraw'] = (correlationId, attemptMs) =>
    untilUnchanged('the review', async () => {
      const over = { done: undefined };
      const row = await stored('id', reviewIdOf(correlationId));
      // A row that Gate did not write is shown as tampered and cannot be decided. It stays for the investigation.
      if (!row || (await check.checked(row)).status === 'tampered') return over;
      const known = await check.held(row);
      if (known.withdrawn_at !== null) return over;
      if (!mayMove(known.status, null)) throw alreadyDecided(views.anyway(known));
      if (attemptMs !== undefined && known.attempt_ms !== null && Number(known.attempt_ms) > attemptMs) return over;
      const now = rows.clock();
      const withdrawn = { withdrawn_at: new Date(now).toISOString(), ...datesOfEnd(known, now) };
      const gone = { ...withdrawn, payload: null, sandbox_report: null };
      const changed = known.hold === null ? change(known, gone, { key: null }) : change(known, withdrawn);
      return (await changed) ? over : null;
    });

  /**
   * The door may have been closed while the row was stored: either whoever closed it found the row, or this finds the door closed and takes the
   * row back.
   */
  async function whileOpen<Created extends { row: PendingRequest }>(created: Created): Promise<Created> {
    try {
      await assertOpen(created.row.tenant);
      return created;
    } catch (error) {
      await withdraw(created.row.correlation_id).catch(() => undefined);
      throw error;
    }
  }

  /** The store may have taken longer than whoever asked has waited, and his own withdrawal may have come before the row. */
  async function whileAwaited(
    { row, created }: { row: PendingRequest; created: boolean },
    attemptMs: number | undefined,
    isAwaited: () => boolean,
  ): Promise<{ row: PendingRequest; created: boolean }> {
    if (!created || attemptMs === undefined || isAwaited()) return { row, created };
    await withdraw(row.correlation_id, attemptMs);
    throw hungUp();
  }

  return {
    async createOnce(review, isAwaited = () => true) {
      const { sealing, keys, clock } = rows;
      const row = newRow(review, { sealing, keys, clock, quorum, escalateShares });
      await assertOpen(row.tenant);
      const opened = async () =>
        whileAwaited(await whileOpen(await create(review, row, isAwaited)), review.attempt_ms, isAwaited);
      if (!room) return opened();
      // Counting and inserting are two statements, so concurrent creates that take room from one another must run one at a time.
      return oneAtATime(room.keyOf(row), async () => {
        const there = await stored('id', row.id);
        if (!there || there.withdrawn_at !== null) await room.assertFor(row);
        return opened();
      });
    },
    withdraw,
    assertOpen,
    async assertTakes(review, isThere) {
      const { sealing, keys, clock } = rows;
      const row = newRow(review, { sealing, keys, clock, quorum, escalateShares });
      if (!isThere) await room?.assertFor(row);
    },
  };
}
