import type { CallRecord } from '../../domain/call-record/record.js';

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
  /** Looks that are under way: a store that is slow is not asked again for what it has not answered. */
  const looking = new Set<string>();
  const look = () => {
    for (const correlationId of waiters.keys()) {
      if (looking.has(correlationId)) continue;
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
      const current = await find(correlationId);
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
