import { describe, expect, it } from '@jest/globals';
import { createDeadlines } from './deadlines.js';

/** A clock that moves when told, and what is asleep on it. */
function handClock() {
  let now = 1_000;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    sleepers,
    now: () => now,
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const sleeper = { at: now + ms, wake: () => (sleepers.delete(sleeper), resolve()) };
        sleepers.add(sleeper);
        signal.addEventListener('abort', sleeper.wake, { once: true });
      }),
    async to(ms: number) {
      now = ms;
      for (const sleeper of sleepers) if (sleeper.at <= now) sleeper.wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
const never = new Promise<string>(() => undefined);

describe('waits with a deadline', () => {
  it('end with the promise, its value or its error, and share one timer', async () => {
    const clock = handClock();
    const deadlines = createDeadlines(clock);
    const fault = new Error('no');
    await expect(deadlines.within(Promise.resolve('a'), 2_000)).resolves.toBe('a');
    await expect(deadlines.within(Promise.reject(fault), 2_500)).rejects.toBe(fault);
    await expect(deadlines.within(Promise.resolve('b'), 3_000)).resolves.toBe('b');
    expect(clock.sleepers.size).toBe(1);
    deadlines.close();
    expect(clock.sleepers.size).toBe(0);
  });

  it('end with null at their own deadline, in whatever order they came', async () => {
    const clock = handClock();
    const deadlines = createDeadlines(clock);
    const ended: (readonly [string, string | null])[] = [];
    const wait = async (name: string, deadlineMs: number) => {
      ended.push([name, await deadlines.within(never, deadlineMs)]);
    };
    void wait('late', 4_000);
    void wait('early', 2_000);
    void wait('middle', 3_000);
    await clock.to(1_999);
    expect(ended).toEqual([]);
    await clock.to(2_000);
    expect(ended).toEqual([['early', null]]);
    await clock.to(5_000);
    expect(new Map(ended)).toEqual(
      new Map([
        ['early', null],
        ['late', null],
        ['middle', null],
      ]),
    );
    void wait('past', 4_500);
    await clock.to(5_001);
    expect(ended.at(-1)).toEqual(['past', null]);
    deadlines.close();
  });
});
