import { describe, expect, it } from '@jest/globals';
import { goalMet, median, quantile, rounded, sum } from './numbers.js';

describe('numbers of a benchmark', () => {
  it('quantiles are values of the sample, whatever its order', () => {
    const sample = [5, 1, 4, 2, 3];
    expect([quantile(sample, 0), median(sample), quantile(sample, 0.95), quantile(sample, 1)]).toEqual([1, 3, 5, 5]);
    expect(sample).toEqual([5, 1, 4, 2, 3]);
  });

  it('an empty sample has none', () => {
    expect(median([])).toBeNaN();
    expect(rounded(median([]))).toBeNaN();
    expect(sum([])).toBe(0);
  });

  it('are printed with three digits', () => {
    expect([rounded(12.345), rounded(0.9871), rounded(123.4)]).toEqual([12.3, 0.987, 123]);
  });

  it('say of every goal whether it was met, and of what was not measured that', () => {
    expect([[1, 3], [2, 4], []].map((measured) => goalMet('late', 3, measured))).toEqual([
      { goal: 'late', at_most: 3, measured: 3, met: 'yes' },
      { goal: 'late', at_most: 3, measured: 4, met: 'no' },
      { goal: 'late', at_most: 3, measured: null, met: 'not measured' },
    ]);
  });
});
