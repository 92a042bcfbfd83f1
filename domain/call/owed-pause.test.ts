import { describe, expect, it } from '@jest/globals';
import { owedPauseMs } from './owed-pause.js';

describe('the pause before rows that are owed are tried again', () => {
  it('doubles up to 15 s, and never overflows', () => {
    const longest = () => 1;
    expect([1, 2, 3, 4, 5, 6, 7, 5_000].map((attempt) => owedPauseMs(attempt, longest))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
    ]);
  });

  it('is spread over the half below', () => {
    expect([0, 0.5, 1].map((chance) => owedPauseMs(6, () => chance))).toEqual([7_500, 11_250, 15_000]);
  });
});
