import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type {
  Notice,
  NotificationChannel,
  NotificationPhase,
  NotificationTarget,
  TestResult,
} from '../../contracts/notification.js';
import type { PendingRequest } from '../../contracts/review.js';
import { CLOCKS_APART_MS } from '../clocks.js';
import { errorText, GateError } from '../errors.js';
import { countCommits } from '../commits.js';
import type { OpenedReviews } from '../review/ports.js';
import { createChannelTurns } from './channel-turns.js';
import { goneNotice, isEscalation, noticesOf } from './notice.js';
import {
  type Channel,
  type ChannelTurns,
  type ChannelRest,
  DeliveryFailed,
  type GivenUp,
  type KeptNotice,
  LONGEST_WAIT_MS,
  type NoticeStore,
} from './ports.js';

/** Before the second attempt, the third, and so on; the one after the last of these is not made. */
const BACK_OFF_MS = [1_000, 4_000, 16_000, 64_000, 256_000];
/** The longest that a receiver may ask to be left alone. */
const LONGEST_PAUSE_MS = 300_000;
/** How long the limit of a receiver may hold up a message. */
const LONGEST_LIMIT_MS = 3_600_000;
/** How long a message may be due on a channel that is not set here, but may be in another process. */
const ABANDONED_MS = 3_600_000;
const ABANDONED = 'its channel is not in the settings any more';
/** Between two looks for such messages. */
const ABANDONED_LOOK_MS = 60_000;
/** A call that a rule decides at once tells nobody. */
const BY_RULE_MS = 2_000;
/** After this time an attempt that was counted and never ended is made again. */
const LEASE_MS = 60_000;
/** Attempts under way on one channel. */
const AT_ONCE = 4;
const PAGE = 200;
/** Between two looks at everything. */
const CATCH_UP_PAUSE_MS = 5_000;
/** Between two looks at the rows, however much changes. */
const PAUSE_MS = 50;

export interface NotifierOptions {
  readonly reviews: Pick<OpenedReviews, 'feed' | 'reads'>;
  readonly notices: NoticeStore;
  /** What a row is shown as when it is told of; as it is stored when absent. */
  readonly asShown?: (row: PendingRequest) => Promise<PendingRequest>;
  readonly channels: readonly Channel[];
  /** The pool that is told of an escalation where the row names none. */
  readonly defaultPool?: string | undefined;
  /** Only rows of these tenants; empty: of all. */
  readonly tenants: readonly string[];
  readonly clock: () => number;
  /** Time that only passes, in milliseconds: however the clock is put, a channel rests no longer than it asked for. */
  readonly passes?: () => number;
  readonly observe: (
    channel: NotificationChannel,
    phase: NotificationPhase,
    outcome: 'delivered' | 'failed' | 'limited' | 'partial' | 'dead',
  ) => void;
  /** A message that nobody gets, or that some of its receivers do not get, and why. */
  readonly gaveUp: (channel: NotificationTarget, notificationId: string, reason: string) => void;
  /** Why the store could not be read or written; it is tried again. */
  readonly failed: (reason: string) => void;
  /** How often changes of other processes, and messages that are due, are looked for. */
  readonly lookMs?: number;
  readonly abandonedLookMs?: number;
  readonly backOffMs?: readonly number[];
  readonly byRuleMs?: number;
}

const kindOf = (target: NotificationTarget): NotificationChannel => target.split('@')[0] as NotificationChannel;

/** How a channel is left alone, as this process knows it. */
interface Rest {
  /** By time that only passes. */
  readonly untilMs: number;
  /** As it stands in the store. */
  readonly kept: ChannelRest;
}
const NEVER: Rest = { untilMs: 0, kept: { place: 0, untilMs: 0, refusals: 0 } };

export interface Notifier {
  /** The channels that are told of every row. */
  readonly kinds: readonly NotificationChannel[];
  readonly pools: readonly string[];
  /** With no channel nobody is told of anything; what was to be told on one that is set no more ends. */
  start(): void;
  /** One attempt on every channel. */
  test(trigger: Notice, resolve: Notice): Promise<Record<string, TestResult>>;
  close(): Promise<void>;
}

