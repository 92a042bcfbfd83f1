import { setTimeout as sleep } from 'node:timers/promises';
import type { PendingRequest, ReviewChangeType } from '../../contracts/review.js';
import { countCommits } from '../commits.js';
import type { ReviewHead } from './sealed-review.js';
import { summaryOf } from './summary.js';
import { isSettled } from '../decision/transitions.js';

export interface ReviewChange {
  readonly type: ReviewChangeType;
  readonly row: PendingRequest;
}

/** A reader of the store's changes, from its first look on. */
export interface ReviewChanges {
  /**
   * What changed since the look before, by whichever process, each row once, as it is now. With `gap` there was more than is told one by one.
   * After an error the same look may be made again.
   */
  next(): Promise<{ readonly changes: readonly ReviewChange[]; readonly gap: boolean }>;
}

/** How a row's last change appears to whoever follows. Of a settled row, only what came of its call changes. */
export function changeOf({ withdrawn_at, version }: ReviewHead, row: PendingRequest): ReviewChangeType {
  if (withdrawn_at !== null) return 'withdrawn';
  if (isSettled(row.status) && row.incident_summary == null)
    return row.status === 'approved' || row.status === 'denied' ? 'decided' : row.status;
  return Number(version) === 1 ? 'created' : 'updated';
}

/** Events that are kept for followers that come back. */
const KEPT = 1_000;
/** Events that wait for a slow follower before it is dropped. */
const QUEUED = 256;
/** Between two looks, however much changes. */
const PAUSE_MS = 50;

export interface FeedEvent {
  readonly id: number;
  readonly event: ReviewChangeType;
  readonly tenant: string;
  /** Made when the first follower reads it. */
  readonly data: () => string;
}
/** What a follower missed cannot be told; it lists anew. */
export interface FeedReset {
  readonly id: number;
  readonly event: 'reset';
}

interface Follower {
  readonly tenants: readonly string[];
  queue: (FeedEvent | FeedReset)[];
  wake: () => void;
  ended: boolean;
  readonly onDropped: () => void;
}

export interface FollowRequest {
  readonly tenants: readonly string[];
  /** Of the last event that the follower has, if it was here before. */
  readonly lastEventId: number | null;
  readonly signal: AbortSignal;
  /** Called when the follower is too slow, or the store cannot be read: it gets nothing more and should come again. */
  readonly onDropped: () => void;
}

export interface FeedOptions {
  readonly source: { changes(): ReviewChanges; onChange(listener: () => void): void };
  readonly now: () => number;
  /** Called before a look; what it returns rejects when something of what was read was undone. */
  readonly standsFromHere?: () => () => Promise<void>;
  /** How often changes of other processes are looked for; those of this one are known at once. */
  readonly lookMs?: number;
  readonly heartbeatMs?: number;
}

/**
 * The changes of reviews as events (docs/architecture/reviews.md#events), each with a number that grows over restarts. It looks at the store
 * only while somebody follows; who comes back gets what was missed while the last thousand events hold it.
 */
export function createReviewFeed({
  source,
  now,
  standsFromHere = () => () => Promise.resolve(),
  lookMs = 1_000,
  heartbeatMs = 15_000,
}: FeedOptions) {
  const commits = countCommits();
  source.onChange(commits.note);
  const followers = new Set<Follower>();
  const stop = new AbortController();
  let reader = source.changes();
  // A later life of this process begins behind every number of an earlier one.
  let newest = now() * 1_000;
  /** The event before the first that is kept. */
  let horizon = newest;
  let kept: FeedEvent[] = [];
  let running = false;
  let looks: Promise<void> = Promise.resolve();

  const lookInTurn = (): Promise<void> => (looks = looks.then(look, look));

  async function look(): Promise<void> {
    const stands = standsFromHere();
    const { changes, gap } = await reader.next();
    try {
      await stands();
    } catch {
      // What was read never happened. From where the new reader begins, followers list anew.
      reader = source.changes();
      await reader.next();
      return skip();
    }
    if (gap) skip();
    for (const change of changes) tell(change);
  }

  function skip(): void {
    newest += 1;
    horizon = newest;
    kept = [];
    for (const follower of followers) {
      follower.queue = [{ id: newest, event: 'reset' }];
      follower.wake();
    }
  }

  function tell({ type, row }: ReviewChange): void {
    newest += 1;
    const at = new Date(now()).toISOString();
    let text: string | undefined;
    const data = () => (text ??= JSON.stringify({ type, pending: summaryOf(row), at }));
    const event: FeedEvent = { id: newest, event: type, tenant: row.tenant, data };
    kept.push(event);
    if (kept.length > KEPT) horizon = kept.shift()?.id ?? horizon;
    for (const follower of followers) {
      if (!follower.tenants.includes(row.tenant)) continue;
      if (follower.queue.length >= QUEUED) drop(follower);
      else follower.queue.push(event);
      follower.wake();
    }
  }

  function drop(follower: Follower): void {
    followers.delete(follower);
    follower.ended = true;
    follower.queue = [];
    follower.wake();
    follower.onDropped();
  }

  async function run(): Promise<void> {
    running = true;
    try {
      while (followers.size > 0 && !stop.signal.aborted) {
        const seen = commits.count();
        await lookInTurn();
        await commits.after(seen, lookMs, stop.signal);
        await sleep(PAUSE_MS);
      }
    } catch {
      // The store is away. Whoever comes again is told so.
      for (const follower of followers) drop(follower);
    } finally {
      running = false;
    }
  }

  return {
    /**
     * What a follower gets: `from` is the number of the last event it has, then its events; `null` when nothing came for one heartbeat. Ends
     * when the signal fires. Throws what the store throws.
     */
    async follow({ tenants, lastEventId, signal, onDropped }: FollowRequest) {
      await lookInTurn();
      // In one turn with what is kept, so that no event is between the two.
      const isWhole = lastEventId === null || (lastEventId >= horizon && lastEventId <= newest);
      const from = isWhole && lastEventId !== null ? lastEventId : newest;
      const missed: (FeedEvent | FeedReset)[] = isWhole
        ? kept.filter(({ id, tenant }) => id > from && tenants.includes(tenant))
        : [{ id: newest, event: 'reset' }];
      const follower: Follower = { tenants, queue: [], wake: () => undefined, ended: false, onDropped };
      followers.add(follower);
      const leave = (): void => {
        followers.delete(follower);
        follower.ended = true;
        follower.wake();
      };
      signal.addEventListener('abort', leave);
      // Whoever left while the store was looked at.
      if (signal.aborted) leave();
      if (!running) void run();
      return { from, events: eventsOf(follower, missed) };
    },

    /** Ends every follower. */
    close(): void {
      stop.abort();
      for (const follower of followers) {
        followers.delete(follower);
        follower.ended = true;
        follower.wake();
      }
    },
  };

  async function* eventsOf(
    follower: Follower,
    missed: readonly (FeedEvent | FeedReset)[],
  ): AsyncGenerator<FeedEvent | FeedReset | null> {
    for (const event of missed) {
      if (follower.ended) return;
      yield event;
    }
    while (!follower.ended) {
      const event = follower.queue.shift();
      if (event) yield event;
      else if (!(await woken(follower))) yield null;
    }
  }

  /** False when nothing came for one heartbeat. */
  function woken(follower: Follower): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), heartbeatMs);
      follower.wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
