import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Compilable } from 'kysely';
import type { ErasedRows, Swept } from '../../domain/review/ports.js';
import {
  type Deletion,
  deletionOf,
  type DeletionTrigger,
  overdue,
  retentionDates,
  type Tombstone,
} from '../../domain/review/retention.js';
import { storedSettlement, type StoredReview } from '../../domain/review/sealed-review.js';
import type { LastEnd } from '../../domain/notification/notice.js';
import { statusTold } from '../../domain/decision/transitions.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Store } from '../store/database.js';
import { emptyLog } from '../store/overwriting.js';
import { asked } from './faults.js';
import type { Written } from '../store/write-together.js';
import type { NoticesKept } from '../notification/notice-store.js';
import { type Ask, type Statement, statement, type Value } from '../store/statement.js';
import type { ReviewTables } from './tables.js';

/** Rows that one pass takes up. */
const PASS_ROWS = 100;

type Place = readonly [Value, string];
interface Due {
  readonly id: string;
  readonly at: number | string;
}
/** Each is answered by an index whose condition is repeated here word for word, or SQLite would not use it. */
const due = (column: 'payload_expires_ms' | 'metadata_expires_ms', condition: string): Statement<Due> =>
  statement<Due>(`select id, ${column} as at from reviews
    where ${condition} and ${column} <= ? and (${column}, id) > (?, ?) order by ${column}, id limit ${PASS_ROWS}`);
const PAYLOADS_DUE = due('payload_expires_ms', 'payload is not null and hold is null');
const ROWS_DUE = due('metadata_expires_ms', 'payload is null and hold is null');
const LAST_NOTICES_OVER = statement(`delete from review_last_notices where until_ms <= ?`);
/** Of one tenant, and of one namespace where it is given. */
const ROWS_OF = statement<Due>(
  `select id, created_ms as at from reviews where tenant = ? and (cast(? as text) is null or state_namespace = ?)
     and (created_ms, id) > (?, ?) order by created_ms, id limit ${PASS_ROWS}`,
);
const UNDATED = statement<Due>(
  `select id, 0 as at from reviews where metadata_expires_ms is null and id > ? order by id limit ${PASS_ROWS}`,
);

/** A verified row; the store's own, which also knows its key. */
type Row = StoredReview;

export interface RetentionOptions<Known extends Row> {
  readonly store: Store<ReviewTables>;
  readonly ask: Ask;
  readonly clock: () => number;
  /** The row as it stands, once it was found to be what Gate wrote, or closed; `null` when it is gone. */
  readonly rowOf: (id: string) => Promise<Known | null>;
  /** Changes the row, takes its key away where `key` is `null`, and stores the rest with it or not at all. */
  readonly change: (row: Known, to: Partial<StoredReview>, more: RowChange) => Promise<boolean>;
  /** Deletes the row and its key, and stores the rest with that or not at all. */
  readonly remove: (row: Known, also: readonly Written[]) => Promise<boolean>;
  /** What tells people that the call ended, to be stored with the deletion of its row. */
  readonly lastNotices: NoticesKept['last'];
}
export interface RowChange {
  /** Another key for the row, or none any more; unchanged when absent. */
  readonly key?: Uint8Array | null;
  readonly also?: readonly Compilable[];
  /** Followers are not told. */
  readonly quiet?: boolean;
}

/**
 * Deletes at its date what a review holds (docs/architecture/reviews.md#payload-and-retention). What is due is in the store; nothing is kept
 * between two passes.
 */
