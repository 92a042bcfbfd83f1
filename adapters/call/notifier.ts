import type { CallRecord } from '../../domain/call/record.js';
import { within } from '../../domain/within.js';

/** Waiting for records. Writes of this process wake the waiter at once, writes of others within one interval. */
export interface RecordNotifier {
  changed(record: CallRecord): void;
  waitFor(
    correlationId: string,
    condition: (record: CallRecord) => boolean,
    deadlineMs: number,
  ): Promise<CallRecord | null>;
  close(): void;
}

const LOOK_INTERVAL_MS = 200;
/** A caller whose time is over already still gets the current record, if the store answers within this time. */
const FIRST_LOOK_MS = 5_000;
const late = () => new Error('the store did not answer in time');

interface Waiter {
  readonly condition: (record: CallRecord) => boolean;
  /** The monotonic clock: with a wall clock that is set back by an hour, a wait would take an hour longer. */
  readonly untilMs: number;
  /** The record as it was seen last. */
  seen: CallRecord | null;
  readonly resolve: (record: CallRecord | null) => void;
  readonly reject: (error: unknown) => void;
}

/** One interval serves all waiters and runs only while somebody waits. `find` reads what other processes wrote. */
export function createRecordNotifier(find: (correlationId: string) => Promise<CallRecord | null>): RecordNotifier {
  const waiters = new Map<string, Set<Waiter>>();
  let interval: NodeJS.Timeout | null = null;

  const settle = (correlationId: string, record: CallRecord | null, fault?: { readonly error: unknown }) => {
    const waiting = waiters.get(correlationId);
    for (const waiter of waiting ?? []) {
      if (record) waiter.seen = record;
      if ((record && waiter.condition(record)) || performance.now() >= waiter.untilMs) {
        waiting?.delete(waiter);
        if (fault && !waiter.seen) waiter.reject(fault.error);
        else waiter.resolve(fault ? waiter.seen : record);
      }
    }
    if (waiting?.size === 0) waiters.delete(correlationId);
    if (waiters.size === 0 && interval) {
      clearInterval(interval);
      interval = null;
    }
  };
  /** Reads under way. A slow store is not asked again for a record that it has not answered yet. */
  const looking = new Set<string>();
  const look = () => {
    for (const correlationId of waiters.keys()) {
      if (looking.has(correlationId)) {
        // A caller whose time is over does not wait for a store that hangs.
        settle(correlationId, null, { error: late() });
        continue;
      }
      looking.add(correlationId);
      find(correlationId)
        .finally(() => looking.delete(correlationId))
        .then(
          (record) => settle(correlationId, record),
          (error: unknown) => settle(correlationId, null, { error }),
        );
    }
  };

  return {
    changed: (record) => settle(record.correlation_id, record),
    async waitFor(correlationId, condition, deadlineMs) {
      const untilMs = performance.now() + deadlineMs - Date.now();
      const current = await within(Math.max(deadlineMs - Date.now(), FIRST_LOOK_MS), find(correlationId), late);
      if ((current && condition(current)) || performance.now() >= untilMs) return current;
      return new Promise((resolve, reject) => {
        const waiting = waiters.get(correlationId) ?? new Set<Waiter>();
        waiters.set(correlationId, waiting.add({ condition, untilMs, seen: current, resolve, reject }));
        interval ??= setInterval(look, LOOK_INTERVAL_MS);
      });
    },
    close() {
      if (interval) clearInterval(interval);
      interval = null;
      for (const waiting of waiters.values()) for (const waiter of waiting) waiter.resolve(waiter.seen);
      waiters.clear();
    },
  };
}
