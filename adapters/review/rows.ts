import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { ReviewLimits } from '../../domain/review/ports.js';
import { reviewSealing, type StoredReview } from '../../domain/review/sealed-review.js';
import type { Store } from '../store/database.js';
import { askOf } from '../store/jobs.js';
import type { Ask } from '../store/statement.js';
import { type Written, writeTogether } from '../store/write-together.js';
import { nextChange } from './changes.js';
import { asked } from './faults.js';
import type { RowChange } from './retention.js';
import { holdRecords } from './hold-records.js';
import { rowCheck } from './row-check.js';
import { rowViews } from './row-views.js';
import { keepKey, type Row, selectBy } from './stored-row.js';
import type { ReviewTables } from './tables.js';
import { waitingRoom } from './waiting-room.js';

const LOOKS = 5;

export interface ReviewRowsOptions {
  readonly store: Store<ReviewTables>;
  readonly keys: KeyRing;
  readonly clock: () => number;
  readonly perAgent: ReviewLimits | undefined;
  readonly rehearsals: number;
  readonly alone: ((forget: () => void) => void) | undefined;
}
/** What the parts of the store have in common. */
export type ReviewRows = ReturnType<typeof reviewRows>;

/** The rows as they are stored: read and checked, changed by compare-and-set, deleted; and who is told of it. */
export function reviewRows({ store, keys, clock, perAgent, rehearsals, alone }: ReviewRowsOptions) {
  const { db } = store;
  const ask = askOf(store);
  const askSafely: Ask = (...of) => asked(() => ask(...of));
  const sealing = reviewSealing(keys);
  const watchers: (() => void)[] = [];
  const changed = () => {
    for (const watcher of watchers) watcher();
  };
  const holds = holdRecords({ db, keys });
  const check = rowCheck({ store, sealing, heldBy: holds.heldBy, clock, changed });
  alone?.(check.forgetAll);
  const room = perAgent && waitingRoom({ ask: askSafely, clock, limits: perAgent, rehearsals, alone });

  const stored = async (column: 'id' | 'correlation_id', value: string): Promise<Row | undefined> =>
    (await askSafely(selectBy[column], value)).rows[0];
  const forgetKey = (id: string) => db.deleteFrom('review_keys').where('review_id', '=', id);

  return {
    store,
    ask: askSafely,
    clock,
    keys,
    sealing,
    holds,
    room,
    check,
    views: rowViews(sealing, clock),
    stored,
    /** Tells who watches in this process. */
    changed,
    onChange: (watcher: () => void): void => void watchers.push(watcher),

    /** The row as it stands, checked; `null` when it is gone. */
    async rowOf(id: string): Promise<Row | null> {
      for (let look = 0; look < LOOKS; look += 1) {
        const row = await stored('id', id);
        const known = row && (await check.checked(row));
        // Changed between two looks: then its content is not that of its columns.
        if (!known || Number(known.version) === Number(row?.version)) return known ?? null;
      }
      throw new GateError('store_unavailable', 'the review changes faster than it can be read');
    },

    /**
     * Changes the row if it is still the one that was read, and its key with it: another one, or none any more. False when somebody else
     * changed the row first.
     */
    async change(
      row: Row,
      to: Partial<StoredReview>,
      { key, also = [], quiet = false }: RowChange = {},
    ): Promise<boolean> {
      const sealed = sealing.changed(row, to);
      const update = db
        .updateTable('reviews')
        .set({ ...sealed, ...(!quiet && { change_seq: nextChange(store.kind) }) })
        .where('id', '=', row.id)
        .where('version', '=', row.version)
        // The MAC does not cover this column: check that no newer attempt has taken over the row.
        .where('attempt_ms', row.attempt_ms === null ? 'is' : '=', row.attempt_ms);
      const keyed = key === undefined ? [] : [forgetKey(row.id), ...(key === null ? [] : [keepKey(row.id, key)])];
      const more = [...keyed, ...also];
      const changedIt = await asked(async () =>
        more.length === 0
          ? (await update.executeTakeFirst()).numUpdatedRows === 1n
          : writeTogether(store, [update, ...more]),
      );
      if (!changedIt) return false;
      room?.changed(row);
      check.remembered({ ...row, ...sealed });
      if (!quiet) changed();
      return true;
    },

    /** Deletes the row if it is still the one that was read. */
    async remove(row: Row, also: readonly Written[]): Promise<boolean> {
      const deletion = db.deleteFrom('reviews').where('id', '=', row.id).where('version', '=', row.version);
      if (!(await asked(() => writeTogether(store, [deletion, forgetKey(row.id), ...also])))) return false;
      room?.changed(row);
      check.forget(row.id);
      return true;
    },
  };
}
