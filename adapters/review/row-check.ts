import { LRUCache } from 'lru-cache';
import { GateError } from '../../domain/errors.js';
import { tamperedDates } from '../../domain/review/retention.js';
import type { ReviewAlarms } from '../../domain/review/ports.js';
import {
  HEAD_COLUMNS,
  LISTED_COLUMNS,
  type ReviewHead,
  type reviewSealing,
} from '../../domain/review/sealed-review.js';
import { roomFor } from '../../domain/room-for.js';
import type { Store } from '../store/database.js';
import { nextChange } from './changes.js';
import { asked } from './faults.js';
import type { holdRecords } from './hold-records.js';
import { type Listed, REPORT_COLUMNS } from './stored-row.js';
import type { ReviewTables } from './tables.js';

/** Row versions remembered per process. */
const SEEN_REVIEWS = 10_000;

export interface RowCheckOptions {
  readonly store: Store<ReviewTables>;
  readonly sealing: ReturnType<typeof reviewSealing>;
  /** The hold of a row by the operations on it. */
  readonly heldBy: ReturnType<typeof holdRecords>['heldBy'];
  readonly clock: () => number;
  /** Called after a row was closed. */
  readonly changed: () => void;
}

/** Tells rows that Gate wrote from others, and closes those. It remembers the versions it has seen: an older one that is put back is found. */
export function rowCheck({ store, sealing, heldBy, clock, changed }: RowCheckOptions) {
  const { db } = store;
  const seen = new LRUCache<string, number>(roomFor(SEEN_REVIEWS));
  const listeners: Parameters<ReviewAlarms['onTampered']>[0][] = [];

  /** Why the row is not Gate's own. A row whose key is missing can be neither shown nor decided, but does not count as tampered. */
  function faultIn(row: ReviewHead): string | null {
    try {
      return sealing.fault(row, seen.get(row.id));
    } catch (cause) {
      throw new GateError('payload_unavailable', undefined, { cause });
    }
  }

  const remembered = <Some extends ReviewHead>(row: Some): Some => {
    seen.set(row.id, Math.max(Number(row.version), seen.get(row.id) ?? 0));
    return row;
  };

  /** The row, if it is what Gate wrote last; otherwise it is closed as `tampered` at once. */
  async function checked<Some extends ReviewHead>(row: Some): Promise<Some> {
    const why = faultIn(row);
    if (why === null) return remembered(row);
    // A read that overlaps a change may have seen an older row, so read once more.
    const again = await asked(() =>
      db.selectFrom('reviews').select(HEAD_COLUMNS).where('id', '=', row.id).executeTakeFirst(),
    );
    if (!again) return { ...row, status: 'tampered' };
    if (faultIn(again) === null) return remembered({ ...row, ...again });
    // Whoever wrote the row neither lifts a legal hold nor puts one there.
    const held = await heldBy(row.id);
    const to = {
      status: 'tampered' as const,
      withdrawn_at: null,
      purged: null,
      hold: held && JSON.stringify(held.hold),
      ...tamperedDates(clock()),
    };
    const closed = sealing.changed(again, to, seen.get(row.id));
    const told = { ...closed, change_seq: nextChange(store.kind) };
    await asked(() => db.updateTable('reviews').set(told).where('id', '=', row.id).execute());
    changed();
    for (const listener of listeners) listener(again, why);
    return remembered({ ...row, ...again, ...closed });
  }

  /** For lists: a row whose key is missing hides no other. */
  const checkedForList = <Some extends ReviewHead>(row: Some): Promise<Some> =>
    checked(row).catch((error: unknown): Some => {
      if (error instanceof GateError && error.code === 'payload_unavailable') return { ...row, status: 'tampered' };
      throw error;
    });

  /** As whoever last wrote them left them. */
  const unchecked = async <Column extends (typeof LISTED_COLUMNS)[number]>(
    ids: readonly string[],
    columns: readonly Column[],
  ) =>
    ids.length === 0
      ? []
      : asked(() =>
          db
            .selectFrom('reviews')
            .leftJoin('review_keys', 'review_id', 'id')
            .select([...columns, 'wrapped as data_key'])
            .where('id', 'in', [...ids])
            .execute(),
        );

  return {
    /** What holds the sandbox's reports of these rows, as whoever last wrote them left it. */
    reportsOf: (ids: readonly string[]) => unchecked(ids, REPORT_COLUMNS),
    checked,
    checkedForList,
    remembered,
    /** Throws `review_tampered` for a tampered row. */
    async held<Some extends ReviewHead>(row: Some): Promise<Some> {
      const known = await checked(row);
      if (known.status === 'tampered') throw new GateError('review_tampered');
      return known;
    },
    /** The rows of these ids, for lists, in this order. One that is gone is left out. */
    async listedOf(ids: readonly string[]): Promise<Listed[]> {
      const byId = new Map((await unchecked(ids, LISTED_COLUMNS)).map((row) => [row.id, row]));
      return Promise.all(ids.flatMap((id) => byId.get(id) ?? []).map(checkedForList));
    },
    /** A row that was deleted has no version any more. */
    forget: (id: string): void => void seen.delete(id),
    /** A version that was rolled back never existed: the stored row is not older than it. */
    forgetAll: (): void => seen.clear(),
    onTampered: (listener: (typeof listeners)[number]): void => void listeners.push(listener),
  };
}
