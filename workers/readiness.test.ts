import { describe, expect, it } from '@jest/globals';
import { workerFault } from './readiness.js';

const NOW_MS = Date.UTC(2026, 10, 23, 12);
const seconds = (value: number) => ({ seconds: Math.floor(value), nanos: (value % 1) * 1e9 }) as never;
/** A queue that was polled so many seconds ago, with the age of what waits on it. */
const fault = (polledAgo: readonly number[], waits: number | null = null) =>
  workerFault(
    {
      pollers: polledAgo.map((ago) => ({ lastAccessTime: seconds(NOW_MS / 1_000 - ago) })),
      stats: waits === null ? null : { approximateBacklogAge: seconds(waits) },
    },
    NOW_MS,
  );

describe('whether some worker serves a task queue', () => {
  it.each<[string, readonly number[], number | null]>([
    ['an idle one, in a long poll', [59], 0],
    ['a busy one, although tasks wait', [0.2], 40],
    ['one of two, although the other is gone', [80, 1], 12],
    ['an idle one, for which a task has just come', [45], 0.5],
    ['one that has just come to a backlog', [70, 0], 600],
    ['one of an engine that reports no statistics', [59], null],
  ])('yes: %s', (_name, polledAgo, waits) => {
    expect(fault(polledAgo, waits)).toBeNull();
  });

  it('no: nobody has polled for longer than a long poll lasts, or ever', () => {
    expect(fault([91], 0)).toBe('no worker polls');
    expect(fault([])).toBe('no worker polls');
  });

  it('no: a task waits for more than five seconds, and nobody has polled as long', () => {
    expect(fault([5.5, 30], 5.2)).toBe('no worker takes what has waited for 5 s');
    expect([fault([5.5], 4.9), fault([4.9], 5.5)]).toEqual([null, null]);
  });
});
