import type { Delivery, DeliveryState, Notice, NoticeKind, NotificationTarget } from '../../contracts/notification.js';
import { notice as noticeShape } from '../../contracts/notification.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { createChannelTurns } from '../../domain/notification/channel-turns.js';
import {
  FIRST_ESCALATION,
  kindOfEarlier,
  LAST_PLACE,
  type LastEnd,
  lastIdOf,
  lastNotice,
  ordinalOf,
} from '../../domain/notification/notice.js';
import {
  type ChannelRest,
  type DueNotice,
  type GivenUp,
  type KeptNotice,
  LONGEST_WAIT_MS,
  type NoticeStore,
  type Turn,
} from '../../domain/notification/ports.js';
import { foreignText } from '../../domain/text.js';
import type { Store } from '../store/database.js';
import { askOrUnavailable } from '../store/jobs.js';
import { statement } from '../store/statement.js';
import type { Ready } from '../store/write-together.js';

interface StoredNotice {
  readonly notification_id: string;
  readonly channel: NotificationTarget;
  readonly pending_id: string;
  readonly ordinal: number | string;
  /** Empty where a process of an earlier Gate wrote it after the migration. */
  readonly kind: NoticeKind | '';
  readonly notice: string;
  readonly state: DeliveryState;
  readonly attempts: number | string;
  /** How many of them a limit refused. */
  readonly limited: number | string;
  readonly due_ms: number | string;
  readonly delivered_ms: number | string | null;
  readonly error: string | null;
  readonly handle: string | null;
  /** Not under the MAC: whoever edits it keeps somebody from being told, which whoever can delete the message can do too. */
  readonly reached: string | null;
  readonly mac: string;
}

/** Nothing more is sent in these. */
const OVER: ReadonlySet<DeliveryState> = new Set(['delivered', 'partial', 'dead']);
/** Longest reason that is kept. */
const REASON = 300;
const FORGED = 'the message is not what Gate wrote';
const MAC_FORM = 'gate.review-notice/1';
const MAC_USE = 'review-notice';

const COLUMNS =
  'notification_id, channel, pending_id, ordinal, kind, notice, state, attempts, limited, due_ms, delivered_ms, error, handle, reached, mac';
const OF = statement<StoredNotice>(
  `select ${COLUMNS} from review_notices where pending_id = ? order by ordinal, channel`,
);
/** In one statement, because a process may end between two. */
const insertOf = (channels: number) =>
  statement(
    `insert into review_notices (notification_id, channel, pending_id, ordinal, kind, notice, state, attempts, due_ms, mac)
     values ${Array.from({ length: channels }, () => "(?, ?, ?, ?, ?, ?, 'queued', 0, ?, ?)").join(', ')}
     on conflict (notification_id, channel) do nothing`,
  );
/** How it ended is still told. An attempt under way has no reason yet why it failed. */
const SUPERSEDE = statement(
  `update review_notices set state = 'superseded'
     where pending_id = ? and ordinal < ${LAST_PLACE} and state = 'queued' and (attempts = 0 or error is not null)`,
);
const FORGET = statement(`delete from review_notices where pending_id = ?`);
/** Now, and what nothing is due later than. */
const DUE_NOW = '(due_ms <= ? or due_ms > ?)';
/** Among so many agents take turns: a look reads no more, however many wait. */
const LOOKED_AT = 1_000;
interface StoredTurn extends Pick<StoredNotice, 'notification_id' | 'due_ms' | 'attempts'> {
  readonly pending_id: string | null;
  readonly tenant: string;
  readonly agent_id: string;
  /** 1 or 0. */
  readonly urgent: number;
}
/**
 * The first of its row that is queued: a later one waits for it, and an escalation makes those that it waits for urgent. Of each agent as many as
 * could be sent at once, of those that have been due for longest.
 */