export function reviewRetention<Known extends Row>({
  store,
  ask,
  clock,
  rowOf,
  change,
  remove,
  lastNotices,
}: RetentionOptions<Known>) {
  /** Whether bytes may be left in the log beside the file. Also after a start: an earlier process may have ended before it was emptied. */
  let unclean = store.sqlite !== null;

  const recorded = (deletion: Deletion): Compilable => store.db.insertInto('hil_deletion_audit').values(deletion);

  /** Gives a row of an earlier Gate its dates. */
  async function dated(row: Known): Promise<boolean> {
    if (row.metadata_expires_ms !== null) return false;
    const settled = row.settled === null ? null : storedSettlement(row.settled).decided_at;
    const ended = settled ?? row.withdrawn_at;
    const dates = retentionDates(row, ended === null ? Number(row.deadline_ms) : Date.parse(ended));
    return change(row, dates, { quiet: true });
  }

  /**
   * Deletes what of this row is past its date; of one that nobody has decided its request alone, unless somebody asks for it (`by`). `more`
   * changes the row with that, or is stored with it. Nothing is past its date: `null`. The row was changed meanwhile: false.
   */
  async function deleteOverdue(
    row: Known,
    by: DeletionTrigger | null,
    more: { readonly to?: Partial<StoredReview>; readonly also?: readonly Compilable[] } = {},
    at_ms = clock(),
  ): Promise<Deletion['disposition'] | false | null> {
    const due = overdue(row, at_ms);
    const request = row.payload === null ? null : 'payload';
    const what = due === 'row' && by === null && isOpen(row) ? request : due;
    if (what === null) return null;
    const disposition = what === 'row' ? 'row_deleted' : 'payload_purged';
    const trigger = by ?? (what === 'row' ? 'metadata_deadline' : 'payload_deadline');
    const also = [recorded(deletionOf(row, { id: randomUUID(), at_ms, trigger, disposition })), ...(more.also ?? [])];
    // A row under a hold whose tenant left goes at the release, perhaps before people were told how its call ended.
    if (what === 'row')
      return (await remove(row, [...also, ...(await lastNotices(row.id, endOf(row)))])) && erased(disposition);
    const purged: Tombstone = { contract: 'hil-payload-purged/v1', purged_at: new Date(at_ms).toISOString(), trigger };
    const to = {
      payload: null,
      sandbox_report: null,
      settled: withoutChanges(row.settled),
      purged: JSON.stringify(purged),
      ...more.to,
    };
    return (await change(row, to, { key: null, also, quiet: true })) && erased(disposition);
  }
  const erased = (disposition: Deletion['disposition']): Deletion['disposition'] => {
    unclean = true;
    return disposition;
  };

  /**
   * Empties the log beside the file, which may still hold pages as they were. Deleted content is overwritten in the file itself
   * (`secure_delete`). Throws `operation_unfinished` while somebody else reads the file.
   */
  async function cleaned(): Promise<void> {
    const { sqlite } = store;
    if (!sqlite || !unclean) return;
    if (!(await asked(() => emptyLog(sqlite))))
      throw new GateError(
        'operation_unfinished',
        'deleted reviews may still be in the log of the store, which somebody else is reading; the same request, or the next sweep, empties it',
      );
    unclean = false;
  }

  async function sweep(now: number): Promise<Swept> {
    const swept = { purged: 0, deleted: 0, failed: 0 };
    const each = async (
      next: (after: Place) => Promise<{ rows: Due[] }>,
      first: Place,
      deal: (row: Known) => Promise<unknown>,
    ) => {
      for (let after = first; ; ) {
        const { rows } = await next(after);
        for (const { id } of rows) {
          try {
            const row = await rowOf(id);
            if (row) await deal(row);
          } catch {
            swept.failed += 1;
          }
          // Each is a transaction that a file store waits for in this thread: who asks meanwhile waits for one of them, not for all.
          await turn();
        }
        const last = rows.at(-1);
        if (!last || rows.length < PASS_ROWS) return;
        after = [last.at, last.id];
      }
    };
    const remove = async (row: Known) => {
      const gone = row.hold === null ? await deleteOverdue(row, null, {}, now) : null;
      if (gone === 'row_deleted') swept.deleted += 1;
      if (gone === 'payload_purged') swept.purged += 1;
    };
    await each(([, id]) => ask(UNDATED, id), [0, ''], dated);
    await each(([at, id]) => ask(ROWS_DUE, now, at, id), [0, ''], remove);
    await each(([at, id]) => ask(PAYLOADS_DUE, now, at, id), [0, ''], remove);
    await ask(LAST_NOTICES_OVER, now);
    return swept;
  }

  /**
   * Deletes every row of these whatever its date, but what still waits. A row under a legal hold goes when that is released. Ends early when
   * its time is up; what is left is found again.
   */
  async function erase(
    { tenant, namespace, waiting = false }: ErasedRows,
    trigger: DeletionTrigger,
    untilMs: number,
  ): Promise<{ readonly deleted: number; readonly held: number; readonly complete: boolean }> {
    const done = { deleted: 0, held: 0, complete: true };
    const eraseOne = async (id: string): Promise<void> => {
      const row = await rowOf(id);
      const at_ms = clock();
      if (!row || (isOpen(row) && !waiting && at_ms < Number(row.deadline_ms))) return;
      if (row.hold !== null) {
        const dates = { payload_expires_ms: at_ms, metadata_expires_ms: at_ms };
        const marked =
          Number(row.metadata_expires_ms ?? Infinity) <= at_ms || (await change(row, dates, { quiet: true }));
        if (marked) done.held += 1;
        else done.complete = false;
        return;
      }
      const deletion = deletionOf(row, { id: randomUUID(), at_ms, trigger, disposition: 'row_deleted' });
      // What is open in a copy of the store that was put back: how it ended was told before, and is not known here.
      const last = isOpen(row) && waiting ? [] : await lastNotices(row.id, endOf(row));
      if ((await remove(row, [recorded(deletion), ...last])) && erased('row_deleted')) done.deleted += 1;
      else done.complete = false;
    };
    for (let after: Place = [0, '']; ; ) {
      const { rows } = await ask(ROWS_OF, tenant, namespace ?? null, namespace ?? null, ...after);
      for (const { id } of rows) {
        if (clock() >= untilMs) return { ...done, complete: false };
        await eraseOne(id).catch(() => {
          done.complete = false;
        });
        await turn();
      }
      const last = rows.at(-1);
      if (!last || rows.length < PASS_ROWS) break;
      after = [last.at, last.id];
    }
    return done;
  }

  /** What is deleted is in the log no more either, or `cleaned` says so. */
  async function thenCleaned<Done>(work: () => Promise<Done>): Promise<Done> {
    const done = await asked(work);
    await cleaned();
    return done;
  }

  return {
    sweep: (atMs = clock()) => thenCleaned(() => sweep(atMs)),
    deleteOverdue,
    cleaned,
    erase: (...of: Parameters<typeof erase>) => thenCleaned(() => erase(...of)),
  };
}

/** Nobody has decided it, and its call has not taken it back: whatever a clock says, it may still wait. */
const isOpen = ({ status, withdrawn_at }: Row): boolean => status === 'pending' && withdrawn_at === null;

/** How a row ended, in the words of its messages. Nobody decided what is over and has no settlement. */
function endOf({ status, settled, withdrawn_at }: Row): LastEnd {
  const nobody = { decided_at: null, decided_by: null, decided_via: null };
  if (status === 'tampered') return { ...nobody, status };
  if (withdrawn_at !== null) return { ...nobody, status: 'withdrawn' };
  if (settled === null) return { ...nobody, status: 'expired' };
  const { decided_at, decided_by, decided_via, ...how } = storedSettlement(settled);
  return {
    decided_at,
    decided_by,
    decided_via,
    status: statusTold({ ...how, decided_by }),
    ...(how.modification && { modified: true }),
  };
}

/** A settlement without the values that an approver gave; their digest stays. */
function withoutChanges(settled: string | null): string | null {
  if (settled === null) return null;
  const { modification, ...rest } = storedSettlement(settled);
  if (!modification) return settled;
  const { reviewed_digest } = modification;
  return canonicalJson({ ...rest, modification: { reviewed_digest } } as JsonObject);
}
