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
  readonly resolve: (record: CallRecord | null) => void;
}

/** One interval serves all waiters and runs only while somebody waits. `find` reads what other processes wrote. */
export function createRecordNotifier(find: (correlationId: string) => Promise<CallRecord | null>): RecordNotifier {
  const waiters = new Map<string, Set<Waiter>>();
  let interval: NodeJS.Timeout | null = null;

  const settle = (correlationId: string, record: CallRecord | null) => {
    const waiting = waiters.get(correlationId);
    for (const waiter of waiting ?? []) {
      if ((record && waiter.condition(record)) || performance.now() >= waiter.untilMs) {
        waiting?.delete(waiter);
        waiter.resolve(record);
      }
    }
    if (waiting?.size === 0) waiters.delete(correlationId);
    if (waiters.size === 0 && interval) {
      clearInterval(interval);
      interval = null;
    }
  };
  const look = () => {
    for (const correlationId of waiters.keys()) {
      find(correlationId).then(
        (record) => settle(correlationId, record),
        () => settle(correlationId, null),
      );
    }
  };

  return {
    changed: (record) => settle(record.correlation_id, record),
    async waitFor(correlationId, condition, deadlineMs) {
      const untilMs = performance.now() + deadlineMs - Date.now();
      const current = await find(correlationId);
      if ((current && condition(current)) || performance.now() >= untilMs) return current;
      return new Promise((resolve) => {
        const waiting = waiters.get(correlationId) ?? new Set<Waiter>();
        waiters.set(correlationId, waiting.add({ condition, untilMs, resolve }));
        interval ??= setInterval(look, LOOK_INTERVAL_MS);
      });
    },
    close() {
      if (interval) clearInterval(interval);
      interval = null;
      for (const waiting of waiters.values()) for (const waiter of waiting) waiter.resolve(null);
      waiters.clear();
    },
  };
}