const DUE = statement<StoredTurn>(
  `select notification_id, pending_id, due_ms, attempts, tenant, agent_id, urgent from (
     select waiting.*, row_number() over (partition by tenant, agent_id, urgent order by due_ms, notification_id) as place from (
       select one.notification_id, one.pending_id, one.due_ms, one.attempts, reviews.tenant, reviews.agent_id,
         case when exists (select 1 from review_notices as later where later.pending_id = one.pending_id
           and later.channel = one.channel and later.state = 'queued'
           and later.ordinal >= ${FIRST_ESCALATION} and later.ordinal < ${LAST_PLACE}) then 1 else 0 end as urgent
       from review_notices as one join reviews on reviews.id = one.pending_id
       where one.channel = ? and one.state = 'queued' and ${DUE_NOW}
         and not exists (select 1 from review_notices as other where other.pending_id = one.pending_id
           and other.channel = one.channel and other.state = 'queued' and other.ordinal < one.ordinal)
       order by one.due_ms, one.notification_id limit ${LOOKED_AT}
     ) as waiting
   ) as placed where place <= ?`,
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
  `update review_notices set state = ?, due_ms = ?, error = ?, reached = ?
     where notification_id = ? and channel = ? and state = 'queued'`,
);
/** Unless another attempt has begun meanwhile. */
const LIMITED = statement(
  `update review_notices set limited = limited + 1, due_ms = ?, error = ?, reached = ?
     where notification_id = ? and channel = ? and state = 'queued' and attempts = ?`,
);
/** Under no MAC, as `reached`. */
const REST_OF = statement<Record<'place' | 'until_ms' | 'refusals', number | string>>(
  `select place, until_ms, refusals from review_channel_rests where channel = ?`,
);
const BEGIN_REST = statement(
  `insert into review_channel_rests (channel, place, until_ms, refusals) values (?, ?, ?, ?)
     on conflict (channel) do update set place = excluded.place, until_ms = excluded.until_ms, refusals = excluded.refusals
     where review_channel_rests.place = excluded.place - 1`,
);
const PROLONG_REST = statement(`update review_channel_rests set until_ms = ? where channel = ? and until_ms < ?`);
const TOOK_AFTER_REST = statement(`update review_channel_rests set refusals = 0 where channel = ? and place = ?`);
const HELD_UP = statement(
  `update review_notices set limited_ms = limited_ms + ? where channel = ? and state = 'queued'`,
);
const HELD_TOO_LONG = statement<StoredNotice>(
  `select ${COLUMNS} from review_notices where channel = ? and state = 'queued' and limited_ms >= ?
     and (attempts = 0 or error is not null)`,
);
const QUEUED_CHANNELS = statement<{ channel: NotificationTarget }>(
  `select distinct channel from review_notices where state = 'queued'`,
);
const BROUGHT_NEAR = statement(
  `update review_notices set due_ms = ? where channel = ? and state = 'queued' and due_ms > ?`,
);
const ABANDONED = statement<StoredNotice>(
  `select ${COLUMNS} from review_notices where channel = ? and state = 'queued' and due_ms <= ?`,
);
const UNTOLD = statement<{ id: string }>(
  `select id from reviews where id > ? and status = 'pending' and withdrawn_at is null
     and not exists (select 1 from review_notices where pending_id = id) order by id limit ?`,
);
/** Also where the messages were ended and how it ended was not written down: a process, or the store, may end between the two. */
const OPEN = statement<{ id: string }>(
  `select distinct pending_id as id from review_notices as one
     where pending_id > ? and (state <> 'superseded' or attempts > limited)
       and not exists (select 1 from review_notices as last where last.pending_id = one.pending_id and last.ordinal = ${LAST_PLACE})
     order by pending_id limit ?`,
);
const COUNTS = statement<{ state: DeliveryState; count: number | string }>(
  `select state, count(*) as "count" from review_notices where state in ('queued', 'partial', 'dead') group by state
   union all select 'queued', count(*) from review_last_notices`,
);

/** How long people may be told that a call ended whose row is gone, where no channel takes it. */
const LAST_LIFE_MS = 86_400_000;
type StoredLast = Omit<StoredNotice, 'pending_id' | 'state' | 'due_ms' | 'delivered_ms' | 'error'>;
const LAST_COLUMNS = 'notification_id, channel, notice, attempts, limited, handle, reached, mac';
const KEEP_LAST = statement(
  `insert into review_last_notices (notification_id, channel, notice, attempts, due_ms, until_ms, handle, mac)
     values (?, ?, ?, 0, ?, ?, ?, ?) on conflict (notification_id, channel) do nothing`,
);
const LAST_DUE = statement<StoredTurn>(
  `select notification_id, null as pending_id, due_ms, attempts, '' as tenant, '' as agent_id, 0 as urgent
     from review_last_notices where channel = ? and ${DUE_NOW} and until_ms > ? order by due_ms, notification_id limit ?`,
);
const LAST_OF = statement<StoredLast>(
  `select ${LAST_COLUMNS} from review_last_notices where notification_id = ? and channel = ?`,
);
const CLAIM_LAST = statement(
  `update review_last_notices set attempts = attempts + 1, due_ms = ?
     where notification_id = ? and channel = ? and attempts = ?`,
);
const LAST_FAILED = statement(
  `update review_last_notices set due_ms = ?, reached = ?, limited = limited + ? where notification_id = ? and channel = ?`,
);
const LAST_AFTER = statement(
  `update review_last_notices set due_ms = ?, handle = ?, mac = ?
     where notification_id = ? and channel = ? and attempts = 0`,
);
const LAST_OVER = statement(`delete from review_last_notices where notification_id = ? and channel = ?`);

