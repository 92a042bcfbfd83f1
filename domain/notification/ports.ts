import type {
  Delivery,
  Notice,
  NotificationChannel,
  NotificationPhase,
  NotificationTarget,
} from '../../contracts/notification.js';
import type { OpenedReviews } from '../review/ports.js';

/** How people are told in one place. */
export interface Sender {
  readonly kind: NotificationChannel;
  takes(phase: NotificationPhase, escalated: boolean): boolean;
  /**
   * One attempt. `earlier` is what the channel returned for an earlier message about the same row, which this one replaces where the channel
   * can do that. `reached` is what an earlier attempt to send this message said of whom it reached: they do not get it again. Resolves with what
   * a later message needs, or `null`. Throws DeliveryFailed.
   */
  send(notice: Notice, earlier: string | null, reached?: string | null): Promise<string | null>;
}

/** A place where people are told. */
export interface Channel extends Sender {
  /** The pool whose channel it is, which is told of escalations only; `null` for a channel that is told of every row. */
  readonly pool: string | null;
  readonly target: NotificationTarget;
}

/** What else is known of an attempt that failed. */
export interface FailedDelivery extends ErrorOptions {
  /** How long the receiver asked to be left alone. */
  readonly afterMs?: number;
  /** Whom the message has reached all the same, by this attempt and those before it; for the next one. */
  readonly reached?: string | undefined;
  /** The receiver takes no more for now, whatever the message says. */
  readonly limited?: boolean;
}

/** An attempt that failed, for some of its receivers at least. With `final` another one cannot help. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed';
  readonly afterMs: number;
  readonly reached: string | null;
  readonly limited: boolean;
  constructor(
    message: string,
    readonly final: boolean,
    { afterMs = 0, reached, limited = false, ...options }: FailedDelivery = {},
  ) {
    super(message, options);
    this.afterMs = afterMs;
    this.reached = reached ?? null;
    this.limited = limited;
  }
}

/** No attempt is put off for longer. What is due later than that was written by a clock that was ahead, and is due now. */
export const LONGEST_WAIT_MS = 600_000;

/** Whose turn a message is. */
export interface Turn {
  /** Tenant and agent; empty for all messages of rows that are gone. */
  readonly who: readonly string[];
  /** Its row was escalated, and people are to be told so. */
  readonly urgent: boolean;
}

/** A message that is due, before it is read. */
export interface DueNotice extends Turn, Pick<Notice, 'notification_id'> {
  /** `null` where the row is gone. */
  readonly pendingId: string | null;
  readonly dueMs: number;
  readonly attempts: number;
}

/** A message for one channel, as it is kept. */
export interface KeptNotice {
  readonly notice: Notice;
  /** The same as it was written. One of an earlier Gate says less. */
  readonly text: string;
  readonly channel: NotificationTarget;
  readonly attempts: number;
  /** How many of the attempts a limit of the receiver refused; they do not count. */
  readonly limited: number;
  /** What the channel returned for an earlier message about the row. */
  readonly earlier: string | null;
  /** Whom earlier attempts to send this message reached, in the channel's words; `null` for nobody. */
  readonly reached: string | null;
  readonly turn: Turn;
}

/** A message that nobody gets any more. */
export interface GivenUp extends Pick<Notice, 'notification_id' | 'phase'> {
  readonly channel: NotificationTarget;
  readonly end: 'partial' | 'dead';
}

/** How a channel is left alone, whichever process over the store met that its receiver asks for it. */
export interface ChannelRest {
  /** The first is 1; 0 where there was none. */
  readonly place: number;
  readonly untilMs: number;
  /** How often in a row its limit refused what was sent after a rest. */
  readonly refusals: number;
}

/** How an attempt failed. */
export interface FailedAttempt {
  readonly reason: string;
  /** It does not count: the receiver's limit refused it. */
  readonly limited: boolean;
  /** When the next one is due; `null` when there is none. */
  readonly againMs: number | null;
  /** As of KeptNotice, with whom this one reached. */
  readonly reached: string | null;
}

