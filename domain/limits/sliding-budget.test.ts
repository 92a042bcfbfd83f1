import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { slidingBudget } from './sliding-budget.js';

const MINUTE = 60_000;
const T0 = 1_000_000;

describe('a budget that slides', () => {
  it('gives so much per key and window, and says when there is some again', () => {
    const budget = slidingBudget(3, MINUTE);
    for (let n = 0; n < 3; n += 1) expect(budget.take('a', 1, T0 + n * 10_000)).toBe(0);
    expect(budget.take('a', 1, T0 + 30_000)).toBe(30);
    expect(budget.take('b', 1, T0 + 30_000)).toBe(0);
    expect(budget.take('a', 1, T0 + MINUTE)).toBe(0);
    expect(budget.take('a', 1, T0 + MINUTE)).toBe(10);
  });

  it('gives what is larger than all of it once, and takes nothing where it refuses', () => {
    const budget = slidingBudget(100, MINUTE);
    expect(budget.take('a', 1_000, T0)).toBe(0);
    for (let n = 0; n < 50; n += 1) expect(budget.take('a', 1, T0 + 1_000)).toBe(59);
    expect(budget.look('a', T0 + MINUTE)).toBe(0);
    expect(budget.take('a', 99, T0 + MINUTE)).toBe(0);
    expect(budget.take('a', 99, T0 + MINUTE)).toBe(0);
    expect(budget.look('a', T0 + MINUTE)).toBe(60);
  });

  it('refuses nobody for longer than a window where the clock is set back', () => {
    const budget = slidingBudget(3, MINUTE);
    for (let n = 0; n < 2; n += 1) budget.take('a', 1, T0 + n * 10_000);
    const set = T0 - 600_000;
    expect(budget.take('a', 1, set)).toBe(0);
    expect(budget.take('a', 1, set + 10_000)).toBe(50);
    expect(budget.take('a', 1, set + MINUTE)).toBe(0);
  });

  it('is off at 0', () => {
    const budget = slidingBudget(0, MINUTE);
    for (let n = 0; n < 10; n += 1) expect(budget.take('a', 1e9, T0)).toBe(0);
  });

  it('never lets more than the limit and one thing more through within a window', () => {
    const asked = fc.array(fc.tuple(fc.nat(5_000), fc.integer({ min: 1, max: 40 })), { maxLength: 200 });
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 200 }), (asks, limit) => {
        const budget = slidingBudget(limit, MINUTE);
        const given: { atMs: number; amount: number }[] = [];
        let atMs = T0;
        for (const [laterMs, amount] of asks) {
          atMs += laterMs;
          if (budget.take('a', amount, atMs) === 0) given.push({ atMs, amount });
          // A part is a sixtieth of the window, so amounts may expire that much too early.
          const recent = given.filter((one) => one.atMs > atMs - MINUTE + MINUTE / 60);
          const sum = recent.reduce((all, one) => all + one.amount, 0);
          expect(sum - (recent.at(-1)?.amount ?? 0)).toBeLessThan(limit);
        }
      }),
    );
  });
});
