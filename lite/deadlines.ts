import type { Clock } from './clock.js';

export interface Deadlines {
  /** What the promise comes to, or `null` at the deadline (epoch milliseconds) if that is earlier. */
  within<Value>(promise: Promise<Value>, deadlineMs: number): Promise<Value | null>;
  /** Lets the timer go; waits that are under way end with their promise alone. */
  close(): void;
}

interface Wait {
  readonly deadlineMs: number;
  readonly expire: () => void;
}

/** Many waits, one timer: nearly every wait ends long before its deadline, so a timer of its own for each would be waste. */
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

/** A reason of its own: without one an abort makes an exception with a stack. */
const EARLIER = Symbol('earlier');