/** The messages of reviews, beside their rows and gone with them. Throws `store_unavailable`. */
export interface NoticeStore {
  /** Ids of rows that wait and of which nobody was told, in the order of their ids. */
  untold(after: string, limit: number): Promise<string[]>;
  /** Ids of rows of which somebody was told that they wait, and nobody that they do not. */
  open(after: string, limit: number): Promise<string[]>;
  /** What was told of a row, or is to be, in order, each once, and on which channels it was begun with. */
  of(pendingId: string): Promise<{ readonly notices: Notice[]; readonly channels: NotificationTarget[] }>;
  /** Adds messages that are not there yet, all or none; they are due at `dueMs`. */
  add(notice: Notice, channels: readonly NotificationTarget[], dueMs: number): Promise<void>;
  /**
   * Ends the messages of a settled row that wait for an attempt. Returns the channels that were told something, or may have been.
   */
  supersede(pendingId: string): Promise<NotificationTarget[]>;
  /** Everything about a row whose call begins anew. */
  forget(pendingId: string): Promise<void>;
  /**
   * Of the first message of each row on this channel that is due, or due later than anything is (LONGEST_WAIT_MS), those whose turn it is. One that
   * is not as Gate wrote it is `dead`, and is not among them.
   */
  due(channel: NotificationTarget, limit: number, turns?: Pick<ChannelTurns, 'next'>): Promise<KeptNotice[]>;
  /** Counts an attempt before it is made; false when another process makes it. If it never ends, the message is due again at `untilMs`. */
  claim(kept: KeptNotice, untilMs: number): Promise<boolean>;
  delivered(kept: KeptNotice, handle: string | null): Promise<void>;
  /** Without another attempt the message is `dead`, or `partial` where it reached somebody. */
  failed(kept: KeptNotice, how: FailedAttempt): Promise<void>;
  restOf(channel: NotificationTarget): Promise<ChannelRest>;
  /** Begins a rest, in the place after the one before it; false where another process has begun it. */
  beginRest(channel: NotificationTarget, rest: ChannelRest): Promise<boolean>;
  /** Has the rest that is last end no sooner. */
  prolongRest(channel: NotificationTarget, untilMs: number): Promise<void>;
  /** The channel took a message after the rest in that place. */
  tookAfterRest(channel: NotificationTarget, place: number): Promise<void>;
  /**
   * A limit of the receiver holds up every message of the channel that waits, for so long. Those that were held up for `mostMs` before end with
   * the reason, and are returned; an attempt under way is not touched.
   */
  heldUp(channel: NotificationTarget, ms: number, mostMs: number, reason: string): Promise<GivenUp[]>;
  /**
   * Ends with the reason, and returns, the messages of other channels than these that were due more than `ageMs` ago: another process may have
   * the channel.
   */
  abandon(channels: readonly NotificationTarget[], ageMs: number, reason: string): Promise<GivenUp[]>;
  deliveriesOf(pendingId: string): Promise<Delivery[]>;
  /** `dead` are also those that not everybody got. */
  counts(): Promise<{ readonly queued: number; readonly dead: number }>;
}

/** The review rows and the messages about them, which are kept in the same store. */
export interface ReviewsWithNotices extends OpenedReviews {
  readonly notices: NoticeStore;
}

/** Whose message is sent next on one channel. */
export interface ChannelTurns {
  /**
   * At most `limit` of them, in the order of their turns. Escalations and everything else take turns, and in each of the two the agents do: behind
   * an agent's message stands at most one of every other agent, however many it has. Messages of one agent keep the order in which they are due.
   */
  next(due: readonly DueNotice[], limit: number): DueNotice[];
  /** It had its turn. One that a limit refused did not. */
  had(turn: Turn): void;
}
