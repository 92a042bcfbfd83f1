import { describe, expect, it } from '@jest/globals';
import { clocksNow } from './clocks.js';

describe('a clock and that of its store', () => {
  /** What is wrong where the answer takes so long, and the store's clock is so far from the own one before the question. */
  async function faultOf(tookMs: number, storeMs: number | null): Promise<string | null> {
    let nowMs = 0;
    const { fault } = await clocksNow(
      'HIL',
      () => nowMs,
      async () => {
        nowMs += tookMs;
        return storeMs;
      },
    );
    return fault;
  }

  it.each([
    [0, null, null],
    [0, 60_000, null],
    [0, -60_000, null],
    [0, 61_000, 'the clock of HIL is 61 s behind that of its database'],
    [0, -61_000, 'the clock of HIL is 61 s ahead of that of its database'],
    // The answer was long in coming, and the store looked at its clock at any moment meanwhile.
    [67_000, 0, null],
    [67_000, 67_000, null],
    [67_000, -61_000, 'the clock of HIL is 61 s ahead of that of its database'],
    [67_000, 128_000, 'the clock of HIL is 61 s behind that of its database'],
    // The own clock was put meanwhile.
    [-67_000, 0, null],
    [-67_000, 61_000, 'the clock of HIL is 61 s behind that of its database'],
  ])('after %d ms, at %p: %p', async (tookMs, storeMs, fault) => {
    expect(await faultOf(tookMs, storeMs)).toBe(fault);
  });
});