/** The messages, and what outlives a row of them. */
export interface NoticesKept {
  readonly notices: NoticeStore;
  /**
   * What tells, once this row that ended is deleted, that its call ended: to be written with the deletion. Nothing more is begun on a channel that
   * was told nothing yet. Of a channel that was told how it ended, there is nothing.
   */
  last(pendingId: string, end: LastEnd): Promise<Ready[]>;
}

/**
 * The messages of reviews beside their rows, which take them along when they are deleted; that a call ended outlives its row until it was told. A MAC binds a message to its channel and to what the
 * channel returned, so that whoever edits the store makes Gate say nothing that it did not write.
 */
export function noticeStoreOver<Tables>(
  store: Pick<Store<Tables>, 'db' | 'ask'>,
  { keys, clock }: { readonly keys: KeyRing; readonly clock: () => number },
): NoticesKept {
  const ask = askOrUnavailable(store);
  const messageOf = (id: string, channel: string, text: string, handle: string | null): string =>
    JSON.stringify([MAC_FORM, id, channel, text, handle]);
  const macOf = (...of: Parameters<typeof messageOf>): string => keys.authenticate(messageOf(...of), MAC_USE);

  /** `null` when it is not what Gate wrote, or its key is not here. */
  function read(row: StoredNotice | StoredLast): Notice | null {
    try {
      const message = messageOf(row.notification_id, row.channel, row.notice, row.handle);
      if (!keys.authentic(row.mac, message, MAC_USE)) return null;
      const told = JSON.parse(row.notice) as Omit<Notice, 'kind'>;
      const kind = 'pending_id' in row ? row.kind || kindOfEarlier(told.phase, Number(row.ordinal)) : 'resolve';
      const parsed = noticeShape.parse({ kind, ...told });
      // One of a row that is gone stands in the other table. Copied from there it would be found due for ever, and claimed by nobody.
      const ofRow =
        'pending_id' in row ? parsed.pending_id === row.pending_id && !parsed.deleted : parsed.deleted === true;
      return parsed.notification_id === row.notification_id && parsed.kind === kind && ofRow ? parsed : null;
    } catch {
      return null;
    }
  }

  const kindOf = (row: StoredNotice): NoticeKind | undefined => row.kind || read(row)?.kind;
  const rowsOf = async (pendingId: string): Promise<StoredNotice[]> => (await ask(OF, pendingId)).rows;
  /** What the channel returned last for this row. */
  const earlierOf = (rows: readonly StoredNotice[], channel: NotificationTarget): string | null =>
    rows.findLast((row) => row.channel === channel && row.handle !== null && read(row) !== null)?.handle ?? null;

  const keptOf = (
    { notice: text, channel, attempts, limited, reached }: StoredNotice | StoredLast,
    known: Notice,
    earlier: string | null,
    turn: Turn,
  ): KeptNotice => ({
    notice: known,
    text,
    channel,
    attempts: Number(attempts),
    limited: Number(limited),
    earlier,
    reached,
    turn,
  });

  const dueOf = ({
    notification_id,
    pending_id,
    due_ms,
    attempts,
    tenant,
    agent_id,
    urgent,
  }: StoredTurn): DueNotice => ({
    notification_id,
    pendingId: pending_id,
    dueMs: Number(due_ms),
    attempts: Number(attempts),
    who: pending_id === null ? [] : [tenant, agent_id],
    urgent: Number(urgent) === 1,
  });

  /** Of a row that is gone. What Gate did not write goes at once; `null` then, and where another process has begun it meanwhile. */
  async function lastDue(channel: NotificationTarget, due: DueNotice): Promise<KeptNotice | null> {
    const [row] = (await ask(LAST_OF, due.notification_id, channel)).rows;
    if (!row || Number(row.attempts) !== due.attempts) return null;
    const known = read(row);
    if (known) return keptOf(row, known, row.handle, due);
    await ask(LAST_OVER, row.notification_id, channel);
    return null;
  }

  /** The same of a row that is there. */
  async function dueBeside(channel: NotificationTarget, pendingId: string, due: DueNotice): Promise<KeptNotice | null> {
    const others = await rowsOf(pendingId);
    const row = others.find((each) => each.channel === channel && each.notification_id === due.notification_id);
    if (!row || Number(row.attempts) !== due.attempts) return null;
    const { notification_id: id, due_ms, error, reached } = row;
    const known = read(row);
    if (!known) {
      await ask(FAILED, 'dead', Number(due_ms), FORGED, reached, id, channel);
      return null;
    }
    // An attempt failed, and meanwhile the row was settled: only how it ended is still worth a message.
    if (
      known.phase !== 'resolve' &&
      others.some((each) => each.channel === channel && read(each)?.phase === 'resolve')
    ) {
      await ask(FAILED, 'superseded', Number(due_ms), error, reached, id, channel);
      return null;
    }
    return keptOf(row, known, earlierOf(others, channel), due);
  }

  /** Nobody gets these any more. */
  async function ended(rows: readonly StoredNotice[], reason: string): Promise<GivenUp[]> {
    const givenUp: GivenUp[] = [];
    for (const row of rows) {
      const { notification_id, channel, reached } = row;
      const known = read(row);
      const end = endOf(reached);
      const why = known ? foreignText(reason, REASON) : FORGED;
      const { changes } = await ask(FAILED, end, Number(row.due_ms), why, reached, notification_id, channel);
      if (changes === 1 && known) givenUp.push({ notification_id, channel, phase: known.phase, end });
    }
    return givenUp;
  }

  /** A message arrived after its row had gone: how the call ended is told now, in its place. */
  async function arrivedLate({ notice, channel }: KeptNotice, handle: string | null): Promise<void> {
    const id = lastIdOf(notice.pending_id);
    if (notice.phase === 'resolve') return void (await ask(LAST_OVER, id, channel));
    const [last] = (await ask(LAST_OF, id, channel)).rows;
    if (!last || !read(last)) return;
    const place = handle ?? last.handle;
    await ask(LAST_AFTER, clock(), place, macOf(id, channel, last.notice, place), id, channel);
  }

  async function last(pendingId: string, end: LastEnd): Promise<Ready[]> {
    // From here on nothing is begun on a channel that was told nothing.
    await ask(SUPERSEDE, pendingId);
    const rows = await rowsOf(pendingId);
    const known = rows.findLast((row) => read(row) !== null);
    const base = known && read(known);
    if (!base) return [];
    const text = JSON.stringify(noticeShape.parse(lastNotice(base, end)));
    const id = lastIdOf(pendingId);
    const now = clock();
    return [...new Set(rows.map(({ channel }) => channel))].flatMap((channel) => {
      const own = rows.filter((row) => row.channel === channel);
      const isTold = own.some((row) => OVER.has(row.state) && kindOf(row) === 'resolve');
      if (isTold || !own.some(mayBeTold)) return [];
      // An attempt under way may still arrive: its end is told after it.
      const underWay = own.filter(({ state, error }) => state === 'queued' && error === null);
      const dueMs = Math.max(now, ...underWay.map(({ due_ms }) => Number(due_ms)));
      const handle = earlierOf(rows, channel);
      return {
        of: KEEP_LAST,
        values: [id, channel, text, dueMs, now + LAST_LIFE_MS, handle, macOf(id, channel, text, handle)],
      };
    });
  }

  const notices: NoticeStore = {
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
      const begun = rows.filter((row) => row.state !== 'superseded' && kindOf(row) === 'trigger');
      return { notices: [...notices.values()], channels: begun.map(({ channel }) => channel) };
    },
    async add(notice, channels, dueMs) {
      const text = JSON.stringify(noticeShape.parse(notice));
      const { notification_id: id, pending_id } = notice;
      if (channels.length === 0) return;
      const values = channels.map((channel) => {
        const mac = macOf(id, channel, text, null);
        return [id, channel, pending_id, ordinalOf(notice), notice.kind, text, dueMs, mac];
      });
      await ask(insertOf(channels.length), ...values.flat());
    },
    async supersede(pendingId) {
      await ask(SUPERSEDE, pendingId);
      const tried = (await rowsOf(pendingId)).filter(mayBeTold);
      return [...new Set(tried.map(({ channel }) => channel))];
    },
    async forget(pendingId) {
      await ask(FORGET, pendingId);
    },
    async due(channel, limit, turns = createChannelTurns()) {
      const now = clock();
      const [gone, beside] = [
        await ask(LAST_DUE, channel, now, now + LONGEST_WAIT_MS, now, limit),
        await ask(DUE, channel, now, now + LONGEST_WAIT_MS, limit),
      ];
      const kept: KeptNotice[] = [];
      for (const due of turns.next([...gone.rows, ...beside.rows].map(dueOf), limit)) {
        const { pendingId } = due;
        const one = await (pendingId === null ? lastDue(channel, due) : dueBeside(channel, pendingId, due));
        if (one) kept.push(one);
      }
      return kept;
    },
    async claim({ notice: { notification_id, deleted }, channel, attempts }, untilMs) {
      const claim = deleted ? CLAIM_LAST : CLAIM;
      return (await ask(claim, untilMs, notification_id, channel, attempts)).changes === 1;
    },
    async delivered(kept, handle) {
      const { notice, text, channel } = kept;
      const { notification_id: id } = notice;
      if (notice.deleted) return void (await ask(LAST_OVER, id, channel));
      const { changes } = await ask(DELIVERED, clock(), handle, macOf(id, channel, text, handle), id, channel);
      if (changes === 0) await arrivedLate(kept, handle);
    },
    async failed({ notice: { notification_id, deleted }, channel, attempts }, { reason, againMs, reached, limited }) {
      if (deleted)
        return void (await (againMs === null
          ? ask(LAST_OVER, notification_id, channel)
          : ask(LAST_FAILED, againMs, reached, limited ? 1 : 0, notification_id, channel)));
      const why = foreignText(reason, REASON);
      if (limited && againMs !== null)
        return void (await ask(LIMITED, againMs, why, reached, notification_id, channel, attempts));
      const state = againMs === null ? endOf(reached) : 'queued';
      await ask(FAILED, state, againMs ?? clock(), why, reached, notification_id, channel);
    },
    async restOf(channel) {
      const [row] = (await ask(REST_OF, channel)).rows;
      return row
        ? { place: Number(row.place), untilMs: Number(row.until_ms), refusals: Number(row.refusals) }
        : NEVER_RESTED;
    },
    async beginRest(channel, { place, untilMs, refusals }) {
      return (await ask(BEGIN_REST, channel, place, untilMs, refusals)).changes === 1;
    },
    async prolongRest(channel, untilMs) {
      await ask(PROLONG_REST, untilMs, channel, untilMs);
    },
    async tookAfterRest(channel, place) {
      await ask(TOOK_AFTER_REST, channel, place);
    },
    async heldUp(channel, ms, mostMs, reason) {
      const givenUp = await ended((await ask(HELD_TOO_LONG, channel, mostMs)).rows, reason);
      await ask(HELD_UP, ms, channel);
      return givenUp;
    },
    async abandon(channels, ageMs, reason) {
      const givenUp: GivenUp[] = [];
      const now = clock();
      for (const { channel } of (await ask(QUEUED_CHANNELS)).rows) {
        if (channels.includes(channel)) continue;
        // Whoever had the channel wrote these by a clock that was ahead.
        await ask(BROUGHT_NEAR, now, channel, now + LONGEST_WAIT_MS);
        givenUp.push(...(await ended((await ask(ABANDONED, channel, now - ageMs)).rows, reason)));
      }
      return givenUp;
    },
    async deliveriesOf(pendingId) {
      return (await rowsOf(pendingId)).map(
        ({ notification_id, channel, state, attempts, limited, delivered_ms, due_ms, error }): Delivery => ({
          notification_id,
          channel,
          state,
          attempts: Number(attempts) - Number(limited),
          delivered_at: delivered_ms === null ? null : new Date(Number(delivered_ms)).toISOString(),
          next_attempt_at: state === 'queued' ? new Date(Number(due_ms)).toISOString() : null,
          error,
        }),
      );
    },
    async counts() {
      const { rows } = await ask(COUNTS);
      const of = (state: DeliveryState): number =>
        rows.reduce((sum, row) => (row.state === state ? sum + Number(row.count) : sum), 0);
      return { queued: of('queued'), dead: of('dead') + of('partial') };
    },
  };
  return { notices, last };
}

const NEVER_RESTED: ChannelRest = { place: 0, untilMs: 0, refusals: 0 };

/** An attempt that a limit refused told nobody. */
const mayBeTold = ({ attempts, limited }: StoredNotice): boolean => Number(attempts) > Number(limited);
const endOf = (reached: string | null): GivenUp['end'] => (reached === null ? 'dead' : 'partial');
