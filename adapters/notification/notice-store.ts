import type { Delivery, DeliveryState, Notice, NotificationTarget } from '../../contracts/notification.js';
import { notice as noticeShape } from '../../contracts/notification.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { ordinalOf } from '../../domain/notification/notice.js';
import type { KeptNotice, NoticeStore } from '../../domain/notification/ports.js';
import { foreignText } from '../../domain/text.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';

interface StoredNotice {
  readonly notification_id: string;
  readonly channel: NotificationTarget;
  readonly pending_id: string;
  readonly notice: string;
  readonly state: DeliveryState;
  readonly attempts: number | string;
  readonly due_ms: number | string;
  readonly delivered_ms: number | string | null;
  readonly error: string | null;
  readonly handle: string | null;
  readonly mac: string;
}

/** Longest reason that is kept. */
const REASON = 300;
const MAC_FORM = 'gate.review-notice/1';
const MAC_USE = 'review-notice';

const COLUMNS =
  'notification_id, channel, pending_id, notice, state, attempts, due_ms, delivered_ms, error, handle, mac';
const OF = statement<StoredNotice>(
  `select ${COLUMNS} from review_notices where pending_id = ? order by ordinal, channel`,
);
/** In one statement, because a process may end between two. */
const insertOf = (channels: number) =>
  statement(
    `insert into review_notices (notification_id, channel, pending_id, ordinal, notice, state, attempts, due_ms, mac)
     values ${Array.from({ length: channels }, () => "(?, ?, ?, ?, ?, 'queued', 0, ?, ?)").join(', ')}
     on conflict (notification_id, channel) do nothing`,
  );
/** An attempt under way has no reason yet why it failed. */
const SUPERSEDE = statement(
  `update review_notices set state = 'superseded'
     where pending_id = ? and state = 'queued' and (attempts = 0 or error is not null)`,
);
const FORGET = statement(`delete from review_notices where pending_id = ?`);
/** The first of its row that is queued: a later one waits for it. */
const DUE = statement<StoredNotice>(
  `select ${COLUMNS} from review_notices as one
     where channel = ? and state = 'queued' and due_ms <= ?
       and not exists (select 1 from review_notices as other where other.pending_id = one.pending_id
         and other.channel = one.channel and other.state = 'queued' and other.ordinal < one.ordinal)
     order by due_ms, notification_id limit ?`,
);
const CLAIM = statement(
  `update review_notices set attempts = attempts + 1, due_ms = ?, error = null
     where notification_id = ? and channel = ? and state = 'queued' and attempts = ?`,
);
const DELIVERED = statement(
  `update review_notices set state = 'delivered', delivered_ms = ?, error = null, handle = ?, mac = ?
     where notification_id = ? and channel = ?`,
);
const FAILED = statement(
  `update review_notices set state = ?, due_ms = ?, error = ?
     where notification_id = ? and channel = ? and state = 'queued'`,
);
const UNTOLD = statement<{ id: string }>(
  `select id from reviews where id > ? and status = 'pending' and withdrawn_at is null
     and not exists (select 1 from review_notices where pending_id = id) order by id limit ?`,
);
const OPEN = statement<{ id: string }>(
  `select distinct pending_id as id from review_notices as one
     where pending_id > ? and state <> 'superseded'
       and not exists (select 1 from review_notices as last where last.pending_id = one.pending_id and last.ordinal = 1000)
     order by pending_id limit ?`,
);
const COUNTS = statement<{ state: DeliveryState; count: number | string }>(
  `select state, count(*) as "count" from review_notices where state in ('queued', 'dead') group by state`,
);

/**
 * The messages of reviews beside their rows, which take them along when they are deleted. A MAC binds a message to its channel and to what the
 * channel returned, so that whoever edits the store makes Gate say nothing that it did not write.
 */
