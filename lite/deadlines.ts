import type { Clock } from './clock.js';

export interface Deadlines {
  /** The result of the promise, or `null` if the deadline (epoch milliseconds) comes first. */
  within<Value>(promise: Promise<Value>, deadlineMs: number): Promise<Value | null>;
  /** Stops the timer. Waits that are in progress then end only with their promise. */
  close(): void;
}

interface Wait {
  readonly deadlineMs: number;
  readonly expire: () => void;
}

/** One timer for many waits: nearly every wait ends long before its deadline, so a timer for each would be wasted. */
export function createDeadlines(clock: Clock): Deadlines {
  const waits = new Set<Wait>();
  let timer: { readonly atMs: number; readonly stop: AbortController } | null = null;
  let closed = false;

  function wakeAt(atMs: number): void {
    if (closed || (timer && timer.atMs <= atMs)) return;
    timer?.stop.abort(EARLIER);
    const started = { atMs, stop: new AbortController() };
    timer = started;
    void clock.sleep(atMs - clock.now(), started.stop.signal).then(() => {
      if (timer !== started) return;
      timer = null;
      for (const wait of waits) if (wait.deadlineMs <= clock.now()) wait.expire();
      if (waits.size > 0) wakeAt(Math.min(...[...waits].map(({ deadlineMs }) => deadlineMs)));
    });
  }

  return {
    within: (promise, deadlineMs) =>
      new Promise((resolve, reject) => {
        const wait: Wait = {
          deadlineMs,
          expire: () => {
            waits.delete(wait);
            resolve(null);
          },
        };
        waits.add(wait);
        wakeAt(deadlineMs);
        promise.finally(() => waits.delete(wait)).then(resolve, reject);
      }),
    close() {
      closed = true;
      timer?.stop.abort(EARLIER);
      timer = null;
    },
  };
}

/** A given reason: without one, an abort creates an exception with a stack trace. */
const EARLIER = Symbol('earlier');