/**
 * Tells people where they are (docs/architecture/notifications.md). It follows the rows and writes what is to be told of them beside them, then
 * sends it. No decision waits for it, and nothing is remembered only here: after a crash, or in another process, the next look finds what is
 * missing, and an attempt is counted before it is made.
 */
export function createNotifier({
  reviews,
  notices,
  asShown = async (row) => row,
  channels,
  defaultPool,
  tenants,
  clock,
  passes = () => performance.now(),
  observe,
  gaveUp,
  failed,
  lookMs = 1_000,
  abandonedLookMs = ABANDONED_LOOK_MS,
  backOffMs = BACK_OFF_MS,
  byRuleMs = BY_RULE_MS,
}: NotifierOptions): Notifier {
  const kinds = channels.filter(({ pool }) => pool === null).map(({ kind }) => kind);
  const pools = [...new Set(channels.map(({ pool }) => pool).filter((pool) => pool !== null))];
  const changed = countCommits();
  const queued = countCommits();
  const stop = new AbortController();
  const rests = new Map<NotificationTarget, Rest>();
  const restOf = ({ target }: Channel): Rest => rests.get(target) ?? NEVER;
  const turnsOf = new Map<NotificationTarget, ChannelTurns>(
    channels.map(({ target }) => [target, createChannelTurns()]),
  );
  const had = ({ target }: Channel, { turn }: KeptNotice): void => turnsOf.get(target)?.had(turn);
  let loops: Promise<void>[] = [];

  /** Writes down what is to be told of a row as it is now. */
  async function tell(row: PendingRequest): Promise<void> {
    if (tenants.length > 0 && !tenants.includes(row.tenant)) return;
    let known = await notices.of(row.id);
    const withdrawn = known.notices.find(({ status }) => status === 'withdrawn');
    // A later attempt opened the row again.
    if (withdrawn && row.status === 'pending' && row.created_at !== withdrawn.created_at) {
      await notices.forget(row.id);
      known = await notices.of(row.id);
    }
    for (const notice of noticesOf(await asShown(row), known.notices)) {
      if (notice.phase === 'resolve') await end(notice);
      else {
        const pool = isEscalation(notice, known.notices) ? (row.escalation_pool ?? defaultPool ?? null) : null;
        const takers = channels.filter((channel) =>
          channel.pool === null
            ? notice.phase === 'trigger' || known.channels.includes(channel.target)
            : channel.pool === pool,
        );
        const targets = takers
          .filter((channel) => channel.takes(notice.phase, notice.escalated))
          .map(({ target }) => target);
        const later = notice.phase === 'trigger' && row.approval_tier === 'auto' ? byRuleMs : 0;
        await notices.add(notice, targets, clock() + later);
      }
    }
    queued.note();
  }

  async function end(notice: Notice): Promise<void> {
    const told = await notices.supersede(notice.pending_id);
    await notices.add(notice, told, clock());
  }

  async function gone(id: string, status: 'withdrawn' | 'tampered'): Promise<void> {
    const notice = goneNotice((await notices.of(id)).notices, status);
    if (notice === null) return;
    await end(notice);
    queued.note();
  }

  async function look(id: string): Promise<void> {
    try {
      const row = await reviews.reads.get(id);
      await (row === null ? gone(id, 'withdrawn') : tell(row));
    } catch (error) {
      if (error instanceof GateError && error.code === 'review_tampered') return gone(id, 'tampered');
      // Its key is not here. The others are told of all the same.
      if (error instanceof GateError && error.code === 'payload_unavailable') return failed(errorText(error));
      throw error;
    }
  }

  /** Does so for each of the rows: the fault of one keeps nobody from being told of the others. False where there was one. */
  async function each<Row>(rows: readonly Row[], act: (row: Row) => Promise<void>): Promise<boolean> {
    let fault: string | null = null;
    for (const row of rows) {
      if (stop.signal.aborted) break;
      try {
        await act(row);
      } catch (error) {
        fault ??= errorText(error);
      }
      // A store in a file answers within the turn, and others are served in between.
      await nextTurn();
    }
    if (fault !== null) failed(fault);
    return fault === null;
  }

  /** Finds what was missed: by a crash, while no channel was set, or because too much changed at once. False where a row could not be looked at. */
  async function catchUp(): Promise<boolean> {
    let isWhole = true;
    for (const some of [notices.open, notices.untold])
      for (let after = ''; !stop.signal.aborted; ) {
        const ids = await some(after, PAGE);
        if (!(await each(ids, look))) isWhole = false;
        const last = ids.at(-1);
        if (last === undefined) break;
        after = last;
      }
    return isWhole;
  }

  async function follow(): Promise<void> {
    let reader = reviews.feed.changes();
    let behind = true;
    let nextCatchUp = 0;
    while (!stop.signal.aborted) {
      const seen = changed.count();
      try {
        const { changes, gap } = await reader.next();
        behind ||= gap;
        // While very much changes, everything is not looked at again and again.
        if (behind && performance.now() >= nextCatchUp) {
          behind = !(await catchUp());
          nextCatchUp = performance.now() + CATCH_UP_PAUSE_MS;
        }
        const isTold = await each(changes, async ({ type, row }) => {
          if (type === 'withdrawn') await gone(row.id, 'withdrawn');
          else if (row.status === 'tampered') await gone(row.id, 'tampered');
          else await tell(row);
        });
        // What was read and not written down is found by another look at everything.
        behind ||= !isTold;
      } catch (error) {
        failed(errorText(error));
        // As is what was read while the store was away.
        reader = reviews.feed.changes();
        behind = true;
        await changed.after(Number.MAX_SAFE_INTEGER, lookMs, stop.signal);
        continue;
      }
      await changed.after(seen, lookMs, stop.signal);
      await sleep(PAUSE_MS);
    }
  }

  /** Hears how the channel is to be left alone where another process met that, or this one before it was started anew. */
  async function heardRest(channel: Channel): Promise<Rest> {
    const kept = await notices.restOf(channel.target);
    const known = restOf(channel);
    const isKnown = kept.place === known.kept.place && kept.untilMs === known.kept.untilMs;
    const leftMs = isKnown ? 0 : kept.untilMs - clock();
    // What is longer than any pause, by more than clocks may be apart, was written by a clock that was wrong.
    const isHeard = leftMs > 0 && leftMs <= LONGEST_PAUSE_MS + CLOCKS_APART_MS;
    const heardMs = isHeard ? passes() + Math.min(leftMs, LONGEST_PAUSE_MS) : 0;
    const now = { untilMs: Math.max(known.untilMs, heardMs), kept };
    rests.set(channel.target, now);
    return now;
  }

  /**
   * Leaves the channel alone for as long as it asked for, or for growing times where its limit refused the message and it did not say. Messages
   * that were sent after the same rest, in whichever process, begin one. `begins` where a limit began it, and in this process. A message that the
   * limit refused is due as the rest ends, no later: it would miss its turn.
   */
  async function rest(
    channel: Channel,
    after: number,
    { afterMs, limited }: DeliveryFailed,
  ): Promise<{ pauseMs: number; untilMs: number; begins: boolean }> {
    const { untilMs, kept } = restOf(channel);
    const isFirst = kept.place === after;
    const refusals = kept.refusals + (limited && isFirst ? 1 : 0);
    const unsaidMs = limited
      ? (backOffMs[Math.min(Math.max(refusals, 1), backOffMs.length) - 1] ?? LONGEST_PAUSE_MS)
      : 0;
    const pauseMs = Math.min(afterMs > 0 ? afterMs : unsaidMs, LONGEST_PAUSE_MS);
    const begun = { place: after + 1, untilMs: clock() + pauseMs, refusals };
    const told = { pauseMs, untilMs: begun.untilMs };
    if (pauseMs === 0) return { ...told, begins: false };
    rests.set(channel.target, { untilMs: Math.max(untilMs, passes() + pauseMs), kept: isFirst ? begun : kept });
    if (isFirst && (await notices.beginRest(channel.target, begun))) return { ...told, begins: limited };
    if (afterMs > 0) await notices.prolongRest(channel.target, begun.untilMs);
    return { ...told, begins: false };
  }

  async function holdUp(channel: Channel, ms: number, reason: string): Promise<void> {
    const why = `the limit of the receiver held it up for an hour: ${reason}`;
    toldGivenUp(await notices.heldUp(channel.target, ms, LONGEST_LIMIT_MS, why), why);
  }

  function toldGivenUp(messages: readonly GivenUp[], why: string): void {
    for (const { notification_id, channel, phase, end } of messages) {
      observe(kindOf(channel), phase, end);
      gaveUp(channel, notification_id, why);
    }
  }

  /** Messages of channels that were taken out of the settings. */
  async function buryAbandoned(): Promise<void> {
    const set = channels.map(({ target }) => target);
    while (!stop.signal.aborted) {
      try {
        toldGivenUp(await notices.abandon(set, ABANDONED_MS, ABANDONED), ABANDONED);
      } catch (error) {
        failed(errorText(error));
      }
      await sleep(abandonedLookMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  }

  /** `after`: the place of the channel's last rest. */
  async function attempt(channel: Channel, kept: KeptNotice, after: number): Promise<void> {
    const { notice } = kept;
    if (!(await notices.claim(kept, clock() + LEASE_MS))) return;
    const mine = { ...kept, attempts: kept.attempts + 1 };
    let handle: string | null;
    try {
      handle = await channel.send(notice, kept.earlier, kept.reached);
    } catch (error) {
      const failure = error instanceof DeliveryFailed ? error : new DeliveryFailed(errorText(error), false);
      const { final, message: reason, limited } = failure;
      const reached = failure.reached ?? kept.reached;
      const { pauseMs, untilMs, begins } = await rest(channel, after, failure);
      if (limited) {
        await notices.failed(mine, { reason, againMs: untilMs, reached, limited });
        observe(channel.kind, notice.phase, 'limited');
        if (begins) await holdUp(channel, pauseMs, reason);
        return;
      }
      had(channel, kept);
      const waitMs = final ? undefined : backOffMs[mine.attempts - mine.limited - 1];
      const againMs = waitMs === undefined ? null : clock() + Math.min(Math.max(waitMs, pauseMs), LONGEST_WAIT_MS);
      await notices.failed(mine, { reason, againMs, reached, limited });
      const end = reached === null ? 'dead' : 'partial';
      observe(channel.kind, notice.phase, againMs === null ? end : 'failed');
      if (againMs === null) gaveUp(channel.target, notice.notification_id, reason);
      return;
    }
    had(channel, kept);
    await notices.delivered(mine, handle);
    observe(channel.kind, notice.phase, 'delivered');
    const { untilMs, kept: last } = restOf(channel);
    // What was sent before the rest says nothing of whether the channel takes more after it.
    if (last.refusals === 0 || last.place !== after) return;
    rests.set(channel.target, { untilMs, kept: { ...last, refusals: 0 } });
    await notices.tookAfterRest(channel.target, last.place);
  }

  /** Each channel goes at its own pace: one that hangs delays no other. */
  async function serve(channel: Channel): Promise<void> {
    while (!stop.signal.aborted) {
      const seen = queued.count();
      let more = false;
      try {
        const {
          untilMs,
          kept: { place, refusals },
        } = await heardRest(channel);
        if (passes() >= untilMs) {
          // One message shows whether a channel that was refused takes any again.
          const due = await notices.due(channel.target, refusals > 0 ? 1 : AT_ONCE, turnsOf.get(channel.target));
          more = due.length > 0;
          await Promise.all(due.map((kept) => attempt(channel, kept, place)));
        }
      } catch (error) {
        more = false;
        failed(errorText(error));
      }
      if (!more) await queued.after(seen, lookMs, stop.signal);
    }
  }

  return {
    kinds,
    pools,
    start() {
      reviews.feed.onChange(changed.note);
      loops = [buryAbandoned(), ...(channels.length > 0 ? [follow()] : []), ...channels.map(serve)];
    },
    async test(trigger, resolve) {
      const results = await Promise.all(
        channels.map(async (channel): Promise<[NotificationTarget, TestResult]> => {
          try {
            await channel.send(resolve, await channel.send(trigger, null));
            return [channel.target, { outcome: 'sent' }];
          } catch (error) {
            return [channel.target, { outcome: 'failed', reason: errorText(error) }];
          }
        }),
      );
      return Object.fromEntries(results);
    },
    async close() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}