export function noticeStoreOver<Tables>(
  store: Pick<Store<Tables>, 'db' | 'ask'>,
  { keys, clock }: { readonly keys: KeyRing; readonly clock: () => number },
): NoticeStore {
  const ask = askOrUnavailable(store);
  const messageOf = (id: string, channel: string, text: string, handle: string | null): string =>
    JSON.stringify([MAC_FORM, id, channel, text, handle]);
  const macOf = (...of: Parameters<typeof messageOf>): string => keys.authenticate(messageOf(...of), MAC_USE);

  /** `null` when it is not what Gate wrote, or its key is not here. */
  function read(row: StoredNotice): Notice | null {
    try {
      const message = messageOf(row.notification_id, row.channel, row.notice, row.handle);
      if (!keys.authentic(row.mac, message, MAC_USE)) return null;
      const parsed = noticeShape.parse(JSON.parse(row.notice));
      return parsed.notification_id === row.notification_id && parsed.pending_id === row.pending_id ? parsed : null;
    } catch {
      return null;
    }
  }

  const rowsOf = async (pendingId: string): Promise<StoredNotice[]> => (await ask(OF, pendingId)).rows;
  /** What the channel returned last for this row. */
  const earlierOf = (rows: readonly StoredNotice[], channel: NotificationTarget): string | null =>
    rows.findLast((row) => row.channel === channel && row.handle !== null && read(row) !== null)?.handle ?? null;

  return {
    async untold(after, limit) {
      return (await ask(UNTOLD, after, limit)).rows.map(({ id }) => id);
    },
    async open(after, limit) {
      return (await ask(OPEN, after, limit)).rows.map(({ id }) => id);
    },
    async of(pendingId) {
      const rows = await rowsOf(pendingId);
      const notices = new Map<string, Notice>();
      for (const row of rows) {
        const known = read(row);
        if (known) notices.set(known.notification_id, known);
      }
      const begun = rows.filter(
        ({ state, notification_id }) => state !== 'superseded' && notification_id.endsWith(':trigger'),
      );
      return { notices: [...notices.values()], channels: begun.map(({ channel }) => channel) };
    },
    async add(notice, channels, dueMs) {
      const text = JSON.stringify(noticeShape.parse(notice));
      const { notification_id: id, pending_id } = notice;
      if (channels.length === 0) return;
      const values = channels.map((channel) => {
        const mac = macOf(id, channel, text, null);
        return [id, channel, pending_id, ordinalOf(notice), text, dueMs, mac];
      });
      await ask(insertOf(channels.length), ...values.flat());
    },
    async supersede(pendingId) {
      await ask(SUPERSEDE, pendingId);
      const tried = (await rowsOf(pendingId)).filter(({ attempts }) => Number(attempts) > 0);
      return [...new Set(tried.map(({ channel }) => channel))];
    },
    async forget(pendingId) {
      await ask(FORGET, pendingId);
    },
    async due(channel, limit) {
      const { rows } = await ask(DUE, channel, clock(), limit);
      const kept: KeptNotice[] = [];
      for (const row of rows) {
        const known = read(row);
        if (!known) {
          await ask(
            FAILED,
            'dead',
            Number(row.due_ms),
            'the message is not what Gate wrote',
            row.notification_id,
            channel,
          );
          continue;
        }
        const others = await rowsOf(row.pending_id);
        // An attempt failed, and meanwhile the row was settled: only how it ended is still worth a message.
        if (
          known.phase !== 'resolve' &&
          others.some((each) => each.channel === channel && read(each)?.phase === 'resolve')
        ) {
          await ask(FAILED, 'superseded', Number(row.due_ms), row.error, row.notification_id, channel);
          continue;
        }
        kept.push({ notice: known, channel, attempts: Number(row.attempts), earlier: earlierOf(others, channel) });
      }
      return kept;
    },
    async claim({ notice: { notification_id }, channel, attempts }, untilMs) {
      return (await ask(CLAIM, untilMs, notification_id, channel, attempts)).changes === 1;
    },
    async delivered({ notice, channel }, handle) {
      const { notification_id: id } = notice;
      await ask(DELIVERED, clock(), handle, macOf(id, channel, JSON.stringify(notice), handle), id, channel);
    },
    async failed({ notice: { notification_id }, channel }, reason, againMs) {
      const state = againMs === null ? 'dead' : 'queued';
      await ask(FAILED, state, againMs ?? clock(), foreignText(reason, REASON), notification_id, channel);
    },
    async deliveriesOf(pendingId) {
      return (await rowsOf(pendingId)).map(
        ({ notification_id, channel, state, attempts, delivered_ms, due_ms, error }): Delivery => ({
          notification_id,
          channel,
          state,
          attempts: Number(attempts),
          delivered_at: delivered_ms === null ? null : new Date(Number(delivered_ms)).toISOString(),
          next_attempt_at: state === 'queued' ? new Date(Number(due_ms)).toISOString() : null,
          error,
        }),
      );
    },
    async counts() {
      const { rows } = await ask(COUNTS);
      const of = (state: DeliveryState): number => Number(rows.find((row) => row.state === state)?.count ?? 0);
      return { queued: of('queued'), dead: of('dead') };
    },
  };
}
