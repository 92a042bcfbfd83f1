/** Time as an argument: tests own it, the product uses the machine's. `sleep` resolves early when the signal fires. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const machineClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      // Timers hold 2^31-1 ms at most; a longer wait simply wakes and is looked at again.
      const timer = setTimeout(woken, Math.min(ms, 2_147_483_647));
      signal.addEventListener('abort', woken, { once: true });
      function woken(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', woken);
        resolve();
      }
    }),
};
